package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// CursorKind tells which changes of the tables a cursor shows.
type CursorKind uint8

// The kinds of cursors. A static cursor shows the rows as they are at OPEN. A keyset cursor shows
// the current values of the rows that exist at OPEN. A dynamic cursor shows the current rows.
const (
	CursorStatic CursorKind = iota
	CursorKeyset
	CursorDynamic
)

// CursorStep is the part of a cursor's rows that a plan reads.
type CursorStep uint8

// The steps. A plan of CursorOpen reads all rows. The other plans read one row. CursorFirst and
// CursorLast count from an end of the rows, CursorNext and CursorPrior from the row in
// [Run.Row]; all four skip [Run.Skip] rows. CursorCurrent reads the row in [Run.Row] again.
const (
	CursorOpen CursorStep = iota
	CursorFirst
	CursorLast
	CursorNext
	CursorPrior
	CursorCurrent
)

// CursorPart limits CursorNext and CursorPrior to some of the rows. SQLite finds a row of a part by
// an index whose first column allows NULL, but not a row of all parts.
type CursorPart uint8

// The parts by the first term of ORDER BY: all rows; the rows with a value, from that of the place
// on; the rows with NULL, from the place on; all rows with a value; all rows with NULL.
const (
	CursorWhole CursorPart = iota
	CursorValues
	CursorNulls
	CursorAllValues
	CursorAllNulls
)

// CursorUse is the request for a plan of a cursor.
type CursorUse struct {
	Kind    CursorKind     // as declared
	Step    CursorStep     // what the plan reads
	Part    CursorPart     // CursorWhole unless CursorPlan.Parts is set
	Columns []syntax.Ident // FOR UPDATE OF; empty for all columns
	Locks   bool           // SCROLL_LOCKS: FETCH locks like UPDLOCK
}

// CursorPlan is the plan of one step of a cursor. A row of the plan has the values of Columns, then
// those of ORDER BY for a dynamic cursor, and then those that identify the rows of Tables. The
// values after Columns, together, are a place: Run.Row of other steps.
type CursorPlan struct {
	Plan
	Kind   CursorKind // after the conversions that the query requires
	Tables []CursorTable
	// Parts is set for a dynamic cursor whose first term of ORDER BY may be NULL, and Down if that
	// term is descending.
	Parts, Down bool
}

// CursorTable is a table whose rows a cursor returns.
type CursorTable struct {
	// DatabaseID and ObjectID are those of the table, or of the outermost view through which the
	// cursor reads the table. UPDATE and DELETE must name the same one.
	DatabaseID int
	ObjectID   int32
	// Identity lists the columns that identify a version of a row, after the rowid.
	Identity []int
	At       int // index of the rowid in a place
	Updates  bool
}

// Position describes an UPDATE or DELETE WHERE CURRENT OF. Run.Row has the identity of the row: the
// rowid and the columns of Identity. The values are compared if Checked is set.
type Position struct {
	DatabaseID int
	ObjectID   int32
	Identity   []int
	Checked    bool
	// Read reads the identity of the row with the rowid in Run.Row.
	Read Statement
	// NewRowID returns the rowid that the row will have, if the statement changes the rowid;
	// otherwise its SQL is "".
	NewRowID Statement
}

// identityColumns returns the columns that identify a version of a row: the key, and the
// rowversion or, without one, all columns. "SQL Server compares rowversion column values, or a
// checksum value if the table has no rowversion column" (documentation of DECLARE CURSOR,
// OPTIMISTIC). The number of key columns is the second result.
func identityColumns(t *catalog.Table) (ids []int, keys int) {
	if key := browseKey(t); key != nil {
		for _, k := range key.Columns {
			ids = append(ids, k.ColumnID)
		}
	}
	keys = len(ids)
	if c := t.RowVersionColumn(); c != nil {
		return append(ids, c.ID), keys
	}
	for _, c := range t.Columns {
		if c.Formula == nil && !c.Type.IsLOB() && !slices.Contains(ids, c.ID) {
			ids = append(ids, c.ID)
		}
	}
	return ids, keys
}

// placeValue returns a value of a place.
func placeValue(at int, t types.Type) *node {
	return &node{op: opRun, typ: t, null: true, traits: hasRun, run: func(r *Run) types.Value { return r.Row[at] }}
}

