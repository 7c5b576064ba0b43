package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Assign writes an assignment operator between blanks.
func Assign(w *Writer, op syntax.Op) { w.Text(" ", op.String(), "= ") }

// expr writes a value, or nothing for nil.
func expr(w *Writer, x syntax.Expr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Literal:
		literal(w, x)
	case *syntax.Default:
		w.Text("DEFAULT")
	case *syntax.Keyword:
		w.Text(x.Name)
	case *syntax.ColumnRef:
		Parts(w, x.Parts)
	case *syntax.PseudoColumn:
		Parts(w, x.Qualifier)
		w.TextIf(len(x.Qualifier) > 0, ".")
		w.Text(x.Name)
	case *syntax.VarRef:
		w.Text(x.Name)
	case *syntax.GlobalRef:
		w.Text(x.Name)
	case *syntax.UnaryExpr:
		w.Text(x.Op.String())
		if u, ok := x.X.(*syntax.UnaryExpr); ok && u.Op == x.Op { // "--" would start a comment
			w.Text(" ")
		}
		expr(w, x.X)
	case *syntax.BinaryExpr:
		w.Put(x.X, " ", x.Op, " ", x.Y)
	case *syntax.ParenExpr:
		w.Put("(", x.X, ")")
	case *syntax.CollateExpr:
		w.Put(x.X, " COLLATE ", x.Collation)
	case *syntax.AtTimeZoneExpr:
		w.Put(x.X, " AT TIME ZONE ", x.Zone)
	case *syntax.SubqueryExpr:
		w.Put("(", x.Query, ")")
	case *syntax.CaseExpr:
		caseExpr(w, x)
	default:
		callLike(w, x)
	}
}

// callLike writes expressions with the syntax of a call.
func callLike(w *Writer, x syntax.Expr) {
	try := map[bool]string{true: "TRY_"}
	switch x := x.(type) {
	case *syntax.FuncCall:
		call(w, x)
	case *syntax.CastExpr:
		w.Put(try[x.Try], "CAST(", x.X, " AS ", x.Type, ")")
	case *syntax.ConvertExpr:
		w.Put(try[x.Try], "CONVERT(", x.Type, ", ", x.X)
		Opt(w, ", ", x.Style)
		w.Text(")")
	case *syntax.ParseAsExpr:
		w.Put(try[x.Try], "PARSE(", x.X, " AS ", x.Type)
		Opt(w, " USING ", x.Culture)
		w.Text(")")
	case *syntax.IIfExpr:
		w.Put("IIF(", x.Cond, ", ", x.Then, ", ", x.Else, ")")
	case *syntax.MethodCall:
		w.Put(x.X, ".", syntax.Ident{Name: x.Method})
		List(w, "(", x.Args, ")")
	case *syntax.TrimExpr:
		w.Text("TRIM(")
		w.TextIf(x.Side != "", x.Side, " ")
		w.Put(x.Chars, " FROM ", x.X, ")")
	case *syntax.JSONObjectExpr:
		w.Text("JSON_OBJECT(")
		for i := range x.Keys {
			w.TextIf(i > 0, ", ")
			w.Put(x.Keys[i], ": ", x.Values[i])
		}
		w.TextIf(x.AbsentOnNull, " ABSENT ON NULL")
		w.Text(")")
	case *syntax.JSONArrayExpr:
		List(w, "JSON_ARRAY(", x.Items)
		w.TextIf(x.NullOnNull, " NULL ON NULL")
		w.Text(")")
	case *syntax.NextValueExpr:
		w.Put("NEXT VALUE FOR ", x.Sequence)
		Opt(w, " ", x.Over)
	case *syntax.IdentityExpr:
		w.Put("IDENTITY(", x.Type, ", ", x.Seed, ", ", x.Increment, ")")
	}
}

// literal writes a constant.
func literal(w *Writer, l *syntax.Literal) {
	switch l.Kind {
	case syntax.NullLit:
		w.Text("NULL")
	case syntax.MoneyLit:
		w.Text("$", l.Text)
	case syntax.StringLit:
		if l.Bare {
			ident(w, syntax.Ident{Name: l.Text})
			return
		}
		w.Text(QuoteString(l.Text))
	case syntax.NStringLit:
		w.Text("N", QuoteString(l.Text))
	case syntax.BinaryLit:
		w.Text("0x", scanner.HexDigits(l.Text))
	case syntax.DateLit:
		w.Text("{d ", QuoteString(l.Text), "}")
	case syntax.TimeLit:
		w.Text("{t ", QuoteString(l.Text), "}")
	case syntax.TimestampLit:
		w.Text("{ts ", QuoteString(l.Text), "}")
	case syntax.GUIDLit:
		w.Text("{guid ", QuoteString(l.Text), "}")
	default:
		w.Text(l.Text)
	}
}

