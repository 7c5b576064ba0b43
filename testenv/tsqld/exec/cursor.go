package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/cursor"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/unit"
)

// cursors executes statements over cursors.
type cursors struct{ *run }

// boundCursor is a cursor with the scope of its declaration.
type boundCursor struct {
	*cursor.Cursor
	def        *syntax.CursorDef
	node       syntax.Node          // key of the plans
	declaredIn *frame               // frame of the declaration
	database   int                  // current database at the declaration
	vars       map[string]*variable // variables of the query, with their values at the declaration
	unit       *unit.Unit
	held       int64 // size of vars as counted by the session's meter
}

// newCursor returns a cursor with a definition. The values of variables in the query are those of
// the declaration: "cursor variable values don't change after a cursor is declared" (documentation
// of DECLARE CURSOR). Errors: 1048, 16957.
func (r cursors) newCursor(node syntax.Node, def *syntax.CursorDef) (*boundCursor, error) {
	inner, err := cursor.New(r.s.Session, def)
	if err != nil {
		return nil, err
	}
	c := &boundCursor{Cursor: inner, def: def, node: node, declaredIn: r.f, database: r.s.DatabaseID, unit: r.f.unit}
	err = r.keepVariables(c)
	if err == nil {
		err = r.convertCursor(c)
	}
	if err != nil {
		r.s.dropCursor(c)
		return nil, err
	}
	return c, nil
}

// convertCursor compiles a cursor's query and sets the kind that the query allows. Error 16957.
func (r cursors) convertCursor(c *boundCursor) error {
	p, err := cursorQuery{r.run, c}.Plan(compile.CursorOpen, compile.CursorWhole)
	if err != nil {
		return err
	}
	told, err := c.Convert(p)
	if err != nil || !told {
		return err
	}
	return r.info(mserr.CursorConverted())
}

// keepVariables copies the variables that a cursor's query names.
func (r cursors) keepVariables(c *boundCursor) error {
	syntax.Inspect(c.def.Query, func(n syntax.Node) bool {
		if v, ok := n.(*syntax.VarRef); ok {
			if x := r.f.variable(v.Name); x != nil && !x.isCur {
				if c.vars == nil {
					c.vars = map[string]*variable{}
				}
				held := *x
				held.size = 0
				c.vars[catalog.Fold(v.Name)] = &held
			}
		}
		return true
	})
	n := int64(0)
	for _, x := range c.vars {
		n += int64(session.PayloadSize(x.val))
	}
	c.held = n
	return r.s.Meter().Hold(n)
}

// declareCursor executes DECLARE name CURSOR, which sets @@ROWCOUNT to 1 (documentation of
// @@ROWCOUNT).
func (r cursors) declareCursor(st *syntax.DeclareCursorStmt) error {
	key := catalog.Fold(st.Name.Name)
	global := st.Cursor.Scope != "LOCAL" // the database option CURSOR_DEFAULT is always GLOBAL here
	m := &r.f.cursors
	if global {
		m = &r.s.cursors
	}
	if (*m)[key] != nil {
		return mserr.CursorExists(st.Name.Name)
	}
	c, err := r.newCursor(st, st.Cursor)
	if err != nil {
		return err
	}
	r.s.RowCount = 1
	if *m == nil {
		*m = map[string]*boundCursor{}
	}
	(*m)[key] = c
	return nil
}

// setCursor executes SET @c = CURSOR ....
func (r cursors) setCursor(st *syntax.SetVarStmt) error {
	v := r.f.variable(st.Name)
	if v == nil || !v.isCur {
		return failure.Compile(mserr.TypeClash("cursor", "variable"))
	}
	c, err := r.newCursor(st, st.Cursor)
	if err != nil {
		return err
	}
	r.rebind(v, c)
	return nil
}

// rebind makes a cursor that of a variable. A cursor without another name goes away.
func (r cursors) rebind(v *variable, c *boundCursor) {
	if v.cursor != nil && v.cursor != c && !r.s.isShared(v.cursor, r.f) {
		r.s.dropCursor(v.cursor)
	}
	v.cursor = c
}

// assignCursor executes SET @c = other cursor.
func (r cursors) assignCursor(v *variable, st *syntax.SetVarStmt) error {
	switch e := st.Value.(type) {
	case *syntax.VarRef:
		if o := r.f.variable(e.Name); o != nil && o.isCur {
			r.rebind(v, o.cursor)
			return nil
		}
	case *syntax.ColumnRef:
		if len(e.Parts) == 1 {
			c, err := r.findCursor(&syntax.CursorRef{Name: e.Column()})
			if err != nil {
				return err
			}
			r.rebind(v, c)
			return nil
		}
	}
	return failure.Compile(mserr.TypeClash("variable", "cursor"))
}

// findCursor returns the cursor of a reference.
func (r cursors) findCursor(ref *syntax.CursorRef) (*boundCursor, error) {
	if strings.HasPrefix(ref.Name, "@") {
		v := r.f.variable(ref.Name)
		if v == nil || v.cursor == nil {
			return nil, mserr.NoCursorAllocated(ref.Name)
		}
		return v.cursor, nil
	}
	key := catalog.Fold(ref.Name)
	if !ref.Global {
		if c := r.f.cursors[key]; c != nil {
			return c, nil
		}
	}
	if c := r.s.cursors[key]; c != nil {
		return c, nil
	}
	return nil, mserr.NoCursor(ref.Name)
}

// closeCursor executes CLOSE.
func (r cursors) closeCursor(st *syntax.CloseStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	return c.Close()
}

// deallocate executes DEALLOCATE.
func (r cursors) deallocate(st *syntax.DeallocateStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if !r.s.isShared(c, r.f) {
		r.s.dropCursor(c)
	}
	if strings.HasPrefix(st.Cursor.Name, "@") {
		r.f.variable(st.Cursor.Name).cursor = nil
		return nil
	}
	key := catalog.Fold(st.Cursor.Name)
	if !st.Cursor.Global && r.f.cursors[key] != nil {
		delete(r.f.cursors, key)
		return nil
	}
	delete(r.s.cursors, key)
	return nil
}

// closeCursorsOnEnd closes global cursors at the end of a transaction under CURSOR_CLOSE_ON_COMMIT.
// Without that option cursors stay open, even after ROLLBACK: it "closes only open asynchronous
// cursors that are not fully populated" (documentation of SET CURSOR_CLOSE_ON_COMMIT).
func (s *Session) closeCursorsOnEnd() {
	if !s.Options.CursorCloseOnCommit {
		return
	}
	for _, c := range s.cursors {
		c.End()
	}
}

// cursorStatus evaluates CURSOR_STATUS: 1 for an open cursor that has rows or is dynamic, 0 for an
// open empty one, -1 for a closed one, -2 for a variable without a cursor, -3 for no cursor.
func (r cursors) cursorStatus(scope, name string) int {
	var c *boundCursor
	switch strings.ToLower(scope) {
	case "variable":
		v := r.f.variable(name)
		if v == nil || !v.isCur {
			return -3
		}
		if c = v.cursor; c == nil {
			return -2
		}
	case "local":
		c = r.f.cursors[catalog.Fold(name)]
	case "global":
		c = r.s.cursors[catalog.Fold(name)]
	}
	if c == nil {
		return -3
	}
	return c.Status()
}

// dropCursor releases the memory of a cursor that goes away. A second call has no effect.
func (s *Session) dropCursor(c *boundCursor) {
	c.Discard()
	s.Meter().Drop(c.held)
	c.held = 0
}
