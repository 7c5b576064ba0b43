package xquery

import (
	"slices"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Change is a compiled text of modify (XML Data Modification Language). It does not change and may
// be shared.
type Change struct {
	verb    string // "insert", "delete" or "replace"
	content expr   // what is inserted, or the new value
	target  expr
	place   string // of insert: "first", "last", "before" or "after"
	cleared bool   // the new value is ()
	prolog  []Binding
	refs    []*sqlRef
	slots   int
}

// CompileChange parses and checks a text of modify.
func CompileChange(text string, use Use) (*Change, error) {
	p, err := newCursor(text, use)
	if err != nil {
		return nil, err
	}
	x, err := change(p, text, use)
	if err != nil {
		return nil, err
	}
	c := newChecker(p, use)
	x.check(c)
	x.prolog, x.refs, x.slots = p.prolog, p.refs, c.slots
	return x, c.err
}

// change reads insert, delete or replace value of. Error 6305 for another valid expression.
func change(p *cursor, text string, use Use) (*Change, error) {
	readProlog(p)
	x := &Change{}
	switch {
	case p.acceptWord("insert"):
		x.verb = "insert"
		x.content = expression(p)
		x.place = insertPlace(p)
	case p.acceptWord("delete"):
		x.verb = "delete"
	case p.acceptWords("replace", "value", "of"):
		x.verb = "replace"
	default:
		if _, err := Compile(text, use); err != nil {
			return nil, err
		}
		return nil, mserr.XQueryNoChange()
	}
	x.target = expression(p)
	if x.verb == "replace" {
		if !p.acceptWord("with") && p.err == nil {
			p.fail(mserr.XQueryExpected, "with")
		}
		x.content = expression(p)
		s, ok := x.content.(*sequenceExpr)
		x.cleared = ok && len(s.parts) == 0
	}
	end(p)
	return x, p.err
}

// insertPlace reads the words before the target of insert.
func insertPlace(p *cursor) string {
	switch {
	case p.acceptWord("into"):
		return "last"
	case p.acceptWord("before"):
		return "before"
	case p.acceptWord("after"):
		return "after"
	case p.acceptWord("as"):
		place := p.near()
		if !p.acceptWord("first") && !p.acceptWord("last") && p.err == nil {
			p.fail(mserr.XQueryFirstLast)
		}
		p.expectWord("into")
		return place
	}
	if p.err == nil {
		p.fail(mserr.XQueryInsertWhere, p.near())
	}
	return ""
}

// Refs returns what sql:variable and sql:column name, in the order of the values for Apply.
func (x *Change) Refs() []SQLRef { return refsOf(x.refs) }

// check checks the target and content, in SQL Server's order.
func (x *Change) check(c *checker) {
	t := x.target.check(c)
	switch x.verb {
	case "insert":
		x.checkInsert(c, t)
	case "delete":
		if len(t.kinds) > 0 && (!t.isNodes() || t.isOnly(Document)) {
			c.fail(mserr.XQueryDeleted, t.String())
		}
		c.notMade("'delete'", t)
	case "replace":
		x.checkReplace(c, t)
	}
}

// checkInsert checks insert.
func (x *Change) checkInsert(c *checker, t static) {
	c.xmlRefs = isBareRefs(x.content)
	s := x.content.check(c)
	c.xmlRefs = false
	if !t.count.isSingle() || !t.isNodes() {
		c.fail(mserr.XQueryInsertTarget, t.String())
	}
	if !s.isNodes() || s.isOnly(Document) {
		c.fail(mserr.XQueryInserted, s.String())
	}
	beside := x.place == "before" || x.place == "after"
	kind := Kind(0)
	if len(t.kinds) == 1 {
		kind = t.kinds[0].node
	}
	switch {
	case beside && s.isOnly(Attribute):
		c.fail(mserr.XQueryInsertAttribute, s.String())
	case beside && (kind == Attribute || kind == Document):
		c.fail(mserr.XQueryInsertBeside, t.String())
	case !beside && kind != 0 && kind != Element && kind != Document:
		c.fail(mserr.XQueryInsertInto, t.String())
	}
}

// isBareRefs reports whether an expression is a list of sql:variable and sql:column, which may be
// instances.
func isBareRefs(x expr) bool {
	switch x := x.(type) {
	case *sqlRef:
		return true
	case *parenExpr:
		return isBareRefs(x.x)
	case *sequenceExpr:
		return len(x.parts) > 0 && !slices.ContainsFunc(x.parts, func(p expr) bool { return !isBareRefs(p) })
	}
	return false
}

// checkReplace checks replace value of.
func (x *Change) checkReplace(c *checker, t static) {
	if !t.count.isSingle() {
		c.fail(mserr.XQueryReplaceTarget, t.String())
	}
	if len(t.kinds) > 0 && !t.isOnly(Attribute) && !t.isOnly(Text) {
		c.fail(mserr.XQueryReplaceType, t.String())
	}
	if x.content.check(c).made {
		c.fail(mserr.XQueryReplaceConstructed)
	}
}

// Apply changes a copy of an instance and returns its text. values are those of Refs.
func (x *Change) Apply(m *meter.Meter, instance *Node, values []types.Value) (string, error) {
	e := &evaluator{m: m, values: values, vars: make([][]item, x.slots)}
	if err := e.tree(instance); err != nil {
		return "", err
	}
	doc := instance.copy()
	doc.origin = nil
	doc.number(0)
	at := focus{item: doc, position: 1, size: 1}
	targets, err := x.target.eval(e, at)
	if err != nil {
		return "", err
	}
	var content []item
	if x.content != nil && len(targets) > 0 {
		if content, err = x.content.eval(e, at); err != nil {
			return "", err
		}
	}
	for _, t := range targets {
		n, ok := t.(*Node)
		if !ok {
			continue
		}
		if err := x.apply(e, n, content); err != nil {
			return "", err
		}
	}
	w := writer{prolog: x.prolog}
	w.outside(doc, nil)
	return w.b.String(), w.err
}

// apply changes one target.
func (x *Change) apply(e *evaluator, n *Node, content []item) error {
	switch x.verb {
	case "delete":
		n.remove()
		return nil
	case "replace":
		switch {
		case len(content) == 0 && n.kind != Text:
			return mserr.XQueryReplaceEmpty()
		case len(content) == 0 && !x.cleared:
			return mserr.XQueryReplaceNone()
		}
		if n.text = joined(content); n.text == "" && n.kind == Text {
			n.remove()
		}
		return nil
	}
	return x.insert(e, n, content)
}

// remove removes a node from its parent.
func (n *Node) remove() {
	if n.parent == nil {
		return
	}
	same := func(x *Node) bool { return x == n }
	if n.kind == Attribute {
		n.parent.attrs = slices.DeleteFunc(n.parent.attrs, same)
		return
	}
	n.parent.children = slices.DeleteFunc(n.parent.children, same)
}

// insert adds copies of nodes to or beside a target.
func (x *Change) insert(e *evaluator, n *Node, content []item) error {
	var attrs []*Node
	made := &Node{kind: Document}
	for _, y := range content {
		c, ok := y.(*Node)
		if !ok {
			continue
		}
		if c.kind != Attribute {
			if err := made.appendNode(e, c); err != nil {
				return err
			}
			continue
		}
		if err := e.tree(c); err != nil {
			return err
		}
		attrs = append(attrs, c.copy())
	}
	if err := n.insertAttributes(attrs); err != nil {
		return err
	}
	parent, i := n, 0
	switch x.place {
	case "last":
		i = len(n.children)
	case "before", "after":
		if parent = n.parent; parent == nil {
			return nil
		}
		i = slices.Index(parent.children, n)
		if x.place == "after" {
			i++
		}
	}
	for _, c := range made.children {
		c.parent = parent
	}
	parent.children = slices.Insert(parent.children, i, made.children...)
	return nil
}

// insertAttributes adds attributes. SQL Server puts the i-th new one behind the i-th that the
// element has, counting declarations of namespaces. Error 6308 for a duplicate.
func (n *Node) insertAttributes(attrs []*Node) error {
	if len(attrs) > 0 && n.kind != Element {
		return mserr.XMLLooseAttribute()
	}
	own := n.attrs
	n.attrs = nil
	for i := range max(len(own)+len(n.spaces), len(attrs)) {
		if j := i - len(n.spaces); j >= 0 && j < len(own) {
			n.attrs = append(n.attrs, own[j])
		}
		if i >= len(attrs) {
			continue
		}
		a := attrs[i]
		same := func(y *Node) bool { return y != a && y.name.is(a.name) }
		if slices.ContainsFunc(own, same) || slices.ContainsFunc(attrs, same) {
			return mserr.XMLDuplicateAttribute(a.name.String())
		}
		a.parent = n
		n.attrs = append(n.attrs, a)
	}
	return nil
}
