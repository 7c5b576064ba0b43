package change

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Apply runs the SQLite statements of a plan and returns the number of changed rows.
func (x *Executor) Apply(p *plan.DML, row []types.Value) (int64, error) {
	s := x.s
	if err := x.host.Prepare(&p.Needs); err != nil {
		return 0, err
	}
	if p.Spool != nil {
		if err := s.Conn.Temps.Ensure(x.ctx, p.Spool.Name, p.Spool.DDL); err != nil {
			return 0, err
		}
	}
	if p.IdentityGiven {
		defer func(was explicitIdentity) { x.explicit = was }(x.explicit)
		x.explicit = explicitIdentity{}
	}
	rt := &tree.Run{Row: row}
	if p.IntoFirst {
		if err := s.Conn.Savepoint(x.ctx, intoSavepoint); err != nil {
			return 0, err
		}
	}
	change := x.changeRows
	if p.Position != nil {
		change = x.changePositioned
	}
	n, err := change(p, rt)
	if err != nil && x.dry {
		return 0, err
	}
	if err != nil {
		err = errors.Join(x.violation(p, rt, updateConflict(x.s, p, err)), x.finishSpool(p, rt))
		if p.IntoFirst && s.Conn.InTransaction() {
			err = errors.Join(err, s.Conn.RollbackTo(intoSavepoint), s.Conn.ReleaseSavepoint(intoSavepoint))
		}
		return 0, err
	}
	if p.IntoFirst {
		return n, s.Conn.ReleaseSavepoint(intoSavepoint)
	}
	return n, x.finishSpool(p, rt)
}

// intoSavepoint is the savepoint of a plan that fills the target of OUTPUT INTO first. The rows of
// a failed statement must be removed from a table variable before the transaction ends, because the
// end of a transaction does not change table variables.
const intoSavepoint = "into"

// finishSpool empties the spool after a statement. After an error the rollback has usually emptied
// it already.
func (x *Executor) finishSpool(p *plan.DML, rt *tree.Run) error {
	for i := range p.Finish {
		if _, err := x.step(&p.Finish[i], rt); err != nil {
			return err
		}
	}
	return nil
}

