package exec

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// cursor is a cursor. Cursors are static: OPEN reads the whole result, and later changes of the
// tables are not visible. STATIC and INSENSITIVE require this; FAST_FORWARD allows it.
type cursor struct {
	def        *syntax.CursorDef
	node       syntax.Node // key of the plan
	declaredIn *frame      // frame of the declaration, whose variables OPEN reads; nil after its end
	unit       *unit
	scroll     bool
	global     bool

	open bool
	cols []types.Column
	rows [][]types.Value
	pos  int   // current row, from 1; 0 before the first row, len(rows)+1 after the last
	size int64 // size of rows as counted by the session's meter
}

// newCursor returns a cursor with a definition.
func (r *run) newCursor(node syntax.Node, def *syntax.CursorDef) (*cursor, error) {
	if x, y := conflictingOptions(def); x != "" {
		return nil, compileFailure(mserr.CursorOptions(x, y))
	}
	switch {
	case def.ForUpdate:
		return nil, mserr.NotSupported("a cursor FOR UPDATE")
	case def.Concurrency == "SCROLL_LOCKS":
		return nil, mserr.NotSupported("a cursor with %s", def.Concurrency)
	case def.Kind == "KEYSET" || def.Kind == "DYNAMIC":
		return nil, mserr.NotSupported("a %s cursor", def.Kind)
	}
	c := &cursor{def: def, node: node, declaredIn: r.f, unit: r.f.unit}
	// Documentation of DECLARE CURSOR: a cursor is forward-only without SCROLL and without a kind
	// that scrolls.
	c.scroll = def.Scroll || def.Kind == "STATIC" && !def.ForwardOnly
	return c, nil
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
	r.s.rowCount = 1
	c, err := r.newCursor(st, st.Cursor)
	if err != nil {
		return err
	}
	// The database option CURSOR_DEFAULT is always GLOBAL here.
	c.global = st.Cursor.Scope != "LOCAL"
	key := catalog.Fold(st.Name.Name)
	m := &r.f.cursors
	if c.global {
		m = &r.s.cursors
	}
	if (*m)[key] != nil {
		return mserr.CursorExists(st.Name.Name)
	}
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
		return compileFailure(mserr.TypeClash("cursor", "variable"))
	}
	c, err := r.newCursor(st, st.Cursor)
	if err != nil {
		return err
	}
	v.cursor = c
	return nil
}

