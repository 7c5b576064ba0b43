package scalar

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile/bind/names"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/keys"
	"github.com/jobagent/jobagent/testenv/tsqld/compile/tree"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
	"github.com/jobagent/jobagent/testenv/tsqld/xquery"
)

// xmlCalls binds calls of the methods of xml.
type xmlCalls struct{ *Binder }

// xmlMethods are the methods of xml with the number of their arguments. Their names are
// case-sensitive.
var xmlMethods = map[string]int{"value": 2, "query": 1, "exist": 1, "modify": 1, "nodes": 1}

// isXMLMethod reports whether a name is that of a method in any case.
func isXMLMethod(name string) bool { return xmlMethods[strings.ToLower(name)] > 0 }

// receiver is the value on which a method of xml is called.
type receiver struct {
	n *tree.Node
	// label is the column's name before the method in messages: "dbo.t.x."; "" for others.
	label  string
	name   string       // as written, for error 5302
	source *tree.Source // the rows of nodes whose column n is; nil for others
}

// xmlReceiver binds the value on which a method is called.
func (b xmlCalls) xmlReceiver(e syntax.Expr, l *names.Level) (receiver, error) {
	switch e := e.(type) {
	case *syntax.ColumnRef:
		n, err := b.columnRef(e, l)
		if err != nil {
			return receiver{}, err
		}
		return receiverOf(n, e.Column()), nil
	case *syntax.VarRef:
		n, err := b.Variable(e.Name)
		return receiver{n: n, name: e.Name}, err
	}
	n, err := b.Expr(e, l)
	return receiver{n: n}, err
}

// receiverOf returns a column as the value on which a method is called.
func receiverOf(n *tree.Node, name string) receiver {
	r := receiver{n: n, name: name}
	col := n
	if n.Via != nil {
		return r
	}
	if col.Op != tree.OpCol || col.Column < 0 {
		return r
	}
	src := col.Source
	switch {
	case src.XMLNodes != nil:
		r.label, r.source = src.XMLNodes.Label, src
	case len(src.ClientName) > 0:
		r.label = strings.Join(src.ClientName, ".") + "." + name + "."
	case src.Name != "":
		r.label = src.Name + "." + name + "."
	}
	return r
}

// methodCall binds X.method(...).
func (b xmlCalls) methodCall(e *syntax.MethodCall, l *names.Level) (*tree.Node, error) {
	r, err := b.xmlReceiver(e.X, l)
	if err != nil {
		return nil, err
	}
	return b.methodOf(r, e, l)
}

// columnMethod binds column.method(...), which looks like a call of a function. ok is false if
// there is no such column.
func (b xmlCalls) columnMethod(e *syntax.FuncCall, l *names.Level) (n *tree.Node, ok bool, err error) {
	call, ok, err := b.ColumnCall(e, l)
	if !ok || err != nil {
		return nil, ok, err
	}
	n, err = b.methodCall(call, l)
	return n, true, err
}

// ColumnCall returns the call of a method on a column, which looks like a call of a function. ok is
// false if there is no such column.
func (b *Binder) ColumnCall(e *syntax.FuncCall, l *names.Level) (call *syntax.MethodCall, ok bool, err error) {
	last := len(e.Name.Parts) - 1
	if last < 1 || !isXMLMethod(e.Name.Last()) || l == nil {
		return nil, false, nil
	}
	col := &syntax.ColumnRef{Parts: e.Name.Parts[:last]}
	if _, err := b.columnRef(col, l); err != nil {
		if errors.Is(err, mserr.InvalidColumn("")) || errors.Is(err, mserr.Unbound("")) || errors.Is(err, mserr.NotAllowedHere("")) {
			return nil, false, nil
		}
		return nil, false, err
	}
	if last > 2 {
		return nil, false, mserr.RemoteFunction(e.Name.String())
	}
	return &syntax.MethodCall{X: col, Method: e.Name.Last(), Args: e.Args}, true, nil
}

