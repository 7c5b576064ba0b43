package change

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// reserve sets the first identity value of a statement. prepared is the row count of its Prepare
// step.
func (x *Executor) reserve(p *plan.DML, rt *tree.Run, prepared int64) error {
	need := p.Identity
	var err error
	if rt.Identity, err = x.s.Counters.NextIdentity(x.ctx, p.Database, p.Target, need.Identity); err != nil {
		return err
	}
	rows := int64(need.Rows)
	if rows < 0 && len(p.Prepare) > 0 && need.Step == 0 {
		rows = prepared
	}
	if rows > 0 {
		return x.useIdentity(p, rt, rows)
	}
	return nil
}

// useIdentity marks identity values as used.
func (x *Executor) useIdentity(p *plan.DML, rt *tree.Run, rows int64) error {
	need := p.Identity
	return x.s.Counters.UseIdentity(p.Database, p.Target, need.Column, rt.Identity+(rows-1)*need.Increment)
}

// storeIntoIdentity marks the identity values of n rows of OUTPUT INTO as used. SCOPE_IDENTITY()
// keeps the value of the target.
func (x *Executor) storeIntoIdentity(p *plan.DML, rt *tree.Run, n int64) error {
	if n <= 0 {
		return nil
	}
	need := p.IntoIdentity
	last := rt.IntoIdentity + (n-1)*need.Increment
	if err := x.s.Counters.UseIdentity(p.IntoDatabase, p.Into, need.Column, last); err != nil {
		return err
	}
	return x.s.Counters.StoreIdentity(x.ctx, p.IntoDatabase, p.Into, last)
}

// storeLastIdentity stores the last identity value after n rows were inserted, and sets @@IDENTITY
// and SCOPE_IDENTITY().
func (x *Executor) storeLastIdentity(p *plan.DML, rt *tree.Run, n int64) error {
	if n <= 0 {
		return nil
	}
	need := p.Identity
	if need.Rows < 0 && (len(p.Prepare) == 0 || need.Step > 0) {
		if err := x.useIdentity(p, rt, n); err != nil {
			return err
		}
	}
	last := rt.Identity + (n-1)*need.Increment
	x.setIdentity(last)
	return x.s.Counters.StoreIdentity(x.ctx, p.Database, p.Target, last)
}

// setIdentity sets @@IDENTITY and SCOPE_IDENTITY(). Table variables count, too.
func (x *Executor) setIdentity(last int64) {
	if x.dry {
		return
	}
	v := types.Value(strconv.FormatInt(last, 10)) // decimal(38,0)
	x.s.LastIdentity, *x.host.Activation().Identity = v, v
}

// explicitIdentity holds the identity values that a statement inserts under IDENTITY_INSERT.
type explicitIdentity struct {
	any             bool
	last, low, high int64
}

// record records one explicit identity value. It is called in the order of the rows.
func (g *explicitIdentity) record(v types.Value) (types.Value, error) {
	n, ok := v.(int64)
	if !ok {
		if v == nil { // the column rejects NULL later
			return nil, nil
		}
		return nil, mserr.NotSupported("IDENTITY_INSERT into a column of more than 18 digits")
	}
	if !g.any {
		*g = explicitIdentity{any: true, low: n, high: n}
	}
	g.last, g.low, g.high = n, min(g.low, n), max(g.high, n)
	return v, nil
}

// storeExplicitIdentity sets @@IDENTITY and SCOPE_IDENTITY() to the last explicit value of a
// statement. It advances the counter to the furthest explicit value if that is beyond the counter.
func (x *Executor) storeExplicitIdentity(p *plan.DML) error {
	g := x.explicit
	if !g.any {
		return nil
	}
	x.setIdentity(g.last)
	auto := p.Target.IdentityColumn().Auto
	furthest := g.high
	if auto.Increment < 0 {
		furthest = g.low
	}
	c, err := x.s.Counters.Identity(x.ctx, p.Database, p.Target)
	if err != nil {
		return err
	}
	if c.Used && (auto.Increment > 0 && furthest <= c.Last || auto.Increment < 0 && furthest >= c.Last) {
		return nil
	}
	x.s.Counters.Draw(x.s.Counters.IdentityKey(p.Database, p.Target), session.Counter{Last: furthest, Used: true})
	return x.s.Counters.StoreIdentity(x.ctx, p.Database, p.Target, furthest)
}
