package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// assign writes an assignment operator between blanks.
func assign(w *writer, op syntax.Op) { w.text(" ", op.String(), "= ") }

// expr writes a value, or nothing for nil.
func expr(w *writer, x syntax.Expr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Literal:
		literal(w, x)
	case *syntax.Default:
		w.text("DEFAULT")
	case *syntax.Keyword:
		w.text(x.Name)
	case *syntax.ColumnRef:
		parts(w, x.Parts)
	case *syntax.PseudoColumn:
		parts(w, x.Qualifier)
		w.textIf(len(x.Qualifier) > 0, ".")
		w.text(x.Name)
	case *syntax.VarRef:
		w.text(x.Name)
	case *syntax.GlobalRef:
		w.text(x.Name)
	case *syntax.UnaryExpr:
		w.text(x.Op.String())
		if u, ok := x.X.(*syntax.UnaryExpr); ok && u.Op == x.Op { // "--" would start a comment
			w.text(" ")
		}
		expr(w, x.X)
	case *syntax.BinaryExpr:
		w.put(x.X, " ", x.Op, " ", x.Y)
	case *syntax.ParenExpr:
		w.put("(", x.X, ")")
	case *syntax.CollateExpr:
		w.put(x.X, " COLLATE ", x.Collation)
	case *syntax.AtTimeZoneExpr:
		w.put(x.X, " AT TIME ZONE ", x.Zone)
	case *syntax.SubqueryExpr:
		w.put("(", x.Query, ")")
	case *syntax.CaseExpr:
		caseExpr(w, x)
	default:
		callLike(w, x)
	}
}

// callLike writes expressions with the syntax of a call.
func callLike(w *writer, x syntax.Expr) {
	try := map[bool]string{true: "TRY_"}
	switch x := x.(type) {
	case *syntax.FuncCall:
		call(w, x)
	case *syntax.CastExpr:
		w.put(try[x.Try], "CAST(", x.X, " AS ", x.Type, ")")
	case *syntax.ConvertExpr:
		w.put(try[x.Try], "CONVERT(", x.Type, ", ", x.X)
		opt(w, ", ", x.Style)
		w.text(")")
	case *syntax.ParseAsExpr:
		w.put(try[x.Try], "PARSE(", x.X, " AS ", x.Type)
		opt(w, " USING ", x.Culture)
		w.text(")")
	case *syntax.IIfExpr:
		w.put("IIF(", x.Cond, ", ", x.Then, ", ", x.Else, ")")
	case *syntax.MethodCall:
		w.put(x.X, ".", syntax.Ident{Name: x.Method})
		list(w, "(", x.Args, ")")
	case *syntax.TrimExpr:
		w.text("TRIM(")
		w.textIf(x.Side != "", x.Side, " ")
		w.put(x.Chars, " FROM ", x.X, ")")
	case *syntax.JSONObjectExpr:
		w.text("JSON_OBJECT(")
		for i := range x.Keys {
			w.textIf(i > 0, ", ")
			w.put(x.Keys[i], ": ", x.Values[i])
		}
		w.textIf(x.AbsentOnNull, " ABSENT ON NULL")
		w.text(")")
	case *syntax.JSONArrayExpr:
		list(w, "JSON_ARRAY(", x.Items)
		w.textIf(x.NullOnNull, " NULL ON NULL")
		w.text(")")
	case *syntax.NextValueExpr:
		w.put("NEXT VALUE FOR ", x.Sequence)
		opt(w, " ", x.Over)
	case *syntax.IdentityExpr:
		w.put("IDENTITY(", x.Type, ", ", x.Seed, ", ", x.Increment, ")")
	}
}

// literal writes a constant.
func literal(w *writer, l *syntax.Literal) {
	switch l.Kind {
	case syntax.NullLit:
		w.text("NULL")
	case syntax.MoneyLit:
		w.text("$", l.Text)
	case syntax.StringLit:
		if l.Bare {
			ident(w, syntax.Ident{Name: l.Text})
			return
		}
		w.text(quoteString(l.Text))
	case syntax.NStringLit:
		w.text("N", quoteString(l.Text))
	case syntax.BinaryLit:
		w.text("0x", scanner.HexDigits(l.Text))
	case syntax.DateLit:
		w.text("{d ", quoteString(l.Text), "}")
	case syntax.TimeLit:
		w.text("{t ", quoteString(l.Text), "}")
	case syntax.TimestampLit:
		w.text("{ts ", quoteString(l.Text), "}")
	case syntax.GUIDLit:
		w.text("{guid ", quoteString(l.Text), "}")
	default:
		w.text(l.Text)
	}
}

