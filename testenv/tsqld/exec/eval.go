package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// compiler returns a compiler for the run's scope.
func (r *run) compiler() *compile.Compiler { return compile.New(scope{r}) }

// eval evaluates an expression in its own type.
func (r *run) eval(e syntax.Expr) (types.Value, types.Type, error) {
	sc, err := r.scalar(e, types.Type{})
	if err != nil {
		return nil, types.Type{}, err
	}
	v, err := r.scalarValue(sc)
	return v, sc.Type, err
}

// value evaluates an expression and converts the result implicitly to a type.
func (r *run) value(e syntax.Expr, to types.Type) (types.Value, error) {
	sc, err := r.scalar(e, to)
	if err != nil {
		return nil, err
	}
	return r.scalarValue(sc)
}

// scalar returns the cached plan of an expression, or compiles the expression.
func (r *run) scalar(e syntax.Expr, to types.Type) (*plan.Scalar, error) {
	key := unit.PlanKey{Node: e, To: to, Kind: unit.PlanScalar}
	if p := r.f.unit.Find(r.s.Session, scope{r}, key); p != nil {
		return p.(*plan.Scalar), nil
	}
	sc, err := r.compiler().Scalar(e, to)
	if err != nil {
		return nil, failure.Compile(err)
	}
	r.keepScalar(key, sc)
	return sc, nil
}

// keepScalar caches a compiled expression.
func (r *run) keepScalar(key unit.PlanKey, sc *plan.Scalar) {
	needs := &plan.Needs{Snapshots: sc.Snapshots}
	if sc.Plan != nil {
		needs = &sc.Plan.Needs
	}
	r.f.unit.Keep(r.s.Session, scope{r}, key, sc, needs)
	sc.Snapshots = nil
}

// condition evaluates the condition of IF or WHILE. Unknown counts as false.
func (r *run) condition(c syntax.Cond) (bool, error) {
	defer r.s.Meter().Release(r.s.Meter().Mark())
	key := unit.PlanKey{Node: c, Kind: unit.PlanCondition}
	p := r.f.unit.Find(r.s.Session, scope{r}, key)
	if p == nil {
		sc, err := r.compiler().Condition(c)
		if err != nil {
			return false, failure.Compile(err)
		}
		r.keepScalar(key, sc)
		p = sc
	}
	v, err := r.scalarValue(p.(*plan.Scalar))
	if err != nil {
		return false, err
	}
	n, _ := v.(int64)
	return n != 0, nil
}

// scalarValue evaluates a compiled expression.
func (r *run) scalarValue(sc *plan.Scalar) (types.Value, error) {
	if sc.Plan == nil {
		if err := (identities{r}).permit(sc.Uses); err != nil {
			return nil, err
		}
		return sc.Value(r)
	}
	p, err := queries{r}.readable(sc.Plan)
	if err != nil {
		return nil, err
	}
	args, err := p.Args(r, nil)
	if err != nil {
		return nil, err
	}
	row, err := r.s.Conn.QueryRow(r.ctx, p.SQL, args)
	if err != nil || len(row) == 0 {
		return nil, err
	}
	return row[0], nil
}