// checkMethod checks the name and the arguments of a method, and returns the texts of the
// arguments. Errors 258, 227, 8137, 8113, 174 and 8172.
func checkMethod(r receiver, e *syntax.MethodCall) ([]string, error) {
	count := xmlMethods[e.Method]
	switch {
	case r.n.Type.ID != types.XML:
		return nil, mserr.NoMethods(r.n.Type.Name())
	case count == 0:
		return nil, mserr.UnknownMethod(e.Method)
	case e.Mutator && e.Method != "modify":
		return nil, mserr.XMLNoMutator(e.Method)
	case !e.Mutator && e.Method == "modify":
		return nil, mserr.XMLMutator(e.Method)
	case len(e.Args) != count:
		return nil, mserr.ArgumentCount(e.Method, count)
	}
	texts := make([]string, count)
	for i, a := range e.Args {
		for {
			p, ok := a.(*syntax.ParenExpr)
			if !ok {
				break
			}
			a = p.X
		}
		lit, ok := a.(*syntax.Literal)
		if !ok || lit.Kind != syntax.StringLit && lit.Kind != syntax.NStringLit {
			return nil, mserr.XMLMethodLiteral(i+1, e.Method)
		}
		texts[i] = lit.Text
	}
	return texts, nil
}

// Modified binds column.modify(…), the new value of a column. value is the old one.
func (b *Binder) Modified(value *tree.Node, column string, e *syntax.MethodCall, l *names.Level) (*tree.Node, error) {
	return xmlCalls{b}.methodOf(receiverOf(value, column), e, l)
}

// methodOf binds a method of a value.
func (b xmlCalls) methodOf(r receiver, e *syntax.MethodCall, l *names.Level) (*tree.Node, error) {
	texts, err := checkMethod(r, e)
	if err != nil {
		return nil, err
	}
	for at := l; at != nil; at = at.Parent {
		if at.NoSubquery { // "Guidelines for using xml data type methods": they are treated as subqueries
			return nil, mserr.SubqueryNotAllowed()
		}
	}
	if e.Method == "nodes" {
		return nil, mserr.UnknownMethod(e.Method)
	}
	c := keys.XMLCall{Method: e.Method, Label: r.label, Name: r.name, Query: texts[0], IsNode: r.source != nil, Spaces: b.Place.Spaces}
	t := types.Type{ID: types.XML}
	switch e.Method {
	case "value":
		if c.Result, err = b.valueType(texts[1]); err != nil {
			return nil, err
		}
		t = c.Result
	case "exist":
		t = types.BitType
	}
	args, reach, err := b.xmlQuery(&c, r, l)
	if err != nil {
		return nil, err
	}
	extend(r.source, reach)
	n, err := tree.Call(c.Key(keys.XMLMethod), t, args...)
	if err != nil {
		return nil, err
	}
	n.Null = true
	return n, nil
}

// valueType returns the type that value returns. Error 9500.
func (b xmlCalls) valueType(name string) (types.Type, error) {
	ref, err := parser.ParseType(name, parser.DefaultOptions)
	if err != nil {
		return types.Type{}, mserr.XMLValueType(name)
	}
	t, err := b.TypeOf(ref, types.Named)
	if err != nil || t.ID == types.XML || t.ID == types.Text || t.ID == types.NText || t.ID == types.Image || t.ID == types.Variant {
		return types.Type{}, mserr.XMLValueType(name)
	}
	return t, nil
}

// xmlQuery compiles the query of a method and binds what sql:variable and sql:column name in it.
// The first argument is the receiver. reach is what the query reads around a row of nodes.
func (b xmlCalls) xmlQuery(c *keys.XMLCall, r receiver, l *names.Level) (args []*tree.Node, reach xquery.Reach, err error) {
	bound := map[int]*tree.Node{}
	q, err := c.Compile(func(i int, ref xquery.SQLRef) (types.Type, error) {
		if bound[i] == nil {
			n, err := b.sqlRef(ref, l)
			if err != nil {
				return types.Type{}, err
			}
			bound[i] = n
		}
		return bound[i].Type, nil
	})
	if err != nil {
		return nil, 0, err
	}
	args = []*tree.Node{r.n}
	for i := range len(q.Refs()) {
		n := bound[i]
		args, c.Args = append(args, n), append(c.Args, n.Type)
	}
	return args, q.Reach(), nil
}