// call writes a function call.
func call(w *writer, f *syntax.FuncCall) {
	w.textIf(f.ODBC, "{fn ")
	keywordName(w, f.Name)
	if f.NoParens {
		w.textIf(f.ODBC, "}")
		return
	}
	w.text("(")
	w.textIf(f.Distinct, "DISTINCT ")
	w.textIf(f.Star, "*")
	writeList(w, f.Args, func(x syntax.Expr) {
		if k, ok := x.(*syntax.Keyword); ok && !scanner.IsWord(k.Name) { // a date part in brackets
			w.text(syntax.QuoteName(k.Name))
			return
		}
		expr(w, x)
	})
	w.text(")")
	listed(w, " WITHIN GROUP (ORDER BY ", f.WithinGroup, ")")
	w.textIf(f.Nulls == syntax.NullsIgnore, " IGNORE NULLS")
	w.textIf(f.Nulls == syntax.NullsRespect, " RESPECT NULLS")
	opt(w, " ", f.Over)
	w.textIf(f.ODBC, "}")
}

// caseExpr writes CASE.
func caseExpr(w *writer, x *syntax.CaseExpr) {
	w.text("CASE")
	opt(w, " ", x.Operand)
	for _, c := range x.Whens {
		w.put(" ", c)
	}
	opt(w, " ELSE ", x.Else)
	w.text(" END")
}

// caseWhen writes a branch of CASE.
func caseWhen(w *writer, c *syntax.When) {
	w.text("WHEN ")
	if c.Cond != nil {
		cond(w, c.Cond)
	} else {
		expr(w, c.Value)
	}
	w.put(" THEN ", c.Then)
}

// over writes OVER.
func over(w *writer, o *syntax.Over) {
	w.text("OVER ")
	if o.Window.Name != "" && o.PartitionBy == nil && o.OrderBy == nil && o.Frame == nil {
		ident(w, o.Window)
		return
	}
	window(w, o)
}

// window writes the parentheses of OVER.
func window(w *writer, o *syntax.Over) {
	w.text("(")
	sep := ""
	if o.Window.Name != "" {
		ident(w, o.Window)
		sep = " "
	}
	if o.PartitionBy != nil {
		w.text(sep, "PARTITION BY ")
		nodes(w, o.PartitionBy)
		sep = " "
	}
	if o.OrderBy != nil {
		w.text(sep, "ORDER BY ")
		nodes(w, o.OrderBy)
		sep = " "
	}
	if o.Frame != nil {
		w.put(sep, o.Frame)
	}
	w.text(")")
}

// frame writes ROWS or RANGE.
func frame(w *writer, f *syntax.Frame) {
	w.text(either(f.Rows, "ROWS ", "RANGE "))
	if f.To == nil {
		bound(w, f.From)
		return
	}
	w.text("BETWEEN ")
	bound(w, f.From)
	w.text(" AND ")
	bound(w, *f.To)
}

// bound writes one end of a frame.
func bound(w *writer, b syntax.FrameBound) {
	if b.Offset != nil {
		w.put(b.Offset, " ")
	}
	w.text(map[syntax.BoundKind]string{
		syntax.UnboundedPreceding: "UNBOUNDED PRECEDING", syntax.Preceding: "PRECEDING", syntax.CurrentRow: "CURRENT ROW",
		syntax.Following: "FOLLOWING", syntax.UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// cond writes a condition, or nothing for nil.
func cond(w *writer, c syntax.Cond) {
	switch c := c.(type) {
	case nil:
	case *syntax.CompareCond:
		w.put(c.X, " ", c.Op, " ", c.Y)
	case *syntax.QuantifiedCond:
		w.put(c.X, " ", c.Op, either(c.All, " ALL (", " ANY ("), c.Query, ")")
	case *syntax.LogicCond:
		w.put(c.X, " ", c.Op, " ", c.Y)
	case *syntax.NotCond:
		w.put("NOT ", c.X)
	case *syntax.ParenCond:
		w.put("(", c.X, ")")
	case *syntax.LikeCond:
		expr(w, c.X)
		w.textIf(c.Not, " NOT")
		w.put(" LIKE ", c.Pattern)
		opt(w, " ESCAPE ", c.Escape)
	case *syntax.BetweenCond:
		expr(w, c.X)
		w.textIf(c.Not, " NOT")
		w.put(" BETWEEN ", c.Low, " AND ", c.High)
	case *syntax.InCond:
		expr(w, c.X)
		w.textIf(c.Not, " NOT")
		w.text(" IN ")
		if c.Query != nil {
			w.put("(", c.Query, ")")
			return
		}
		list(w, "(", c.List, ")")
	case *syntax.ExistsCond:
		w.put("EXISTS (", c.Query, ")")
	case *syntax.IsNullCond:
		w.put(c.X, " IS ")
		w.textIf(c.Not, "NOT ")
		w.text("NULL")
	case *syntax.DistinctCond:
		w.put(c.X, " IS ")
		w.textIf(c.Not, "NOT ")
		w.put("DISTINCT FROM ", c.Y)
	case *syntax.UpdatedCond:
		w.put("UPDATE(", c.Column, ")")
	}
}
