package tree

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// SameNode reports whether two nodes are the same expression: the same operations on the same
// columns, variables and constants, with the same types and collations. Constants must be equal
// byte for byte, because texts that a collation considers equal differ as results. A function that
// returns a different value at each place is the same only as itself.
func SameNode(a, b *Node) bool {
	if a == b {
		return true
	}
	if a.Op != b.Op || a.Type != b.Type || a.Key != b.Key || a.Source != b.Source || a.Column != b.Column ||
		len(a.Args) != len(b.Args) || a.Query != b.Query ||
		a.Run != nil || b.Run != nil || a.Op == OpPerRow ||
		a.Traits&PerPlace != 0 {
		return false
	}
	switch {
	case a.Op == OpVar && !strings.EqualFold(a.Name, b.Name), a.Op != OpVar && a.Name != b.Name:
		return false
	case a.Op == OpConst && !identical(a.Value, b.Value):
		return false
	}
	return sameNodes(a.Args, b.Args) && sameAggregate(a.Aggregate, b.Aggregate)
}

// SameOrRetyped reports whether n is the expression g, possibly retyped.
func SameOrRetyped(g, n *Node) bool {
	for ; n != nil; n = n.Original {
		if SameNode(g, n) {
			return true
		}
	}
	return false
}

// sameNodes applies SameNode to lists.
func sameNodes(a, b []*Node) bool { return slices.EqualFunc(a, b, SameNode) }

// sameAggregate applies SameNode to aggregates and window functions.
func sameAggregate(a, b *Aggregate) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.Native != b.Native || a.Key != b.Key ||
		a.Distinct != b.Distinct || a.Star != b.Star || a.Wrap != b.Wrap || a.Outer != b.Outer ||
		!sameNodes(a.Args, b.Args) || !sameOrder(a.Order, b.Order) ||
		(a.Window == nil) != (b.Window == nil) {
		return false
	}
	v, w := a.Window, b.Window
	return v == nil || v.Frame == w.Frame && sameNodes(v.Partition, w.Partition) && sameOrder(v.Order, w.Order)
}

// sameOrder applies SameNode to the items of an ORDER BY.
func sameOrder(a, b []OrderTerm) bool {
	return slices.EqualFunc(a, b, func(x, y OrderTerm) bool { return x.Desc == y.Desc && SameNode(x.Node, y.Node) })
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
