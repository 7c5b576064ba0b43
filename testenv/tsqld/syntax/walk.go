package syntax

import "reflect"

// Inspect calls f for n and, while f returns true, for the nodes below n. The order is that of the
// source, except for clauses that the tree stores elsewhere. Names ([Ident]) are not visited. n may
// be nil, or a nil pointer.
func Inspect(n Node, f func(Node) bool) { Walk(n, f, nil) }

// Walk calls pre as Inspect does. It also calls post, unless post is nil, after the children of
// each node for which pre returned true.
func Walk(n Node, pre func(Node) bool, post func(Node)) {
	if v := reflect.ValueOf(n); v.Kind() != reflect.Pointer || v.IsNil() {
		return
	}
	w := walker{pre, post}
	w.node(n)
}

// walker is the state of a walk. Its method children is generated from the declarations of the
// nodes (children.go).
type walker struct {
	pre  func(Node) bool
	post func(Node)
}

// node visits n, unless n is nil, and the nodes below n.
func (w *walker) node(n Node) {
	if n == nil || !w.pre(n) {
		return
	}
	w.children(n)
	if w.post != nil {
		w.post(n)
	}
}

// one visits a node, unless n is nil.
func one[P interface {
	*T
	Node
}, T any](w *walker, n P) {
	if n != nil {
		w.node(n)
	}
}

// list visits nodes.
func list[N Node](w *walker, nodes []N) {
	for _, n := range nodes {
		w.node(n)
	}
}

// lists visits lists of nodes.
func lists[N Node](w *walker, nodes [][]N) {
	for _, l := range nodes {
		list(w, l)
	}
}
