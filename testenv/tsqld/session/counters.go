package session

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// CounterKey identifies the identity column of a table, or a sequence.
type CounterKey struct {
	Database int   // 0 for temporary tables
	session  int   // session ID for temporary tables
	Object   int32 // negative for temporary tables
}

// Counter is the last value that was used. A rollback does not return used values, so that the
// counter in memory may be ahead of the stored one. After a restart the stored counter is valid.
type Counter struct {
	Last int64
	Used bool     // false before the first value
	wide *big.Int // last value of a sequence that exceeds 64 bits; otherwise nil
}

// SequenceCounter returns the counter of a sequence.
func SequenceCounter(v *big.Int, used bool) Counter {
	if v.IsInt64() {
		return Counter{Last: v.Int64(), Used: used}
	}
	return Counter{wide: v, Used: used}
}

// value returns the last value.
func (c Counter) value() *big.Int {
	if c.wide != nil {
		return c.wide
	}
	return big.NewInt(c.Last)
}

// CounterOf returns a copy of a counter. On first use it loads the counter from the file.
func (s *Temporaries) CounterOf(ctx context.Context, key CounterKey, load string) (Counter, error) {
	s.Server.mu.Lock()
	c := s.Server.counters[key]
	s.Server.mu.Unlock()
	if c != nil {
		return *c, nil
	}
	fresh := Counter{}
	if key.Database != 0 {
		row, err := s.Conn.QueryRow(ctx, load, []types.Value{int64(key.Object)})
		if err != nil {
			return Counter{}, err
		}
		if len(row) == 2 && row[0] != nil {
			fresh = SequenceCounter(catalog.LoadedSequence(row[0]), row[1].(int64) != 0)
		}
	}
	s.Server.SetCounter(key, fresh)
	return fresh, nil
}

// SetCounter stores a counter in memory.
func (i *Server) SetCounter(key CounterKey, c Counter) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counters[key] = &c
}

// Draw stores a counter in memory, as [Server.SetCounter] does. If the running statement may have
// to run again, it keeps the counter before.
func (s *Transactions) Draw(key CounterKey, c Counter) {
	if s.Conn.Checking() {
		s.Server.mu.Lock()
		was := s.Server.counters[key]
		s.Server.mu.Unlock()
		if _, ok := s.Tran.drawn[key]; !ok && was != nil {
			if s.Tran.drawn == nil {
				s.Tran.drawn = map[CounterKey]Counter{}
			}
			s.Tran.drawn[key] = *was
		}
	}
	s.Server.SetCounter(key, c)
}

// KeepDrawn makes the values final that the running statement has drawn.
func (s *Transactions) KeepDrawn() { s.Tran.drawn = nil }

// ReturnDrawn returns the values that the running statement has drawn. The session has held the
// writer lock since, so that no other session has drawn any.
func (s *Transactions) ReturnDrawn() {
	for key, c := range s.Tran.drawn {
		s.Server.SetCounter(key, c)
	}
	s.Tran.drawn = nil
}

// ResetCounter removes a counter after its object was created or dropped.
func (i *Server) ResetCounter(key CounterKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.counters, key)
}

// IdentityKey returns the key of a table's identity column.
func (s *Temporaries) IdentityKey(database int, t *catalog.Table) CounterKey {
	if database == 0 {
		return CounterKey{session: s.id, Object: t.ObjectID}
	}
	return CounterKey{Database: database, Object: t.ObjectID}
}

// IdentityLoad returns the query for a stored identity value.
func IdentityLoad(database int) string {
	return fmt.Sprintf("SELECT last, 1 FROM %s.%s WHERE object_id = ?1", catalog.SQLName(database),
		catalog.IdentityTable)
}

// IntegerRange returns the range of an identity column's type.
func IntegerRange(t types.Type) (low, high int64) {
	switch t.ID {
	case types.TinyInt:
		return 0, math.MaxUint8
	case types.SmallInt:
		return math.MinInt16, math.MaxInt16
	case types.Int:
		return math.MinInt32, math.MaxInt32
	case types.Decimal:
		if t.Precision < 19 {
			high = int64(math.Pow10(int(t.Precision))) - 1
			return -high, high
		}
	}
	return math.MinInt64, math.MaxInt64
}

// StoreIdentity writes the last identity value of a table to its database.
func (s *Temporaries) StoreIdentity(ctx context.Context, database int, t *catalog.Table, last int64) error {
	if database == 0 {
		return nil
	}
	sql := fmt.Sprintf("INSERT INTO %s.%s(object_id, last) VALUES (?1, ?2) "+
		"ON CONFLICT(object_id) DO UPDATE SET last = excluded.last", catalog.SQLName(database), catalog.IdentityTable)
	_, err := s.Conn.Exec(ctx, sql, []types.Value{int64(t.ObjectID), last})
	return err
}

// DrawSequence returns the next value of a sequence and stores it.
func (s *Transactions) DrawSequence(ctx context.Context, d *catalog.Database, q *catalog.Sequence) (*big.Int, error) {
	key := CounterKey{Database: d.ID, Object: q.ObjectID}
	c, err := s.CounterOf(ctx, key, sequenceLoad(d))
	if err != nil {
		return nil, err
	}
	v := c.value()
	if c.Used {
		v = new(big.Int).Add(v, q.Increment)
		if v.Cmp(q.Max) > 0 || v.Cmp(q.Min) < 0 {
			if !q.Cycle {
				return nil, mserr.SequenceExhausted(q.Name)
			}
			v = q.Min
			if q.Increment.Sign() < 0 {
				v = q.Max
			}
		}
	}
	s.Draw(key, SequenceCounter(v, true))
	return v, s.storeSequence(ctx, d, q.ObjectID, v)
}

// sequenceLoad returns the query for a stored value of a sequence.
func sequenceLoad(d *catalog.Database) string {
	return fmt.Sprintf("SELECT current, used FROM %s.%s WHERE object_id = ?1", d.SQLName(), catalog.SequenceTable)
}

// storeSequence writes the last value of a sequence to its database.
func (s *Transactions) storeSequence(ctx context.Context, d *catalog.Database, object int32, v *big.Int) error {
	_, err := s.Conn.Exec(ctx, fmt.Sprintf("UPDATE %s.%s SET current = ?2, used = 1 WHERE object_id = ?1",
		d.SQLName(), catalog.SequenceTable),
		[]types.Value{int64(object), catalog.StoredSequence(v)})
	return err
}
