package cursor

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/plan"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// IdentityColumns returns the columns that identify a version of a row: the key, and the
// rowversion or, without one, all columns. "SQL Server compares rowversion column values, or a
// checksum value if the table has no rowversion column" (documentation of DECLARE CURSOR,
// OPTIMISTIC). The number of key columns is the second result.
func IdentityColumns(t *catalog.Table) (ids []int, keys int) {
	if key := names.BrowseKey(t); key != nil {
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

// PlaceValue returns the value of type t with index at in a place (tree.Run.Row).
func PlaceValue(at int, t types.Type) *tree.Node {
	return &tree.Node{Op: tree.OpRun, Type: t, Null: true, Traits: tree.HasRun, Run: func(r *tree.Run) types.Value { return r.Row[at] }}
}

// Navigate returns the query of a step of a cursor, and sets the kind and the tables of its plan.
// A query converts its cursor to another kind as documented ("Using Implicit Cursor Conversions"):
// to a static cursor if rows of the result are not rows of tables, and to a keyset cursor if the
// server keeps the rows in a work table.
func Navigate(b *bind.Binder, r *tree.Query, use plan.CursorUse, p *plan.CursorPlan) (*tree.Query, error) {
	if !navigable(r) {
		return r, nil
	}
	tables, ok := cursorTables(r.Core.From, false)
	if !ok {
		return r, nil
	}
	kind := use.Kind
	if kind == plan.CursorDynamic && (r.Limit != nil || r.Offset != nil || !isCovered(r.Order)) {
		kind = plan.CursorKeyset
	}
	keyed := !slices.ContainsFunc(tables, func(t *Table) bool { return t.keys == 0 })
	if kind == plan.CursorKeyset && !keyed {
		return r, nil
	}
	p.Kind = kind
	if err := listUpdates(tables, r.Core.From, use.Columns); err != nil {
		return nil, err
	}
	visible := len(r.Columns)
	out := withPlace(r, kind, tables)
	if kind == plan.CursorKeyset && use.Step == plan.CursorOpen {
		keysOnly(out, tables)
	}
	for _, t := range tables {
		t.CursorTable.At -= visible
		p.Tables = append(p.Tables, t.CursorTable)
	}
	if kind == plan.CursorDynamic && len(r.Order) > 0 {
		p.Parts, p.Down = r.Order[0].Node.Null, r.Order[0].Desc
	}
	if use.Locks && use.Step != plan.CursorOpen {
		b.NoteLock(false)
	}
	switch {
	case use.Step == plan.CursorOpen:
		return out, nil
	case use.Step == plan.CursorCurrent:
		return current(out, kind, tables)
	}
	return stepped(out, r.Order, use, tables)
}

// navigable reports whether each row of the query is a row of each source of FROM.
func navigable(q *tree.Query) bool {
	c := q.Core
	if c == nil || c.From == nil || c.Distinct || c.Grouped || len(c.Group) > 0 || c.Sets != nil || c.Having != nil ||
		q.Document != tree.DocumentNone {
		return false
	}
	for _, n := range c.Items {
		if n.Traits&(tree.HasWindow|tree.HasAgg|tree.HasSequence) != 0 {
			return false
		}
	}
	return !slices.ContainsFunc(q.Order, func(o tree.OrderTerm) bool { return o.Node.Traits&(tree.HasWindow|tree.HasAgg) != 0 })
}

// Table is a table behind a source of a cursor's query. The nodes are valid in the query.
type Table struct {
	plan.CursorTable
	RowID  *tree.Node
	Values []*tree.Node // the columns of Identity
	top    *tree.Source // source of the query through which the table is read
	keys   int          // number of columns of the key, at the start of Values; 0 for none
}

// cursorTables returns the tables behind a FROM clause, through views, derived tables and common
// table expressions. The second result is false if the rows of a source are not rows of tables.
func cursorTables(f tree.From, outer bool) ([]*Table, bool) {
	if j, ok := f.(*tree.Join); ok {
		left, ok := cursorTables(j.Left, outer || j.Kind == "RIGHT JOIN" || j.Kind == "FULL JOIN")
		if !ok {
			return nil, false
		}
		right, ok := cursorTables(j.Right, outer || j.Kind == "LEFT JOIN" || j.Kind == "FULL JOIN")
		return append(left, right...), ok
	}
	src, ok := f.(*tree.Source)
	switch {
	case !ok:
		return nil, false
	case src.Base != nil && src.Table != "":
		return []*Table{TableOf(src, outer)}, true
	case src.Query == nil || src.Lineage == nil || src.Query.Core != src.Lineage || !isTransparent(src.Query):
		return nil, false
	}
	tables, ok := cursorTables(src.Lineage.From, outer)
	if !ok {
		return nil, false
	}
	for _, t := range tables {
		lift(src, t)
	}
	return tables, true
}

// isTransparent reports whether a derived table shows rows of its own FROM.
func isTransparent(q *tree.Query) bool {
	return navigable(q) && q.Limit == nil && q.Offset == nil
}

// TableOf returns the table of a source of FROM. outer is set if the source may have no row (outer
// join).
func TableOf(src *tree.Source, outer bool) *Table {
	src.Columns = append(src.Columns, tree.SourceColumn{Type: types.BigIntType, SQL: "rowid", Hidden: true, Null: outer})
	t := &Table{top: src, RowID: tree.ColumnNode(src, len(src.Columns)-1)}
	t.DatabaseID, t.ObjectID = src.DatabaseID, src.Base.ObjectID
	t.Identity, t.keys = IdentityColumns(src.Base)
	for _, id := range t.Identity {
		i := slices.IndexFunc(src.Base.Columns, func(c *catalog.Column) bool { return c.ID == id })
		n := tree.ColumnNode(src, i)
		n.Null = n.Null || outer
		t.Values = append(t.Values, n)
	}
	return t
}

// lift makes the nodes of a table inside a derived table columns of the derived table.
func lift(s *tree.Source, t *Table) {
	t.top = s
	if s.View != nil {
		t.DatabaseID, t.ObjectID = s.DatabaseID, s.View.ObjectID
	}
	t.RowID = s.AddHidden(t.RowID)
	for i, n := range t.Values {
		t.Values[i] = s.AddHidden(n)
	}
}

// isCovered reports whether an index returns the rows in the order of ORDER BY, so that no work
// table is needed. All terms must be the first columns of an index, in its order or in the reverse
// one.
func isCovered(order []tree.OrderTerm) bool {
	if len(order) == 0 {
		return true
	}
	first := tableColumn(order[0].Node)
	if first == nil {
		return false
	}
	return slices.ContainsFunc(first.Owner.Base.Indexes, func(ix *catalog.Index) bool {
		if ix.Disabled || ix.Filter != "" || len(ix.Columns) < len(order) {
			return false
		}
		for i, o := range order {
			c := tableColumn(o.Node)
			if c == nil || c.Owner != first.Owner || c.Base.ID != ix.Columns[i].ColumnID ||
				(o.Desc != order[0].Desc) != (ix.Columns[i].Desc != ix.Columns[0].Desc) {
				return false
			}
		}
		return true
	})
}

// tableColumn returns the table column that a node reads, possibly through derived tables, or nil.
func tableColumn(n *tree.Node) *tree.SourceColumn {
	for n.Op == tree.OpCol && n.Column >= 0 && n.Source.Columns[n.Column].Base == nil {
		if n.Source.Lineage == nil {
			return nil
		}
		n = n.Source.Lineage.Items[n.Column]
	}
	return tree.BaseColumn(n)
}

// listUpdates sets the tables that UPDATE and DELETE may change: those with a column of FOR UPDATE
// OF, or all without such a list. Error 207.
func listUpdates(tables []*Table, from tree.From, columns []syntax.Ident) error {
	for _, t := range tables {
		t.Updates = len(columns) == 0
	}
	for _, c := range columns {
		found := false
		for _, t := range tables {
			if t.top.ColumnByName(c.Name) >= 0 && isIn(t.top, from) {
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
func isIn(src *tree.Source, f tree.From) bool {
	if j, ok := f.(*tree.Join); ok {
		return isIn(src, j.Left) || isIn(src, j.Right)
	}
	return f == tree.From(src)
}

// keysOnly leaves out all values except those of keys, which are all that a keyset cursor keeps.
func keysOnly(q *tree.Query, tables []*Table) {
	kept := map[int]bool{}
	for _, t := range tables {
		for i := range t.keys + 1 {
			kept[t.At+i] = true
		}
	}
	for i, n := range q.Core.Items {
		if !kept[i] {
			q.Core.Items[i] = tree.NullOf(n.Type)
		}
	}
}

// withPlace returns a query whose rows end with their place.
func withPlace(q *tree.Query, kind plan.CursorKind, tables []*Table) *tree.Query {
	r := *q
	c := *q.Core
	r.Core, c.Items, r.Columns = &c, slices.Clone(c.Items), slices.Clone(r.Columns)
	hide := func(n *tree.Node) { r.Add(n, tree.ResultColumn{Type: n.Type, Null: true, Hidden: true}) }
	if kind == plan.CursorDynamic {
		for _, o := range q.Order {
			hide(o.Node)
		}
	}
	for _, t := range tables {
		t.At = len(r.Columns)
		hide(t.RowID)
		for _, n := range t.Values {
			hide(n)
		}
	}
	return &r
}
