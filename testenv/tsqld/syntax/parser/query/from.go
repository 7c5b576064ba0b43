package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// TableSources reads the items after FROM.
func TableSources(c *tokens.Cursor) []syntax.TableSource {
	return tokens.List(c, TableSource)
}

// TableSource reads a table source with its joins.
func TableSource(c *tokens.Cursor) syntax.TableSource { return joins(c, false) }

// joins reads a table source and the joins after it. If right is set, it reads the right side of a
// join with ON and stops at that ON: "a JOIN b JOIN c ON x ON y" nests to the right.
func joins(c *tokens.Cursor, right bool) syntax.TableSource {
	if !c.Enter() {
		return nil
	}
	defer c.Leave()
	defer c.EndChain(c.BeginChain())
	x := tableOperand(c)
	for !right || !c.At("ON") {
		j := &syntax.Join{At: atNode(x), Left: x}
		switch {
		case c.Accept("CROSS", "JOIN"):
			j.Kind, j.Right = syntax.CrossJoin, tableOperand(c)
		case c.Accept("CROSS", "APPLY"):
			j.Kind, j.Right = syntax.CrossApply, tableOperand(c)
		case c.Accept("OUTER", "APPLY"):
			j.Kind, j.Right = syntax.OuterApply, tableOperand(c)
		case c.AtAny("JOIN", "INNER", "LEFT", "RIGHT", "FULL"):
			joinKind(c, j)
			j.Right = joins(c, true)
			c.Expect("ON")
			j.On = Cond(c)
		default:
			return x
		}
		c.AddOperator()
		x = j
	}
	return x
}

// joinKind reads the words of a join up to JOIN.
func joinKind(c *tokens.Cursor, j *syntax.Join) {
	switch c.AcceptAny("INNER", "LEFT", "RIGHT", "FULL") {
	case "LEFT":
		j.Kind = syntax.LeftJoin
	case "RIGHT":
		j.Kind = syntax.RightJoin
	case "FULL":
		j.Kind = syntax.FullJoin
	}
	if j.Kind != syntax.InnerJoin {
		c.Accept("OUTER")
	}
	j.Hint = c.AcceptAny("LOOP", "HASH", "MERGE", "REMOTE")
	c.Expect("JOIN")
}

// TableAlias reads [AS] alias; the result is zero if there is none.
func TableAlias(c *tokens.Cursor) syntax.Ident {
	if c.Accept("AS") {
		return term.Ident(c)
	}
	t := c.Current()
	if !t.IsName() || atWindow(c) || AtLabel(c) {
		return syntax.Ident{}
	}
	return term.Ident(c)
}

// requiredAlias reads [AS] alias, which must not be left out.
func requiredAlias(c *tokens.Cursor) syntax.Ident {
	id := TableAlias(c)
	if id.Name == "" {
		c.Fail()
	}
	return id
}

// rejectedTables are the table sources that Parse refuses.
var rejectedTables = scanner.WordSet("OPENROWSET OPENDATASOURCE OPENQUERY OPENXML CHANGETABLE PREDICT")

// RejectTable refuses a table source that is not supported; false if there is none.
func RejectTable(c *tokens.Cursor) bool {
	t := c.Current()
	if !rejectedTables[t.Upper] || !c.Peek(1).Is("(") {
		return false
	}
	c.Reject(t.Upper)
	return true
}

// tableOperand reads one table source with its PIVOT and UNPIVOT operators.
func tableOperand(c *tokens.Cursor) syntax.TableSource {
	if !c.Enter() {
		return nil
	}
	defer c.Leave()
	defer c.EndChain(c.BeginChain())
	x := tableAtom(c)
	for c.AtAny("PIVOT", "UNPIVOT") {
		c.AddOperator()
		if c.At("PIVOT") {
			x = pivot(c, x)
		} else {
			x = unpivot(c, x)
		}
	}
	if c.At("TABLESAMPLE") {
		c.Reject("TABLESAMPLE")
	}
	return x
}

