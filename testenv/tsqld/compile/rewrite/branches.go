package rewrite

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/eval"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

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

// Preserved returns the sources of an item of FROM that no outer join extends with NULL rows, and
// the conditions of the inner joins among these sources. A condition of the query's WHERE on such a
// source therefore holds for the source's own rows.
func Preserved(f tree.From) (sources []*tree.Source, on []*tree.Node) {
	switch f := f.(type) {
	case *tree.Source:
		return []*tree.Source{f}, nil
	case *tree.Join:
		switch f.Kind {
		case "JOIN":
			sources, on = Preserved(f.Left)
			more, conds := Preserved(f.Right)
			return append(sources, more...), append(append(on, conds...), tree.Conjuncts(f.On)...)
		case "LEFT JOIN":
			return Preserved(f.Left)
		}
	}
	return nil, nil
}

// Prune drops the branches of UNION ALLs in a FROM clause, including those of derived tables and
// views, that the conditions exclude. It replaces the queries of the sources, which belong to this
// FROM alone. some is false if no row can satisfy the conditions.
func Prune(f tree.From, where []*tree.Node) (some bool) {
	some = true
	sources, on := Preserved(f)
	where = append(slices.Clone(where), on...)
	for _, src := range sources {
		if src.Query == nil {
			continue
		}
		var conds []*tree.Node
		for _, n := range where {
			if readsOnly(n, src) {
				conds = append(conds, n)
			}
		}
		if len(conds) == 0 {
			continue
		}
		left, has := pruneBranches(src.Query, src, conds)
		src.Query = left
		some = some && has
	}
	return some
}

// readsOnly reports whether a condition reads columns of one source, and no other source or
// subquery.
func readsOnly(n *tree.Node, src *tree.Source) bool {
	over, others := false, n.Traits&(tree.HasSubquery|tree.HasAgg|tree.HasWindow|tree.HasPerRow|tree.HasLocal) != 0
	n.Walk(func(x *tree.Node) bool {
		switch x.Op {
		case tree.OpCol:
			over = over || x.Source == src
			others = others || x.Source != src || x.Column < 0
		case tree.OpSQL, tree.OpField:
			others = true
		}
		return true
	})
	return over && !others
}

// pruneBranches returns the query without the branches whose rows cannot satisfy conds. The
// conditions name the query's columns as those of src. If no branch is left, some is false and left
// is any one of the branches.
func pruneBranches(q *tree.Query, src *tree.Source, conds []*tree.Node) (left *tree.Query, some bool) {
	if q.Document != tree.DocumentNone || q.Recursive != nil {
		return q, true
	}
	if q.Core != nil {
		for _, n := range conds {
			if outcomesOf(q.Core, n)&canBeTrue == 0 {
				return q, false
			}
		}
		if q.IsPlain() && !q.Percent && !q.Ties {
			inner := make([]*tree.Node, len(conds))
			for i, n := range conds {
				inner[i] = n.Replace(func(x *tree.Node) *tree.Node {
					if x.Op == tree.OpCol {
						return q.Core.Items[x.Column]
					}
					return nil
				})
			}
			return q, Prune(q.Core.From, append(inner, tree.Conjuncts(q.Core.Where)...))
		}
		return q, true
	}
	if q.Set == nil || q.Set.Op != "UNION ALL" || q.Limit != nil || q.Offset != nil || q.Percent || q.Ties ||
		len(q.Order) > 0 {
		return q, true
	}
	x, someX := pruneBranches(q.Set.X, src, conds)
	y, someY := pruneBranches(q.Set.Y, src, conds)
	switch {
	case someX && someY:
		r := *q
		r.Set = &tree.SetQuery{Op: q.Set.Op, X: x, Y: y}
		return &r, true
	case someX:
		return x, true
	}
	return y, someY
}

// outcomesOf returns the possible results of a condition on src for the rows of the SELECT behind
// src. The result may include impossible results, but never omits a possible one.
func outcomesOf(c *tree.Core, n *tree.Node) outcomes {
	switch n.Op {
	case tree.OpAnd:
		all := canBeTrue
		for _, a := range n.Args {
			all = andOutcomes(all, outcomesOf(c, a))
		}
		return all
	case tree.OpOr:
		all := canBeTrue
		for _, a := range n.Args { // x OR y is NOT (NOT x AND NOT y)
			all = andOutcomes(all, notOutcomes(outcomesOf(c, a)))
		}
		return notOutcomes(all)
	case tree.OpNot:
		return notOutcomes(outcomesOf(c, n.Args[0]))
	}
	n = n.Replace(func(x *tree.Node) *tree.Node {
		if x.Op != tree.OpCol {
			return nil
		}
		item := c.Items[x.Column]
		if item.Op != tree.OpCol && item.Traits&^tree.CanFail == 0 && c.Sets == nil {
			if v, err := eval.Node(item, nil, nil); err == nil {
				return tree.Constant(v, x.Type)
			}
		}
		return item
	})
	if n.Traits&^tree.CanFail == 0 {
		v, err := eval.Node(n, nil, nil)
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
	switch n.Op {
	case tree.OpIsNull:
		if neverNull(n.Args[0]) && c.Sets == nil {
			return canBeFalse
		}
		return canBeTrue | canBeFalse
	case tree.OpCompare:
		if n.Args[0].IsNullConst() || n.Args[1].IsNullConst() {
			return canBeUnknown
		}
	case tree.OpIn:
		if n.Args[0].IsNullConst() {
			return canBeUnknown
		}
	}
	return anyOutcome
}

// neverNull reports whether a node is a constant other than NULL or a column that does not allow
// NULL.
func neverNull(n *tree.Node) bool {
	return n.IsConst() || n.Op == tree.OpCol && n.Column >= 0 && !n.Source.Columns[n.Column].Null && n.Source.Base != nil &&
		n.Source.Columns[n.Column].Base != nil && n.Source.Columns[n.Column].Expand == nil
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
