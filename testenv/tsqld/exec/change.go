package exec

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// rowChanges executes statements that change rows: INSERT, UPDATE, DELETE, MERGE and bulk loads.
type rowChanges struct{ *run }

// change executes INSERT, UPDATE, DELETE and MERGE.
func (r rowChanges) change(st syntax.Stmt) error {
	if ins, ok := st.(*syntax.InsertStmt); ok {
		if src, ok := ins.Source.(*syntax.InsertExec); ok {
			return r.insertExec(ins, src)
		}
	}
	if ref := currentOf(st); ref != nil {
		return cursors(r).changeCurrent(st, ref)
	}
	dml, err := r.changePlan(st, false)
	if err != nil {
		return err
	}
	if err := transactions(r).startImplicitly(); err != nil {
		return err
	}
	n, err := r.changeBy(dml, nil)
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandOf(st))
}

// limited returns a statement that SET ROWCOUNT limits to a number of rows, with TOP; 0 means no
// limit. A statement with a TOP of its own is not limited ("SET ROWCOUNT (Transact-SQL)").
func limited(st syntax.Stmt, rows int64) syntax.Stmt {
	if rows == 0 {
		return st
	}
	switch st := st.(type) {
	case *syntax.InsertStmt:
		if st.Top != nil {
			return st
		}
		switch source := st.Source.(type) {
		case *syntax.InsertDefaults:
			return st // one row
		case *syntax.InsertValues:
			c, values := *st, *source
			values.Rows = values.Rows[:min(rows, int64(len(values.Rows)))]
			c.Source = &values
			return &c
		case *syntax.InsertQuery:
			if s, ok := source.Query.Body.(*syntax.Select); ok && s.Top != nil {
				return st
			}
		}
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.UpdateStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.DeleteStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	case *syntax.MergeStmt:
		c := *st
		return withTop(&c, &c.Top, rows)
	}
	return st
}

// withTop gives st TOP (rows) unless it has a TOP. top is its field.
func withTop(st syntax.Stmt, top **syntax.Top, rows int64) syntax.Stmt {
	if *top == nil {
		*top = &syntax.Top{Count: &syntax.Literal{Kind: syntax.IntLit, Text: strconv.FormatInt(rows, 10)}, Paren: true}
	}
	return st
}

// changePlan returns the cached plan of a statement, or compiles the statement. checked tells
// whether WHERE CURRENT OF requires an unchanged row.
func (r rowChanges) changePlan(st syntax.Stmt, checked bool) (*compile.DML, error) {
	key := unit.PlanKey{Node: st, Kind: unit.PlanChange, Rows: r.s.Options.RowCount, Checked: checked}
	if p := r.f.unit.Find(r.s.Session, scope{r.run}, key); p != nil {
		return p.(*compile.DML), nil
	}
	var dml *compile.DML
	var err error
	c := r.compiler()
	switch st := limited(st, r.s.Options.RowCount).(type) {
	case *syntax.InsertStmt:
		dml, err = c.Insert(st)
	case *syntax.UpdateStmt:
		dml, err = c.Update(st, checked)
	case *syntax.DeleteStmt:
		dml, err = c.Delete(st, checked)
	case *syntax.MergeStmt:
		dml, err = c.Merge(st)
	}
	if err != nil {
		return nil, failure.Compile(err)
	}
	r.f.unit.Keep(r.s.Session, scope{r.run}, key, dml, &dml.Needs)
	return dml, nil
}

// changeBy executes a plan as an atomic statement. row has the values for a plan of InsertRows, or
// the identity of the row of WHERE CURRENT OF.
func (r rowChanges) changeBy(dml *compile.DML, row []types.Value) (n int64, err error) {
	if err := r.checkTarget(dml); err != nil {
		return 0, err
	}
	do := func() error {
		n, err = r.apply(dml, row)
		return err
	}
	switch {
	case dml.Database == 0 && dml.IntoDatabase == 0:
		err = queries(r).withSequences(&dml.Needs, func() error { return r.changeLocal(dml, do) })
	case dml.Fires:
		fire := triggers(r).withTriggers(dml, func() (int64, error) {
			err := do()
			return n, err
		})
		err = triggers(r).inTransaction(func() error { return r.s.AtomicPast(r.ctx, dml.Databases, r.past(dml), true, fire) })
	default:
		err = r.s.AtomicPast(r.ctx, dml.Databases, r.past(dml), isMultiStatement(dml), do)
	}
	switch {
	case !errors.Is(err, session.ErrSkipped):
		return n, err
	case dml.NeedsPastRows:
		return 0, r.changeNoRows(dml)
	}
	return r.changeBy(dml.PastPlan, row)
}

