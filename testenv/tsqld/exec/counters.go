package exec

import (
	"math/big"
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// reserve sets the first identity value of a statement. prepared is the row count of its Prepare
// step.
func (r rowChanges) reserve(dml *compile.DML, rt *compile.Run, prepared int64) error {
	need := dml.Identity
	key := r.s.IdentityKey(dml.Database, dml.Target)
	c, err := r.s.CounterOf(r.ctx, key, session.IdentityLoad(dml.Database))
	if err != nil {
		return err
	}
	rt.Identity = need.Seed
	if c.Used {
		rt.Identity = c.Last + need.Increment
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
func (r rowChanges) useIdentity(dml *compile.DML, rt *compile.Run, rows int64) error {
	need := dml.Identity
	last := rt.Identity + (rows-1)*need.Increment
	if low, high := session.IntegerRange(need.Column.Type); last < low || last > high {
		return mserr.ArithmeticOverflow("IDENTITY", need.Column.Type.Name())
	}
	r.s.inst.SetCounter(r.s.IdentityKey(dml.Database, dml.Target), session.Counter{Last: last, Used: true})
	return nil
}

// reserveInto sets the first identity value for the rows of OUTPUT INTO.
func (r rowChanges) reserveInto(dml *compile.DML, rt *compile.Run) error {
	c, err := r.s.CounterOf(r.ctx, r.s.IdentityKey(dml.IntoDatabase, dml.Into), session.IdentityLoad(dml.IntoDatabase))
	if err != nil {
		return err
	}
	rt.IntoIdentity = dml.IntoIdentity.Seed
	if c.Used {
		rt.IntoIdentity = c.Last + dml.IntoIdentity.Increment
	}
	return nil
}

// storeIntoIdentity marks the identity values of n rows of OUTPUT INTO as used. SCOPE_IDENTITY()
// keeps the value of the target.
func (r rowChanges) storeIntoIdentity(dml *compile.DML, rt *compile.Run, n int64) error {
	if n <= 0 {
		return nil
	}
	need := dml.IntoIdentity
	last := rt.IntoIdentity + (n-1)*need.Increment
	if low, high := session.IntegerRange(need.Column.Type); last < low || last > high {
		return mserr.ArithmeticOverflow("IDENTITY", need.Column.Type.Name())
	}
	r.s.inst.SetCounter(r.s.IdentityKey(dml.IntoDatabase, dml.Into), session.Counter{Last: last, Used: true})
	return r.s.StoreIdentity(r.ctx, dml.IntoDatabase, dml.Into, last)
}

// storeLastIdentity stores the last identity value after n rows were inserted, and sets @@IDENTITY
// and SCOPE_IDENTITY().
func (r rowChanges) storeLastIdentity(dml *compile.DML, rt *compile.Run, n int64) error {
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
	return r.s.StoreIdentity(r.ctx, dml.Database, dml.Target, last)
}

// setIdentity sets @@IDENTITY and SCOPE_IDENTITY(). Table variables count, too.
func (r rowChanges) setIdentity(last int64) {
	v := types.Value(strconv.FormatInt(last, 10)) // decimal(38,0)
	r.s.LastIdentity, r.f.identity = v, v
}

// explicitIdentity holds the identity values that a statement inserts under IDENTITY_INSERT.
type explicitIdentity struct {
	any             bool
	last, low, high int64
}

// recordIdentity records one explicit identity value. It is called in the order of the rows.
func (r rowChanges) recordIdentity(v types.Value) (types.Value, error) {
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
func (r rowChanges) storeExplicitIdentity(dml *compile.DML) error {
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
	key := r.s.IdentityKey(dml.Database, dml.Target)
	c, err := r.s.CounterOf(r.ctx, key, session.IdentityLoad(dml.Database))
	if err != nil {
		return err
	}
	if c.Used && (auto.Increment > 0 && furthest <= c.Last || auto.Increment < 0 && furthest >= c.Last) {
		return nil
	}
	r.s.inst.SetCounter(key, session.Counter{Last: furthest, Used: true})
	return r.s.StoreIdentity(r.ctx, dml.Database, dml.Target, furthest)
}

// nextSequence evaluates NEXT VALUE FOR.
func (r rowChanges) nextSequence(database int, object int32) (types.Value, error) {
	s := r.s
	d := s.DatabaseByID(database)
	if d == nil {
		return nil, mserr.NoDatabase(strconv.Itoa(database))
	}
	q, ok := d.ObjectByID(object).(*catalog.Sequence)
	if !ok {
		return nil, mserr.NotSequence(strconv.Itoa(int(object)))
	}
	if !s.May(d, "UPDATE", catalog.Securable{Class: catalog.ClassObject, Major: int(object)}) &&
		(r.f.owner < 0 || d.Owner(q) != r.f.owner) {
		return nil, session.PermissionDenied(d, q, "UPDATE")
	}
	var v *big.Int
	draw := func() error {
		var err error
		v, err = r.s.DrawSequence(r.ctx, d, q)
		return err
	}
	var err error
	if s.Tran.Exclusive[database] {
		err = draw()
	} else {
		err = r.s.Atomic(r.ctx, []int{database}, false, draw)
	}
	if err != nil {
		return nil, err
	}
	return q.Value(v)
}
