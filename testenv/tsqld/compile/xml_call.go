package compile

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

const (
	// keyXMLMethod is the key of a method of xml: the fields of xmlCall.
	keyXMLMethod = "xm"
	// rowsXMLNodes is the name of nodes in keys of keyRowset.
	rowsXMLNodes = "XMLNODES"
	// maxRowsetArgs is the number of arguments that a rowset may have.
	maxRowsetArgs = store.RowsetArgs
)

// xmlCall is the call of a method of xml, as its key describes it.
type xmlCall struct {
	method string
	label  string // before the method in messages
	name   string // of the receiver, for error 5302
	query  string
	isNode bool         // the receiver is the column of nodes
	reach  xquery.Reach // nodes: what the references lead to
	spaces []xquery.Binding
	result types.Type   // of value
	args   []types.Type // of sql:variable and sql:column
}

// key returns the key of a call. prefix is the word of the key.
func (c *xmlCall) key(prefix string) string {
	parts := []string{
		prefix, c.method, keyText(c.label), keyText(c.name), keyText(c.query), bit(c.isNode), strconv.Itoa(int(c.reach)),
		strconv.Itoa(len(c.spaces)),
	}
	for _, s := range c.spaces {
		parts = append(parts, keyText(s.Prefix), keyText(s.Space))
	}
	parts = append(parts, typeKey(c.result))
	for _, t := range c.args {
		parts = append(parts, typeKey(t))
	}
	return makeKey(parts...)
}

// bit returns the form of a flag in keys.
func bit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// xmlCall reads a call from its key, behind the word.
func (r *keyReader) xmlCall() *xmlCall {
	c := &xmlCall{
		method: r.next(), label: r.text(), name: r.text(), query: r.text(), isNode: r.next() == "1", reach: xquery.Reach(r.number()),
	}
	for range r.number() {
		c.spaces = append(c.spaces, xquery.Binding{Prefix: r.text(), Space: r.text()})
	}
	c.result = r.typ()
	for len(r.part) > 0 {
		c.args = append(c.args, r.typ())
	}
	return c
}

// xmlText is a compiled query or change.
type xmlText struct {
	query  *xquery.Query
	change *xquery.Change
}

// refs returns what sql:variable and sql:column name.
func (x xmlText) refs() []xquery.SQLRef {
	if x.change != nil {
		return x.change.Refs()
	}
	return x.query.Refs()
}

// reach returns which nodes around its context node a query may read.
func (x xmlText) reach() xquery.Reach {
	if x.query == nil {
		return 0
	}
	return x.query.Reach()
}

// compile compiles the query of a call and checks that it suits the method.
func (c *xmlCall) compile(typeOf func(int, xquery.SQLRef) (types.Type, error)) (xmlText, error) {
	use := xquery.Use{Method: c.label + c.method + "()", Spaces: c.spaces, Node: c.isNode, Type: typeOf}
	if c.method == "modify" {
		x, err := xquery.CompileChange(c.query, use)
		return xmlText{change: x}, err
	}
	q, err := xquery.Compile(c.query, use)
	if err != nil {
		return xmlText{}, err
	}
	switch c.method {
	case "value":
		err = q.CheckValue(use.Method)
	case "nodes":
		err = q.CheckNodes(use.Method)
	case "query":
		err = q.CheckQuery(use.Method)
	}
	return xmlText{query: q}, err
}

// resolve compiles the query of a call that was read from a key.
func (c *xmlCall) resolve() (xmlText, error) {
	return c.compile(func(i int, ref xquery.SQLRef) (types.Type, error) {
		if i >= len(c.args) {
			return types.Type{}, mserr.NotSupported("the key of a method of xml without the type of %s", ref.Name)
		}
		return c.args[i], nil
	})
}

// resolvedXMLCall reads a call from a key and compiles its query. r.err has the error.
func (r *keyReader) resolvedXMLCall() (c *xmlCall, x xmlText) {
	if c = r.xmlCall(); r.err == nil {
		x, r.err = c.resolve()
	}
	return c, x
}

// xmlMethodFunc returns the function of a method of xml.
func xmlMethodFunc(r *keyReader) store.Func {
	c, x := r.resolvedXMLCall()
	if r.err != nil {
		return nil
	}
	return func(m *meter.Meter, args []types.Value) (types.Value, error) {
		text, ok := args[0].(string)
		if !ok {
			if c.method == "modify" {
				return nil, mserr.XMLMutatorOfNull(c.name)
			}
			return nil, nil
		}
		mark := m.Mark()
		v, err := c.run(m, x, text, args[1:])
		m.Release(mark)
		if n := valueBytes(v); err == nil && n > meter.Small {
			err = m.Take(n)
		}
		return v, err
	}
}

// run calls a method on an instance or a node.
func (c *xmlCall) run(m *meter.Meter, x xmlText, text string, values []types.Value) (types.Value, error) {
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
	switch c.method {
	case "exist":
		return boolValue(!result.Empty()), nil
	case "query":
		return result.XML()
	}
	s, ok := result.Text()
	if !ok {
		return nil, nil
	}
	if c.result.IsBinary() {
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err != nil {
			return nil, nil
		}
		return types.Convert(b, types.VarBinaryMax, c.result, types.NoStyle)
	}
	from := types.NVarCharMax
	if len(s) <= maxValueText {
		from = types.NVarCharOf(maxValueText)
	}
	return types.Convert(s, from, c.result, types.NoStyle)
}

// maxValueText is the length of a text that value converts as nvarchar(4000); longer ones are
// nvarchar(max).
const maxValueText = 4000

// xmlNodesFunc returns the rows of nodes.
func xmlNodesFunc(r *keyReader) store.RowsFunc {
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
		return &nodeRows{m: m, refs: xquery.NewRefs(result.Nodes(), c.reach)}, nil
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
