package compile

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// sameNode reports whether two nodes are the same expression: the same operations on the same
// columns, variables and constants, with the same types and collations. Constants must be equal
// byte for byte, because texts that a collation considers equal differ as results. A function that
// returns a different value at each place is the same only as itself.
func sameNode(a, b *node) bool {
	if a == b {
		return true
	}
	if a.op != b.op || a.typ != b.typ || a.key != b.key || a.src != b.src || a.col != b.col ||
		len(a.args) != len(b.args) || a.sub != b.sub ||
		a.run != nil || b.run != nil || a.op == opPerRow ||
		a.traits&perPlace != 0 {
		return false
	}
	switch {
	case a.op == opVar && !strings.EqualFold(a.name, b.name), a.op != opVar && a.name != b.name:
		return false
	case a.op == opConst && !identical(a.val, b.val):
		return false
	}
	return sameNodes(a.args, b.args) && sameAggregate(a.agg, b.agg)
}

// sameOrRetyped reports whether n is the expression g, possibly retyped.
func sameOrRetyped(g, n *node) bool {
	for ; n != nil; n = n.original {
		if sameNode(g, n) {
			return true
		}
	}
	return false
}

// sameNodes applies sameNode to lists.
func sameNodes(a, b []*node) bool { return slices.EqualFunc(a, b, sameNode) }

// sameAggregate applies sameNode to aggregates and window functions.
func sameAggregate(a, b *aggregate) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.native != b.native || a.key != b.key ||
		a.distinct != b.distinct || a.star != b.star || a.wrap != b.wrap || a.outer != b.outer ||
		!sameNodes(a.args, b.args) || !sameOrder(a.order, b.order) ||
		(a.window == nil) != (b.window == nil) {
		return false
	}
	v, w := a.window, b.window
	return v == nil || v.frame == w.frame && sameNodes(v.partition, w.partition) && sameOrder(v.order, w.order)
}

// sameOrder applies sameNode to the items of an ORDER BY.
func sameOrder(a, b []orderTerm) bool {
	return slices.EqualFunc(a, b, func(x, y orderTerm) bool { return x.desc == y.desc && sameNode(x.n, y.n) })
}

// identical reports whether two values are equal bit for bit.
func identical(a, b types.Value) bool {
	switch x := a.(type) {
	case float64:
		y, ok := b.(float64)
		return ok && math.Float64bits(x) == math.Float64bits(y)
	case []byte:
		y, ok := b.([]byte)
		return ok && bytes.Equal(x, y)
	}
	if _, ok := b.([]byte); ok {
		return false
	}
	return a == b
}
