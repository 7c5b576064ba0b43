package exec

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// counterKey identifies the identity column of a table, or a sequence.
type counterKey struct {
	database int   // 0 for temporary tables
	session  int   // session ID for temporary tables
	object   int32 // negative for temporary tables
}

// counter is the last value that was used. A rollback does not return used values, so that the
// counter in memory may be ahead of the stored one. After a restart the stored counter is valid.
type counter struct {
	last int64
	used bool     // false before the first value
	wide *big.Int // last value of a sequence that exceeds 64 bits; otherwise nil
}

// sequenceCounter returns the counter of a sequence.
func sequenceCounter(v *big.Int, used bool) counter {
	if v.IsInt64() {
		return counter{last: v.Int64(), used: used}
	}
	return counter{wide: v, used: used}
}

// value returns the last value.
func (c counter) value() *big.Int {
	if c.wide != nil {
		return c.wide
	}
	return big.NewInt(c.last)
}

// counterOf returns a copy of a counter. On first use it loads the counter from the file.
func (s *core) counterOf(ctx context.Context, key counterKey, load string) (counter, error) {
	s.inst.mu.Lock()
	c := s.inst.counters[key]
	s.inst.mu.Unlock()
	if c != nil {
		return *c, nil
	}
	fresh := counter{}
	if key.database != 0 {
		row, err := s.conn.QueryRow(ctx, load, []types.Value{int64(key.object)})
		if err != nil {
			return counter{}, err
		}
		if len(row) == 2 && row[0] != nil {
			fresh = sequenceCounter(catalog.LoadedSequence(row[0]), row[1].(int64) != 0)
		}
	}
	s.inst.setCounter(key, fresh)
	return fresh, nil
}

// setCounter stores a counter in memory.
func (i *server) setCounter(key counterKey, c counter) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.counters[key] = &c
}

// resetCounter removes a counter after its object was created or dropped.
func (i *server) resetCounter(key counterKey) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.counters, key)
}

// identityKey returns the key of a table's identity column.
func (s *core) identityKey(database int, t *catalog.Table) counterKey {
	if database == 0 {
		return counterKey{session: s.id, object: t.ObjectID}
	}
	return counterKey{database: database, object: t.ObjectID}
}

// identityLoad returns the query for a stored identity value.
func identityLoad(database int) string {
	return fmt.Sprintf("SELECT last, 1 FROM %s.%s WHERE object_id = ?1", catalog.SQLName(database),
		catalog.IdentityTable)
}

// reserve sets the first identity value of a statement. prepared is the row count of its Prepare
// step.
func (r *run) reserve(dml *compile.DML, rt *compile.Run, prepared int64) error {
	need := dml.Identity
	key := r.s.identityKey(dml.Database, dml.Target)
	c, err := r.s.counterOf(r.ctx, key, identityLoad(dml.Database))
	if err != nil {
		return err
	}
	rt.Identity = need.Seed
	if c.used {
		rt.Identity = c.last + need.Increment
	}
	rows := int64(need.Rows)
	if rows < 0 && len(dml.Prepare) > 0 && need.Step == 0 {
		rows = prepared
	}
	if rows > 0 {
		return r.useIdentity(dml, rt, rows)
	}
	return nil
}

// useIdentity marks identity values as used.
func (r *run) useIdentity(dml *compile.DML, rt *compile.Run, rows int64) error {
	need := dml.Identity
	last := rt.Identity + (rows-1)*need.Increment
	if low, high := integerRange(need.Column.Type); last < low || last > high {
		return mserr.ArithmeticOverflow("IDENTITY", need.Column.Type.Name())
	}
	r.s.inst.setCounter(r.s.identityKey(dml.Database, dml.Target), counter{last: last, used: true})
	return nil
}

// reserveInto sets the first identity value for the rows of OUTPUT INTO.
func (r *run) reserveInto(dml *compile.DML, rt *compile.Run) error {
	c, err := r.s.counterOf(r.ctx, r.s.identityKey(dml.IntoDatabase, dml.Into), identityLoad(dml.IntoDatabase))
	if err != nil {
		return err
	}
	rt.IntoIdentity = dml.IntoIdentity.Seed
	if c.used {
		rt.IntoIdentity = c.last + dml.IntoIdentity.Increment
	}
	return nil
}