// sqlRef binds sql:variable or sql:column.
func (b xmlCalls) sqlRef(ref xquery.SQLRef, l *names.Level) (*tree.Node, error) {
	if !ref.Column {
		n, err := b.Variable(ref.Name)
		if err != nil {
			return nil, mserr.XQuerySQLVariable(ref.Name)
		}
		return n, nil
	}
	e, err := parser.ParseExpr(ref.Name, parser.DefaultOptions)
	if err != nil {
		return nil, mserr.InvalidColumn(ref.Name)
	}
	col, ok := e.(*syntax.ColumnRef)
	if !ok {
		return nil, mserr.InvalidColumn(ref.Name)
	}
	n, err := b.columnRef(col, l)
	if err == nil && tree.IsNodesColumn(n) {
		err = mserr.NodesColumn(col.Column())
	}
	return n, err
}

// NodesSource binds X.nodes(...) AS t (c). Errors 318, 8158, 8159 and those of the query.
func (b *Binder) NodesSource(e *syntax.MethodCall, alias syntax.Ident, columns []syntax.Ident, outer *names.Level) (*tree.Source, error) {
	x := xmlCalls{b}
	r, err := x.xmlReceiver(e.X, outer)
	if err != nil {
		return nil, err
	}
	texts, err := checkMethod(r, e)
	switch {
	case err != nil:
		return nil, err
	case e.Method != "nodes":
		return nil, mserr.UnknownMethod(e.Method)
	case alias.Name == "" || len(columns) == 0:
		return nil, mserr.NodesAlias()
	case len(columns) > 1:
		return nil, mserr.FewerColumnsThanListed(alias.Name)
	}
	c := keys.XMLCall{Method: "nodes", Label: r.label, Query: texts[0], IsNode: r.source != nil, Spaces: b.Place.Spaces}
	args, reach, err := x.xmlQuery(&c, r, outer)
	switch {
	case err != nil:
		return nil, err
	case len(args) > keys.MaxRowsetArgs:
		return nil, mserr.NotSupported("nodes with more than %d values of sql:variable and sql:column", keys.MaxRowsetArgs-1)
	}
	extend(r.source, reach)
	src := &tree.Source{Alias: b.Alias("j"), Name: alias.Name, XMLNodes: &tree.XMLNodes{Label: r.label, Outer: r.source, Call: c, Args: args}}
	src.Columns = []tree.SourceColumn{{Name: columns[0].Name, Type: types.Type{ID: types.XML}}}
	if src.Rowset, err = tree.Rowset(c.Key(keys.TableFunction+"|"+keys.RowsXMLNodes), args...); err != nil {
		return nil, err
	}
	src.Fields()
	return src, nil
}

// extend makes the rows of nodes refer to more of the instance, because a query goes up from them.
// A nil source has no such rows.
func extend(s *tree.Source, reach xquery.Reach) {
	for ; s != nil && s.XMLNodes.Call.Reach < reach; s = s.XMLNodes.Outer {
		s.XMLNodes.Call.Reach = reach
		n := *s.Rowset
		n.Key = s.XMLNodes.Call.Key(keys.TableFunction + "|" + keys.RowsXMLNodes)
		s.Rowset = &n
	}
}

// nullable binds the operand of IS NULL, which may be the column of nodes.
func (b *Binder) nullable(e syntax.Expr, l *names.Level) (*tree.Node, error) {
	if c, ok := e.(*syntax.ColumnRef); ok {
		return b.columnRef(c, l)
	}
	return b.Expr(e, l)
}