// tableAtom reads a table, function, subquery or joins in parentheses.
func tableAtom(c *tokens.Cursor) syntax.TableSource {
	t := c.Current()
	at := c.Here()
	switch {
	case t.Kind == scanner.Variable:
		c.Next()
		if c.At(".") {
			return methodTable(c, at, t)
		}
		return &syntax.TableVar{At: at, Name: t.Text, Alias: TableAlias(c)}
	case c.At("("):
		return parenTable(c)
	case c.At("OPENJSON", "("):
		return openJSON(c)
	case c.At("{", "OJ"):
		return outerJoinEscape(c)
	case (t.Is("CONTAINSTABLE") || t.Is("FREETEXTTABLE")) && c.Peek(1).Is("("):
		return fullTextTable(c, at)
	case RejectTable(c):
		return nil
	}
	c.Accept("::")
	name := term.Name(c)
	if c.At("(") && !atOldHints(c) {
		f := &syntax.TableFunc{At: at, Call: call(c, at, name)}
		if c.At("WITH", "(") {
			c.Reject("a WITH clause behind a function other than OPENJSON")
		}
		f.Alias = TableAlias(c)
		f.Columns = term.OptionalIdents(c)
		return f
	}
	tn := &syntax.TableName{At: at, Name: name}
	if c.At("FOR", "SYSTEM_TIME") {
		c.Reject("FOR SYSTEM_TIME")
	}
	tn.Hints = TableHints(c)
	tn.Alias = TableAlias(c)
	if c.At("TABLESAMPLE") {
		c.Reject("TABLESAMPLE")
	}
	tn.Hints = append(tn.Hints, TableHints(c)...)
	return tn
}

// methodTable reads the methods of a variable, the last of which is nodes.
func methodTable(c *tokens.Cursor, at syntax.At, variable *scanner.Token) syntax.TableSource {
	m := &syntax.MethodTable{At: at}
	var x syntax.Expr = &syntax.VarRef{At: at, Name: variable.Text}
	defer c.EndChain(c.BeginChain())
	for c.At(".") {
		c.AddOperator()
		m.Call = method(c, x)
		x = m.Call
	}
	m.Alias, m.Columns = TableAlias(c), term.OptionalIdents(c)
	return m
}

// tableHintNames are the hints of WITH (...) after a table.
var tableHintNames = scanner.WordSet(`
	NOLOCK READUNCOMMITTED READCOMMITTED READCOMMITTEDLOCK REPEATABLEREAD SERIALIZABLE HOLDLOCK
	UPDLOCK XLOCK ROWLOCK PAGLOCK TABLOCK TABLOCKX NOWAIT READPAST NOEXPAND INDEX FORCESEEK FORCESCAN KEEPIDENTITY
	KEEPDEFAULTS IGNORE_CONSTRAINTS IGNORE_TRIGGERS SNAPSHOT SPATIAL_WINDOW_MAX_CELLS FASTFIRSTROW`)

// atOldHints reports whether a hint without WITH comes next. Such a hint is the only one: t
// (NOLOCK).
func atOldHints(c *tokens.Cursor) bool {
	return c.At("(") && c.Peek(1).Kind == scanner.Word && tableHintNames[c.Peek(1).Upper] && c.Peek(2).Is(")")
}

// TableHints reads WITH (...) after a table, and the old form without WITH. Error 336 for a common
// table expression that follows the table without a semicolon.
func TableHints(c *tokens.Cursor) []*syntax.TableHint {
	if c.At("HOLDLOCK") { // the only hint without parentheses
		return []*syntax.TableHint{{At: c.Here(), Name: c.Next().Upper}}
	}
	if next := c.Peek(1); c.At("WITH") && next.IsName() && !next.Is("XMLNAMESPACES") {
		c.ErrorAt(next, mserr.Of(336, next.Text))
		return nil
	}
	if !c.At("WITH", "(") && !atOldHints(c) {
		return nil
	}
	c.Accept("WITH")
	c.Expect("(")
	var hints []*syntax.TableHint
	for !c.At(")") {
		t := c.Current()
		if t.Kind != scanner.Word || !tableHintNames[t.Upper] {
			if t.Kind == scanner.Word && !t.IsReserved() {
				c.ErrorAt(t, mserr.UnknownTableHint(t.Text))
			}
			c.Fail()
			return nil
		}
		h := &syntax.TableHint{At: c.Here(), Name: t.Upper}
		c.Next()
		if c.Accept("=") {
			h.Args = []syntax.Expr{Expr(c)}
		} else if c.At("(") {
			h.Args = tokens.ParenList(c, Expr)
		}
		hints = append(hints, h)
		c.Accept(",")
	}
	c.Expect(")")
	return hints
}

