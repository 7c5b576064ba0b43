package cursor

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Query executes the query of a cursor in the scope of its declaration.
type Query interface {
	// Plan returns the plan of a step for some of the rows.
	Plan(step plan.CursorStep, part plan.CursorPart) (*plan.CursorPlan, error)
	// Permit checks the permissions that a plan needs.
	Permit(p *plan.CursorPlan) error
	// Read checks the permissions that a plan needs, runs it, and calls take with each row, which
	// is valid until take returns.
	Read(p *plan.CursorPlan, at *tree.Run, take func([]types.Value) error) error
}

// Cursor is a cursor. A static cursor keeps the rows of its result, a keyset cursor their places,
// and a dynamic cursor only the place of its current row; see plan.CursorPlan.
type Cursor struct {
	s        *session.Session
	def      *syntax.CursorDef
	kind     plan.CursorKind
	scroll   bool
	readOnly bool

	open   bool
	cols   []types.Column
	tables []plan.CursorTable
	parts  bool            // see plan.CursorPlan.Parts
	down   bool            // see plan.CursorPlan.Down
	rows   [][]types.Value // rows of a static cursor, places of a keyset cursor
	pos    int             // current row, from 1; 0 before the first row, len(rows)+1 after the last
	place  []types.Value   // place of the current row; nil before the first FETCH and after the last row
	gone   bool            // the current row does not exist any longer
	number int             // of the last OPEN in the session
	size   int64           // size of rows as counted by the session's meter
	kept   int64           // size of place
}

// New returns a closed cursor of a session with a definition. Error 1048 for options that exclude
// each other.
func New(s *session.Session, def *syntax.CursorDef) (*Cursor, error) {
	if x, y := conflictingOptions(def); x != "" {
		return nil, failure.Compile(mserr.CursorOptions(x, y))
	}
	// Documentation of DECLARE CURSOR: a cursor is forward-only without SCROLL and without a kind
	// that scrolls.
	scroll := def.Scroll || def.Kind != "" && def.Kind != "FAST_FORWARD" && !def.ForwardOnly
	return &Cursor{s: s, def: def, kind: requestedKind(def), scroll: scroll}, nil
}

// Convert sets the kind that the query allows, which is that of p, the plan of CursorOpen. It
// reports whether the client is to be told that the cursor was converted. Error 16957 for FOR
// UPDATE of a cursor that is read-only.
func (c *Cursor) Convert(p *plan.CursorPlan) (told bool, err error) {
	def, converted := c.def, p.Kind != c.kind
	c.kind = p.Kind
	c.readOnly = c.kind == plan.CursorStatic || def.ReadOnly || def.Concurrency == "READ_ONLY"
	if def.ForUpdate && c.readOnly {
		return false, failure.Compile(mserr.UpdateReadOnlyCursor())
	}
	return converted && def.TypeWarning && def.Kind != "", nil
}

// Use returns what the compiler needs to know for the plan of a step.
func (c *Cursor) Use(step plan.CursorStep, part plan.CursorPart) plan.CursorUse {
	return plan.CursorUse{
		Kind: requestedKind(c.def), Step: step, Part: part, Columns: c.def.UpdateColumns, Locks: c.locks(),
	}
}

// locks reports whether FETCH locks the rows.
func (c *Cursor) locks() bool { return c.def.Concurrency == "SCROLL_LOCKS" }

// requestedKind returns the kind of cursor that a definition asks for. Without a kind, a cursor
// that scrolls is a keyset cursor, and any other one is dynamic. FAST_FORWARD cursors are static
// here: SQL Server chooses.
func requestedKind(def *syntax.CursorDef) plan.CursorKind {
	switch {
	case def.Insensitive, def.Kind == "STATIC", def.Kind == "FAST_FORWARD":
		return plan.CursorStatic
	case def.Kind == "KEYSET", def.Kind == "" && def.Scroll:
		return plan.CursorKeyset
	}
	return plan.CursorDynamic
}

