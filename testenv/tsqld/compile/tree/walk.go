package tree

import "github.com/jobagent/jobagent/testenv/tsqld/catalog"

// Correlated reports whether a query names sources outside itself.
func (q *Query) Correlated() bool {
	own := map[*Source]bool{}
	q.ownSources(own)
	return q.namesSourcesOutside(own)
}

// namesSourcesOutside reports whether the query names columns of sources that are not in own.
func (q *Query) namesSourcesOutside(own map[*Source]bool) bool {
	found := false
	q.EachNode(func(n *Node) {
		n.Walk(func(x *Node) bool {
			if x.Op == OpCol && !own[x.Source] {
				found = true
			}
			if x.Query != nil {
				x.Query.ownSources(own)
				found = found || x.Query.namesSourcesOutside(own)
			}
			return !found
		})
	})
	return found
}

// ownSources collects the sources of a query's FROM clauses.
func (q *Query) ownSources(own map[*Source]bool) {
	if q == nil {
		return
	}
	q.Inner.ownSources(own)
	if q.Set != nil {
		q.Set.X.ownSources(own)
		q.Set.Y.ownSources(own)
	}
	if q.Recursive != nil {
		own[q.Recursive.Source] = true
		q.Recursive.Anchor.ownSources(own)
		for _, s := range q.Recursive.Steps {
			s.ownSources(own)
		}
	}
	if q.Core != nil {
		FromSources(q.Core.From, own)
	}
}

// FromSources collects the sources of an item of FROM.
func FromSources(f From, own map[*Source]bool) {
	switch f := f.(type) {
	case *Join:
		FromSources(f.Left, own)
		FromSources(f.Right, own)
	case *Source:
		own[f] = true
		f.Query.ownSources(own)
	}
}

// EachNode visits the expressions of a query and of its derived tables.
func (q *Query) EachNode(visit func(*Node)) {
	if q == nil {
		return
	}
	q.Inner.EachNode(visit)
	if q.Set != nil {
		q.Set.X.EachNode(visit)
		q.Set.Y.EachNode(visit)
	}
	for _, o := range q.Order {
		visit(o.Node)
	}
	if c := q.Core; c != nil {
		for _, n := range c.Items {
			visit(n)
		}
		for _, n := range c.Group {
			visit(n)
		}
		for _, n := range []*Node{c.Where, c.Having} {
			if n != nil {
				visit(n)
			}
		}
		eachFrom(c.From, visit)
	}
}

// eachFrom visits the expressions of a FROM clause.
func eachFrom(f From, visit func(*Node)) {
	switch f := f.(type) {
	case *Join:
		eachFrom(f.Left, visit)
		eachFrom(f.Right, visit)
		if f.On != nil {
			visit(f.On)
		}
	case *Source:
		f.Query.EachNode(visit)
		if f.Rowset != nil {
			visit(f.Rowset)
		}
	}
}

// Conjuncts splits a condition into the operands of its ANDs. The result for nil is empty.
func Conjuncts(n *Node) []*Node {
	switch {
	case n == nil:
		return nil
	case n.Op == OpAnd:
		var out []*Node
		for _, a := range n.Args {
			out = append(out, Conjuncts(a)...)
		}
		return out
	}
	return []*Node{n}
}

// ReadsAny reports whether a node outside subqueries reads one of the variables. The keys of names
// are folded variable names.
func (n *Node) ReadsAny(names map[string]bool) bool {
	found := false
	n.Walk(func(x *Node) bool {
		found = found || x.Op == OpVar && names[catalog.Fold(x.Name)]
		return !found
	})
	return found
}

// Walk visits a node and its operands, but not subqueries. It does not descend into a node for
// which visit returns false.
func (n *Node) Walk(visit func(*Node) bool) {
	if n == nil || !visit(n) {
		return
	}
	for _, a := range n.Args {
		a.Walk(visit)
	}
	if n.Aggregate != nil {
		n.Aggregate.eachOperand(func(a *Node) { a.Walk(visit) })
	}
}

// eachOperand visits the direct operands of an aggregate.
func (a *Aggregate) eachOperand(visit func(*Node)) {
	for _, x := range a.Args {
		visit(x)
	}
	for _, o := range a.Order {
		visit(o.Node)
	}
	if a.Window != nil {
		for _, x := range a.Window.Partition {
			visit(x)
		}
		for _, o := range a.Window.Order {
			visit(o.Node)
		}
	}
}

// Replace returns a copy of a node with parts replaced. swap returns the replacement of a node, or
// nil to descend into the node. Subqueries are not visited.
func (n *Node) Replace(swap func(*Node) *Node) *Node {
	if n == nil {
		return nil
	}
	if r := swap(n); r != nil {
		return r
	}
	if len(n.Args) == 0 && n.Aggregate == nil {
		return n
	}
	c := *n
	c.Original = nil
	c.Traits &^= RowBound | HasLocal | HasVar | HasEnv | HasRun
	c.Args = make([]*Node, len(n.Args))
	for i, a := range n.Args {
		c.Args[i] = a.Replace(swap)
		c.Traits |= c.Args[i].Traits
	}
	c.Traits |= n.Own()
	if n.Aggregate != nil {
		agg := *n.Aggregate
		agg.Args = make([]*Node, len(n.Aggregate.Args))
		for i, a := range n.Aggregate.Args {
			agg.Args[i] = a.Replace(swap)
		}
		agg.Order = replaceOrder(agg.Order, swap)
		if agg.Window != nil {
			w := *agg.Window
			w.Partition = make([]*Node, len(n.Aggregate.Window.Partition))
			for i, p := range n.Aggregate.Window.Partition {
				w.Partition[i] = p.Replace(swap)
			}
			w.Order = replaceOrder(w.Order, swap)
			agg.Window = &w
		}
		c.Aggregate = &agg
	}
	return &c
}

// replaceOrder applies Replace to the items of an ORDER BY.
func replaceOrder(order []OrderTerm, swap func(*Node) *Node) []OrderTerm {
	out := make([]OrderTerm, len(order))
	for i, o := range order {
		out[i] = OrderTerm{o.Node.Replace(swap), o.Desc}
	}
	return out
}
