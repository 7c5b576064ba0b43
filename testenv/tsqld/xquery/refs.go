package xquery

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// refMark separates the position of a referenced node from the text of its instance. XML cannot
// contain this character.
const refMark = "\x01"

// Reach says which nodes around a node its queries may read. The zero Reach is the node, and what
// is below it. Reaches are ordered: a greater one contains a smaller one.
type Reach int

// The reaches between a node and its instance.
const (
	// ReachAttributes adds the attributes of all ancestors.
	ReachAttributes Reach = 1
	// reachLevel is what each ancestor adds to ReachAttributes, with all that is below the
	// ancestor.
	reachLevel Reach = 1
	// ReachAll is the whole instance.
	ReachAll Reach = 1 << 20
)

// levels returns the number of ancestors whose subtrees a reach contains.
func (r Reach) levels() int { return max(int(r-ReachAttributes), 0) }

// Refs encodes references to nodes of one tree.
type Refs struct {
	nodes []*Node
	reach Reach
	whole string // the text of the instance; "" until it is needed
	base  *Node  // the subtree of the last reference, and its text
	text  string
	first int // the position of base in text
}

// NewRefs returns the references to the nodes of a sequence.
func NewRefs(nodes []*Node, reach Reach) *Refs { return &Refs{nodes: nodes, reach: reach} }

// Len returns the number of references.
func (r *Refs) Len() int { return len(r.nodes) }

// Text returns a reference: the position of the node in document order, and the text in which the
// node is.
func (r *Refs) Text(i int) string {
	n := r.nodes[i]
	base := r.baseOf(n)
	if base == nil {
		if r.whole == "" {
			var w writer
			w.plain(n.root())
			r.whole = w.b.String()
		}
		return strconv.Itoa(n.order) + refMark + r.whole
	}
	if base.kind == Attribute {
		return r.attribute(base)
	}
	if base != r.base {
		r.base = base
		r.text, r.first = r.within(base.parent, func(w *writer) { w.plain(base) })
	}
	return strconv.Itoa(r.first+n.order-base.order) + refMark + r.text
}

// baseOf returns the node whose subtree a reference has, or nil for the whole instance.
func (r *Refs) baseOf(n *Node) *Node {
	if n.kind == Document || r.reach >= ReachAll {
		return nil
	}
	base := n
	for range r.reach.levels() {
		if base = base.parent; base == nil || base.kind == Document {
			return nil
		}
	}
	return base
}

// attribute returns the reference to an attribute, without the content of its element.
func (r *Refs) attribute(n *Node) string {
	attrs := []*Node{n}
	if r.reach >= ReachAttributes {
		attrs = n.parent.attrs
	}
	text, first := r.within(n.parent.parent, func(w *writer) {
		w.open(n.parent, attrs)
		w.b.WriteString("/>")
	})
	return strconv.Itoa(first+1+slices.Index(attrs, n)) + refMark + text
}

// within writes something inside the start and end tags of its ancestors, and returns its position
// in document order.
func (r *Refs) within(parent *Node, write func(*writer)) (text string, order int) {
	var w writer
	var above []*Node
	for at := parent; at != nil && at.kind == Element; at = at.parent {
		above = append(above, at)
	}
	order = 1 // the document is 0
	for _, at := range slices.Backward(above) {
		var attrs []*Node
		if r.reach >= ReachAttributes {
			attrs = at.attrs
		}
		w.open(at, attrs)
		w.b.WriteByte('>')
		order += 1 + len(attrs)
	}
	write(&w)
	for _, at := range above {
		w.b.WriteString("</" + at.name.String() + ">")
	}
	return w.b.String(), order
}

// writer writes nodes as XML.
type writer struct {
	b      strings.Builder
	prolog []Binding // declarations of the query, for namespaces that a node's text does not declare
	made   int       // number of prefixes made
	err    error     // 6309 for a character that XML does not allow
}

// plain writes a node with the prefixes that it was read with. Its ancestors declare them.
func (w *writer) plain(n *Node) {
	switch n.kind {
	case Document:
		for _, c := range n.children {
			w.plain(c)
		}
	case Element:
		w.open(n, n.attrs)
		if len(n.children) == 0 {
			w.b.WriteString("/>")
			return
		}
		w.b.WriteByte('>')
		for _, c := range n.children {
			w.plain(c)
		}
		w.b.WriteString("</" + n.name.String() + ">")
	default:
		w.leaf(n)
	}
}

// open writes a start tag without its ">".
func (w *writer) open(n *Node, attrs []*Node) {
	w.b.WriteString("<" + n.name.String())
	for _, s := range n.spaces {
		w.declare(s)
	}
	for _, a := range attrs {
		w.attribute(a.name.String(), a.text)
	}
}

// declare writes the declaration of a namespace.
func (w *writer) declare(s Binding) {
	name := "xmlns"
	if s.Prefix != "" {
		name += ":" + s.Prefix
	}
	w.attribute(name, s.Space)
}

// attribute writes an attribute.
func (w *writer) attribute(name, value string) {
	w.check(value, name)
	w.b.WriteString(" " + name + `="`)
	_, _ = attributeEscaper.WriteString(&w.b, value) // a strings.Builder returns no error
	w.b.WriteByte('"')
}

// leaf writes a text, comment or instruction.
func (w *writer) leaf(n *Node) {
	switch n.kind {
	case Text:
		name := noName
		if n.parent != nil && n.parent.name.Local != "" {
			name = n.parent.name.String()
		}
		w.text(n.text, name)
	case Comment:
		w.b.WriteString("<!--" + n.text + "-->")
	case Instruction:
		w.b.WriteString("<?" + n.name.Local)
		if n.text != "" {
			w.b.WriteString(" " + n.text)
		}
		w.b.WriteString("?>")
	}
}

// text writes character data. White space that makes up a whole text would be insignificant, so its
// first character is written as a reference. name is the name of the node for error 6309.
func (w *writer) text(s, name string) {
	w.check(s, name)
	if s != "" && strings.Trim(s, " \t\r\n") == "" {
		w.b.WriteString("&#x" + strings.ToUpper(hex2(s[0])) + ";")
		s = s[1:]
	}
	_, _ = textEscaper.WriteString(&w.b, s)
}

// noName is the name of a text without an element in messages.
const noName = "NoName"

// check checks that XML allows the characters of a text. Error 6309.
func (w *writer) check(s, name string) {
	if i := strings.IndexFunc(s, isForbidden); i >= 0 && w.err == nil {
		c, _ := utf8.DecodeRuneInString(s[i:])
		w.err = mserr.XMLCharacter(name, c)
	}
}

// isForbidden reports whether XML does not allow a character.
func isForbidden(c rune) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0xFFFE || c == 0xFFFF
}

// hex2 returns a byte as two hexadecimal digits.
func hex2(c byte) string { return strconv.FormatUint(uint64(c)|0x100, 16)[1:] }

// The escapes of SQL Server's serialization.
var (
	textEscaper      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#x0D;")
	attributeEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "\r", "&#x0D;", "\n", "&#x0A;", "\t", "&#x09;")
)
