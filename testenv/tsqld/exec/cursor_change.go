package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// currentOf returns the cursor of WHERE CURRENT OF, or nil.
func currentOf(st syntax.Stmt) *syntax.CursorRef {
	switch st := st.(type) {
	case *syntax.UpdateStmt:
		return st.CurrentOf
	case *syntax.DeleteStmt:
		return st.CurrentOf
	}
	return nil
}

// changeCurrent executes an UPDATE or DELETE WHERE CURRENT OF. Without SCROLL_LOCKS the row must
// be as FETCH has read it.
func (r cursors) changeCurrent(st syntax.Stmt, ref *syntax.CursorRef) error {
	c, err := r.findCursor(ref)
	if err != nil {
		return err
	}
	if err := c.CheckChange(); err != nil {
		return err
	}
	dml, err := rowChanges(r).changePlan(st, c.Optimistic())
	if err != nil {
		return err
	}
	t, first, err := c.Target(dml.Position)
	if err == nil && first {
		err = r.info(mserr.CursorFirstInstance())
	}
	if err != nil {
		return err
	}
	if up, ok := st.(*syntax.UpdateStmt); ok && !c.Updates(up.Sets) {
		return mserr.CursorColumn()
	}
	identity, err := c.Identity(t)
	if err != nil {
		return err
	}
	if err := transactions(r).startImplicitly(); err != nil {
		return err
	}
	n, err := rowChanges(r).changeBy(dml, identity)
	if err != nil {
		return err
	}
	if err := c.NoteChange(dml, t, identity); err != nil {
		return err
	}
	return r.done(n, answer.CommandOf(st))
}

// changePositioned is changeRows for WHERE CURRENT OF. It reads the new identity of the row into
// rt.Row; the rowid is nil if it is unknown. Error 16947 if the row is not found, after message
// 16934 if the row may have changed.
func (r cursors) changePositioned(dml *compile.DML, rt *compile.Run) (int64, error) {
	p := dml.Position
	rowID := []types.Value{rt.Row[0]}
	if p.NewRowID.SQL != "" {
		rows, err := triggers(r).collectRows(&p.NewRowID, rt)
		if err != nil {
			return 0, err
		}
		if len(rows) > 0 {
			rowID = rows[0]
		}
	}
	n, err := rowChanges(r).changeRows(dml, rt)
	if err != nil {
		return 0, err
	}
	if n == 0 {
		f := &failure.Error{Err: mserr.CursorRowGone(), From: failure.AtRun}
		if p.Checked {
			f.Before = mserr.CursorRowChanged()
		}
		return 0, f
	}
	if dml.Kind == "DELETE" {
		return n, nil
	}
	rt.Row[0] = rowID[0]
	rows, err := triggers(r).collectRows(&p.Read, rt)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		rt.Row[0] = nil
		return n, nil
	}
	copy(rt.Row, rows[0])
	return n, nil
}
