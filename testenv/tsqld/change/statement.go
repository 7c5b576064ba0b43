package change

import (
	"errors"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Change executes a plan as an atomic statement, fires its triggers, and returns the number of
// changed rows. row is the identity of the row of WHERE CURRENT OF, which Change replaces by the
// new identity, or nil.
func (x *Executor) Change(p *plan.DML, row []types.Value) (n int64, err error) {
	if err := x.checkTarget(p); err != nil {
		return 0, err
	}
	do := func() error {
		n, err = x.Apply(p, row)
		return err
	}
	switch {
	case p.Database == 0 && p.IntoDatabase == 0:
		err = x.WithSequences(&p.Needs, func() error { return x.changeLocal(p, do) })
	case p.Fires:
		fire := x.withTriggers(p, func() (int64, error) {
			err := do()
			return n, err
		})
		err = x.inTransaction(func() error { return x.s.AtomicPast(x.ctx, p.Databases, x.past(p), true, fire) })
	default:
		err = x.s.AtomicPast(x.ctx, p.Databases, x.past(p), isMultiStatement(p), do)
	}
	switch {
	case !errors.Is(err, session.ErrSkipped):
		return n, err
	case p.NeedsPastRows:
		return 0, x.changeNoRows(p)
	}
	return x.Change(p.PastPlan, row)
}

// past returns the databases for whose locks a plan does not wait (READPAST).
func (x *Executor) past(p *plan.DML) []int {
	if p.NeedsPastRows || p.PastPlan != nil && x.changesTableVar(p) {
		return p.ReadPast
	}
	return nil
}

// changeNoRows executes a statement that finds no rows because of READPAST.
func (x *Executor) changeNoRows(p *plan.DML) error {
	if err := x.host.Prepare(&plan.Needs{Uses: p.Uses}); err != nil {
		return err
	}
	if p.Output == nil {
		return nil
	}
	return x.host.Columns(p.Output.Columns)
}

// isMultiStatement reports whether a plan needs more than one SQLite statement for its changes.
func isMultiStatement(p *plan.DML) bool {
	return len(p.Prepare)+len(p.Apply) > 1 || p.Identity != nil || p.IdentityGiven ||
		p.Output != nil && !p.OutputRows
}

// checkTarget returns an error if the targets of a plan do not allow the statement.
func (x *Executor) checkTarget(p *plan.DML) error {
	if err := x.checkTargetWrite(p); err != nil {
		return err
	}
	if p.Output != nil && p.Database != 0 && slices.ContainsFunc(p.Target.Triggers, func(tr *catalog.Trigger) bool {
		return slices.ContainsFunc(p.Actions, tr.Fires)
	}) {
		return failure.Compile(mserr.OutputTargetTriggers(p.Target.Name))
	}
	if p.Into != nil && p.IntoDatabase != 0 &&
		slices.ContainsFunc(p.Into.Triggers, func(tr *catalog.Trigger) bool { return !tr.Disabled }) {
		return failure.Compile(mserr.OutputIntoTriggers(p.Into.Name))
	}
	return nil
}

// checkTargetWrite is checkTarget for a statement that fires no triggers.
func (x *Executor) checkTargetWrite(p *plan.DML) error {
	for _, t := range []struct {
		table *catalog.Table
		id    int
	}{{p.Target, p.Database}, {p.Into, p.IntoDatabase}} {
		if t.table == nil {
			continue
		}
		if err := x.s.CheckIndexOptions(p.Kind, t.table); err != nil {
			return err
		}
		if name := x.host.ReadOnly(t.table); name != "" {
			return mserr.New(10700, 16, "The table-valued parameter \"%s\" is READONLY and cannot be modified.", name)
		}
		if t.id == 0 {
			continue
		}
		d := x.s.DatabaseByID(t.id)
		if d != nil && d.Options.ReadOnly {
			return mserr.ReadOnlyDatabase(d.Name)
		}
	}
	if err := x.s.ReadPastAllowed(p.ReadPast); err != nil {
		return err
	}
	if x.s.Options.Isolation == syntax.Snapshot {
		return x.s.SnapshotAllowed(p.Databases)
	}
	return nil
}

// changesTableVar reports whether a plan changes a table variable outside a SQLite transaction.
func (x *Executor) changesTableVar(p *plan.DML) bool {
	return !x.s.Tran.Begun() && p.Target != nil && strings.HasPrefix(p.Target.Name, "@")
}

// changeLocal executes a change of temporary tables or table variables only. The change needs no
// lock. If no SQLite transaction is open, a plan of several statements runs in its own transaction.
func (x *Executor) changeLocal(p *plan.DML, do func() error) error {
	if len(p.Databases) > 0 {
		if err := x.host.BeginRead(&p.Needs, len(x.past(p)) > 0, !x.changesTableVar(p)); err != nil {
			return err
		}
	}
	if x.changesTableVar(p) {
		return x.s.LocalTransaction(x.ctx, isMultiStatement(p), do)
	}
	return x.s.LocalChangeOf(x.ctx, isMultiStatement(p), do)
}
