package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/trigger"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// rowChanges executes statements that change rows: INSERT, UPDATE, DELETE, MERGE and bulk loads.
// Package change applies their plans.
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
	n, err := r.changes.Change(dml, nil)
	if err != nil {
		return err
	}
	return r.done(n, answer.CommandOf(st))
}

// changePlan returns the cached plan of a statement, or compiles the statement. checked tells
// whether WHERE CURRENT OF requires an unchanged row.
func (r rowChanges) changePlan(st syntax.Stmt, checked bool) (*plan.DML, error) {
	key := unit.PlanKey{Node: st, Kind: unit.PlanChange, Rows: r.s.Options.RowCount, Checked: checked}
	if p := r.f.unit.Find(r.s.Session, scope{r.run}, key); p != nil {
		return p.(*plan.DML), nil
	}
	var dml *plan.DML
	var err error
	c := r.compiler()
	switch st := change.Limited(st, r.s.Options.RowCount).(type) {
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

// changeHost is a run as package change needs it.
type changeHost struct{ r *run }

// Prepare implements [change.Interpreter].
func (h changeHost) Prepare(n *plan.Needs) error {
	r := h.r
	if err := (identities{r}).permit(n.Uses); err != nil {
		return err
	}
	if len(n.Databases) > 0 && !r.s.Tran.Begun() {
		if err := r.s.Conn.Databases.Attach(r.ctx, n.Databases...); err != nil {
			return err
		}
	}
	for i := range n.System {
		if err := (queries{r}).materialize(&n.System[i]); err != nil {
			return err
		}
	}
	return nil
}

// BeginRead implements [change.Interpreter].
func (h changeHost) BeginRead(n *plan.Needs, skip, within bool) error {
	return h.r.s.beginRead(h.r.ctx, n, h.r.f.unit, skip, within)
}

// Assign implements [change.Interpreter].
func (h changeHost) Assign(list []plan.Assign, row []types.Value) error {
	return queries{h.r}.assignRow(list, row)
}

// Columns implements [change.Interpreter].
func (h changeHost) Columns(cols []types.Column) error { return h.r.columns(cols) }

// Info implements [change.Interpreter].
func (h changeHost) Info(m *mserr.Error) error { return h.r.info(m) }

// Fire implements [change.Interpreter].
func (h changeHost) Fire(p *plan.DML, c *change.Capture, n int64) error {
	return trigger.New(h.r.ctx, h.r.s.Session, triggers{h.r}).Fire(p, c, n)
}

// ReadOnly implements [change.Interpreter].
func (h changeHost) ReadOnly(t *catalog.Table) string {
	if tv := h.r.f.tableVar(t.Name); tv != nil && tv.table == t && tv.readOnly {
		return tv.name
	}
	return ""
}

// Activation implements [change.Interpreter].
func (h changeHost) Activation() change.Activation {
	return change.Activation{Owner: h.r.f.owner, Identity: &h.r.f.identity}
}