// past returns the databases for whose locks a plan does not wait (READPAST).
func (r rowChanges) past(dml *compile.DML) []int {
	if dml.NeedsPastRows || dml.PastPlan != nil && r.changesTableVar(dml) {
		return dml.ReadPast
	}
	return nil
}

// changeNoRows executes a statement that finds no rows because of READPAST.
func (r rowChanges) changeNoRows(dml *compile.DML) error {
	if err := identities(r).permit(dml.Uses); err != nil {
		return err
	}
	if dml.Output == nil {
		return nil
	}
	return r.columns(dml.Output.Columns)
}

// isMultiStatement reports whether a plan needs more than one SQLite statement for its changes.
func isMultiStatement(dml *compile.DML) bool {
	return len(dml.Prepare)+len(dml.Apply) > 1 || dml.Identity != nil || dml.IdentityGiven ||
		dml.Output != nil && !dml.OutputRows
}

// checkTarget returns an error if the targets of a plan do not allow the statement.
func (r rowChanges) checkTarget(dml *compile.DML) error {
	if err := r.checkTargetWrite(dml); err != nil {
		return err
	}
	if dml.Output != nil && dml.Database != 0 && slices.ContainsFunc(dml.Target.Triggers, func(tr *catalog.Trigger) bool {
		return slices.ContainsFunc(dml.Actions, tr.Fires)
	}) {
		return failure.Compile(mserr.OutputTargetTriggers(dml.Target.Name))
	}
	if dml.Into != nil && dml.IntoDatabase != 0 &&
		slices.ContainsFunc(dml.Into.Triggers, func(tr *catalog.Trigger) bool { return !tr.Disabled }) {
		return failure.Compile(mserr.OutputIntoTriggers(dml.Into.Name))
	}
	return nil
}

// checkTargetWrite is checkTarget for a statement that fires no triggers.
func (r rowChanges) checkTargetWrite(dml *compile.DML) error {
	for _, t := range []struct {
		table *catalog.Table
		id    int
	}{{dml.Target, dml.Database}, {dml.Into, dml.IntoDatabase}} {
		if t.table == nil {
			continue
		}
		if err := r.s.CheckIndexOptions(dml.Kind, t.table); err != nil {
			return err
		}
		if tv := r.f.tableVar(t.table.Name); tv != nil && tv.table == t.table && tv.readOnly {
			return mserr.New(10700, 16, "The table-valued parameter \"%s\" is READONLY and cannot be modified.",
				tv.name)
		}
		if t.id == 0 {
			continue
		}
		d := r.s.DatabaseByID(t.id)
		if d != nil && d.Options.ReadOnly {
			return mserr.ReadOnlyDatabase(d.Name)
		}
	}
	if err := r.s.readPastAllowed(&dml.Needs); err != nil {
		return err
	}
	if r.s.Options.Isolation == syntax.Snapshot {
		return r.s.SnapshotAllowed(dml.Databases)
	}
	return nil
}

// changesTableVar reports whether a plan changes a table variable outside a SQLite transaction.
func (r rowChanges) changesTableVar(dml *compile.DML) bool {
	return !r.s.Tran.Begun && dml.Target != nil && strings.HasPrefix(dml.Target.Name, "@")
}

