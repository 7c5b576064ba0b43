package xquery

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Document Kind = iota + 1
	Element
	Attribute
	Text
	Comment
	Instruction // a processing instruction
)

// Name is a name with its namespace.
type Name struct {
	Prefix string // as written
	Local  string
	Space  string // URI of the namespace; "" for none
}

// String returns the name as written.
func (n Name) String() string {
	if n.Prefix == "" {
		return n.Local
	}
	return n.Prefix + ":" + n.Local
}

// is reports whether two names are equal, whatever their prefixes.
func (n Name) is(o Name) bool { return n.Local == o.Local && n.Space == o.Space }

// Binding binds a prefix to a namespace.
type Binding struct {
	Prefix string // "" for the default element namespace
	Space  string
}

// Node is a node of an instance. A tree does not change after it was read, except by [Change].
type Node struct {
	kind     Kind
	name     Name   // of an element, attribute or instruction
	text     string // of an attribute, text, comment or instruction
	parent   *Node
	spaces   []Binding // the declarations of an element
	attrs    []*Node
	children []*Node
	order    int // position in document order, from 0
	// origin keeps the entry of recentDocuments alive as long as the tree; nil for other nodes than
	// documents.
	origin *textAndTree
}

// add appends a child and sets its parent.
func (n *Node) add(child *Node) {
	child.parent = n
	n.children = append(n.children, child)
}

// root returns the topmost node above n.
func (n *Node) root() *Node {
	for n.parent != nil {
		n = n.parent
	}
	return n
}

// number sets the document order of a tree and returns the next free position. The order of an
// element precedes that of its attributes, which precede its children.
func (n *Node) number(from int) int {
	n.order = from
	from++
	for _, a := range n.attrs {
		a.order = from
		from++
	}
	for _, c := range n.children {
		from = c.number(from)
	}
	return from
}

// at returns the node with a position in document order, or nil.
func (n *Node) at(order int) *Node {
	for n.order != order {
		for _, a := range n.attrs {
			if a.order == order {
				return a
			}
		}
		i, found := slices.BinarySearchFunc(n.children, order, func(c *Node, o int) int { return cmp.Compare(c.order, o) })
		if !found {
			i--
		}
		if i < 0 {
			return nil
		}
		n = n.children[i]
	}
	return n
}

// stringValue returns the text of a node, for elements that of all texts inside.
func (n *Node) stringValue() string {
	if n.kind != Document && n.kind != Element {
		return n.text
	}
	if len(n.children) == 1 && n.children[0].kind == Text {
		return n.children[0].text
	}
	var b strings.Builder
	n.collect(&b)
	return b.String()
}

// collect writes the texts inside a node.
func (n *Node) collect(b *strings.Builder) {
	for _, c := range n.children {
		switch c.kind {
		case Text:
			b.WriteString(c.text)
		case Element:
			c.collect(b)
		}
	}
}

// copy returns a copy of a node and what is below it, without a parent.
func (n *Node) copy() *Node {
	c := *n
	c.parent = nil
	c.attrs, c.children = nil, nil
	c.spaces = slices.Clone(n.spaces)
	for _, a := range n.attrs {
		x := *a
		x.parent = &c
		c.attrs = append(c.attrs, &x)
	}
	for _, x := range n.children {
		c.add(x.copy())
	}
	return &c
}

// lookup returns the namespace that a prefix has at a node; "" for none.
func (n *Node) lookup(prefix string) string {
	for at := n; at != nil; at = at.parent {
		for _, b := range at.spaces {
			if b.Prefix == prefix {
				return b.Space
			}
		}
	}
	if prefix == "xml" {
		return xmlSpace
	}
	return ""
}

// attribute returns an attribute by name, or nil.
func (n *Node) attribute(name Name) *Node {
	for _, a := range n.attrs {
		if a.name.is(name) {
			return a
		}
	}
	return nil
}

// documentOrder sorts nodes by document order and removes duplicates. The nodes are of one tree.
func documentOrder(nodes []*Node) []*Node {
	for i := 1; i < len(nodes); i++ {
		if nodes[i-1].order >= nodes[i].order {
			slices.SortFunc(nodes, func(a, b *Node) int { return cmp.Compare(a.order, b.order) })
			return slices.Compact(nodes)
		}
	}
	return nodes
}