// call writes a function call.
func call(w *Writer, f *syntax.FuncCall) {
	w.TextIf(f.ODBC, "{fn ")
	keywordName(w, f.Name)
	if f.NoParens {
		w.TextIf(f.ODBC, "}")
		return
	}
	w.Text("(")
	w.TextIf(f.Distinct, "DISTINCT ")
	w.TextIf(f.Star, "*")
	Each(w, f.Args, func(x syntax.Expr) {
		if k, ok := x.(*syntax.Keyword); ok && !scanner.IsWord(k.Name) { // a date part in brackets
			w.Text(syntax.QuoteName(k.Name))
			return
		}
		expr(w, x)
	})
	w.Text(")")
	Listed(w, " WITHIN GROUP (ORDER BY ", f.WithinGroup, ")")
	w.TextIf(f.Nulls == syntax.NullsIgnore, " IGNORE NULLS")
	w.TextIf(f.Nulls == syntax.NullsRespect, " RESPECT NULLS")
	Opt(w, " ", f.Over)
	w.TextIf(f.ODBC, "}")
}

// caseExpr writes CASE.
func caseExpr(w *Writer, x *syntax.CaseExpr) {
	w.Text("CASE")
	Opt(w, " ", x.Operand)
	for _, c := range x.Whens {
		w.Put(" ", c)
	}
	Opt(w, " ELSE ", x.Else)
	w.Text(" END")
}

// caseWhen writes a branch of CASE.
func caseWhen(w *Writer, c *syntax.When) {
	w.Text("WHEN ")
	if c.Cond != nil {
		cond(w, c.Cond)
	} else {
		expr(w, c.Value)
	}
	w.Put(" THEN ", c.Then)
}

// over writes OVER.
func over(w *Writer, o *syntax.Over) {
	w.Text("OVER ")
	if o.Window.Name != "" && o.PartitionBy == nil && o.OrderBy == nil && o.Frame == nil {
		ident(w, o.Window)
		return
	}
	Window(w, o)
}

// Window writes the parentheses of OVER.
func Window(w *Writer, o *syntax.Over) {
	w.Text("(")
	sep := ""
	if o.Window.Name != "" {
		ident(w, o.Window)
		sep = " "
	}
	if o.PartitionBy != nil {
		w.Text(sep, "PARTITION BY ")
		Nodes(w, o.PartitionBy)
		sep = " "
	}
	if o.OrderBy != nil {
		w.Text(sep, "ORDER BY ")
		Nodes(w, o.OrderBy)
		sep = " "
	}
	if o.Frame != nil {
		w.Put(sep, o.Frame)
	}
	w.Text(")")
}

// frame writes ROWS or RANGE.
func frame(w *Writer, f *syntax.Frame) {
	w.Text(Either(f.Rows, "ROWS ", "RANGE "))
	if f.To == nil {
		bound(w, f.From)
		return
	}
	w.Text("BETWEEN ")
	bound(w, f.From)
	w.Text(" AND ")
	bound(w, *f.To)
}

// bound writes one end of a frame.
func bound(w *Writer, b syntax.FrameBound) {
	if b.Offset != nil {
		w.Put(b.Offset, " ")
	}
	w.Text(map[syntax.BoundKind]string{
		syntax.UnboundedPreceding: "UNBOUNDED PRECEDING", syntax.Preceding: "PRECEDING", syntax.CurrentRow: "CURRENT ROW",
		syntax.Following: "FOLLOWING", syntax.UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// cond writes a condition, or nothing for nil.
func cond(w *Writer, c syntax.Cond) {
	switch c := c.(type) {
	case nil:
	case *syntax.CompareCond:
		w.Put(c.X, " ", c.Op, " ", c.Y)
	case *syntax.QuantifiedCond:
		w.Put(c.X, " ", c.Op, Either(c.All, " ALL (", " ANY ("), c.Query, ")")
	case *syntax.LogicCond:
		w.Put(c.X, " ", c.Op, " ", c.Y)
	case *syntax.NotCond:
		w.Put("NOT ", c.X)
	case *syntax.ParenCond:
		w.Put("(", c.X, ")")
	case *syntax.LikeCond:
		expr(w, c.X)
		w.TextIf(c.Not, " NOT")
		w.Put(" LIKE ", c.Pattern)
		Opt(w, " ESCAPE ", c.Escape)
	case *syntax.BetweenCond:
		expr(w, c.X)
		w.TextIf(c.Not, " NOT")
		w.Put(" BETWEEN ", c.Low, " AND ", c.High)
	case *syntax.InCond:
		expr(w, c.X)
		w.TextIf(c.Not, " NOT")
		w.Text(" IN ")
		if c.Query != nil {
			w.Put("(", c.Query, ")")
			return
		}
		List(w, "(", c.List, ")")
	case *syntax.ExistsCond:
		w.Put("EXISTS (", c.Query, ")")
	case *syntax.IsNullCond:
		w.Put(c.X, " IS ")
		w.TextIf(c.Not, "NOT ")
		w.Text("NULL")
	case *syntax.DistinctCond:
		w.Put(c.X, " IS ")
		w.TextIf(c.Not, "NOT ")
		w.Put("DISTINCT FROM ", c.Y)
	case *syntax.UpdatedCond:
		w.Put("UPDATE(", c.Column, ")")
	}
}
