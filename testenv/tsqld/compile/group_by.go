package compile

import (
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// groupBy binds GROUP BY. Errors: 144 for aggregates and subqueries, 164 for constants.
func (b *binder) groupBy(g *syntax.GroupBy, c *core, l *level) error {
	if g == nil {
		return nil
	}
	if g.All {
		return mserr.NotSupported("GROUP BY ALL")
	}
	c.grouped = true
	l.agg.refusal = mserr.AggregateInGroupBy()
	if err := checkElements(len(g.Items)); err != nil {
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
				if err := b.meter.Work(nodeWork + len(x) + len(y)); err != nil {
					return err
				}
				product = append(product, slices.Concat(x, y))
			}
		}
		sets = product
	}
	if !plain {
		c.sets = sets
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
func (b *binder) groupItem(item *syntax.GroupItem, c *core, l *level, limited bool) ([][]int, error) {
	if item.Kind == syntax.GroupPlain {
		n, err := b.expr(item.X, l)
		if err != nil {
			return nil, err
		}
		switch {
		case n.via != nil: // a column of a derived table may stand for any expression
		case n.traits&hasSubquery != 0:
			return nil, mserr.AggregateInGroupBy()
		case n.traits&hasColumn == 0:
			return nil, mserr.GroupByConstant()
		}
		if err := sortable(n.typ); err != nil {
			return nil, err
		}
		if err := checkItemCollation(n.label, "GROUP BY", len(c.group)); err != nil {
			return nil, err
		}
		if err := b.meter.Work(len(c.group)); err != nil {
			return nil, err
		}
		for i, g := range c.group {
			if sameNode(g, n) {
				return [][]int{{i}}, nil
			}
		}
		if limited && len(c.group) == mostGroupingExpressions {
			return nil, mserr.TooManyGroupingExpressions(mostGroupingExpressions)
		}
		c.group = append(c.group, n)
		return [][]int{{len(c.group) - 1}}, nil
	}
	var parts [][][]int
	if err := b.charge(); err != nil {
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
			if err := b.meter.Work(nodeWork + n); err != nil {
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
func (b *binder) checkGrouping(r *query, l *level) error {
	c := r.core
	c.grouped = c.grouped || l.agg.found || c.having != nil
	if !c.grouped {
		return nil
	}
	mine := map[*source]bool{}
	for _, src := range l.sources {
		mine[src] = true
	}
	for _, n := range c.items {
		bad, err := b.ungrouped(c, n, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGrouped(bad.qualified())
		}
	}
	if c.having != nil {
		bad, err := b.ungrouped(c, c.having, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGroupedHaving(bad.qualified())
		}
	}
	for _, o := range r.order {
		bad, err := b.ungrouped(c, o.n, mine)
		if err != nil {
			return err
		}
		if bad != nil {
			return mserr.NotGroupedOrder(bad.qualified())
		}
	}
	return nil
}

// qualified returns a column's name with the name of its source, for messages.
func (n *node) qualified() string {
	name := n.src.cols[n.col].name
	if n.src.name != "" {
		if n.src.schema != "" && n.src.base != nil && strings.EqualFold(n.src.name, n.src.base.Name) {
			return n.src.schema + "." + n.src.name + "." + name
		}
		return n.src.name + "." + name
	}
	return name
}

// ungrouped returns a column of the given sources in n, outside aggregates and group expressions of
// c, or nil.
func (b *binder) ungrouped(c *core, n *node, mine map[*source]bool) (bad *node, err error) {
	n.walk(func(x *node) bool {
		if err == nil {
			err = b.meter.Work(1 + len(c.group))
		}
		if bad != nil || err != nil {
			return false
		}
		for _, g := range c.group {
			if sameOrRetyped(g, x) {
				return false
			}
		}
		switch x.op {
		case opAgg, opGrouping:
			return false
		case opCol:
			if mine[x.src] && x.col >= 0 {
				bad = x
			}
		}
		if x.sub != nil {
			bad, err = b.ungroupedIn(c, x.sub, mine)
		}
		return true
	})
	return bad, err
}

// ungroupedIn returns an ungrouped column of the outer query c that a subquery names, or nil.
func (b *binder) ungroupedIn(c *core, q *query, mine map[*source]bool) (bad *node, err error) {
	q.eachNode(func(n *node) {
		if bad == nil && err == nil {
			bad, err = b.ungrouped(c, n, mine)
		}
	})
	return bad, err
}

// groupingSets rewrites ROLLUP, CUBE and GROUPING SETS as a UNION ALL of plain groupings.
func (b *binder) groupingSets(r *query) (*query, error) {
	c := r.core
	items := append([]*node(nil), c.items...)
	cols := append([]outColumn(nil), r.cols...)
	order := make([]orderTerm, len(r.order))
	for i, o := range r.order {
		at := r.itemOf(o.n)
		if at < 0 {
			items = append(items, o.n)
			cols = append(cols, outColumn{typ: o.n.typ, null: true})
			at = len(items) - 1
		}
		order[i] = orderTerm{&node{op: opField, typ: o.n.typ, col: at}, o.desc}
	}
	if c.distinct {
		return nil, mserr.NotSupported("DISTINCT with grouping sets")
	}
	var all *query
	for _, set := range c.sets {
		in := map[int]bool{}
		part := &core{from: c.from, where: c.where, grouped: true}
		for _, g := range set {
			if !in[g] {
				part.group = append(part.group, c.group[g])
			}
			in[g] = true
		}
		swap := func(n *node) *node { return c.forSet(n, in) }
		one := &query{core: part}
		for i, n := range items {
			if err := b.charge(); err != nil {
				return nil, err
			}
			n = n.replace(swap)
			one.add(n, outColumn{name: cols[i].name, typ: n.typ, null: true, label: cols[i].label})
		}
		part.having = c.having.replace(swap)
		if all == nil {
			all = one
			continue
		}
		next, err := setOf("UNION ALL", all, one)
		if err != nil {
			return nil, err
		}
		all = next
	}
	if len(items) == len(r.cols) && all.set != nil {
		all.order, all.limit, all.offset, all.percent, all.ties = order, r.limit, r.offset, r.percent, r.ties
		return all, nil
	}
	src := all.source("q", "")
	out := &query{core: &core{from: src}, limit: r.limit, offset: r.offset, percent: r.percent, ties: r.ties}
	for i := range r.cols {
		out.add(
			columnNode(src, i),
			outColumn{name: cols[i].name, typ: src.cols[i].typ, null: true, label: cols[i].label},
		)
	}
	for _, o := range order {
		out.order = append(out.order, orderTerm{columnNode(src, o.n.col), o.desc})
	}
	return out, nil
}

// forSet returns the replacement of a node in the grouping set with the given group expressions, or
// nil if the node stays.
func (c *core) forSet(n *node, in map[int]bool) *node {
	if n.op == opGrouping {
		id := int64(0)
		for _, a := range n.args {
			id <<= 1
			for i, g := range c.group {
				if sameOrRetyped(g, a) && !in[i] {
					id |= 1
				}
			}
		}
		return constant(id, n.typ)
	}
	if n.op == opAgg {
		return n
	}
	for i, g := range c.group {
		if sameOrRetyped(g, n) && !in[i] {
			return nullOf(n.typ)
		}
	}
	return nil
}
