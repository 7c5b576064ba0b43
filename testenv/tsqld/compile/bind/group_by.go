package bind

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/expr"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// groupBy binds GROUP BY. Errors: 144 for aggregates and subqueries, 164 for constants.
func (b *Binder) groupBy(g *syntax.GroupBy, c *tree.Core, l *names.Level) error {
	if g == nil {
		return nil
	}
	if g.All {
		return mserr.NotSupported("GROUP BY ALL")
	}
	c.Grouped = true
	l.Agg.Refusal = mserr.AggregateInGroupBy()
	if err := names.CheckElements(len(g.Items)); err != nil {
		return err
	}
	sets := [][]int{nil}
	plain := !slices.ContainsFunc(g.Items, func(i *syntax.GroupItem) bool { return i.Kind != syntax.GroupPlain })
	for _, item := range g.Items {
		s, err := b.groupItem(item, c, l, !plain)
		switch {
		case err != nil:
			return err
		case plain:
			continue
		case len(sets)*len(s) > mostGroupingSets:
			return mserr.TooManyGroupingSets(mostGroupingSets)
		}
		var product [][]int
		for _, x := range sets {
			for _, y := range s {
				if err := b.Meter.Work(names.NodeWork + len(x) + len(y)); err != nil {
					return err
				}
				product = append(product, slices.Concat(x, y))
			}
		}
		sets = product
	}
	if !plain {
		c.Sets = sets
	}
	return nil
}

// Limits of SQL Server for GROUP BY with grouping sets.
const (
	mostGroupingSets        = 4096
	mostGroupingExpressions = 32
)