// changeLocal executes a change of temporary tables or table variables only. The change needs no
// lock. If no SQLite transaction is open, a plan of several statements runs in its own transaction.
func (r rowChanges) changeLocal(dml *compile.DML, do func() error) error {
	s := r.s
	if len(dml.Databases) > 0 {
		if err := s.beginRead(r.ctx, &dml.Needs, r.f.unit, len(r.past(dml)) > 0, !r.changesTableVar(dml)); err != nil {
			return err
		}
	}
	if r.changesTableVar(dml) {
		return r.s.LocalTransaction(r.ctx, isMultiStatement(dml), do)
	}
	return r.s.LocalChangeOf(r.ctx, isMultiStatement(dml), do)
}

// apply runs the SQLite statements of a plan and returns the number of changed rows.
func (r rowChanges) apply(dml *compile.DML, row []types.Value) (int64, error) {
	s := r.s
	if err := identities(r).permit(dml.Uses); err != nil {
		return 0, err
	}
	if len(dml.Databases) > 0 && !s.Tran.Begun {
		if err := s.Conn.Use(r.ctx, dml.Databases...); err != nil {
			return 0, err
		}
	}
	for i := range dml.System {
		if err := queries(r).materialize(&dml.System[i]); err != nil {
			return 0, err
		}
	}
	if dml.Spool != nil {
		if err := s.Conn.EnsureTemp(r.ctx, dml.Spool.Name, dml.Spool.DDL); err != nil {
			return 0, err
		}
	}
	if dml.IdentityGiven {
		defer func(was explicitIdentity) { r.explicit = was }(r.explicit)
		r.explicit = explicitIdentity{}
	}
	rt := &compile.Run{Row: row}
	if dml.IntoFirst {
		if err := s.Conn.Savepoint(r.ctx, intoSavepoint); err != nil {
			return 0, err
		}
	}
	change := r.changeRows
	if dml.Position != nil {
		change = cursors(r).changePositioned
	}
	n, err := change(dml, rt)
	if err != nil {
		err = errors.Join(r.violation(dml, rt, transactions(r).updateConflict(dml, err)), r.finishSpool(dml, rt))
		if dml.IntoFirst && s.Conn.InTransaction() {
			err = errors.Join(err, s.Conn.RollbackTo(intoSavepoint), s.Conn.ReleaseSavepoint(intoSavepoint))
		}
		return 0, err
	}
	if dml.IntoFirst {
		return n, s.Conn.ReleaseSavepoint(intoSavepoint)
	}
	return n, r.finishSpool(dml, rt)
}

// intoSavepoint is the savepoint of a plan that fills the target of OUTPUT INTO first. The rows of
// a failed statement must be removed from a table variable before the transaction ends, because the
// end of a transaction does not change table variables.
const intoSavepoint = "into"

// finishSpool empties the spool after a statement. After an error the rollback has usually emptied
// it already.
func (r rowChanges) finishSpool(dml *compile.DML, rt *compile.Run) error {
	for i := range dml.Finish {
		if _, err := r.step(&dml.Finish[i], rt); err != nil {
			return err
		}
	}
	return nil
}