// Cursor compiles the query of a cursor. Errors: 154 for assignments, 16907 for INTO.
func (c *Compiler) Cursor(q *syntax.Query, hints []*syntax.Option, use CursorUse) (p *CursorPlan, err error) {
	err = c.bind(hints, func(b *binder) error {
		switch s, _ := unparen(q.Body).(*syntax.Select); {
		case s != nil && slices.ContainsFunc(s.Items, isAssignment):
			return mserr.CursorAssigns()
		case intoName(q.Body) != nil:
			return mserr.NotInCursor("SELECT INTO")
		}
		r, err := b.query(q, nil, queryUse{top: true})
		if err != nil {
			return err
		}
		if err := checkColumnCollations(r); err != nil {
			return err
		}
		p = &CursorPlan{}
		p.Columns = r.columnTypes()
		if use.Kind != CursorStatic {
			if r, err = b.navigate(r, use, p); err != nil {
				return err
			}
		}
		if err = renderPlan(&p.Plan, b.needs, r); err == nil && len(p.ReadPast) > 0 && r.needsPastRows() {
			p.PastPlan = p.emptyPlan(len(r.cols))
		}
		return err
	})
	if err == nil && p.PastPlan == nil && c.needsPastPlan(&p.Needs) {
		var past *CursorPlan
		if past, err = c.forEmptyPast().Cursor(q, hints, use); err == nil {
			p.PastPlan = &past.Plan
		}
	}
	return p, err
}

// isAssignment reports whether an item of a select list is @v = x.
func isAssignment(item syntax.SelectItem) bool {
	_, is := item.(*syntax.SelectAssign)
	return is
}

// navigate returns the query of a step of a cursor, and sets the kind and the tables of its plan.
// A query converts its cursor to another kind as documented ("Using Implicit Cursor Conversions"):
// to a static cursor if rows of the result are not rows of tables, and to a keyset cursor if the
// server keeps the rows in a work table.
func (b *binder) navigate(r *query, use CursorUse, p *CursorPlan) (*query, error) {
	if !r.navigable() {
		return r, nil
	}
	tables, ok := cursorTables(r.core.from, false)
	if !ok {
		return r, nil
	}
	kind := use.Kind
	if kind == CursorDynamic && (r.limit != nil || r.offset != nil || !isCovered(r.order)) {
		kind = CursorKeyset
	}
	keyed := !slices.ContainsFunc(tables, func(t *cursorTable) bool { return t.keys == 0 })
	if kind == CursorKeyset && !keyed {
		return r, nil
	}
	p.Kind = kind
	if err := listUpdates(tables, r.core.from, use.Columns); err != nil {
		return nil, err
	}
	visible := len(r.cols)
	out := r.withPlace(kind, tables)
	if kind == CursorKeyset && use.Step == CursorOpen {
		out.keysOnly(tables)
	}
	for _, t := range tables {
		t.CursorTable.At -= visible
		p.Tables = append(p.Tables, t.CursorTable)
	}
	if kind == CursorDynamic && len(r.order) > 0 {
		p.Parts, p.Down = r.order[0].n.null, r.order[0].desc
	}
	if use.Locks && use.Step != CursorOpen {
		b.noteLock(false)
	}
	switch {
	case use.Step == CursorOpen:
		return out, nil
	case use.Step == CursorCurrent:
		return out.current(kind, tables)
	}
	return out.stepped(r.order, use, tables)
}

// navigable reports whether each row of the query is a row of each source of FROM.
func (q *query) navigable() bool {
	c := q.core
	if c == nil || c.from == nil || c.distinct || c.grouped || len(c.group) > 0 || c.sets != nil || c.having != nil ||
		q.document != documentNone {
		return false
	}
	for _, n := range c.items {
		if n.traits&(hasWindow|hasAgg|hasSequence) != 0 {
			return false
		}
	}
	return !slices.ContainsFunc(q.order, func(o orderTerm) bool { return o.n.traits&(hasWindow|hasAgg) != 0 })
}

// cursorTable is a table behind a source of a cursor's query. The nodes are valid in the query.
type cursorTable struct {
	CursorTable
	top      *source // source of the query through which the table is read
	outer    bool    // the source may have no row (outer join)
	keys     int     // number of columns of the key, at the start of identity; 0 for none
	rowid    *node
	identity []*node
}

// cursorTables returns the tables behind a FROM clause, through views, derived tables and common
// table expressions. The second result is false if the rows of a source are not rows of tables.
func cursorTables(f fromNode, outer bool) ([]*cursorTable, bool) {
	if j, ok := f.(*join); ok {
		left, ok := cursorTables(j.left, outer || j.kind == "RIGHT JOIN" || j.kind == "FULL JOIN")
		if !ok {
			return nil, false
		}
		right, ok := cursorTables(j.right, outer || j.kind == "LEFT JOIN" || j.kind == "FULL JOIN")
		return append(left, right...), ok
	}
	src, ok := f.(*source)
	switch {
	case !ok:
		return nil, false
	case src.base != nil && src.table != "":
		return []*cursorTable{baseCursorTable(src, outer)}, true
	case src.query == nil || src.lineage == nil || src.query.core != src.lineage || !src.query.isTransparent():
		return nil, false
	}
	tables, ok := cursorTables(src.lineage.from, outer)
	if !ok {
		return nil, false
	}
	for _, t := range tables {
		src.lift(t)
	}
	return tables, true
}

// isTransparent reports whether a derived table shows rows of its own FROM.
func (q *query) isTransparent() bool {
	return q.navigable() && q.limit == nil && q.offset == nil
}

