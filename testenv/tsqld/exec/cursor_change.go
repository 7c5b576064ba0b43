package exec

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
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
func (r *run) changeCurrent(st syntax.Stmt, ref *syntax.CursorRef) error {
	c, err := r.findCursor(ref)
	switch {
	case err != nil:
		return err
	case !c.open:
		return mserr.CursorNotOpen()
	case c.readOnly:
		return mserr.CursorReadOnly()
	}
	dml, err := r.changePlan(st, c.def.Concurrency != "SCROLL_LOCKS")
	if err != nil {
		return err
	}
	t, err := r.targetOf(c, dml.Position)
	if err != nil {
		return err
	}
	if up, ok := st.(*syntax.UpdateStmt); ok && !c.updates(up.Sets) {
		return mserr.CursorColumn()
	}
	identity, err := c.identity(t)
	if err != nil {
		return err
	}
	if err := r.startImplicitly(); err != nil {
		return err
	}
	n, err := r.changeBy(dml, identity)
	if err != nil {
		return err
	}
	if err := r.noteChange(c, dml, t, identity); err != nil {
		return err
	}
	return r.done(n, commandOf(st))
}

// targetOf returns the table of a cursor that a statement changes. A table that the cursor reads
// several times is its first use, as message 16961 says. Errors: 16933, 16943.
func (r *run) targetOf(c *cursor, p *compile.Position) (*compile.CursorTable, error) {
	var found *compile.CursorTable
	for i := range c.tables {
		t := &c.tables[i]
		switch {
		case t.DatabaseID != p.DatabaseID || t.ObjectID != p.ObjectID || !t.Updates:
		case found == nil:
			found = t
		default:
			return found, r.info(mserr.CursorFirstInstance())
		}
	}
	switch {
	case found == nil:
		return nil, mserr.CursorTable()
	case !slices.Equal(found.Identity, p.Identity):
		return nil, mserr.CursorSchemaChanged()
	}
	return found, nil
}

// updates reports whether FOR UPDATE OF lists all columns that SET assigns.
func (c *cursor) updates(sets []*syntax.SetClause) bool {
	list := c.def.UpdateColumns
	return len(list) == 0 || !slices.ContainsFunc(sets, func(s *syntax.SetClause) bool {
		return s.Column != nil && !slices.ContainsFunc(list, func(id syntax.Ident) bool {
			return session.EqualNames(id.Name, s.Column.Column())
		})
	})
}

// identity returns a copy of the values that identify the current row of a table. Errors: 16931 for
// a cursor that is not on a row, 16947 for a row that does not exist.
func (c *cursor) identity(t *compile.CursorTable) ([]types.Value, error) {
	if c.place == nil {
		return nil, mserr.CursorNoRow()
	}
	values := slices.Clone(c.place[t.At : t.At+1+len(t.Identity)])
	if c.gone || values[0] == nil {
		return nil, mserr.CursorRowGone()
	}
	return values, nil
}

// changePositioned is changeRows for WHERE CURRENT OF. It reads the new identity of the row into
// rt.Row; the rowid is nil if it is unknown. Error 16947 if the row is not found, after message
// 16934 if the row may have changed.
func (r *run) changePositioned(dml *compile.DML, rt *compile.Run) (int64, error) {
	p := dml.Position
	rowID := []types.Value{rt.Row[0]}
	if p.NewRowID.SQL != "" {
		rows, err := r.collectRows(&p.NewRowID, rt)
		if err != nil {
			return 0, err
		}
		if len(rows) > 0 {
			rowID = rows[0]
		}
	}
	n, err := r.changeRows(dml, rt)
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
	rows, err := r.collectRows(&p.Read, rt)
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

// noteChange records the new values of the current row after a change through the cursor: "if an
// update is performed with WHERE CURRENT OF, the new values are visible" (documentation of DECLARE
// CURSOR, KEYSET).
func (r *run) noteChange(c *cursor, dml *compile.DML, t *compile.CursorTable, identity []types.Value) error {
	if dml.Kind == "DELETE" {
		c.gone = true
		return nil
	}
	if identity[0] == nil {
		c.gone = true
		return nil
	}
	place := slices.Clone(c.place)
	copy(place[t.At:], identity)
	if c.kind == compile.CursorKeyset {
		copy(c.rows[c.pos-1], place)
	}
	return r.s.setPlace(c, place)
}