// changeRows runs the SQLite statements of Apply that change rows.
func (x *Executor) changeRows(p *plan.DML, rt *tree.Run) (n int64, err error) {
	n = -1
	inserted := int64(0)
	for i := range p.Prepare {
		k, err := x.step(&p.Prepare[i], rt)
		if err != nil {
			return 0, err
		}
		n = k
	}
	tried := n
	if p.Identity != nil {
		if err := x.reserve(p, rt, n); err != nil {
			return 0, err
		}
		if p.Identity.Counted {
			end := x.s.Conn.Count(rt.Identity, p.Identity.Increment)
			defer func() {
				if given := end(); err != nil && given > 0 {
					// a failed statement uses up its identity values, too
					err = errors.Join(err, x.useIdentity(p, rt, given))
				}
			}()
		}
	}
	if p.IntoIdentity != nil {
		if rt.IntoIdentity, err = x.s.Counters.NextIdentity(x.ctx, p.IntoDatabase, p.Into, p.IntoIdentity.Identity); err != nil {
			return 0, err
		}
	}
	if p.OutputRows {
		if n, err = x.outputRows(p, rt); err != nil {
			return 0, err
		}
	} else {
		for i := range p.Apply {
			k, err := x.applyStep(p, i, rt)
			if err != nil {
				return 0, err
			}
			if len(p.Prepare) == 0 && i == 0 {
				n = k
			}
			if p.Identity != nil && i == p.Identity.Step-1 {
				inserted = k
			}
			if p.IntoIdentity != nil && i == p.IntoStep {
				if err := x.storeIntoIdentity(p, rt, k); err != nil {
					return 0, err
				}
			}
			if p.IgnoreDups && i == 0 {
				n = k
			}
		}
	}
	for _, in := range p.Instead {
		k, err := x.transitionRows(in, rt)
		if err != nil {
			return 0, err
		}
		if len(p.Prepare) == 0 {
			n = k
		}
	}
	if p.Identity == nil || p.Identity.Step == 0 {
		inserted = n
	}
	if tried = max(tried, int64(p.Tried)); p.IgnoreDups && n < tried {
		inserted = tried // rows that are left out have used identity values
		if err := x.ignoredDuplicates(); err != nil {
			return 0, err
		}
	}
	if p.Identity != nil {
		if err := x.storeLastIdentity(p, rt, inserted); err != nil {
			return 0, err
		}
	}
	if p.IdentityGiven && n > 0 {
		if err := x.storeExplicitIdentity(p); err != nil {
			return 0, err
		}
	}
	if p.Kind == "INSERT" && p.Identity == nil && !p.IdentityGiven && len(p.Instead) == 0 && !x.dry {
		// "If the statement didn't affect any tables with identity columns, @@IDENTITY returns
		// NULL" (documentation of @@IDENTITY), as does SCOPE_IDENTITY (SQL Server 2025, recorded).
		x.s.LastIdentity, *x.host.Activation().Identity = nil, nil
	}
	if len(p.Assign) > 0 && !x.dry {
		if err := x.assignFrom(p, rt); err != nil {
			return 0, err
		}
	}
	if p.Output != nil && !p.OutputRows {
		if _, err := x.outputRows(p, rt); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// applyStep runs the i-th statement of Apply. Those that change keys in two steps run together, as
// one change of each row.
func (x *Executor) applyStep(p *plan.DML, i int, rt *tree.Run) (n int64, err error) {
	switch {
	case p.Shift > 0 && i == p.Shift:
		return 0, nil // has run with the statement before
	case p.Shift == 0 || i != p.Shift-1:
		return x.step(&p.Apply[i], rt)
	}
	shift := func() error {
		for k, side := range []captureSides{captureDeleted, captureInserted} {
			if x.capture != nil {
				x.capture.sides = side
			}
			if _, err := x.step(&p.Apply[i+k], rt); err != nil {
				return err
			}
		}
		if x.capture != nil {
			x.capture.sides = captureBoth
		}
		return nil
	}
	if p.Deferred {
		return 0, store.Deferred(x.ctx, x.s.Conn, shift)
	}
	return 0, shift()
}

// ignoredDuplicates sends the message of an INSERT that has left out rows because of
// IGNORE_DUP_KEY.
func (x *Executor) ignoredDuplicates() error {
	if x.dry {
		return nil
	}
	return x.host.Info(mserr.Of(3604))
}

// step runs one SQLite statement of a plan.
func (x *Executor) step(st *plan.Statement, rt *tree.Run) (int64, error) {
	args, err := st.Args(x.frame, rt)
	if err != nil {
		return 0, err
	}
	return x.s.Conn.Exec(x.ctx, st.SQL, args)
}

// outputRows sends the rows of OUTPUT. The rows are collected first, because a statement that fails
// later must not send any.
func (x *Executor) outputRows(p *plan.DML, rt *tree.Run) (int64, error) {
	all, err := x.collect(&p.Output.Statement, rt)
	if err != nil {
		return 0, err
	}
	if x.dry {
		return int64(len(all)), nil
	}
	if err := x.host.Columns(p.Output.Columns); err != nil {
		return 0, err
	}
	for _, row := range all {
		if err := x.out.Row(row); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}

// assignFrom executes the assignments of UPDATE ... SET @v = x.
func (x *Executor) assignFrom(p *plan.DML, rt *tree.Run) error {
	args, err := p.AssignFrom.Args(x.frame, rt)
	if err != nil {
		return err
	}
	return x.s.Conn.Each(x.ctx, p.AssignFrom.SQL, args, func(row []types.Value) error { return x.host.Assign(p.Assign, row) })
}

// collect returns copies of the rows of a statement.
func (x *Executor) collect(st *plan.Statement, rt *tree.Run) ([][]types.Value, error) {
	args, err := st.Args(x.frame, rt)
	if err != nil {
		return nil, err
	}
	return session.CopyRows(x.ctx, x.s.Conn, x.s.Meter(), st.SQL, args)
}

// updateConflict returns error 3960 in place of SQLite's error about a write to a database that
// another session has changed since the snapshot was taken.
func updateConflict(s *session.Session, p *plan.DML, err error) error {
	if !s.Tran.ReadsSnapshot() || !errors.Is(err, store.ErrBusy) {
		return err
	}
	table, id := p.Target, p.Database
	if id == 0 {
		table, id = p.Into, p.IntoDatabase
	}
	d := s.DatabaseByID(id)
	if d == nil || table == nil {
		return err
	}
	name := table.Name
	if schema := d.SchemaByID(table.SchemaID); schema != nil {
		name = schema.Name + "." + name
	}
	return mserr.UpdateConflict(name, d.Name)
}