// parenTable reads a derived table, VALUES, or joins in parentheses.
func parenTable(c *tokens.Cursor) syntax.TableSource {
	at := c.Here()
	next := c.Peek(1)
	switch {
	case next.Is("VALUES"):
		rows := tokens.Parens(c, Values)
		return &syntax.ValuesTable{At: at, Rows: rows, Alias: TableAlias(c), Columns: term.OptionalIdents(c)}
	case next.Is("INSERT"), next.Is("UPDATE"), next.Is("DELETE"), next.Is("MERGE"):
		c.Reject("a data change with OUTPUT in FROM")
		return nil
	case next.Is("SELECT"), next.Is("WITH"), parenthesisedQuery(c):
		d := &syntax.DerivedTable{At: at, Query: ParenQuery(c), Alias: requiredAlias(c)}
		d.Columns = term.OptionalIdents(c)
		return d
	}
	return &syntax.ParenTable{At: at, X: tokens.Parens(c, TableSource)}
}

// parenthesisedQuery reports whether "((SELECT ...) ..." is a query rather than joins in
// parentheses.
func parenthesisedQuery(c *tokens.Cursor) bool {
	n := c.Parentheses()
	if n == 1 || !c.Peek(n).Is("SELECT") {
		return false
	}
	behind := c.Peek(c.Matching(1))
	return behind.Is(")") || behind.Is("UNION") || behind.Is("EXCEPT") || behind.Is("INTERSECT")
}

// Values reads VALUES (...), (...).
func Values(c *tokens.Cursor) [][]syntax.Expr {
	c.Expect("VALUES")
	return tokens.List(c, func(c *tokens.Cursor) []syntax.Expr { return tokens.ParenList(c, ExprOrDefault) })
}

// openJSON reads OPENJSON.
func openJSON(c *tokens.Cursor) syntax.TableSource {
	o := &syntax.OpenJSON{At: c.Here()}
	c.Expect("OPENJSON", "(")
	o.X = Expr(c)
	if c.Accept(",") {
		o.Path = Expr(c)
	}
	c.Expect(")")
	if c.At("WITH", "(") {
		c.Next()
		o.Columns = tokens.ParenList(c, jsonColumn)
	}
	o.Alias = TableAlias(c)
	return o
}

// jsonColumn reads a column of OPENJSON.
func jsonColumn(c *tokens.Cursor) *syntax.JSONColumn {
	col := &syntax.JSONColumn{At: c.Here(), Name: term.Ident(c), Type: term.Type(c), Collation: term.Collation(c)}
	if c.AtText() {
		col.Path = term.Literal(c)
	}
	col.AsJSON = c.Accept("AS", "JSON")
	return col
}

// pivot reads PIVOT after x.
func pivot(c *tokens.Cursor, x syntax.TableSource) syntax.TableSource {
	v := &syntax.Pivot{At: atNode(x), Source: x}
	c.Expect("PIVOT", "(")
	v.Aggregate = call(c, c.Here(), term.Name(c))
	c.Expect("FOR")
	v.Column = term.Column(c)
	c.Expect("IN")
	v.Values = term.Idents(c)
	c.Expect(")")
	v.Alias = requiredAlias(c)
	return v
}

// unpivot reads UNPIVOT after x.
func unpivot(c *tokens.Cursor, x syntax.TableSource) syntax.TableSource {
	u := &syntax.Unpivot{At: atNode(x), Source: x}
	c.Expect("UNPIVOT", "(")
	u.Value = term.Ident(c)
	c.Expect("FOR")
	u.Column = term.Ident(c)
	c.Expect("IN")
	u.Columns = tokens.ParenList(c, term.Column)
	c.Expect(")")
	u.Alias = requiredAlias(c)
	return u
}

// CursorRef reads the name of a cursor.
func CursorRef(c *tokens.Cursor) *syntax.CursorRef {
	ref := &syntax.CursorRef{At: c.Here()}
	if c.AtKind(scanner.Variable) {
		ref.Name = c.Next().Text
		return ref
	}
	if c.At("GLOBAL") && c.Peek(1).IsName() {
		c.Next()
		ref.Global = true
	}
	ref.Name = term.Ident(c).Name
	return ref
}
