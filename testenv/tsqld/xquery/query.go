package xquery

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Use says what a query is compiled for.
type Use struct {
	// Method is the name of the method in messages: "value()", for a column "dbo.t.x.value()".
	Method string
	// Spaces are the namespaces that the statement declares (WITH XMLNAMESPACES).
	Spaces []Binding
	// Node is set if the context item is the node of a row of nodes, not a document.
	Node bool
	// Type returns the type of what sql:variable or sql:column names, or its error. The number is
	// the index in Refs. Type may be nil for queries without both.
	Type func(int, SQLRef) (types.Type, error)
}

// SQLRef is a use of sql:variable or sql:column.
type SQLRef struct {
	Column bool
	Name   string // as written
}

// Query is a compiled query. It does not change and may be shared.
type Query struct {
	x      expr
	typ    static
	prolog []Binding
	refs   []*sqlRef
	slots  int
	reach  Reach
}

// Compile parses and checks a query.
func Compile(text string, use Use) (*Query, error) {
	p, err := newCursor(text, use)
	if err != nil {
		return nil, err
	}
	x := query(p)
	if p.err != nil {
		return nil, p.err
	}
	c := newChecker(p, use)
	t := x.check(c)
	if c.err != nil {
		return nil, c.err
	}
	return &Query{x: x, typ: t, prolog: p.prolog, refs: p.refs, slots: c.slots, reach: c.reach()}, nil
}

// maxText is the maximum length of a query in UTF-16 units. SQL Server's limit is 8,000 bytes.
const maxText = 4000

// newCursor returns a cursor at the start of a text. Error 6306 for an empty one.
func newCursor(text string, use Use) (*cursor, error) {
	if strings.Trim(text, " \t\r\n") == "" {
		return nil, mserr.XQueryEmpty()
	}
	if i := strings.IndexFunc(text, isForbidden); i >= 0 || !utf8.ValidString(text) {
		c, _ := utf8.DecodeRuneInString(text[max(i, 0):])
		return nil, mserr.XQueryCharacter.In(use.Method, c)
	}
	if len(utf16.Encode([]rune(text))) > maxText {
		return nil, mserr.XQueryTooLong(1, strings.TrimSuffix(use.Method, "()"), 2*maxText)
	}
	spaces := slices.Clone(use.Spaces)
	slices.Reverse(spaces)
	return &cursor{
		method: use.Method, src: text, spaces: slices.Concat(predeclared, use.Spaces), prolog: spaces,
	}, nil
}

// newChecker returns a checker for what has been read.
func newChecker(p *cursor, use Use) *checker {
	c := &checker{method: p.method, typeOf: use.Type, focus: nodes(Document, "", one)}
	if use.Node {
		c.focus = nodes(0, "", one)
	}
	return c
}

// CheckValue checks that a query is valid for value(): that it returns one item at most.
func (q *Query) CheckValue(method string) error {
	c := &checker{method: method}
	c.single("value()", c.data(q.typ))
	return c.err
}

// CheckNodes checks that a query is valid for nodes(): that it returns nodes of the instance.
func (q *Query) CheckNodes(method string) error {
	switch {
	case q.typ.made:
		return mserr.XQueryConstructed.In(method, "'nodes()'")
	case !q.typ.isNodes():
		return mserr.XQueryNodes.In(method, "'nodes()'")
	}
	return nil
}

// CheckQuery checks that a query is valid for query(): that it does not return attributes only.
func (q *Query) CheckQuery(method string) error {
	if q.typ.isOnly(Attribute) {
		return mserr.XQueryAttribute.In(method)
	}
	return nil
}

// Refs returns what sql:variable and sql:column name, in the order of the values for Eval.
func (q *Query) Refs() []SQLRef { return refsOf(q.refs) }

// refsOf returns the exported part of references.
func refsOf(refs []*sqlRef) []SQLRef {
	out := make([]SQLRef, len(refs))
	for i, r := range refs {
		out[i] = r.SQLRef
	}
	return out
}

// Reach returns which nodes around the context item a query may read.
func (q *Query) Reach() Reach { return q.reach }

// Result is the sequence that a query returns.
type Result struct {
	items []item
	q     *Query
}

// Eval evaluates a query on a node. values are those of Refs.
func (q *Query) Eval(m *meter.Meter, context *Node, values []types.Value) (Result, error) {
	e := &evaluator{m: m, values: values, vars: make([][]item, q.slots)}
	items, err := q.x.eval(e, focus{item: context, position: 1, size: 1})
	return Result{items, q}, err
}

// Empty reports whether a result has no items.
func (r Result) Empty() bool { return len(r.items) == 0 }

// Nodes returns the nodes of a result.
func (r Result) Nodes() []*Node {
	list := make([]*Node, 0, len(r.items))
	for _, x := range r.items {
		if n, ok := x.(*Node); ok {
			list = append(list, n)
		}
	}
	return list
}

// Text returns the text of a result's first item; ok is false if there is none.
func (r Result) Text() (text string, ok bool) {
	if r.Empty() {
		return "", false
	}
	return data(r.items[0]).String(), true
}

// Bytes returns the bytes of a result's first item, whose text is base64 unless the item is an
// xs:hexBinary; ok is false if there are none.
func (r Result) Bytes() (b []byte, ok bool) {
	if r.Empty() {
		return nil, false
	}
	a := data(r.items[0])
	return a.bytes(a.typ == typeHex)
}

// XML returns a result as the text of an instance: nodes as XML, and a blank between atomic values.
func (r Result) XML() (string, error) {
	w := writer{prolog: r.q.prolog}
	wasAtom := false
	for _, x := range r.items {
		switch x := x.(type) {
		case *atom:
			if wasAtom {
				w.b.WriteByte(' ')
			}
			w.text(x.String(), noName)
			wasAtom = true
		case *Node:
			if x.kind == Attribute {
				return "", mserr.XMLLooseAttribute()
			}
			w.outside(x, nil)
			wasAtom = false
		}
	}
	return w.b.String(), w.err
}
