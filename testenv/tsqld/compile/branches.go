package compile

import "slices"

// A condition on a UNION ALL can exclude all rows of one of its branches. step_id IS NULL does so
// for a branch whose step_id is a column that is never NULL; kind = 'a' does so for a branch whose
// kind is the constant 'b'. SQL Server's optimizer drops such branches ("contradiction detection").
// SQLite would read and sort them. Dropping them here also lets the only remaining branch return
// its rows in the order of an index.

// outcomes is a set of possible results of a condition.
type outcomes uint8

// The possible results of a condition.
const (
	canBeTrue outcomes = 1 << iota
	canBeFalse
	canBeUnknown
	anyOutcome = canBeTrue | canBeFalse | canBeUnknown
)

// conjuncts splits a condition into the operands of its ANDs. The result for nil is empty.
func conjuncts(n *node) []*node {
	switch {
	case n == nil:
		return nil
	case n.op == opAnd:
		var out []*node
		for _, a := range n.args {
			out = append(out, conjuncts(a)...)
		}
		return out
	}
	return []*node{n}
}

// preserved returns the sources of an item of FROM that no outer join extends with NULL rows, and
// the conditions of the inner joins among these sources. A condition of the query's WHERE on such a
// source therefore holds for the source's own rows.
func preserved(f fromNode) (sources []*source, on []*node) {
	switch f := f.(type) {
	case *source:
		return []*source{f}, nil
	case *join:
		switch f.kind {
		case "JOIN":
			sources, on = preserved(f.left)
			more, conds := preserved(f.right)
			return append(sources, more...), append(append(on, conds...), conjuncts(f.on)...)
		case "LEFT JOIN":
			return preserved(f.left)
		}
	}
	return nil, nil
}

// prune drops the branches of UNION ALLs in a FROM clause, including those of derived tables and
// views, that the conditions exclude. It replaces the queries of the sources, which belong to this
// FROM alone. some is false if no row can satisfy the conditions.
func prune(f fromNode, where []*node) (some bool) {
	some = true
	sources, on := preserved(f)
	where = append(slices.Clone(where), on...)
	for _, src := range sources {
		if src.query == nil {
			continue
		}
		var conds []*node
		for _, n := range where {
			if n.readsOnly(src) {
				conds = append(conds, n)
			}
		}
		if len(conds) == 0 {
			continue
		}
		left, has := src.query.pruneBranches(src, conds)
		src.query = left
		some = some && has
	}
	return some
}

// readsOnly reports whether a condition reads columns of one source, and no other source or
// subquery.
func (n *node) readsOnly(src *source) bool {
	over, others := false, n.traits&(hasSubquery|hasAgg|hasWindow|hasPerRow|hasLocal) != 0
	n.walk(func(x *node) bool {
		switch x.op {
		case opCol:
			over = over || x.src == src
			others = others || x.src != src || x.col < 0
		case opSQL, opField:
			others = true
		}
		return true
	})
	return over && !others
}

// pruneBranches returns the query without the branches whose rows cannot satisfy conds. The
// conditions name the query's columns as those of src. If no branch is left, some is false and left
// is any one of the branches.
func (q *query) pruneBranches(src *source, conds []*node) (left *query, some bool) {
	if q.document != documentNone || q.recursive != nil {
		return q, true
	}
	if q.core != nil {
		for _, n := range conds {
			if q.core.outcomes(n, src)&canBeTrue == 0 {
				return q, false
			}
		}
		if q.isPlain() && !q.percent && !q.ties {
			inner := make([]*node, len(conds))
			for i, n := range conds {
				inner[i] = n.replace(func(x *node) *node {
					if x.op == opCol {
						return q.core.items[x.col]
					}
					return nil
				})
			}
			return q, prune(q.core.from, append(inner, conjuncts(q.core.where)...))
		}
		return q, true
	}
	if q.set == nil || q.set.op != "UNION ALL" || q.limit != nil || q.offset != nil || q.percent || q.ties ||
		len(q.order) > 0 {
		return q, true
	}
	x, someX := q.set.x.pruneBranches(src, conds)
	y, someY := q.set.y.pruneBranches(src, conds)
	switch {
	case someX && someY:
		r := *q
		r.set = &setQuery{q.set.op, x, y}
		return &r, true
	case someX:
		return x, true
	}
	return y, someY
}

// outcomes returns the possible results of a condition on src for the rows of the SELECT behind
// src. The result may include impossible results, but never omits a possible one.
func (c *core) outcomes(n *node, src *source) outcomes {
	switch n.op {
	case opAnd:
		all := canBeTrue
		for _, a := range n.args {
			all = andOutcomes(all, c.outcomes(a, src))
		}
		return all
	case opOr:
		all := canBeTrue
		for _, a := range n.args { // x OR y is NOT (NOT x AND NOT y)
			all = andOutcomes(all, notOutcomes(c.outcomes(a, src)))
		}
		return notOutcomes(all)
	case opNot:
		return notOutcomes(c.outcomes(n.args[0], src))
	}
	n = n.replace(func(x *node) *node {
		if x.op != opCol {
			return nil
		}
		item := c.items[x.col]
		if item.op != opCol && item.traits&^canFail == 0 && c.sets == nil {
			if v, err := item.eval(nil, nil); err == nil {
				return constant(v, x.typ)
			}
		}
		return item
	})
	if n.traits&^canFail == 0 {
		v, err := n.eval(nil, nil)
		switch {
		case err != nil:
			return anyOutcome
		case v == nil:
			return canBeUnknown
		case v == int64(1):
			return canBeTrue
		}
		return canBeFalse
	}
	switch n.op {
	case opIsNull:
		if n.args[0].neverNull() && c.sets == nil {
			return canBeFalse
		}
		return canBeTrue | canBeFalse
	case opCompare:
		if n.args[0].isNullConst() || n.args[1].isNullConst() {
			return canBeUnknown
		}
	case opIn:
		if n.args[0].isNullConst() {
			return canBeUnknown
		}
	}
	return anyOutcome
}

// neverNull reports whether a node is a constant other than NULL or a column that does not allow
// NULL.
func (n *node) neverNull() bool {
	return n.isConst() || n.op == opCol && n.col >= 0 && !n.src.cols[n.col].null && n.src.base != nil &&
		n.src.cols[n.col].base != nil && n.src.cols[n.col].expand == nil
}

// andOutcomes returns the possible results of AND.
func andOutcomes(x, y outcomes) outcomes {
	r := (x | y) & canBeFalse
	if x&canBeTrue != 0 {
		r |= y & (canBeTrue | canBeUnknown)
	}
	if x&canBeUnknown != 0 && y&(canBeTrue|canBeUnknown) != 0 {
		r |= canBeUnknown
	}
	return r
}

// notOutcomes returns the possible results of NOT.
func notOutcomes(x outcomes) outcomes {
	r := x & canBeUnknown
	if x&canBeTrue != 0 {
		r |= canBeFalse
	}
	if x&canBeFalse != 0 {
		r |= canBeTrue
	}
	return r
}
