package rewrite

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
)

// NeedsPastRows reports whether a query has no rows when its sources with READPAST are empty.
func NeedsPastRows(q *tree.Query) bool {
	switch {
	case q.Document != tree.DocumentNone:
		return false
	case q.Recursive != nil:
		return NeedsPastRows(q.Recursive.Anchor)
	case q.Set != nil && strings.HasPrefix(q.Set.Op, "UNION"):
		return NeedsPastRows(q.Set.X) && NeedsPastRows(q.Set.Y)
	case q.Set != nil:
		return NeedsPastRows(q.Set.X) || q.Set.Op == "INTERSECT" && NeedsPastRows(q.Set.Y)
	case q.Core == nil:
		return false
	}
	c := q.Core
	if c.Sets != nil || len(c.Group) == 0 && (c.Grouped || c.Having != nil) {
		return false // an aggregate without groups returns one row
	}
	return FromNeedsPastRows(c.From, c.Where)
}

// FromNeedsPastRows is NeedsPastRows for FROM and WHERE.
func FromNeedsPastRows(f tree.From, where *tree.Node) bool {
	if f != nil && JoinNeedsPastRows(f) {
		return true
	}
	for _, n := range tree.Conjuncts(where) {
		if (n.Op == tree.OpExists || n.Op == tree.OpInQuery) && NeedsPastRows(n.Query) {
			return true
		}
	}
	return false
}

// JoinNeedsPastRows is NeedsPastRows for an item of FROM.
func JoinNeedsPastRows(f tree.From) bool {
	switch f := f.(type) {
	case *tree.Source:
		return f.ReadPast || f.Query != nil && NeedsPastRows(f.Query)
	case *tree.Join:
		switch f.Kind {
		case "JOIN", "CROSS JOIN":
			return JoinNeedsPastRows(f.Left) || JoinNeedsPastRows(f.Right)
		case "LEFT JOIN":
			return JoinNeedsPastRows(f.Left)
		case "RIGHT JOIN":
			return JoinNeedsPastRows(f.Right)
		case "FULL JOIN":
			return JoinNeedsPastRows(f.Left) && JoinNeedsPastRows(f.Right)
		}
	}
	return false
}
