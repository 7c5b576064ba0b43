package xquery

import (
	"encoding/xml"
	"errors"
	"hash/maphash"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"weak"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// xmlSpace is the namespace of the prefix xml ("Namespaces in XML").
const xmlSpace = "http://www.w3.org/XML/1998/namespace"

const (
	// nodeBytes is the approximate memory of a node without its text.
	nodeBytes = 240
	// nodeWork is the cost of reading a node, in steps of [meter.Meter.Work].
	nodeWork = 200
	// maxDepth is the maximum nesting of elements ("XML data type and columns", limitations).
	maxDepth = 128
)

// Read returns the document node of the stored text of an instance, or the node to which a text of
// [Refs] refers.
func Read(m *meter.Meter, text string) (*Node, error) {
	order := 0
	if len(text) > 0 && text[0] >= '0' && text[0] <= '9' && strings.HasPrefix(text[digits(text):], refMark) {
		n := digits(text)
		v, err := strconv.Atoi(text[:n])
		if err != nil {
			return nil, errReference
		}
		order, text = v, text[n+len(refMark):]
	}
	doc := recent.find(text)
	if doc == nil {
		var err error
		if doc, err = read(m, text); err != nil {
			return nil, err
		}
		recent.keep(text, doc)
	}
	n := doc.at(order)
	if n == nil {
		return nil, errReference
	}
	return n, nil
}

// digits returns the number of digits at the start of a text.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// errReference is the error of a damaged node reference.
var errReference error = mserr.NotSupported("a node reference in an unknown encoding")

// reader makes the tree of a text.
type reader struct {
	m     *meter.Meter
	d     *xml.Decoder
	at    *Node
	depth int
}

// read parses the text of an instance.
func read(m *meter.Meter, text string) (*Node, error) {
	doc := &Node{kind: Document}
	r := reader{m: m, d: xml.NewDecoder(strings.NewReader(text)), at: doc}
	for {
		t, err := r.d.RawToken()
		if errors.Is(err, io.EOF) && r.at == doc {
			doc.number(0)
			return doc, nil
		}
		if err != nil {
			line, column := r.d.InputPos()
			return nil, mserr.XMLParse(line, column, mserr.XMLIllegal)
		}
		if err := r.token(t); err != nil {
			return nil, err
		}
	}
}

// token adds a token to the tree.
func (r *reader) token(t xml.Token) error {
	var n *Node
	switch t := t.(type) {
	case xml.StartElement:
		return r.start(t)
	case xml.EndElement:
		if r.at.kind != Element || r.at.name.Local != t.Name.Local || r.at.name.Prefix != t.Name.Space {
			line, column := r.d.InputPos()
			return mserr.XMLParse(line, column, mserr.XMLEndTag)
		}
		r.at = r.at.parent
		r.depth--
		return nil
	case xml.CharData:
		if len(t) == 0 {
			return nil
		}
		n = &Node{kind: Text, text: string(t)}
	case xml.Comment:
		n = &Node{kind: Comment, text: string(t)}
	case xml.ProcInst:
		n = &Node{kind: Instruction, name: Name{Local: t.Target}, text: string(t.Inst)}
	default:
		return nil
	}
	if err := r.charge(len(n.text)); err != nil {
		return err
	}
	r.addChild(n)
	return nil
}

// addChild adds a child to the open node. A text joins a text before it.
func (r *reader) addChild(n *Node) {
	if last := len(r.at.children) - 1; n.kind == Text && last >= 0 && r.at.children[last].kind == Text {
		r.at.children[last].text += n.text
		return
	}
	r.at.add(n)
}

// start opens an element.
func (r *reader) start(t xml.StartElement) error {
	if r.depth++; r.depth > maxDepth {
		return mserr.Of(6335, maxDepth)
	}
	n := &Node{kind: Element, name: Name{Prefix: t.Name.Space, Local: t.Name.Local}}
	r.at.add(n)
	r.at = n
	size := 0
	for _, a := range t.Attr {
		size += nodeBytes + len(a.Value)
		switch {
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			n.spaces = append(n.spaces, Binding{"", a.Value})
		case a.Name.Space == "xmlns":
			n.spaces = append(n.spaces, Binding{a.Name.Local, a.Value})
		default:
			n.attrs = append(n.attrs, &Node{
				kind: Attribute, name: Name{Prefix: a.Name.Space, Local: a.Name.Local}, text: a.Value, parent: n,
			})
		}
	}
	n.name.Space = n.lookup(n.name.Prefix)
	for _, a := range n.attrs {
		if a.name.Prefix != "" {
			a.name.Space = n.lookup(a.name.Prefix)
		}
	}
	return r.charge(size)
}

// charge charges the meter for a node.
func (r *reader) charge(textBytes int) error {
	if err := r.m.Work(nodeWork + textBytes); err != nil {
		return err
	}
	return r.m.Take(nodeBytes + textBytes)
}

// recentDocuments holds the trees of texts that were read lately, because several methods often
// read one instance. The garbage collector may free each tree.
type recentDocuments struct {
	seed  maphash.Seed
	slots [recentSlots]atomic.Pointer[recentDocument]
}

// recentDocument is the tree of a text. The text is not kept either.
type recentDocument struct {
	hash uint64
	size int
	tree weak.Pointer[textAndTree]
}

// textAndTree is a text and its tree.
type textAndTree struct {
	text string
	doc  *Node
}

// recentSlots is the number of texts in recentDocuments.
const recentSlots = 64

// recent holds the trees of the process. Trees never change, so all sessions may share them.
var recent = recentDocuments{seed: maphash.MakeSeed()}

// find returns the tree of a text, or nil.
func (r *recentDocuments) find(text string) *Node {
	hash := maphash.String(r.seed, text)
	e := r.slots[hash%recentSlots].Load()
	if e == nil || e.hash != hash || e.size != len(text) {
		return nil
	}
	t := e.tree.Value()
	if t == nil || t.text != text {
		return nil
	}
	return t.doc
}

// keep remembers the tree of a text.
func (r *recentDocuments) keep(text string, doc *Node) {
	hash := maphash.String(r.seed, text)
	t := &textAndTree{text: text, doc: doc}
	doc.origin = t
	r.slots[hash%recentSlots].Store(&recentDocument{hash: hash, size: len(text), tree: weak.Make(t)})
}
