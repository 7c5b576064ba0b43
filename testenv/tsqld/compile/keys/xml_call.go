package keys

import (
	"strconv"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

const (
	// XMLMethod is the key of a method of xml: the fields of XMLCall.
	XMLMethod = "xm"
	// RowsXMLNodes is the name of nodes in keys of TableFunction.
	RowsXMLNodes = "XMLNODES"
	// MaxRowsetArgs is the number of arguments that a rowset may have.
	MaxRowsetArgs = store.RowsetArgs
)

// XMLCall is the call of a method of xml, as its key describes it.
type XMLCall struct {
	Method string
	Label  string // before the method in messages
	Name   string // of the receiver, for error 5302
	Query  string
	IsNode bool         // the receiver is the column of nodes
	Reach  xquery.Reach // nodes: what the references lead to
	Spaces []xquery.Binding
	Result types.Type   // of value
	Args   []types.Type // of sql:variable and sql:column
}

// Key returns the key of a call. prefix is the word of the key.
func (c *XMLCall) Key(prefix string) string {
	parts := []string{
		prefix, c.Method, Text(c.Label), Text(c.Name), Text(c.Query), bit(c.IsNode), strconv.Itoa(int(c.Reach)),
		strconv.Itoa(len(c.Spaces)),
	}
	for _, s := range c.Spaces {
		parts = append(parts, Text(s.Prefix), Text(s.Space))
	}
	parts = append(parts, TypeText(c.Result))
	for _, t := range c.Args {
		parts = append(parts, TypeText(t))
	}
	return Make(parts...)
}

// bit returns the form of a flag in keys.
func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// XMLCall reads a call from its key, behind the word.
func (r *reader) xmlCall() *XMLCall {
	c := &XMLCall{
		Method: r.next(), Label: r.text(), Name: r.text(), Query: r.text(), IsNode: r.next() == "1", Reach: xquery.Reach(r.number()),
	}
	for range r.number() {
		c.Spaces = append(c.Spaces, xquery.Binding{Prefix: r.text(), Space: r.text()})
	}
	c.Result = r.typ()
	for len(r.part) > 0 {
		c.Args = append(c.Args, r.typ())
	}
	return c
}

// XMLText is a compiled query or change.
type XMLText struct {
	query  *xquery.Query
	change *xquery.Change
}

// Refs returns what sql:variable and sql:column name.
func (x XMLText) Refs() []xquery.SQLRef {
	if x.change != nil {
		return x.change.Refs()
	}
	return x.query.Refs()
}

// Reach returns which nodes around its context node a query may read.
func (x XMLText) Reach() xquery.Reach {
	if x.query == nil {
		return 0
	}
	return x.query.Reach()
}

// Compile compiles the query of a call and checks that it suits the method.
func (c *XMLCall) Compile(typeOf func(int, xquery.SQLRef) (types.Type, error)) (XMLText, error) {
	use := xquery.Use{Method: c.Label + c.Method + "()", Spaces: c.Spaces, Node: c.IsNode, Type: typeOf}
	if c.Method == "modify" {
		x, err := xquery.CompileChange(c.Query, use)
		return XMLText{change: x}, err
	}
	q, err := xquery.Compile(c.Query, use)
	if err != nil {
		return XMLText{}, err
	}
	switch c.Method {
	case "value":
		err = q.CheckValue(use.Method)
	case "nodes":
		err = q.CheckNodes(use.Method)
	case "query":
		err = q.CheckQuery(use.Method)
	}
	return XMLText{query: q}, err
}

// resolve compiles the query of a call that was read from a key.
func (c *XMLCall) resolve() (XMLText, error) {
	return c.Compile(func(i int, ref xquery.SQLRef) (types.Type, error) {
		if i >= len(c.Args) {
			return types.Type{}, mserr.NotSupported("the key of a method of xml without the type of %s", ref.Name)
		}
		return c.Args[i], nil
	})
}

// resolvedXMLCall reads a call from a key and compiles its query. r.err has the error.
func (r *reader) resolvedXMLCall() (c *XMLCall, x XMLText) {
	if c = r.xmlCall(); r.err == nil {
		x, r.err = c.resolve()
	}
	return c, x
}

// xmlMethodFunc returns the function of a method of xml.
func xmlMethodFunc(r *reader) store.Func {
	c, x := r.resolvedXMLCall()
	if r.err != nil {
		return nil
	}
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		text, ok := args[0].(string)
		if !ok {
			if c.Method == "modify" {
				return nil, mserr.XMLMutatorOfNull(c.Name)
			}
			return nil, nil
		}
		mark := m.Mark()
		v, err := c.run(m, x, text, args[1:])
		m.Release(mark)
		if n := ValueBytes(v); err == nil && n > meter.Small {
			err = m.Take(n)
		}
		return v, err
	}
}

// run calls a method on an instance or a node.
func (c *XMLCall) run(m *meter.Meter, x XMLText, text string, values []types.Value) (types.Value, error) {
	at, err := xquery.Read(m, text)
	if err != nil {
		return nil, err
	}
	if x.change != nil {
		return x.change.Apply(m, at, values)
	}
	result, err := x.query.Eval(m, at, values)
	if err != nil {
		return nil, err
	}
	switch c.Method {
	case "exist":
		return types.BitOf(!result.Empty()), nil
	case "query":
		return result.XML()
	}
	if c.Result.IsBinary() {
		if b, ok := result.Bytes(); ok {
			return types.Convert(b, types.VarBinaryMax, c.Result, types.NoStyle)
		}
		return nil, nil
	}
	s, ok := result.Text()
	if !ok {
		return nil, nil
	}
	from := types.NVarCharMax
	if len(s) <= maxValueText {
		from = types.NVarCharOf(maxValueText)
	}
	return types.Convert(s, from, c.Result, types.NoStyle)
}

// maxValueText is the length of a text that value converts as nvarchar(4000); longer ones are
// nvarchar(max).
const maxValueText = 4000

// xmlNodesFunc returns the rows of nodes.
func xmlNodesFunc(r *reader) store.RowsFunc {
	c, x := r.resolvedXMLCall()
	if r.err != nil {
		return nil
	}
	return func(m *meter.Meter, args []types.Value) (store.RowSource, error) {
		text, ok := args[0].(string)
		if !ok {
			return store.ListedRows(nil), nil
		}
		at, err := xquery.Read(m, text)
		if err != nil {
			return nil, err
		}
		result, err := x.query.Eval(m, at, args[1:])
		if err != nil {
			return nil, err
		}
		return &nodeRows{m: m, refs: xquery.NewRefs(result.Nodes(), c.Reach)}, nil
	}
}

// nodeRows are the rows of nodes. Each reference is made when its row is read.
type nodeRows struct {
	m    *meter.Meter
	refs *xquery.Refs
	next int
	row  [1]types.Value
}

// Rewind implements [store.RowSource].
func (r *nodeRows) Rewind() { r.next = 0 }

// Next implements [store.RowSource].
func (r *nodeRows) Next() ([]types.Value, error) {
	if r.next == r.refs.Len() {
		return nil, nil
	}
	text := r.refs.Text(r.next)
	if err := r.m.Work(len(text)); err != nil {
		return nil, err
	}
	r.row[0] = text
	r.next++
	return r.row[:], nil
}
