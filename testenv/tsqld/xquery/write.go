package xquery

import (
	"slices"
	"strconv"
)

// predeclared are the prefixes that each query declares.
var predeclared = []Binding{
	{"xml", xmlSpace},
	{"xs", "http://www.w3.org/2001/XMLSchema"},
	{"xsi", "http://www.w3.org/2001/XMLSchema-instance"},
	{"xdt", "http://www.w3.org/2004/07/xpath-datatypes"},
	{"fn", functionSpace},
	{"sql", sqlSpace},
}

// The namespaces of functions.
const (
	functionSpace = "http://www.w3.org/2004/07/xpath-functions"
	sqlSpace      = "urn:schemas-microsoft-com:xml-sql"
)

// outside writes a node out of its document: prefixes that are declared above it are declared on
// it, with the prefix of the query's prolog or a new one.
func (w *writer) outside(n *Node, scope []Binding) {
	switch n.kind {
	case Document:
		for _, c := range n.children {
			w.outside(c, scope)
		}
	case Element:
		w.element(n, scope)
	default:
		w.leaf(n)
	}
}

// element writes an element. scope has the declarations of the elements around it, innermost last.
func (w *writer) element(n *Node, scope []Binding) {
	scope = slices.Concat(scope, n.spaces)
	var added []Binding
	name := n.name
	name.Prefix, added = w.prefix(n.name, scope, added, true)
	names := make([]Name, len(n.attrs))
	for i, a := range n.attrs {
		names[i] = a.name
		if a.name.Space == "" {
			continue
		}
		names[i].Prefix, added = w.prefix(a.name, slices.Concat(scope, added), added, false)
	}
	w.b.WriteString("<" + name.String())
	for _, s := range added {
		w.declare(s)
	}
	for _, s := range n.spaces {
		w.declare(s)
	}
	for i, a := range n.attrs {
		w.attribute(names[i].String(), a.text)
	}
	if len(n.children) == 0 {
		w.b.WriteString("/>")
		return
	}
	w.b.WriteByte('>')
	scope = slices.Concat(scope, added)
	for _, c := range n.children {
		w.outside(c, scope)
	}
	w.b.WriteString("</" + name.String() + ">")
}

// prefix returns the prefix for a name, and added with a declaration if the scope has none.
func (w *writer) prefix(name Name, scope, added []Binding, isElement bool) (string, []Binding) {
	if bound(scope, name.Prefix) == name.Space && (isElement || name.Prefix != "") {
		return name.Prefix, added
	}
	if name.Space == "" { // an element in the scope of a default namespace
		return "", append(added, Binding{})
	}
	for i := len(scope) - 1; i >= 0; i-- {
		s := scope[i]
		if s.Space == name.Space && (isElement || s.Prefix != "") && bound(scope, s.Prefix) == s.Space {
			return s.Prefix, added
		}
	}
	for _, s := range slices.Concat(w.prolog, predeclared) {
		if s.Space == name.Space && (isElement || s.Prefix != "") && s.Prefix != "xml" {
			return s.Prefix, append(added, s)
		}
	}
	for {
		w.made++
		p := "p" + strconv.Itoa(w.made)
		if !slices.ContainsFunc(scope, func(s Binding) bool { return s.Prefix == p }) {
			return p, append(added, Binding{p, name.Space})
		}
	}
}

// bound returns the namespace of a prefix in a scope.
func bound(scope []Binding, prefix string) string {
	if prefix == "xml" {
		return xmlSpace
	}
	for i := len(scope) - 1; i >= 0; i-- {
		if scope[i].Prefix == prefix {
			return scope[i].Space
		}
	}
	return ""
}
