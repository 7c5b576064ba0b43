package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SQLite has no statistics on the number of rows. In a join of a table variable with a table on the
// keys of both, it may as well read the whole table and look up each row in the variable. SQL
// Server assumes that table variables and new temporary tables are small. This package does the
// same: it prevents lookups from a table into them.

// withDrivingTables returns the SELECT with join conditions rewritten so that temporary tables
// drive the join: SQLite reads them first and finds the rows of other tables by index.
func withDrivingTables(c *core) *core {
	sources, on := preserved(c.from)
	if len(sources) < 2 || !slices.ContainsFunc(sources, (*source).isSmall) {
		return c
	}
	var exact []*source // tables whose rows are found by values from outside the join
	var keyed []*source // tables whose key a small table supplies
	for _, n := range append(conjuncts(c.where), on...) {
		if n.op != opCompare || n.name != "=" {
			continue
		}
		for i, x := range n.args {
			if x.op == opCol && n.args[1-i].traits&rowBound == 0 && x.isIndexed() {
				exact = append(exact, x.src)
			}
			if y := n.args[1-i]; x.op == opCol && y.op == opCol && x.isRowID() && !x.src.isSmall() && y.src.isSmall() {
				keyed = append(keyed, x.src)
			}
		}
	}
	member := func(n *node) bool { return n.op == opCol && slices.Contains(sources, n.src) }
	rewrite := func(n *node) *node {
		if n.op != opCompare || n.name != "=" || !member(n.args[0]) || !member(n.args[1]) {
			return n
		}
		for i, x := range n.args {
			y := n.args[1-i]
			if x.src.isSmall() && !y.src.isSmall() && y.isIndexed() && !slices.Contains(exact, y.src) &&
				(y.isRowID() || !slices.Contains(keyed, y.src)) {
				r := *n
				r.args = slices.Clone(n.args)
				r.args[i] = build(opNoIndex, x.typ, x)
				return &r
			}
		}
		return n
	}
	r := *c
	r.from, r.where = rewriteJoins(c.from, rewrite), eachConjunct(c.where, rewrite)
	return &r
}

// drivingColumn returns the column of a driving table that equals an expression in every row, or
// nil. withDrivingTables hides this equality from SQLite, so ORDER BY must name the driving column
// for SQLite to recognise the order in which it reads the rows.
func (c *core) drivingColumn(n *node) *node {
	if n.op != opCol || n.typ.Storage() != "INTEGER" || c.distinct || c.grouped {
		return nil
	}
	_, on := preserved(c.from)
	for _, cond := range append(conjuncts(c.where), on...) {
		if cond.op != opCompare || cond.name != "=" {
			continue
		}
		for i, x := range cond.args {
			if x.op == opNoIndex && x.typ == n.typ && sameNode(cond.args[1-i], n) {
				return x.args[0]
			}
		}
	}
	return nil
}

// rewriteJoins applies rewrite to the conditions of the inner joins that preserved visits.
func rewriteJoins(f fromNode, rewrite func(*node) *node) fromNode {
	j, ok := f.(*join)
	if !ok || j.kind != "JOIN" && j.kind != "LEFT JOIN" {
		return f
	}
	r := *j
	r.left = rewriteJoins(j.left, rewrite)
	if j.kind == "JOIN" {
		r.right, r.on = rewriteJoins(j.right, rewrite), eachConjunct(j.on, rewrite)
	}
	return &r
}

// eachConjunct applies rewrite to the operands of a condition's ANDs.
func eachConjunct(n *node, rewrite func(*node) *node) *node {
	if n == nil || n.op != opAnd {
		if n == nil {
			return nil
		}
		return rewrite(n)
	}
	args := make([]*node, len(n.args))
	for i, a := range n.args {
		args[i] = eachConjunct(a, rewrite)
	}
	return build(opAnd, types.BitType, args...)
}

// isSmall reports whether a source is a temporary table, a table variable, or a derived table that
// reads one.
func (s *source) isSmall() bool {
	if s.query != nil && s.query.core != nil {
		inner, _ := preserved(s.query.core.from)
		return slices.ContainsFunc(inner, (*source).isSmall)
	}
	return s.base != nil && s.databaseID == 0 && s.table != ""
}

// isIndexed reports whether a column is the first column of an index of its table. The column may
// be that of a plain derived table.
func (n *node) isIndexed() bool {
	t, c := n.tableColumn()
	return c != nil && (c == t.RowIDColumn() || slices.ContainsFunc(t.Indexes, func(ix *catalog.Index) bool {
		return !ix.Disabled && len(ix.Columns) > 0 && ix.Columns[0].ColumnID == c.ID
	}))
}

// isRowID reports whether a column is the alias of its table's rowid.
func (n *node) isRowID() bool {
	t, c := n.tableColumn()
	return c != nil && c == t.RowIDColumn()
}

// tableColumn returns the table and column that a node reads, possibly through plain derived
// tables, or nil.
func (n *node) tableColumn() (*catalog.Table, *catalog.Column) {
	for n.op == opCol && n.col >= 0 && n.src.query != nil && n.src.query.isPlain() {
		n = n.src.query.core.items[n.col]
	}
	if n.op != opCol || n.col < 0 || n.src.base == nil {
		return nil, nil
	}
	return n.src.base, n.src.cols[n.col].base
}