// groupItem binds an element of GROUP BY and returns its grouping sets. limited is set if the
// clause has grouping sets, for which SQL Server has limits.
func (b *Binder) groupItem(item *syntax.GroupItem, c *tree.Core, l *names.Level, limited bool) ([][]int, error) {
	if item.Kind == syntax.GroupPlain {
		n, err := b.Expr(item.X, l)
		if err != nil {
			return nil, err
		}
		switch {
		case n.Via != nil: // a column of a derived table may stand for any expression
		case n.Traits&tree.HasSubquery != 0:
			return nil, mserr.AggregateInGroupBy()
		case n.Traits&tree.HasColumn == 0:
			return nil, mserr.GroupByConstant()
		}
		if err := expr.Sortable(n.Type); err != nil {
			return nil, err
		}
		if err := expr.CheckItemCollation(n.Label, "GROUP BY", len(c.Group)); err != nil {
			return nil, err
		}
		if err := b.Meter.Work(len(c.Group)); err != nil {
			return nil, err
		}
		for i, g := range c.Group {
			if tree.SameNode(g, n) {
				return [][]int{{i}}, nil
			}
		}
		if limited && len(c.Group) == mostGroupingExpressions {
			return nil, mserr.TooManyGroupingExpressions(mostGroupingExpressions)
		}
		c.Group = append(c.Group, n)
		return [][]int{{len(c.Group) - 1}}, nil
	}
	var parts [][][]int
	if err := b.Charge(); err != nil {
		return nil, err
	}
	for _, sub := range item.Sub {
		s, err := b.groupItem(sub, c, l, limited)
		if err != nil {
			return nil, err
		}
		parts = append(parts, s)
	}
	switch item.Kind {
	case syntax.GroupList:
		one := []int(nil)
		for _, p := range parts {
			one = append(one, p[0]...)
		}
		return [][]int{one}, nil
	case syntax.GroupSets:
		var all [][]int
		for _, p := range parts {
			all = append(all, p...)
		}
		if len(all) > mostGroupingSets {
			return nil, mserr.TooManyGroupingSets(mostGroupingSets)
		}
		return all, nil
	case syntax.GroupRollup:
		if len(parts) >= mostGroupingSets {
			return nil, mserr.TooManyGroupingSets(mostGroupingSets)
		}
		var all [][]int
		for n := len(parts); n >= 0; n-- {
			if err := b.Meter.Work(names.NodeWork + n); err != nil {
				return nil, err
			}
			var one []int
			for _, p := range parts[:n] {
				one = append(one, p[0]...)
			}
			all = append(all, one)
		}
		return all, nil
	}
	if len(parts) > 12 {
		return nil, mserr.TooManyGroupingSets(mostGroupingSets)
	}
	var all [][]int
	for mask := 1<<len(parts) - 1; mask >= 0; mask-- {
		var one []int
		for i, p := range parts {
			if mask&(1<<(len(parts)-1-i)) != 0 {
				one = append(one, p[0]...)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// checkGrouping refuses columns that are neither grouped nor inside an aggregate: error 8120 in the
// select list, 8121 in HAVING, 8127 in ORDER BY.
func (b *Binder) checkGrouping(r *tree.Query, l *names.Level) error {
	c := r.Core
	c.Grouped = c.Grouped || l.Agg.Found || c.Having != nil
	if !c.Grouped {
		return nil
	}
	mine := map[*tree.Source]bool{}
	for _, src := range l.Sources {
		mine[src] = true
	}
	for _, n := range c.Items {
		bad, err := b.ungrouped(c, n, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGrouped(qualified(bad))
		}
	}
	if c.Having != nil {
		bad, err := b.ungrouped(c, c.Having, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGroupedHaving(qualified(bad))
		}
	}
	for _, o := range r.Order {
		bad, err := b.ungrouped(c, o.Node, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGroupedOrder(qualified(bad))
		}
	}
	return nil
}

// qualified returns a column's name with the name of its source, for messages.
func qualified(n *tree.Node) string {
	name := n.Source.Columns[n.Column].Name
	if n.Source.Name != "" {
		if n.Source.Schema != "" && n.Source.Base != nil && n.Source.Names.Equal(n.Source.Name, n.Source.Base.Name) {
			return n.Source.Schema + "." + n.Source.Name + "." + name
		}
		return n.Source.Name + "." + name
	}
	return name
}

// ungrouped returns a column of the given sources in n, outside aggregates and group expressions of
// c, or nil.
func (b *Binder) ungrouped(c *tree.Core, n *tree.Node, mine map[*tree.Source]bool) (bad *tree.Node, err error) {
	n.Walk(func(x *tree.Node) bool {
		if err == nil {
			err = b.Meter.Work(1 + len(c.Group))
		}
		if bad != nil || err != nil {
			return false
		}
		for _, g := range c.Group {
			if tree.SameOrRetyped(g, x) {
				return false
			}
		}
		switch x.Op {
		case tree.OpAgg, tree.OpGrouping:
			return false
		case tree.OpCol:
			if mine[x.Source] && x.Column >= 0 {
				bad = x
			}
		}
		if x.Query != nil {
			bad, err = b.ungroupedIn(c, x.Query, mine)
		}
		return true
	})
	return bad, err
}

// ungroupedIn returns an ungrouped column of the outer query c that a subquery names, or nil.
func (b *Binder) ungroupedIn(c *tree.Core, q *tree.Query, mine map[*tree.Source]bool) (bad *tree.Node, err error) {
	q.EachNode(func(n *tree.Node) {
		if bad == nil && err == nil {
			bad, err = b.ungrouped(c, n, mine)
		}
	})
	return bad, err
}

// groupingSets rewrites ROLLUP, CUBE and GROUPING SETS as a UNION ALL of plain groupings.
func (b *Binder) groupingSets(r *tree.Query) (*tree.Query, error) {
	c := r.Core
	items := append([]*tree.Node(nil), c.Items...)
	cols := append([]tree.ResultColumn(nil), r.Columns...)
	order := make([]tree.OrderTerm, len(r.Order))
	for i, o := range r.Order {
		at := r.ItemOf(o.Node)
		if at < 0 {
			items = append(items, o.Node)
			cols = append(cols, tree.ResultColumn{Type: o.Node.Type, Null: true})
			at = len(items) - 1
		}
		order[i] = tree.OrderTerm{Node: &tree.Node{Op: tree.OpField, Type: o.Node.Type, Column: at}, Desc: o.Desc}
	}
	if c.Distinct {
		return nil, mserr.NotSupported("DISTINCT with grouping sets")
	}
	var all *tree.Query
	for _, set := range c.Sets {
		in := map[int]bool{}
		part := &tree.Core{From: c.From, Where: c.Where, Grouped: true}
		for _, g := range set {
			if !in[g] {
				part.Group = append(part.Group, c.Group[g])
			}
			in[g] = true
		}
		swap := func(n *tree.Node) *tree.Node { return forSet(c, n, in) }
		one := &tree.Query{Core: part}
		for i, n := range items {
			if err := b.Charge(); err != nil {
				return nil, err
			}
			n = n.Replace(swap)
			one.Add(n, tree.ResultColumn{Name: cols[i].Name, Type: n.Type, Null: true, Label: cols[i].Label})
		}
		part.Having = c.Having.Replace(swap)
		if all == nil {
			all = one
			continue
		}
		next, err := expr.SetOf("UNION ALL", all, one)
		if err != nil {
			return nil, err
		}
		all = next
	}
	if len(items) == len(r.Columns) && all.Set != nil {
		all.Order, all.Limit, all.Offset, all.Percent, all.Ties = order, r.Limit, r.Offset, r.Percent, r.Ties
		return all, nil
	}
	src := all.Source("q", "")
	out := &tree.Query{Core: &tree.Core{From: src}, Limit: r.Limit, Offset: r.Offset, Percent: r.Percent, Ties: r.Ties}
	for i := range r.Columns {
		out.Add(
			tree.ColumnNode(src, i),
			tree.ResultColumn{Name: cols[i].Name, Type: src.Columns[i].Type, Null: true, Label: cols[i].Label},
		)
	}
	for _, o := range order {
		out.Order = append(out.Order, tree.OrderTerm{Node: tree.ColumnNode(src, o.Node.Column), Desc: o.Desc})
	}
	return out, nil
}

// forSet returns the replacement of a node in the grouping set with the given group expressions, or
// nil if the node stays.
func forSet(c *tree.Core, n *tree.Node, in map[int]bool) *tree.Node {
	if n.Op == tree.OpGrouping {
		id := int64(0)
		for _, a := range n.Args {
			id <<= 1
			for i, g := range c.Group {
				if tree.SameOrRetyped(g, a) && !in[i] {
					id |= 1
				}
			}
		}
		return tree.Constant(id, n.Type)
	}
	if n.Op == tree.OpAgg {
		return n
	}
	for i, g := range c.Group {
		if tree.SameOrRetyped(g, n) && !in[i] {
			return tree.NullOf(n.Type)
		}
	}
	return nil
}
