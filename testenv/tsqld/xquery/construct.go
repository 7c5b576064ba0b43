package xquery

import (
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// elementExpr constructs an element.
type elementExpr struct {
	name    Name
	spaces  []Binding
	attrs   []*attributeExpr
	content []expr
}

func (x *elementExpr) check(c *checker) static {
	for _, a := range x.attrs {
		a.check(c)
	}
	for _, y := range x.content {
		y.check(c)
	}
	s := nodes(Element, x.name.String(), one)
	s.made = true
	return s
}

func (x *elementExpr) eval(e *evaluator, f focus) ([]item, error) {
	n := &Node{kind: Element, name: x.name, spaces: x.spaces}
	for _, a := range x.attrs {
		items, err := a.eval(e, f)
		if err != nil {
			return nil, err
		}
		if err := n.append(e, items); err != nil {
			return nil, err
		}
	}
	for _, y := range x.content {
		items, err := y.eval(e, f)
		if err != nil {
			return nil, err
		}
		if err := n.append(e, items); err != nil {
			return nil, err
		}
	}
	return []item{n}, nil
}

// append adds items to the content of an element: attributes to its attributes, copies of other
// nodes, and adjacent atomic values as one text with blanks. Errors 6307 and 6308.
func (n *Node) append(e *evaluator, items []item) error {
	wasAtom := false
	for _, x := range items {
		a, isAtom := x.(*atom)
		if isAtom {
			text := a.String()
			if wasAtom {
				text = " " + text
			}
			if err := e.node(len(text)); err != nil {
				return err
			}
			n.addText(text)
			wasAtom = true
			continue
		}
		wasAtom = false
		y, _ := x.(*Node)
		if err := n.appendNode(e, y); err != nil {
			return err
		}
	}
	return nil
}

// appendNode adds a copy of a node.
func (n *Node) appendNode(e *evaluator, y *Node) error {
	if err := e.tree(y); err != nil {
		return err
	}
	switch y.kind {
	case Attribute:
		for _, c := range n.children {
			if c.kind != Text {
				return mserr.XMLLooseAttribute()
			}
		}
		return n.addAttribute(y)
	case Text:
		n.addText(y.text)
	case Document:
		for _, c := range y.children {
			if err := n.appendNode(e, c); err != nil {
				return err
			}
		}
	default:
		n.add(y.copy())
	}
	return nil
}

// addText appends a text, which joins a text before it.
func (n *Node) addText(s string) {
	if last := len(n.children) - 1; last >= 0 && n.children[last].kind == Text {
		n.children[last].text += s
		return
	}
	if s != "" {
		n.add(&Node{kind: Text, text: s})
	}
}

// addAttribute appends a copy of an attribute. Error 6308 if there is one of the name.
func (n *Node) addAttribute(y *Node) error {
	if n.attribute(y.name) != nil {
		return mserr.XMLDuplicateAttribute(y.name.String())
	}
	c := y.copy()
	c.parent = n
	n.attrs = append(n.attrs, c)
	return nil
}

// node charges the meter for a node that is made.
func (e *evaluator) node(textBytes int) error {
	if err := e.m.Work(nodeWork + textBytes); err != nil {
		return err
	}
	return e.m.Take(nodeBytes + textBytes)
}

// tree charges the meter for the copy of a node and what is below it.
func (e *evaluator) tree(n *Node) error {
	if err := e.node(len(n.text)); err != nil {
		return err
	}
	for _, a := range n.attrs {
		if err := e.node(len(a.text)); err != nil {
			return err
		}
	}
	for _, c := range n.children {
		if err := e.tree(c); err != nil {
			return err
		}
	}
	return nil
}

// attributeExpr constructs an attribute.
type attributeExpr struct {
	name Name
	x    expr
}

func (x *attributeExpr) check(c *checker) static {
	c.data(x.x.check(c))
	s := nodes(Attribute, x.name.String(), one)
	s.made = true
	return s
}

func (x *attributeExpr) eval(e *evaluator, f focus) ([]item, error) {
	items, err := x.x.eval(e, f)
	if err != nil {
		return nil, err
	}
	text := joined(items)
	if err := e.node(len(text)); err != nil {
		return nil, err
	}
	return []item{&Node{kind: Attribute, name: x.name, text: text}}, nil
}

// joined returns the atomized items with blanks between them.
func joined(items []item) string {
	texts := make([]string, len(items))
	for i, x := range items {
		texts[i] = data(x).String()
	}
	return strings.Join(texts, " ")
}

// textExpr is text { x }.
type textExpr struct{ x expr }

func (x *textExpr) check(c *checker) static {
	n := one
	if c.data(x.x.check(c)).count != one {
		n = optional
	}
	s := nodes(Text, "", n)
	s.made = true
	return s
}

func (x *textExpr) eval(e *evaluator, f focus) ([]item, error) {
	items, err := x.x.eval(e, f)
	if err != nil || len(items) == 0 {
		return nil, err
	}
	text := joined(items)
	if err := e.node(len(text)); err != nil {
		return nil, err
	}
	return []item{&Node{kind: Text, text: text}}, nil
}

// literalTextExpr is a text in the content of a direct constructor.
type literalTextExpr struct{ text string }

func (x *literalTextExpr) check(*checker) static {
	s := nodes(Text, "", one)
	s.made = true
	return s
}

func (x *literalTextExpr) eval(*evaluator, focus) ([]item, error) {
	return []item{&Node{kind: Text, text: x.text}}, nil
}

// leafExpr is a direct comment or processing instruction.
type leafExpr struct{ n Node }

func (x *leafExpr) check(*checker) static {
	s := nodes(x.n.kind, "", one)
	s.made = true
	return s
}

func (x *leafExpr) eval(*evaluator, focus) ([]item, error) { return []item{x.n.copy()}, nil }
