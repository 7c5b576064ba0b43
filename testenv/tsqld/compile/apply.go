package compile

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// apply binds CROSS APPLY and OUTER APPLY. SQLite has no lateral subqueries. A right side that
// depends on the left side is merged into the query if it is simple enough, or joined if it is the
// TOP of a table. Otherwise a correlated subquery encodes its rows as a text, and a rowset decodes
// them.
func (b *binder) apply(ts *syntax.Join, left fromNode, l *level, start, middle int) (fromNode, error) {
	isOuter := ts.Kind == syntax.OuterApply
	lefts := l.sources[start:middle]
	wasUsed := make([]bool, len(lefts))
	for i, src := range lefts {
		wasUsed[i], src.used = src.used, false
	}
	inner := &level{parent: l.parent}
	right, err := b.tableSource(ts.Right, inner, &level{parent: l.parent, sources: l.sources})
	if err != nil {
		return nil, err
	}
	dependent := false
	for i, src := range lefts {
		dependent = dependent || src.used
		src.used = src.used || wasUsed[i]
	}
	for _, src := range inner.sources {
		if err := l.expose(src, true); err != nil {
			return nil, err
		}
		if isOuter {
			src.allowNull()
		}
	}
	kind := "JOIN"
	if isOuter {
		kind = "LEFT JOIN"
	}
	src, ok := right.(*source)
	if !dependent || ok && src.rowset != nil {
		return &join{kind: kind, left: orOneRow(left), right: right}, nil
	}
	if !ok || src.query == nil {
		return nil, mserr.NotSupported("APPLY of a join whose parts depend on the left side")
	}
	if f, ok := mergeApply(src, left, isOuter); ok {
		return f, nil
	}
	if f, ok := b.applyTop(src, left, isOuter); ok {
		return f, nil
	}
	src.lateral()
	return &join{kind: kind, left: left, right: src}, nil
}

// mergeApply joins a simple dependent subquery directly to the left side. ok is false if the
// subquery is not simple enough.
func mergeApply(src *source, left fromNode, isOuter bool) (fromNode, bool) {
	q := src.query
	if !q.isPlain() {
		return nil, false
	}
	c := q.core
	own := map[*source]bool{}
	fromSources(left, own)
	fromSources(c.from, own)
	for _, n := range c.items {
		if n.traits&hasPerRow != 0 {
			return nil, false // the value must be computed once per row, however often its column is named
		}
		columns, mine := false, false
		n.walk(func(x *node) bool {
			columns, mine = columns || x.op == opCol, mine || x.op == opCol && own[x.src]
			return true
		})
		if columns && !mine {
			return nil, false // SQLite would attribute an aggregate of the column to the outer query
		}
	}
	bind := func() {
		for i := range src.cols {
			n := c.items[i]
			src.cols[i].expand = func() (*node, error) {
				r := *n
				r.null = r.null || isOuter
				return &r, nil
			}
		}
	}
	if c.from == nil && c.where == nil {
		bind()
		return left, true
	}
	leaf, ok := c.from.(*source)
	if !ok || leaf.rowset != nil || leaf.query != nil && isOuter {
		return nil, false
	}
	if leaf.query != nil && leaf.query.correlated() {
		return nil, false
	}
	if isOuter {
		for _, n := range c.items {
			if n.op != opCol || n.src != leaf {
				return nil, false
			}
		}
		bind()
		return &join{kind: "LEFT JOIN", left: left, right: leaf, on: c.where}, true
	}
	bind()
	return &join{kind: "JOIN", left: left, right: leaf, on: c.where}, true
}

