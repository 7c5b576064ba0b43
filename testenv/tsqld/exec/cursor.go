package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// cursor is a cursor. A static cursor keeps the rows of its result, a keyset cursor their places,
// and a dynamic cursor only the place of its current row; see compile.CursorPlan.
type cursor struct {
	def        *syntax.CursorDef
	node       syntax.Node          // key of the plans
	declaredIn *frame               // frame of the declaration
	database   int                  // current database at the declaration
	vars       map[string]*variable // variables of the query, with their values at the declaration
	unit       *unit
	kind       compile.CursorKind
	scroll     bool
	global     bool
	readOnly   bool

	open   bool
	cols   []types.Column
	tables []compile.CursorTable
	parts  bool            // see compile.CursorPlan.Parts
	down   bool            // see compile.CursorPlan.Down
	rows   [][]types.Value // rows of a static cursor, places of a keyset cursor
	pos    int             // current row, from 1; 0 before the first row, len(rows)+1 after the last
	place  []types.Value   // place of the current row; nil before the first FETCH and after the last row
	gone   bool            // the current row does not exist any longer
	size   int64           // size of rows as counted by the session's meter
	kept   int64           // size of vars and place
}

// newCursor returns a cursor with a definition. The values of variables in the query are those of
// the declaration: "cursor variable values don't change after a cursor is declared" (documentation
// of DECLARE CURSOR). Errors: 1048, 16957.
func (r *run) newCursor(node syntax.Node, def *syntax.CursorDef) (*cursor, error) {
	if x, y := conflictingOptions(def); x != "" {
		return nil, failure.Compile(mserr.CursorOptions(x, y))
	}
	c := &cursor{def: def, node: node, declaredIn: r.f, database: r.s.DatabaseID, unit: r.f.unit, kind: requestedKind(def)}
	// Documentation of DECLARE CURSOR: a cursor is forward-only without SCROLL and without a kind
	// that scrolls.
	c.scroll = def.Scroll || def.Kind != "" && def.Kind != "FAST_FORWARD" && !def.ForwardOnly
	err := r.keepVariables(c)
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
func (r *run) convertCursor(c *cursor) error {
	p, err := r.cursorPlan(c, compile.CursorOpen)
	if err != nil {
		return err
	}
	def, converted := c.def, p.Kind != c.kind
	c.kind = p.Kind
	c.readOnly = c.kind == compile.CursorStatic || def.ReadOnly || def.Concurrency == "READ_ONLY"
	if def.ForUpdate && c.readOnly {
		return failure.Compile(mserr.UpdateReadOnlyCursor())
	}
	if converted && def.TypeWarning && def.Kind != "" {
		return r.info(mserr.CursorConverted())
	}
	return nil
}

// requestedKind returns the kind of cursor that a definition asks for. Without a kind, a cursor
// that scrolls is a keyset cursor, and any other one is dynamic. FAST_FORWARD cursors are static
// here: SQL Server chooses.
func requestedKind(def *syntax.CursorDef) compile.CursorKind {
	switch {
	case def.Insensitive, def.Kind == "STATIC", def.Kind == "FAST_FORWARD":
		return compile.CursorStatic
	case def.Kind == "KEYSET", def.Kind == "" && def.Scroll:
		return compile.CursorKeyset
	}
	return compile.CursorDynamic
}

// keepVariables copies the variables that a cursor's query names.
func (r *run) keepVariables(c *cursor) error {
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
	c.kept = n
	return r.s.Meter().Hold(n)
}

// conflictingOptions returns two options that exclude each other, or empty strings (documentation:
// DECLARE CURSOR).
func conflictingOptions(def *syntax.CursorDef) (x, y string) {
	fast := def.Kind == "FAST_FORWARD"
	switch {
	case def.Scroll && def.ForwardOnly:
		return "FORWARD_ONLY", "SCROLL"
	case fast && def.Scroll:
		return "FAST_FORWARD", "SCROLL"
	case fast && (def.Concurrency == "SCROLL_LOCKS" || def.Concurrency == "OPTIMISTIC"):
		return "FAST_FORWARD", def.Concurrency
	case fast && def.ForUpdate:
		return "FAST_FORWARD", "FOR UPDATE"
	case def.Kind == "STATIC" && def.Concurrency == "SCROLL_LOCKS":
		return "STATIC", "SCROLL_LOCKS"
	case def.Concurrency == "READ_ONLY" && def.ForUpdate:
		return "READ_ONLY", "FOR UPDATE"
	}
	return "", ""
}

// declareCursor executes DECLARE name CURSOR, which sets @@ROWCOUNT to 1 (documentation of
// @@ROWCOUNT).
func (r *run) declareCursor(st *syntax.DeclareCursorStmt) error {
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
	c.global = global
	r.s.RowCount = 1
	if *m == nil {
		*m = map[string]*cursor{}
	}
	(*m)[key] = c
	return nil
}

// setCursor executes SET @c = CURSOR ....
func (r *run) setCursor(st *syntax.SetVarStmt) error {
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
func (r *run) rebind(v *variable, c *cursor) {
	if v.cursor != nil && v.cursor != c && !r.s.isShared(v.cursor, r.f) {
		r.s.dropCursor(v.cursor)
	}
	v.cursor = c
}

// assignCursor executes SET @c = other cursor.
func (r *run) assignCursor(v *variable, st *syntax.SetVarStmt) error {
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
func (r *run) findCursor(ref *syntax.CursorRef) (*cursor, error) {
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
func (r *run) closeCursor(st *syntax.CloseStmt) error {
	r.s.RowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if !c.open {
		return mserr.CursorNotOpen()
	}
	c.open = false
	r.s.clearRows(c)
	return nil
}

// deallocate executes DEALLOCATE.
func (r *run) deallocate(st *syntax.DeallocateStmt) error {
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
		c.open = false
		s.clearRows(c)
	}
}

// cursorStatus evaluates CURSOR_STATUS: 1 for an open cursor that has rows or is dynamic, 0 for an
// open empty one, -1 for a closed one, -2 for a variable without a cursor, -3 for no cursor.
func (r *run) cursorStatus(scope, name string) int {
	var c *cursor
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
	switch {
	case c == nil:
		return -3
	case !c.open:
		return -1
	case len(c.rows) == 0 && c.kind != compile.CursorDynamic:
		return 0
	}
	return 1
}