// changeRows runs the SQLite statements of apply that change rows.
func (r rowChanges) changeRows(dml *compile.DML, rt *compile.Run) (n int64, err error) {
	n = -1
	inserted := int64(0)
	for i := range dml.Prepare {
		k, err := r.step(&dml.Prepare[i], rt)
		if err != nil {
			return 0, err
		}
		n = k
	}
	tried := n
	if dml.Identity != nil {
		if err := r.reserve(dml, rt, n); err != nil {
			return 0, err
		}
		if dml.Identity.Counted {
			end := r.s.Conn.Count(rt.Identity, dml.Identity.Increment)
			defer func() {
				if given := end(); err != nil && given > 0 {
					// a failed statement uses up its identity values, too
					err = errors.Join(err, r.useIdentity(dml, rt, given))
				}
			}()
		}
	}
	if dml.IntoIdentity != nil {
		if err := r.reserveInto(dml, rt); err != nil {
			return 0, err
		}
	}
	if dml.OutputRows {
		if n, err = r.outputRows(dml, rt); err != nil {
			return 0, err
		}
	} else {
		for i := range dml.Apply {
			k, err := r.applyStep(dml, i, rt)
			if err != nil {
				return 0, err
			}
			if len(dml.Prepare) == 0 && i == 0 {
				n = k
			}
			if dml.Identity != nil && i == dml.Identity.Step-1 {
				inserted = k
			}
			if dml.IntoIdentity != nil && i == dml.IntoStep {
				if err := r.storeIntoIdentity(dml, rt, k); err != nil {
					return 0, err
				}
			}
			if dml.IgnoreDups && i == 0 {
				n = k
			}
		}
	}
	for _, in := range dml.Instead {
		k, err := triggers(r).transitionRows(in, rt)
		if err != nil {
			return 0, err
		}
		if len(dml.Prepare) == 0 {
			n = k
		}
	}
	if dml.Identity == nil || dml.Identity.Step == 0 {
		inserted = n
	}
	if tried = max(tried, int64(dml.Tried)); dml.IgnoreDups && n < tried {
		inserted = tried // rows that are left out have used identity values
		if err := r.ignoredDuplicates(); err != nil {
			return 0, err
		}
	}
	if dml.Identity != nil {
		if err := r.storeLastIdentity(dml, rt, inserted); err != nil {
			return 0, err
		}
	}
	if dml.IdentityGiven && n > 0 {
		if err := r.storeExplicitIdentity(dml); err != nil {
			return 0, err
		}
	}
	if len(dml.Assign) > 0 {
		if err := r.assignFrom(dml, rt); err != nil {
			return 0, err
		}
	}
	if dml.Output != nil && !dml.OutputRows {
		if _, err := r.outputRows(dml, rt); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// applyStep runs the i-th statement of Apply. Those that change keys in two steps run together, as
// one change of each row.
func (r rowChanges) applyStep(dml *compile.DML, i int, rt *compile.Run) (n int64, err error) {
	switch {
	case dml.Shift > 0 && i == dml.Shift:
		return 0, nil // has run with the statement before
	case dml.Shift == 0 || i != dml.Shift-1:
		return r.step(&dml.Apply[i], rt)
	}
	shift := func() error {
		for k, side := range []captureSides{captureDeleted, captureInserted} {
			if r.capture != nil {
				r.capture.sides = side
			}
			if _, err := r.step(&dml.Apply[i+k], rt); err != nil {
				return err
			}
		}
		if r.capture != nil {
			r.capture.sides = captureBoth
		}
		return nil
	}
	if dml.Deferred {
		return 0, r.s.Conn.Deferred(r.ctx, shift)
	}
	return 0, shift()
}

// ignoredDuplicates sends the message of an INSERT that has left out rows because of
// IGNORE_DUP_KEY.
func (r rowChanges) ignoredDuplicates() error {
	return r.info(mserr.New(3604, 0, "Duplicate key was ignored."))
}

// step runs one SQLite statement of a plan.
func (r rowChanges) step(st *compile.Statement, rt *compile.Run) (int64, error) {
	args, err := st.Args(r.run, rt)
	if err != nil {
		return 0, err
	}
	return r.s.Conn.Exec(r.ctx, st.SQL, args)
}

// outputRows sends the rows of OUTPUT. The rows are collected first, because a statement that fails
// later must not send any.
func (r rowChanges) outputRows(dml *compile.DML, rt *compile.Run) (int64, error) {
	all, err := triggers(r).collectRows(&dml.Output.Statement, rt)
	if err != nil {
		return 0, err
	}
	if err := r.columns(dml.Output.Columns); err != nil {
		return 0, err
	}
	for _, row := range all {
		if err := r.out.Row(row); err != nil {
			return 0, err
		}
	}
	return int64(len(all)), nil
}

// assignFrom executes the assignments of UPDATE ... SET @v = x.
func (r rowChanges) assignFrom(dml *compile.DML, rt *compile.Run) error {
	args, err := dml.AssignFrom.Args(r.run, rt)
	if err != nil {
		return err
	}
	rows, err := r.s.Conn.Query(r.ctx, dml.AssignFrom.SQL, args)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := queries(r).assignRow(dml.Assign, rows.Row()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}
