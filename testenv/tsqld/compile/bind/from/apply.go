package from

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/rewrite"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// apply binds CROSS APPLY and OUTER APPLY. SQLite has no lateral subqueries. A right side that
// depends on the left side is merged into the query if it is simple enough, or joined if it is the
// TOP of a table. Otherwise a correlated subquery encodes its rows as a text, and a rowset decodes
// them.
func (b *Binder) apply(ts *syntax.Join, left tree.From, l *names.Level, start, middle int) (tree.From, error) {
	isOuter := ts.Kind == syntax.OuterApply
	lefts := l.Sources[start:middle]
	wasUsed := make([]bool, len(lefts))
	for i, src := range lefts {
		wasUsed[i], src.Used = src.Used, false
	}
	inner := &names.Level{Parent: l.Parent}
	right, err := b.TableSource(ts.Right, inner, &names.Level{Parent: l.Parent, Sources: l.Sources})
	if err != nil {
		return nil, err
	}
	dependent := false
	for i, src := range lefts {
		dependent = dependent || src.Used
		src.Used = src.Used || wasUsed[i]
	}
	for _, src := range inner.Sources {
		if err := l.Expose(src, true); err != nil {
			return nil, err
		}
		if isOuter {
			src.AllowNull()
		}
	}
	kind := "JOIN"
	if isOuter {
		kind = "LEFT JOIN"
	}
	src, ok := right.(*tree.Source)
	if !dependent || ok && src.Rowset != nil {
		return &tree.Join{Kind: kind, Left: orOneRow(left), Right: right}, nil
	}
	if !ok || src.Query == nil {
		return nil, mserr.NotSupported("APPLY of a join whose parts depend on the left side")
	}
	f, ok := rewrite.MergeApply(src, left, isOuter)
	if !ok {
		f, ok = b.applyTop(src, left, isOuter)
	}
	if ok {
		if j, ok := f.(*tree.Join); ok && f != left {
			j.Applied = src
		}
		return f, nil
	}
	src.Lateral()
	return &tree.Join{Kind: kind, Left: left, Right: src}, nil
}

// applyTop joins the first rows of a table, CROSS APPLY (SELECT TOP (n) ... FROM t WHERE ... ORDER
// BY ...), to the left side: it joins the table itself and selects its rows by a correlated
// subquery. ok is false for other subqueries.
func (b *Binder) applyTop(src *tree.Source, left tree.From, isOuter bool) (tree.From, bool) {
	q := src.Query
	if isOuter || left == nil || q.Core == nil || q.Limit == nil || q.Percent || q.Ties ||
		q.Document != tree.DocumentNone ||
		q.Limit.Traits&tree.RowBound != 0 {
		return nil, false
	}
	c := q.Core
	table, ok := c.From.(*tree.Source)
	if !ok || table.Table == "" || table.Base == nil || c.Distinct || c.Grouped || c.Having != nil {
		return nil, false
	}
	for _, n := range c.Items {
		if n.Traits&(tree.HasSubquery|tree.HasWindow|tree.HasAgg|tree.HasPerRow|tree.HasLocal) != 0 {
			return nil, false
		}
	}
	joined := *table
	joined.Alias = b.Alias("t")
	for i := range c.Items {
		n := c.Items[i].Replace(func(x *tree.Node) *tree.Node {
			if x.Op != tree.OpCol || x.Source != table {
				return nil
			}
			r := *x
			r.Source = &joined
			return &r
		})
		src.Columns[i].Expand = func() (*tree.Node, error) { return n, nil }
	}
	rid := tree.SourceColumn{Type: types.BigIntType, SQL: "rowid", Hidden: true}
	table.Columns, joined.Columns = append(slices.Clone(table.Columns), rid), append(slices.Clone(table.Columns), rid)
	selected := *q
	selected.Core = &tree.Core{From: table, Where: c.Where, Items: []*tree.Node{tree.ColumnNode(table, len(table.Columns)-1)}}
	selected.Columns = []tree.ResultColumn{{Type: types.BigIntType}}
	isSelected := tree.Build(tree.OpInQuery, types.BitType, tree.ColumnNode(&joined, len(joined.Columns)-1))
	isSelected.Query, isSelected.Traits = &selected, isSelected.Traits|tree.HasSubquery|tree.CanFail
	// CROSS JOIN keeps SQLite from reading the joined table first and testing each of its rows
	// against each row on the left.
	return &tree.Join{Kind: "CROSS JOIN", Left: left, Right: &joined, On: isSelected}, true
}