// applyTop joins the first rows of a table, CROSS APPLY (SELECT TOP (n) ... FROM t WHERE ... ORDER
// BY ...), to the left side: it joins the table itself and selects its rows by a correlated
// subquery. ok is false for other subqueries.
func (b *binder) applyTop(src *source, left fromNode, isOuter bool) (fromNode, bool) {
	q := src.query
	if isOuter || left == nil || q.core == nil || q.limit == nil || q.percent || q.ties ||
		q.document != documentNone ||
		q.limit.traits&rowBound != 0 {
		return nil, false
	}
	c := q.core
	table, ok := c.from.(*source)
	if !ok || table.table == "" || table.base == nil || c.distinct || c.grouped || c.having != nil {
		return nil, false
	}
	for _, n := range c.items {
		if n.traits&(hasSubquery|hasWindow|hasAgg|hasPerRow|hasLocal) != 0 {
			return nil, false
		}
	}
	joined := *table
	joined.alias = b.alias("t")
	for i := range c.items {
		n := c.items[i].replace(func(x *node) *node {
			if x.op != opCol || x.src != table {
				return nil
			}
			r := *x
			r.src = &joined
			return &r
		})
		src.cols[i].expand = func() (*node, error) { return n, nil }
	}
	rid := sourceColumn{typ: types.BigIntType, sql: "rowid", hidden: true}
	table.cols, joined.cols = append(slices.Clone(table.cols), rid), append(slices.Clone(table.cols), rid)
	selected := *q
	selected.core = &core{from: table, where: c.where, items: []*node{columnNode(table, len(table.cols)-1)}}
	selected.cols = []outColumn{{typ: types.BigIntType}}
	isSelected := build(opInQuery, types.BitType, columnNode(&joined, len(joined.cols)-1))
	isSelected.sub, isSelected.traits = &selected, isSelected.traits|hasSubquery|canFail
	// CROSS JOIN keeps SQLite from reading the joined table first and testing each of its rows
	// against each row on the left.
	return &join{kind: "CROSS JOIN", left: left, right: &joined, on: isSelected}, true
}

// correlated reports whether a query names sources outside itself.
func (q *query) correlated() bool {
	own := map[*source]bool{}
	q.ownSources(own)
	return q.namesSourcesOutside(own)
}

// namesSourcesOutside reports whether the query names columns of sources that are not in own.
func (q *query) namesSourcesOutside(own map[*source]bool) bool {
	found := false
	q.eachNode(func(n *node) {
		n.walk(func(x *node) bool {
			if x.op == opCol && !own[x.src] {
				found = true
			}
			if x.sub != nil {
				x.sub.ownSources(own)
				found = found || x.sub.namesSourcesOutside(own)
			}
			return !found
		})
	})
	return found
}

// ownSources collects the sources of a query's FROM clauses.
func (q *query) ownSources(own map[*source]bool) {
	if q == nil {
		return
	}
	q.inner.ownSources(own)
	if q.set != nil {
		q.set.x.ownSources(own)
		q.set.y.ownSources(own)
	}
	if q.recursive != nil {
		own[q.recursive.src] = true
		q.recursive.anchor.ownSources(own)
		for _, s := range q.recursive.steps {
			s.ownSources(own)
		}
	}
	if q.core != nil {
		fromSources(q.core.from, own)
	}
}

// fromSources collects the sources of an item of FROM.
func fromSources(f fromNode, own map[*source]bool) {
	switch f := f.(type) {
	case *join:
		fromSources(f.left, own)
		fromSources(f.right, own)
	case *source:
		own[f] = true
		f.query.ownSources(own)
	}
}

// lateral replaces a derived table by a rowset that decodes the result of a correlated subquery.
func (s *source) lateral() {
	q := s.query
	s.query = nil
	s.rowset = &node{
		op:        opScalar,
		typ:       types.NVarCharMax,
		null:      true,
		sub:       q.asRows(),
		singleRow: true,
		traits:    hasSubquery,
	}
	s.fields()
}

// asRows returns a query with one row: the encoded rows of q.
func (q *query) asRows() *query {
	return &query{
		inner:       q,
		document:    documentRows,
		documentKey: keys.Rows,
		cols:        []outColumn{{typ: types.NVarCharMax, null: true}},
	}
}
