package session

import (
	"context"
	"fmt"
	"math"
	"math/big"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
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

// Counters draws the identity values, the values of sequences and the rowversions of a session.
type Counters struct {
	server  *Server
	conn    *store.Conn
	session int
	// drawn are the counters before the running statement, if the statement may have to run again.
	drawn map[CounterKey]Counter
}

// of returns a copy of a counter. On first use it loads the counter from the file.
func (cs *Counters) of(ctx context.Context, key CounterKey, load string) (Counter, error) {
	cs.server.mu.Lock()
	c := cs.server.counters[key]
	cs.server.mu.Unlock()
	if c != nil {
		return *c, nil
	}
	fresh := Counter{}
	if key.Database != 0 {
		row, err := cs.conn.QueryRow(ctx, load, []types.Value{int64(key.Object)})
		if err != nil {
			return Counter{}, err
		}
		if len(row) == 2 && row[0] != nil {
			fresh = SequenceCounter(catalog.LoadedSequence(row[0]), row[1].(int64) != 0)
		}
	}
	cs.server.SetCounter(key, fresh)
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
func (cs *Counters) Draw(key CounterKey, c Counter) {
	if cs.conn.Checking() {
		cs.server.mu.Lock()
		was := cs.server.counters[key]
		cs.server.mu.Unlock()
		if _, ok := cs.drawn[key]; !ok && was != nil {
			if cs.drawn == nil {
				cs.drawn = map[CounterKey]Counter{}
			}
			cs.drawn[key] = *was
		}
	}
	cs.server.SetCounter(key, c)
}

// Keep makes the values final that the running statement has drawn.
func (cs *Counters) Keep() { cs.drawn = nil }

// Return returns the values that the running statement has drawn. The session has held the
// writer lock since, so that no other session has drawn any.
func (cs *Counters) Return() {
	for key, c := range cs.drawn {
		cs.server.SetCounter(key, c)
	}
	cs.drawn = nil
}

// ResetCounter removes a counter after its object was created or dropped.
func (i *Server) ResetCounter(key CounterKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.counters, key)
}

// IdentityKey returns the key of a table's identity column.
func (cs *Counters) IdentityKey(database int, t *catalog.Table) CounterKey {
	if database == 0 {
		return CounterKey{session: cs.session, Object: t.ObjectID}
	}
	return CounterKey{Database: database, Object: t.ObjectID}
}

// Identity returns the counter of a table's identity column.
func (cs *Counters) Identity(ctx context.Context, database int, t *catalog.Table) (Counter, error) {
	load := fmt.Sprintf("SELECT last, 1 FROM %s.%s WHERE object_id = ?1", catalog.SQLName(database), catalog.IdentityTable)
	return cs.of(ctx, cs.IdentityKey(database, t), load)
}

// NextIdentity returns the value after the last one of a table's identity column.
func (cs *Counters) NextIdentity(ctx context.Context, database int, t *catalog.Table, auto catalog.Identity) (int64, error) {
	c, err := cs.Identity(ctx, database, t)
	if err != nil || !c.Used {
		return auto.Seed, err
	}
	return c.Last + auto.Increment, nil
}

// UseIdentity marks the identity values of a table up to last as used. Error 8115 if the type of
// the column does not hold last.
func (cs *Counters) UseIdentity(database int, t *catalog.Table, column *catalog.Column, last int64) error {
	if low, high := IntegerRange(column.Type); last < low || last > high {
		return mserr.ArithmeticOverflow("IDENTITY", column.Type.Name())
	}
	cs.Draw(cs.IdentityKey(database, t), Counter{Last: last, Used: true})
	return nil
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
func (cs *Counters) StoreIdentity(ctx context.Context, database int, t *catalog.Table, last int64) error {
	if database == 0 {
		return nil
	}
	sql := fmt.Sprintf("INSERT INTO %s.%s(object_id, last) VALUES (?1, ?2) "+
		"ON CONFLICT(object_id) DO UPDATE SET last = excluded.last", catalog.SQLName(database), catalog.IdentityTable)
	_, err := cs.conn.Exec(ctx, sql, []types.Value{int64(t.ObjectID), last})
	return err
}

// DrawSequence returns the next value of a sequence and stores it.
func (cs *Counters) DrawSequence(ctx context.Context, d *catalog.Database, q *catalog.Sequence) (*big.Int, error) {
	c, err := cs.sequence(ctx, d, q.ObjectID)
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
	cs.Draw(CounterKey{Database: d.ID, Object: q.ObjectID}, SequenceCounter(v, true))
	return v, cs.storeSequence(ctx, d, q.ObjectID, v)
}

// sequence returns the counter of a sequence.
func (cs *Counters) sequence(ctx context.Context, d *catalog.Database, object int32) (Counter, error) {
	load := fmt.Sprintf("SELECT current, used FROM %s.%s WHERE object_id = ?1", d.SQLName(), catalog.SequenceTable)
	return cs.of(ctx, CounterKey{Database: d.ID, Object: object}, load)
}

// storeSequence writes the last value of a sequence to its database.
func (cs *Counters) storeSequence(ctx context.Context, d *catalog.Database, object int32, v *big.Int) error {
	_, err := cs.conn.Exec(ctx, fmt.Sprintf("UPDATE %s.%s SET current = ?2, used = 1 WHERE object_id = ?1",
		d.SQLName(), catalog.SequenceTable),
		[]types.Value{int64(object), catalog.StoredSequence(v)})
	return err
}