// assignCursor executes SET @c = other cursor.
func (r *run) assignCursor(v *variable, st *syntax.SetVarStmt) error {
	switch e := st.Value.(type) {
	case *syntax.VarRef:
		if o := r.f.variable(e.Name); o != nil && o.isCur {
			v.cursor = o.cursor
			return nil
		}
	case *syntax.ColumnRef:
		if len(e.Parts) == 1 {
			c, err := r.findCursor(&syntax.CursorRef{Name: e.Column()})
			if err != nil {
				return err
			}
			v.cursor = c
			return nil
		}
	}
	return compileFailure(mserr.TypeClash("variable", "cursor"))
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

// openCursor executes OPEN.
func (r *run) openCursor(st *syntax.OpenStmt) error {
	r.s.rowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if c.open {
		return mserr.CursorOpen()
	}
	outer := r.f
	if c.declaredIn != r.f && c.unit != r.f.unit {
		// A global cursor of another batch: its query is compiled for this frame, with the
		// variables of the declaring frame if that is still active.
		r.f = &frame{
			parent: outer, kind: outer.kind, unit: c.unit, level: outer.level, schema: outer.schema, owner: outer.owner,
			nestLevel: outer.nestLevel, line: outer.line,
		}
		if c.declaredIn != nil {
			r.f.vars, r.f.tables = c.declaredIn.vars, c.declaredIn.tables
		}
	}
	defer func() { r.f = outer }()
	p, err := r.queryPlan(c.node, c.def.Query, c.def.Hints)
	if err != nil {
		return err
	}
	rows, err := r.query(p)
	if err != nil {
		return err
	}
	defer rows.Close()
	r.s.clearRows(c)
	for rows.Next() {
		n := int64(rowOverhead + len(rows.Row())*valueOverhead + payloadSize(rows.Row()...))
		if err := r.s.meter.Hold(n); err != nil {
			r.s.clearRows(c)
			return err
		}
		c.size += n
		c.rows = append(c.rows, append([]types.Value(nil), rows.Row()...))
	}
	if err := rows.Err(); err != nil {
		r.s.clearRows(c)
		return err
	}
	c.cols, c.pos, c.open = p.Columns, 0, true
	r.s.cursorRows = len(c.rows)
	return rows.Close()
}

// fetch executes FETCH.
func (r *run) fetch(st *syntax.FetchStmt) error {
	s := r.s
	s.rowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if !c.open {
		return mserr.CursorNotOpen()
	}
	if err := r.move(c, st); err != nil {
		return err
	}
	if len(st.Into) > 0 && len(st.Into) != len(c.cols) {
		return mserr.FetchVariables()
	}
	found := c.pos >= 1 && c.pos <= len(c.rows)
	s.fetchStatus = -1
	if found {
		s.fetchStatus = 0
	}
	if len(st.Into) == 0 {
		if err := r.columns(c.cols); err != nil {
			return err
		}
		n := int64(0)
		if found {
			n = 1
			if err := sinkFailure(r.out.Row(c.rows[c.pos-1])); err != nil {
				return err
			}
		}
		return r.done(n, CommandSelect)
	}
	if !found {
		return nil
	}
	for i, name := range st.Into {
		v := r.f.variable(name)
		if v == nil || v.isCur {
			return compileFailure(mserr.UndeclaredVariable(name))
		}
		if err := types.CheckImplicit(c.cols[i].Type, v.typ); err != nil {
			return err
		}
		val, err := r.s.assign(c.rows[c.pos-1][i], c.cols[i].Type, v.typ)
		if err != nil {
			return err
		}
		if err := r.store(v, val); err != nil {
			return err
		}
	}
	s.rowCount = 1
	return nil
}

// fetchNames are the names of the directions in messages.
var fetchNames = map[syntax.FetchDirection]string{
	syntax.FetchNext: "Next", syntax.FetchPrior: "Prior", syntax.FetchFirst: "First", syntax.FetchLast: "Last",
	syntax.FetchAbsolute: "Absolute", syntax.FetchRelative: "Relative",
}

// move moves a cursor to the row of a FETCH.
func (r *run) move(c *cursor, st *syntax.FetchStmt) error {
	if st.Direction != syntax.FetchNext && !c.scroll {
		return mserr.FetchType(fetchNames[st.Direction])
	}
	n := int64(0)
	if st.Offset != nil {
		v, err := r.value(st.Offset, types.BigIntType)
		if err != nil {
			return err
		}
		n, _ = v.(int64)
	}
	pos := int64(c.pos)
	switch st.Direction {
	case syntax.FetchNext:
		pos++
	case syntax.FetchPrior:
		pos--
	case syntax.FetchFirst:
		pos = 1
	case syntax.FetchLast:
		pos = int64(len(c.rows))
	case syntax.FetchAbsolute:
		if pos = n; n < 0 {
			pos = int64(len(c.rows)) + 1 + n
		}
	case syntax.FetchRelative:
		pos += n
	}
	c.pos = int(min(max(pos, 0), int64(len(c.rows))+1))
	return nil
}

// closeCursor executes CLOSE.
func (r *run) closeCursor(st *syntax.CloseStmt) error {
	r.s.rowCount = 0
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
	r.s.rowCount = 0
	c, err := r.findCursor(st.Cursor)
	if err != nil {
		return err
	}
	if !r.s.isShared(c, r.f) {
		r.s.clearRows(c)
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
// Without that option static cursors stay open, even after ROLLBACK.
func (s *Session) closeCursorsOnEnd() {
	if !s.opts.cursorCloseOnCommit {
		return
	}
	for _, c := range s.cursors {
		c.open = false
		s.clearRows(c)
	}
}

// cursorStatus evaluates CURSOR_STATUS: 1 for an open cursor with rows, 0 for an open empty one, -1
// for a closed one, -2 for a variable without a cursor, -3 for no cursor.
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
	case len(c.rows) == 0:
		return 0
	}
	return 1
}