// storeIntoIdentity marks the identity values of n rows of OUTPUT INTO as used. SCOPE_IDENTITY()
// keeps the value of the target.
func (r *run) storeIntoIdentity(dml *compile.DML, rt *compile.Run, n int64) error {
	if n <= 0 {
		return nil
	}
	need := dml.IntoIdentity
	last := rt.IntoIdentity + (n-1)*need.Increment
	if low, high := integerRange(need.Column.Type); last < low || last > high {
		return mserr.ArithmeticOverflow("IDENTITY", need.Column.Type.Name())
	}
	r.s.inst.setCounter(r.s.identityKey(dml.IntoDatabase, dml.Into), counter{last: last, used: true})
	return r.s.storeIdentity(r.ctx, dml.IntoDatabase, dml.Into, last)
}

// integerRange returns the range of an identity column's type.
func integerRange(t types.Type) (low, high int64) {
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

// storeLastIdentity stores the last identity value after n rows were inserted, and sets @@IDENTITY
// and SCOPE_IDENTITY().
func (r *run) storeLastIdentity(dml *compile.DML, rt *compile.Run, n int64) error {
	if n <= 0 {
		return nil
	}
	need := dml.Identity
	if need.Rows < 0 && (len(dml.Prepare) == 0 || need.Step > 0) {
		if err := r.useIdentity(dml, rt, n); err != nil {
			return err
		}
	}
	last := rt.Identity + (n-1)*need.Increment
	r.setIdentity(last)
	return r.s.storeIdentity(r.ctx, dml.Database, dml.Target, last)
}

// setIdentity sets @@IDENTITY and SCOPE_IDENTITY(). Table variables count, too.
func (r *run) setIdentity(last int64) {
	v := types.Value(strconv.FormatInt(last, 10)) // decimal(38,0)
	r.s.lastIdentity, r.f.identity = v, v
}

// storeIdentity writes the last identity value of a table to its database.
func (s *core) storeIdentity(ctx context.Context, database int, t *catalog.Table, last int64) error {
	if database == 0 {
		return nil
	}
	sql := fmt.Sprintf("INSERT INTO %s.%s(object_id, last) VALUES (?1, ?2) "+
		"ON CONFLICT(object_id) DO UPDATE SET last = excluded.last", catalog.SQLName(database), catalog.IdentityTable)
	_, err := s.conn.Exec(ctx, sql, []types.Value{int64(t.ObjectID), last})
	return err
}

// explicitIdentity holds the identity values that a statement inserts under IDENTITY_INSERT.
type explicitIdentity struct {
	any             bool
	last, low, high int64
}

// recordIdentity records one explicit identity value. It is called in the order of the rows.
func (r *run) recordIdentity(v types.Value) (types.Value, error) {
	n, ok := v.(int64)
	if !ok {
		if v == nil { // the column rejects NULL later
			return nil, nil
		}
		return nil, mserr.NotSupported("IDENTITY_INSERT into a column of more than 18 digits")
	}
	g := &r.explicit
	if !g.any {
		*g = explicitIdentity{any: true, low: n, high: n}
	}
	g.last, g.low, g.high = n, min(g.low, n), max(g.high, n)
	return v, nil
}

// storeExplicitIdentity sets @@IDENTITY and SCOPE_IDENTITY() to the last explicit value of a
// statement. It advances the counter to the furthest explicit value if that is beyond the counter.
func (r *run) storeExplicitIdentity(dml *compile.DML) error {
	g := r.explicit
	if !g.any {
		return nil
	}
	r.setIdentity(g.last)
	auto := dml.Target.IdentityColumn().Auto
	furthest := g.high
	if auto.Increment < 0 {
		furthest = g.low
	}
	key := r.s.identityKey(dml.Database, dml.Target)
	c, err := r.s.counterOf(r.ctx, key, identityLoad(dml.Database))
	if err != nil {
		return err
	}
	if c.used && (auto.Increment > 0 && furthest <= c.last || auto.Increment < 0 && furthest >= c.last) {
		return nil
	}
	r.s.inst.setCounter(key, counter{last: furthest, used: true})
	return r.s.storeIdentity(r.ctx, dml.Database, dml.Target, furthest)
}

// nextSequence evaluates NEXT VALUE FOR.
func (r *run) nextSequence(database int, object int32) (types.Value, error) {
	s := r.s
	d := s.databaseByID(database)
	if d == nil {
		return nil, mserr.NoDatabase(strconv.Itoa(database))
	}
	q, ok := d.ObjectByID(object).(*catalog.Sequence)
	if !ok {
		return nil, mserr.NotSequence(strconv.Itoa(int(object)))
	}
	if !s.may(d, "UPDATE", catalog.Securable{Class: catalog.ClassObject, Major: int(object)}) &&
		(r.f.owner < 0 || d.Owner(q) != r.f.owner) {
		return nil, permissionDenied(d, q, "UPDATE")
	}
	var v *big.Int
	draw := func() error {
		var err error
		v, err = r.s.drawSequence(r.ctx, d, q)
		return err
	}
	var err error
	if s.tran.exclusive[database] {
		err = draw()
	} else {
		err = r.s.atomic(r.ctx, []int{database}, false, draw)
	}
	if err != nil {
		return nil, err
	}
	return q.Value(v)
}

// drawSequence returns the next value of a sequence and stores it.
func (s *core) drawSequence(ctx context.Context, d *catalog.Database, q *catalog.Sequence) (*big.Int, error) {
	key := counterKey{database: d.ID, object: q.ObjectID}
	c, err := s.counterOf(ctx, key,
		fmt.Sprintf("SELECT current, used FROM %s.%s WHERE object_id = ?1", d.SQLName(), catalog.SequenceTable))
	if err != nil {
		return nil, err
	}
	v := c.value()
	if c.used {
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
	s.inst.setCounter(key, sequenceCounter(v, true))
	_, err = s.conn.Exec(ctx, fmt.Sprintf("UPDATE %s.%s SET current = ?2, used = 1 WHERE object_id = ?1",
		d.SQLName(), catalog.SequenceTable),
		[]types.Value{int64(q.ObjectID), catalog.StoredSequence(v)})
	return v, err
}

// versionBlock is the number of rowversions that are reserved at once.
const versionBlock = 1000

// rowVersions issues the rowversions of one database. The caller must hold the database's writer
// lock.
type rowVersions struct {
	mu    sync.Mutex
	last  uint64 // last issued value
	limit uint64 // last reserved value, as stored in the file
}

// versionsOf returns the rowversions of a database.
func (i *server) versionsOf(database int) *rowVersions {
	i.mu.Lock()
	defer i.mu.Unlock()
	v := i.versions[database]
	if v == nil {
		v = &rowVersions{}
		i.versions[database] = v
	}
	return v
}

// forgetVersions ends the current reservations of rowversions of databases, because a rollback may
// have undone them.
func (i *server) forgetVersions(databases map[int]bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id := range databases {
		if v := i.versions[id]; v != nil {
			v.mu.Lock()
			v.limit = v.last
			v.mu.Unlock()
		}
	}
}

// nextRowVersion returns a new rowversion: eight bytes, big-endian.
func (s *core) nextRowVersion(ctx context.Context, database int) (types.Value, error) {
	v := s.inst.versionsOf(database)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last >= v.limit {
		if err := s.reserveVersions(ctx, v, database); err != nil {
			return nil, err
		}
	}
	v.last++
	return binary.BigEndian.AppendUint64(nil, v.last), nil
}

// lastRowVersion returns the last rowversion that a database has used. After a start of the server
// that is the last one that was reserved.
func (s *core) lastRowVersion(ctx context.Context, database int) ([]byte, error) {
	v := s.inst.versionsOf(database)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.last == 0 {
		if err := s.conn.Use(ctx, database); err != nil {
			return nil, err
		}
		if err := s.storedVersion(ctx, v, database); err != nil {
			return nil, err
		}
	}
	return binary.BigEndian.AppendUint64(nil, v.last), nil
}

// storedVersion reads the last rowversion that was reserved in the file of a database.
func (s *core) storedVersion(ctx context.Context, v *rowVersions, database int) error {
	table := catalog.SQLName(database) + "." + catalog.MetaTable
	row, err := s.conn.QueryRow(ctx, "SELECT value FROM "+table+" WHERE key = ?1",
		[]types.Value{catalog.MetaRowVersion})
	if isMissingObject(err) { // a system database has the table from its first definition on
		v.last, err = max(v.last, catalog.InitialRowVersion), nil
	}
	if err != nil {
		return err
	}
	if len(row) == 1 {
		if n, ok := row[0].(int64); ok {
			v.last = max(v.last, uint64(n))
		}
	}
	return nil
}

// reserveVersions reserves a block of rowversions in the file.
func (s *core) reserveVersions(ctx context.Context, v *rowVersions, database int) error {
	if database == 0 {
		v.limit = v.last + versionBlock
		return nil
	}
	if err := s.storedVersion(ctx, v, database); err != nil {
		return err
	}
	v.limit = v.last + versionBlock
	table := catalog.SQLName(database) + "." + catalog.MetaTable
	_, err := s.conn.Exec(ctx, "INSERT OR REPLACE INTO "+table+"(key, value) VALUES (?1, ?2)",
		[]types.Value{catalog.MetaRowVersion, int64(v.limit)})
	return err
}
