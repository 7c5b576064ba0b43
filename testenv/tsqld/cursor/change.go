package cursor

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// CheckChange returns an error for a cursor through which no row can be changed. Errors: 16917,
// 16929.
func (c *Cursor) CheckChange() error {
	switch {
	case !c.open:
		return mserr.CursorNotOpen()
	case c.readOnly:
		return mserr.CursorReadOnly()
	}
	return nil
}

// Optimistic reports whether a row may only be changed if it is as FETCH has read it.
func (c *Cursor) Optimistic() bool { return !c.locks() }

// Target returns the table of a cursor that a statement changes. A table that the cursor reads
// several times is its first use; first then says that the client gets message 16961. Errors:
// 16933, 16943.
func (c *Cursor) Target(p *compile.Position) (found *compile.CursorTable, first bool, err error) {
	for i := range c.tables {
		t := &c.tables[i]
		switch {
		case t.DatabaseID != p.DatabaseID || t.ObjectID != p.ObjectID || !t.Updates:
		case found == nil:
			found = t
		default:
			return found, true, nil
		}
	}
	switch {
	case found == nil:
		return nil, false, mserr.CursorTable()
	case !slices.Equal(found.Identity, p.Identity):
		return nil, false, mserr.CursorSchemaChanged()
	}
	return found, false, nil
}

// Updates reports whether FOR UPDATE OF lists all columns that SET assigns.
func (c *Cursor) Updates(sets []*syntax.SetClause) bool {
	list := c.def.UpdateColumns
	return len(list) == 0 || !slices.ContainsFunc(sets, func(s *syntax.SetClause) bool {
		return s.Column != nil && !slices.ContainsFunc(list, func(id syntax.Ident) bool {
			return session.EqualNames(id.Name, s.Column.Column())
		})
	})
}

// Identity returns a copy of the values that identify the current row of a table. Errors: 16931 for
// a cursor that is not on a row, 16947 for a row that does not exist.
func (c *Cursor) Identity(t *compile.CursorTable) ([]types.Value, error) {
	if c.place == nil {
		return nil, mserr.CursorNoRow()
	}
	values := slices.Clone(c.place[t.At : t.At+1+len(t.Identity)])
	if c.gone || values[0] == nil {
		return nil, mserr.CursorRowGone()
	}
	return values, nil
}

// NoteChange records the new values of the current row after a change through the cursor: "if an
// update is performed with WHERE CURRENT OF, the new values are visible" (documentation of DECLARE
// CURSOR, KEYSET).
func (c *Cursor) NoteChange(dml *compile.DML, t *compile.CursorTable, identity []types.Value) error {
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
	return c.setPlace(place)
}
