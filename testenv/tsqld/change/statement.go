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
//
// A statement that meets a row of another session is undone, waits, and runs again. Nothing of it
// has been seen then: it sends its rows, assigns variables and fires triggers after its changes.
func (x *Executor) Change(p *plan.DML, row []types.Value) (n int64, err error) {
	for waited := false; ; waited = true {
		n, err = x.changeOnce(p, row)
		var locked *session.RowLocked
		if !errors.As(err, &locked) {
			x.s.Counters.Keep()
			if waited && err != nil {
				x.s.ReleaseRows()
			}
			return n, err
		}
		x.s.Counters.Return()
		if err := x.s.Parking.AwaitRow(x.ctx, locked); err != nil {
			x.s.ReleaseRows()
			return 0, err
		}
		x.s.StatementTime = 0
		x.Sequences.Forget()
	}
}

// changeOnce is Change without waiting for rows: the error is a [session.RowLocked].
func (x *Executor) changeOnce(p *plan.DML, row []types.Value) (n int64, err error) {
	if err := x.checkTarget(p); err != nil {
		return 0, err
	}
	tables := x.sharedTables(p)
	do := func() error {
		if tables != nil && len(p.ReadPast) == 0 {
			if err := x.tryRows(p, tables, row); err != nil {
				return err
			}
		}
		n, err = x.Apply(p, row)
		return err
	}
	sc := session.Scope{Databases: p.Databases, Past: x.past(p), Several: p.Fires || isMultiStatement(p), Rows: tables != nil}
	switch {
	case p.Database == 0 && p.IntoDatabase == 0:
		err = x.Sequences.Around(&p.Needs, func() error { return x.changeLocal(p, isMultiStatement(p), do) })
	case p.Fires:
		fire := x.withTriggers(p, func() (int64, error) {
			err := do()
			return n, err
		})
		err = x.inTransaction(func() error { return x.s.Atomic(x.ctx, sc, fire) })
	default:
		err = x.s.Atomic(x.ctx, sc, do)
	}
	if errors.Is(err, session.ErrSkipped) {
		return x.changePast(p, row)
	}
	return n, err
}

// changePast executes a statement for which all rows that it reads WITH (READPAST) are locked.
func (x *Executor) changePast(p *plan.DML, row []types.Value) (int64, error) {
	if p.NeedsPastRows {
		return 0, x.changeNoRows(p)
	}
	return x.Change(p.PastPlan, row)
}

// sharedTables returns the tables whose rows a statement may change, if other sessions can write to
// the database while the statement's transaction is open, or nil: see
// [session.Scope].
func (x *Executor) sharedTables(p *plan.DML) []*catalog.Table {
	if p.Database == 0 || p.Target == nil || p.Position != nil || !p.Shares() || len(p.Instead) > 0 || len(p.Databases) != 1 || p.Databases[0] != p.Database ||
		p.Into != nil && (p.IntoDatabase != 0 || p.Into.Name[0] != '@') {
		return nil
	}
	d := x.s.DatabaseByID(p.Database)
	if d == nil {
		return nil
	}
	return x.s.Server.RecordableFrom(d, p.Target)
}

// tryRows returns a [session.RowLocked] if the statement would change rows that only another
// session sees.
func (x *Executor) tryRows(p *plan.DML, tables []*catalog.Table, row []types.Value) error {
	capture, explicit := x.capture, x.explicit
	x.capture = nil // the changes of the other sessions are repeated
	err := x.s.Parking.TryRows(x.ctx, tables, func() error {
		x.capture, x.dry = &Capture{}, true
		_, err := x.Apply(p, row)
		x.dry = false
		return err
	})
	x.capture, x.explicit = capture, explicit
	x.s.Counters.Return()
	x.Sequences.Forget()
	return err
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
			return mserr.Of(10700, name)
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
func (x *Executor) changeLocal(p *plan.DML, several bool, do func() error) error {
	if len(p.Databases) > 0 {
		if err := x.host.BeginRead(&p.Needs, len(x.past(p)) > 0, !x.changesTableVar(p)); err != nil {
			return err
		}
	}
	if x.changesTableVar(p) {
		return x.s.LocalTransaction(x.ctx, several, do)
	}
	variables := p.Target != nil && p.Target.Name[0] == '@' && (p.Into == nil || p.Into.Name[0] == '@')
	return x.s.LocalChange(x.ctx, session.Scope{Several: several, Rows: variables}, do)
}