// conflictingOptions returns two options that exclude each other, or empty strings (documentation:
// DECLARE CURSOR).
func conflictingOptions(def *syntax.CursorDef) (x, y string) {
	fast := def.Kind == "FAST_FORWARD"
	switch {
	case def.Scroll && def.ForwardOnly:
		return "SCROLL", "FORWARD_ONLY"
	case fast && def.Scroll:
		return "SCROLL", "FAST_FORWARD"
	case fast && (def.Concurrency == "SCROLL_LOCKS" || def.Concurrency == "OPTIMISTIC"):
		return "FAST_FORWARD", def.Concurrency
	case def.ForUpdate && (fast || def.Kind == "STATIC"):
		return "FOR UPDATE", def.Kind
	case def.Kind == "STATIC" && def.Concurrency == "SCROLL_LOCKS":
		return "STATIC", "SCROLL_LOCKS"
	case def.Concurrency == "READ_ONLY" && def.ForUpdate:
		return "FOR UPDATE", "READ_ONLY"
	}
	return "", ""
}

// Open executes OPEN. Errors: 16905, 16943, and those of the query.
func (c *Cursor) Open(q Query) error {
	if c.open {
		return mserr.CursorOpen()
	}
	p, err := q.Plan(plan.CursorOpen, plan.CursorWhole)
	if err != nil {
		return err
	}
	if p.Kind != c.kind { // an index has been created or dropped since the declaration
		return mserr.CursorSchemaChanged()
	}
	c.clearRows()
	if c.kind != plan.CursorDynamic {
		err = q.Read(p, nil, func(row []types.Value) error { return c.keepRow(row[c.keptFrom(p):]) })
	} else {
		err = q.Permit(p)
	}
	if err != nil {
		c.clearRows()
		return err
	}
	c.cols, c.tables, c.pos, c.open, c.gone = p.Columns, p.Tables, 0, true, false
	c.parts, c.down = p.Parts, p.Down
	c.s.CursorsOpened++
	c.number, c.s.CursorRows = c.s.CursorsOpened, len(c.rows)
	if c.kind == plan.CursorDynamic || c.def.Kind == "FAST_FORWARD" {
		c.s.CursorRows = -1
	}
	return c.setPlace(nil)
}

// Close executes CLOSE. Error 16917 for a cursor that is not open.
func (c *Cursor) Close() error {
	if !c.open {
		return mserr.CursorNotOpen()
	}
	c.End()
	return nil
}

// End closes the cursor, if it is open. @@CURSOR_ROWS is 0 without the cursor that was opened last.
func (c *Cursor) End() {
	if c.open && c.number == c.s.CursorsOpened {
		c.s.CursorRows = 0
	}
	c.open = false
	c.clearRows()
}

// Discard releases the memory of a cursor that goes away. A second call has no effect.
func (c *Cursor) Discard() {
	c.End()
	c.s.Meter().Drop(c.kept)
	c.place, c.kept = nil, 0
}

// Status returns the value of CURSOR_STATUS: 1 for an open cursor that has rows or is dynamic, 0
// for an open empty one, -1 for a closed one.
func (c *Cursor) Status() int {
	switch {
	case !c.open:
		return -1
	case len(c.rows) == 0 && c.kind != plan.CursorDynamic:
		return 0
	}
	return 1
}

// clearRows discards the rows of a cursor.
func (c *Cursor) clearRows() {
	c.s.Meter().Drop(c.size)
	c.rows, c.size = nil, 0
}

// keptFrom returns the index of the first value of a row that a cursor keeps.
func (c *Cursor) keptFrom(p *plan.CursorPlan) int {
	if c.kind == plan.CursorKeyset {
		return len(p.Columns)
	}
	return 0
}

// keepRow appends a row to those of a cursor.
func (c *Cursor) keepRow(row []types.Value) error {
	n := int64(session.RowOverhead + len(row)*session.ValueOverhead + session.PayloadSize(row...))
	if err := c.s.Meter().Hold(n); err != nil {
		return err
	}
	c.size += n
	c.rows = append(c.rows, slices.Clone(row))
	return nil
}

// setPlace makes a copy of place that of the current row; nil for none.
func (c *Cursor) setPlace(place []types.Value) error {
	n := int64(session.PayloadSize(place...) - session.PayloadSize(c.place...))
	if err := c.s.Meter().Hold(max(n, 0)); err != nil {
		return err
	}
	c.s.Meter().Drop(max(-n, 0))
	c.kept += n
	c.place = slices.Clone(place)
	return nil
}
