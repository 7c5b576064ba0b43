package rewrite

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SQLite has no statistics on the number of rows. In a join of a table variable with a table on the
// keys of both, it may as well read the whole table and look up each row in the variable. SQL
// Server assumes that table variables and new temporary tables are small. This package does the
// same: it prevents lookups from a table into them.

// WithDrivingTables returns the SELECT with join conditions rewritten so that temporary tables
// drive the join: SQLite reads them first and finds the rows of other tables by index.
func WithDrivingTables(c *tree.Core) *tree.Core {
	sources, on := Preserved(c.From)
	if len(sources) < 2 || !slices.ContainsFunc(sources, isSmall) {
		return c
	}
	var exact []*tree.Source // tables whose rows are found by values from outside the join
	var keyed []*tree.Source // tables whose key a small table supplies
	for _, n := range append(tree.Conjuncts(c.Where), on...) {
		if n.Op != tree.OpCompare || n.Name != "=" {
			continue
		}
		for i, x := range n.Args {
			if x.Op == tree.OpCol && n.Args[1-i].Traits&tree.RowBound == 0 && isIndexed(x) {
				exact = append(exact, x.Source)
			}
			if y := n.Args[1-i]; x.Op == tree.OpCol && y.Op == tree.OpCol && isRowID(x) && !isSmall(x.Source) && isSmall(y.Source) {
				keyed = append(keyed, x.Source)
			}
		}
	}
	member := func(n *tree.Node) bool { return n.Op == tree.OpCol && slices.Contains(sources, n.Source) }
	rewrite := func(n *tree.Node) *tree.Node {
		if n.Op != tree.OpCompare || n.Name != "=" || !member(n.Args[0]) || !member(n.Args[1]) {
			return n
		}
		for i, x := range n.Args {
			y := n.Args[1-i]
			if isSmall(x.Source) && !isSmall(y.Source) && isIndexed(y) && !slices.Contains(exact, y.Source) &&
				(isRowID(y) || !slices.Contains(keyed, y.Source)) {
				r := *n
				r.Args = slices.Clone(n.Args)
				r.Args[i] = tree.Build(tree.OpNoIndex, x.Type, x)
				return &r
			}
		}
		return n
	}
	r := *c
	r.From, r.Where = rewriteJoins(c.From, rewrite), eachConjunct(c.Where, rewrite)
	return &r
}

// DrivingColumn returns the column of a driving table that equals an expression in every row, or
// nil. WithDrivingTables hides this equality from SQLite, so ORDER BY must name the driving column
// for SQLite to recognise the order in which it reads the rows.
func DrivingColumn(c *tree.Core, n *tree.Node) *tree.Node {
	if n.Op != tree.OpCol || n.Type.Storage() != "INTEGER" || c.Distinct || c.Grouped {
		return nil
	}
	_, on := Preserved(c.From)
	for _, cond := range append(tree.Conjuncts(c.Where), on...) {
		if cond.Op != tree.OpCompare || cond.Name != "=" {
			continue
		}
		for i, x := range cond.Args {
			if x.Op == tree.OpNoIndex && x.Type == n.Type && tree.SameNode(cond.Args[1-i], n) {
				return x.Args[0]
			}
		}
	}
	return nil
}

// rewriteJoins applies rewrite to the conditions of the inner joins that preserved visits.
func rewriteJoins(f tree.From, rewrite func(*tree.Node) *tree.Node) tree.From {
	j, ok := f.(*tree.Join)
	if !ok || j.Kind != "JOIN" && j.Kind != "LEFT JOIN" {
		return f
	}
	r := *j
	r.Left = rewriteJoins(j.Left, rewrite)
	if j.Kind == "JOIN" {
		r.Right, r.On = rewriteJoins(j.Right, rewrite), eachConjunct(j.On, rewrite)
	}
	return &r
}

// eachConjunct applies rewrite to the operands of a condition's ANDs.
func eachConjunct(n *tree.Node, rewrite func(*tree.Node) *tree.Node) *tree.Node {
	if n == nil || n.Op != tree.OpAnd {
		if n == nil {
			return nil
		}
		return rewrite(n)
	}
	args := make([]*tree.Node, len(n.Args))
	for i, a := range n.Args {
		args[i] = eachConjunct(a, rewrite)
	}
	return tree.Build(tree.OpAnd, types.BitType, args...)
}

// isSmall reports whether a source is a temporary table, a table variable, or a derived table that
// reads one.
func isSmall(s *tree.Source) bool {
	if s.Query != nil && s.Query.Core != nil {
		inner, _ := Preserved(s.Query.Core.From)
		return slices.ContainsFunc(inner, isSmall)
	}
	return s.Base != nil && s.DatabaseID == 0 && s.Table != ""
}

// isIndexed reports whether a column is the first column of an index of its table. The column may
// be that of a plain derived table.
func isIndexed(n *tree.Node) bool {
	t, c := tableColumn(n)
	return c != nil && (c == t.RowIDColumn() || slices.ContainsFunc(t.Indexes, func(ix *catalog.Index) bool {
		return !ix.Disabled && len(ix.Columns) > 0 && ix.Columns[0].ColumnID == c.ID
	}))
}

// isRowID reports whether a column is the alias of its table's rowid.
func isRowID(n *tree.Node) bool {
	t, c := tableColumn(n)
	return c != nil && c == t.RowIDColumn()
}

// tableColumn returns the table and column that a node reads, possibly through plain derived
// tables, or nil.
func tableColumn(n *tree.Node) (*catalog.Table, *catalog.Column) {
	for n.Op == tree.OpCol && n.Column >= 0 && n.Source.Query != nil && n.Source.Query.IsPlain() {
		n = n.Source.Query.Core.Items[n.Column]
	}
	if n.Op != tree.OpCol || n.Column < 0 || n.Source.Base == nil {
		return nil, nil
	}
	return n.Source.Base, n.Source.Columns[n.Column].Base
}
