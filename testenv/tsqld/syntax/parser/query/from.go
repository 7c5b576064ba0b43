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
	list := []syntax.TableSource{TableSource(c)}
	for c.Accept(",") {
		list = append(list, TableSource(c))
	}
	return list
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
	before := c.BeginChain()
	defer c.EndChain(before)
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

// RejectedTables are the table sources that Parse refuses, with their name in the error.
var RejectedTables = map[string]string{
	"OPENROWSET":     "OPENROWSET",
	"OPENDATASOURCE": "OPENDATASOURCE",
	"OPENQUERY":      "OPENQUERY",
	"OPENXML":        "OPENXML",
	"CHANGETABLE":    "CHANGETABLE",
	"PREDICT":        "PREDICT",
}

// tableOperand reads one table source with its PIVOT and UNPIVOT operators.
func tableOperand(c *tokens.Cursor) syntax.TableSource {
	if !c.Enter() {
		return nil
	}
	defer c.Leave()
	before := c.BeginChain()
	defer c.EndChain(before)
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
	case RejectedTables[t.Upper] != "" && c.Peek(1).Is("("):
		c.Reject(RejectedTables[t.Upper])
		return nil
	}
	c.Accept("::")
	name := term.Name(c)
	if c.At("(") && !atOldHints(c) {
		f := &syntax.TableFunc{At: at}
		f.Call, _ = call(c, at, name).(*syntax.FuncCall)
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
	var x syntax.Expr = &syntax.VarRef{At: at, Name: variable.Text}
	before := c.BeginChain()
	defer c.EndChain(before)
	for c.At(".") {
		c.AddOperator()
		x = method(c, x)
	}
	m := &syntax.MethodTable{At: at, Alias: TableAlias(c)}
	m.Call, _ = x.(*syntax.MethodCall)
	m.Columns = term.OptionalIdents(c)
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

// TableHints reads WITH (...) after a table, and the old form without WITH.
func TableHints(c *tokens.Cursor) []*syntax.TableHint {
	if c.At("HOLDLOCK") { // the only hint without parentheses
		h := &syntax.TableHint{At: c.Here(), Name: c.Next().Upper}
		return []*syntax.TableHint{h}
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
				c.ErrorAt(t, mserr.NotRecognized(t.Text, "table hints option"))
			}
			c.Fail()
			return nil
		}
		h := &syntax.TableHint{At: c.Here(), Name: t.Upper}
		c.Next()
		if c.Accept("=") {
			h.Args = []syntax.Expr{Expr(c)}
		} else if c.Accept("(") {
			h.Args = Exprs(c)
			c.Expect(")")
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
		c.Next()
		v := &syntax.ValuesTable{At: at, Rows: Values(c)}
		c.Expect(")")
		v.Alias = TableAlias(c)
		v.Columns = term.OptionalIdents(c)
		return v
	case next.Is("INSERT"), next.Is("UPDATE"), next.Is("DELETE"), next.Is("MERGE"):
		c.Reject("a data change with OUTPUT in FROM")
		return nil
	case next.Is("SELECT"), next.Is("WITH"), parenthesisedQuery(c):
		d := &syntax.DerivedTable{At: at, Query: ParenQuery(c), Alias: TableAlias(c)}
		if d.Alias.Name == "" {
			c.Fail()
		}
		d.Columns = term.OptionalIdents(c)
		return d
	}
	c.Next()
	x := &syntax.ParenTable{At: at, X: TableSource(c)}
	c.Expect(")")
	return x
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
	var rows [][]syntax.Expr
	for {
		c.Expect("(")
		row := []syntax.Expr{ExprOrDefault(c)}
		for c.Accept(",") {
			row = append(row, ExprOrDefault(c))
		}
		c.Expect(")")
		rows = append(rows, row)
		if !c.Accept(",") {
			return rows
		}
	}
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
	if c.Accept("WITH", "(") {
		for {
			col := &syntax.JSONColumn{At: c.Here(), Name: term.Ident(c), Type: term.Type(c)}
			if c.Accept("COLLATE") {
				col.Collation = term.Ident(c).Name
			}
			if k := c.Current().Kind; k == scanner.String || k == scanner.NString {
				col.Path = term.Literal(c)
			}
			col.AsJSON = c.Accept("AS", "JSON")
			o.Columns = append(o.Columns, col)
			if !c.Accept(",") {
				break
			}
		}
		c.Expect(")")
	}
	o.Alias = TableAlias(c)
	return o
}

// pivot reads PIVOT after x.
func pivot(c *tokens.Cursor, x syntax.TableSource) syntax.TableSource {
	v := &syntax.Pivot{At: atNode(x), Source: x}
	c.Expect("PIVOT", "(")
	e := c.Here()
	v.Aggregate, _ = call(c, e, term.Name(c)).(*syntax.FuncCall)
	c.Expect("FOR")
	e = c.Here()
	v.Column = &syntax.ColumnRef{At: e, Parts: term.Parts(c, "column")}
	c.Expect("IN")
	v.Values = term.Idents(c)
	c.Expect(")")
	v.Alias = TableAlias(c)
	if v.Alias.Name == "" {
		c.Fail()
	}
	return v
}

// unpivot reads UNPIVOT after x.
func unpivot(c *tokens.Cursor, x syntax.TableSource) syntax.TableSource {
	u := &syntax.Unpivot{At: atNode(x), Source: x}
	c.Expect("UNPIVOT", "(")
	u.Value = term.Ident(c)
	c.Expect("FOR")
	u.Column = term.Ident(c)
	c.Expect("IN", "(")
	for {
		e := c.Here()
		u.Columns = append(u.Columns, &syntax.ColumnRef{At: e, Parts: term.Parts(c, "column")})
		if !c.Accept(",") {
			break
		}
	}
	c.Expect(")", ")")
	u.Alias = TableAlias(c)
	if u.Alias.Name == "" {
		c.Fail()
	}
	return u
}

// CursorRef reads the name of a cursor.
func CursorRef(c *tokens.Cursor) *syntax.CursorRef {
	ref := &syntax.CursorRef{At: c.Here()}
	if c.Current().Kind == scanner.Variable {
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
