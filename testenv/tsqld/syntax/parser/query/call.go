package query

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/term"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/parser/tokens"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// keywordCall reads a call with special syntax, whose first word is t; it returns nil for other
// words.
func keywordCall(c *tokens.Cursor, e syntax.At, t *scanner.Token) syntax.Expr {
	switch t.Upper {
	case "CAST", "TRY_CAST":
		c.Skip(2)
		x := &syntax.CastExpr{At: e, Try: t.Upper == "TRY_CAST", X: Expr(c)}
		c.Expect("AS")
		x.Type = term.Type(c)
		c.Expect(")")
		return x
	case "CONVERT", "TRY_CONVERT":
		c.Skip(2)
		x := &syntax.ConvertExpr{At: e, Try: t.Upper == "TRY_CONVERT", Type: term.Type(c)}
		c.Expect(",")
		x.X = Expr(c)
		if c.Accept(",") {
			x.Style = Expr(c)
		}
		c.Expect(")")
		return x
	case "PARSE", "TRY_PARSE":
		c.Skip(2)
		x := &syntax.ParseAsExpr{At: e, Try: t.Upper == "TRY_PARSE", X: Expr(c)}
		c.Expect("AS")
		x.Type = term.Type(c)
		if c.Accept("USING") {
			x.Culture = Expr(c)
		}
		c.Expect(")")
		return x
	case "IIF":
		c.Skip(2)
		x := &syntax.IIfExpr{At: e, Cond: Cond(c)}
		c.Expect(",")
		x.Then = Expr(c)
		c.Expect(",")
		x.Else = Expr(c)
		c.Expect(")")
		return x
	case "TRIM":
		return trim(c)
	case "JSON_OBJECT":
		return jsonObject(c)
	case "JSON_ARRAY":
		return jsonArray(c)
	case "IDENTITY":
		return identityExpr(c)
	case "COALESCE", "NULLIF", "LEFT", "RIGHT":
		c.Next()
		return call(c, e, keywordName(t))
	}
	return nil
}

// keywordName returns the name of a function that is a keyword, in capitals.
func keywordName(t *scanner.Token) *syntax.ObjectName {
	return term.Builtin(syntax.AtPos(t.At), t.Upper)
}

// builtinCall returns the call of a built-in function.
func builtinCall(at syntax.At, name string, args ...syntax.Expr) *syntax.FuncCall {
	return &syntax.FuncCall{At: at, Name: term.Builtin(at, name), Args: args}
}

// Args reads arguments in parentheses, possibly none.
func Args(c *tokens.Cursor) (args []syntax.Expr) {
	c.Expect("(")
	if !c.At(")") {
		args = Exprs(c)
	}
	c.Expect(")")
	return args
}

// datepartFunctions are the functions whose first argument is a date part.
var datepartFunctions = scanner.WordSet("DATEADD DATEDIFF DATEDIFF_BIG DATENAME DATEPART DATETRUNC DATE_BUCKET")

// call reads the arguments of a function and the clauses after them.
func call(c *tokens.Cursor, e syntax.At, name *syntax.ObjectName) *syntax.FuncCall {
	f := &syntax.FuncCall{At: e, Name: name}
	c.Expect("(")
	switch {
	case c.At("*", ")"):
		c.Next()
		f.Star = true
	case len(name.Parts) == 1 && datepartFunctions[scanner.Upper(name.Last())]:
		t := c.Current()
		if t.Kind != scanner.Word && t.Kind != scanner.Quoted {
			c.ErrorAt(t, mserr.InvalidParameter(1, Lower(name.Last())))
			return f
		}
		c.Next()
		f.Args = append(f.Args, &syntax.Keyword{At: syntax.AtPos(t.At), Name: t.Text})
		if !c.At(")") {
			c.Expect(",")
			f.Args = append(f.Args, Exprs(c)...)
		}
	case !c.At(")"):
		f.Distinct = c.AcceptAny("DISTINCT", "ALL") == "DISTINCT"
		f.Args = tokens.List(c, ExprOrDefault)
	}
	nulls(c, f)
	c.Expect(")")
	if c.Accept("WITHIN", "GROUP") {
		c.Expect("(", "ORDER", "BY")
		f.WithinGroup = orderItems(c)
		c.Expect(")")
	}
	nulls(c, f)
	f.Over = over(c)
	return f
}

// nulls reads IGNORE NULLS and RESPECT NULLS, which are allowed inside the parentheses and after
// them.
func nulls(c *tokens.Cursor, f *syntax.FuncCall) {
	switch {
	case c.Accept("IGNORE", "NULLS"):
		f.Nulls = syntax.NullsIgnore
	case c.Accept("RESPECT", "NULLS"):
		f.Nulls = syntax.NullsRespect
	}
}

// Lower converts ASCII letters to lower case.
func Lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

