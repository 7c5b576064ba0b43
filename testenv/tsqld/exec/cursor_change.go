package exec

import (
	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
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
	n, err := r.changes.Change(dml, identity)
	if err != nil {
		return err
	}
	if err := c.NoteChange(dml, t, identity); err != nil {
		return err
	}
	return r.done(n, answer.CommandOf(st))
}
