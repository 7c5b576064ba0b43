package xquery

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// refMark separates the position of a referenced node from the text of its instance. XML cannot
// contain this character.
const refMark = "\x01"

// Refs encodes references to nodes of one tree.
type Refs struct {
	nodes []*Node
	whole string // the text of the instance, if the references have it; otherwise ""
}

// NewRefs returns the references to the nodes of a sequence. With whole set, they lead to all of
// the instance; otherwise to a node, what is below it, and the names of its ancestors.
func NewRefs(nodes []*Node, whole bool) *Refs {
	r := &Refs{nodes: nodes}
	if whole && len(nodes) > 0 {
		var w writer
		w.plain(nodes[0].root())
		r.whole = w.b.String()
	}
	return r
}

// Len returns the number of references.
func (r *Refs) Len() int { return len(r.nodes) }

// Text returns a reference.
func (r *Refs) Text(i int) string {
	n := r.nodes[i]
	if r.whole != "" {
		return strconv.Itoa(n.order) + refMark + r.whole
	}
	var w writer
	order := 1 // the document is 0
	owner := n
	if n.kind == Attribute {
		owner = n.parent
	}
	var above []*Node
	for at := owner.parent; at != nil && at.kind == Element; at = at.parent {
		above = append(above, at)
	}
	for i := len(above) - 1; i >= 0; i-- {
		w.open(above[i], nil)
		w.b.WriteByte('>')
		order++
	}
	switch n.kind {
	case Attribute:
		w.open(owner, []*Node{n})
		w.b.WriteString("/>")
		order++
	case Document:
		w.plain(n)
		order = 0
	default:
		w.plain(n)
	}
	for _, a := range above {
		w.b.WriteString("</" + a.name.String() + ">")
	}
	return strconv.Itoa(order) + refMark + w.b.String()
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