// trim reads TRIM in all forms.
func trim(c *tokens.Cursor) syntax.Expr {
	t := c.Current()
	e := c.Here()
	c.Skip(2)
	side := ""
	if !c.Peek(1).Is(")") && !c.Peek(1).Is("FROM") {
		side = c.AcceptAny("LEADING", "TRAILING", "BOTH")
	}
	x := Expr(c)
	if !c.Accept("FROM") {
		c.Expect(")")
		if side != "" {
			c.Fail()
		}
		return builtinCall(e, t.Text, x)
	}
	tr := &syntax.TrimExpr{At: e, Side: side, Chars: x, X: Expr(c)}
	c.Expect(")")
	return tr
}

// jsonObject reads JSON_OBJECT(key: value, ...).
func jsonObject(c *tokens.Cursor) syntax.Expr {
	j := &syntax.JSONObjectExpr{At: c.Here()}
	c.Skip(2)
	for !c.AtAny(")", "ABSENT", "NULL") {
		j.Keys = append(j.Keys, Expr(c))
		c.Expect(":")
		j.Values = append(j.Values, Expr(c))
		if !c.Accept(",") {
			break
		}
	}
	if c.Accept("ABSENT", "ON", "NULL") {
		j.AbsentOnNull = true
	} else {
		c.Accept("NULL", "ON", "NULL")
	}
	c.Expect(")")
	return j
}

// jsonArray reads JSON_ARRAY(value, ...).
func jsonArray(c *tokens.Cursor) syntax.Expr {
	j := &syntax.JSONArrayExpr{At: c.Here()}
	c.Skip(2)
	if !c.At(")") && !c.At("NULL", "ON") && !c.At("ABSENT", "ON") {
		j.Items = Exprs(c)
	}
	if c.Accept("NULL", "ON", "NULL") {
		j.NullOnNull = true
	} else {
		c.Accept("ABSENT", "ON", "NULL")
	}
	c.Expect(")")
	return j
}

// identityExpr reads IDENTITY(type, seed, increment).
func identityExpr(c *tokens.Cursor) syntax.Expr {
	x := &syntax.IdentityExpr{At: c.Here(), Seed: "1", Increment: "1"}
	c.Skip(2)
	x.Type = term.Type(c)
	if c.Accept(",") {
		x.Seed, x.Increment = term.SeedAndIncrement(c)
	}
	c.Expect(")")
	return x
}

// over reads OVER; it returns nil if there is none.
func over(c *tokens.Cursor) *syntax.Over {
	if !c.At("OVER") {
		return nil
	}
	at := c.Here()
	c.Next()
	if !c.At("(") {
		return &syntax.Over{At: at, Window: term.Ident(c)}
	}
	return window(c, at)
}

// window reads the parentheses of OVER or of a window's definition.
func window(c *tokens.Cursor, at syntax.At) *syntax.Over {
	o := &syntax.Over{At: at}
	c.Expect("(")
	if c.Current().IsName() && !c.At("PARTITION", "BY") && !c.At("ROWS") && !c.At("RANGE") {
		o.Window = term.Ident(c)
	}
	if c.Accept("PARTITION", "BY") {
		o.PartitionBy = Exprs(c)
	}
	if c.Accept("ORDER", "BY") {
		o.OrderBy = orderItems(c)
	}
	if c.AtAny("ROWS", "RANGE") {
		f := &syntax.Frame{At: c.Here(), Rows: c.At("ROWS")}
		c.Next()
		if c.Accept("BETWEEN") {
			f.From = frameBound(c)
			c.Expect("AND")
			to := frameBound(c)
			f.To = &to
		} else {
			f.From = frameBound(c)
		}
		o.Frame = f
	}
	c.Expect(")")
	return o
}

// frameBound reads one end of a frame.
func frameBound(c *tokens.Cursor) syntax.FrameBound {
	switch {
	case c.Accept("UNBOUNDED", "PRECEDING"):
		return syntax.FrameBound{Kind: syntax.UnboundedPreceding}
	case c.Accept("UNBOUNDED", "FOLLOWING"):
		return syntax.FrameBound{Kind: syntax.UnboundedFollowing}
	case c.Accept("CURRENT", "ROW"):
		return syntax.FrameBound{Kind: syntax.CurrentRow}
	}
	b := syntax.FrameBound{Kind: syntax.Following, Offset: Expr(c)}
	if c.ExpectAny("PRECEDING", "FOLLOWING") == "PRECEDING" {
		b.Kind = syntax.Preceding
	}
	return b
}

// orderItems reads the items after ORDER BY.
func orderItems(c *tokens.Cursor) []*syntax.OrderItem {
	return tokens.List(c, func(c *tokens.Cursor) *syntax.OrderItem {
		return &syntax.OrderItem{At: c.Here(), X: Expr(c), Desc: c.AcceptAny("ASC", "DESC") == "DESC"}
	})
}

// partitionNumber reads $PARTITION.function(value).
func partitionNumber(c *tokens.Cursor, e syntax.At) syntax.Expr {
	c.Unsupported("$PARTITION")
	c.Expect(".")
	term.Ident(c)
	tokens.ParenList(c, Expr)
	return &syntax.Literal{At: e, Kind: syntax.NullLit}
}