// baseCursorTable returns the table of a source of FROM.
func baseCursorTable(src *source, outer bool) *cursorTable {
	src.cols = append(src.cols, sourceColumn{typ: types.BigIntType, sql: "rowid", hidden: true, null: outer})
	t := &cursorTable{top: src, outer: outer, rowid: columnNode(src, len(src.cols)-1)}
	t.DatabaseID, t.ObjectID = src.databaseID, src.base.ObjectID
	t.Identity, t.keys = identityColumns(src.base)
	for _, id := range t.Identity {
		i := slices.IndexFunc(src.base.Columns, func(c *catalog.Column) bool { return c.ID == id })
		n := columnNode(src, i)
		n.null = n.null || outer
		t.identity = append(t.identity, n)
	}
	return t
}

// lift makes the nodes of a table inside a derived table columns of the derived table.
func (s *source) lift(t *cursorTable) {
	t.top = s
	if s.view != nil {
		t.DatabaseID, t.ObjectID = s.databaseID, s.view.ObjectID
	}
	t.rowid = s.addHidden(t.rowid)
	for i, n := range t.identity {
		t.identity[i] = s.addHidden(n)
	}
}

// addHidden adds a hidden column to a derived table and returns a reference to the column.
func (s *source) addHidden(n *node) *node {
	s.lineage.items = append(s.lineage.items, n)
	q := *s.query
	q.cols = append(slices.Clone(q.cols), outColumn{typ: n.typ, null: n.null})
	s.query = &q
	s.cols = append(s.cols, sourceColumn{
		typ: n.typ, null: n.null, label: n.label, sql: columnName(len(s.lineage.items) - 1), hidden: true,
	})
	return columnNode(s, len(s.cols)-1)
}

// isCovered reports whether an index returns the rows in the order of ORDER BY, so that no work
// table is needed. All terms must be the first columns of an index, in its order or in the reverse
// one.
func isCovered(order []orderTerm) bool {
	if len(order) == 0 {
		return true
	}
	first := tableColumn(order[0].n)
	if first == nil {
		return false
	}
	return slices.ContainsFunc(first.owner.base.Indexes, func(ix *catalog.Index) bool {
		if ix.Disabled || ix.Filter != "" || len(ix.Columns) < len(order) {
			return false
		}
		for i, o := range order {
			c := tableColumn(o.n)
			if c == nil || c.owner != first.owner || c.base.ID != ix.Columns[i].ColumnID ||
				(o.desc != order[0].desc) != (ix.Columns[i].Desc != ix.Columns[0].Desc) {
				return false
			}
		}
		return true
	})
}

// tableColumn returns the table column that a node reads, possibly through derived tables, or nil.
func tableColumn(n *node) *sourceColumn {
	for n.op == opCol && n.col >= 0 && n.src.cols[n.col].base == nil {
		if n.src.lineage == nil {
			return nil
		}
		n = n.src.lineage.items[n.col]
	}
	return baseColumn(n)
}

// listUpdates sets the tables that UPDATE and DELETE may change: those with a column of FOR UPDATE
// OF, or all without such a list. Error 207.
func listUpdates(tables []*cursorTable, from fromNode, columns []syntax.Ident) error {
	for _, t := range tables {
		t.Updates = len(columns) == 0
	}
	for _, c := range columns {
		found := false
		for _, t := range tables {
			if t.top.columnByName(c.Name) >= 0 && isIn(t.top, from) {
				t.Updates, found = true, true
			}
		}
		if !found {
			return mserr.InvalidColumn(c.Name)
		}
	}
	return nil
}

// isIn reports whether a source is an item of FROM.
func isIn(src *source, f fromNode) bool {
	if j, ok := f.(*join); ok {
		return isIn(src, j.left) || isIn(src, j.right)
	}
	return f == fromNode(src)
}

// keysOnly leaves out all values except those of keys, which are all that a keyset cursor keeps.
func (q *query) keysOnly(tables []*cursorTable) {
	kept := map[int]bool{}
	for _, t := range tables {
		for i := range t.keys + 1 {
			kept[t.At+i] = true
		}
	}
	for i, n := range q.core.items {
		if !kept[i] {
			q.core.items[i] = nullOf(n.typ)
		}
	}
}

// withPlace returns a query whose rows end with their place.
func (q *query) withPlace(kind CursorKind, tables []*cursorTable) *query {
	r := *q
	c := *q.core
	r.core, c.items, r.cols = &c, slices.Clone(c.items), slices.Clone(r.cols)
	hide := func(n *node) { r.add(n, outColumn{typ: n.typ, null: true, hidden: true}) }
	if kind == CursorDynamic {
		for _, o := range q.order {
			hide(o.n)
		}
	}
	for _, t := range tables {
		t.At = len(r.cols)
		hide(t.rowid)
		for _, n := range t.identity {
			hide(n)
		}
	}
	return &r
}
