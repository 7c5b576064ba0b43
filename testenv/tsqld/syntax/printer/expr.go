package printer

import (
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// assign writes an assignment operator between blanks.
func (w *printer) assign(op syntax.Op) { w.text(" ", op.String(), "= ") }

// exprs writes values separated by commas.
func (w *printer) exprs(xs []syntax.Expr) { writeList(w, xs, w.expr) }

// expr writes a value, or nothing for nil.
func (w *printer) expr(x syntax.Expr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Literal:
		w.literal(x)
	case *syntax.Default:
		w.text("DEFAULT")
	case *syntax.Keyword:
		w.text(x.Name)
	case *syntax.ColumnRef:
		w.parts(x.Parts)
	case *syntax.PseudoColumn:
		w.parts(x.Qualifier)
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
		w.expr(x.X)
	case *syntax.BinaryExpr:
		w.expr(x.X)
		w.text(" ", x.Op.String(), " ")
		w.expr(x.Y)
	case *syntax.ParenExpr:
		w.text("(")
		w.expr(x.X)
		w.text(")")
	case *syntax.CollateExpr:
		w.expr(x.X)
		w.text(" COLLATE ", x.Collation)
	case *syntax.AtTimeZoneExpr:
		w.expr(x.X)
		w.text(" AT TIME ZONE ")
		w.expr(x.Zone)
	case *syntax.SubqueryExpr:
		w.parenQuery(x.Query)
	case *syntax.CaseExpr:
		w.caseExpr(x)
	default:
		w.callLike(x)
	}
}

// callLike writes expressions with the syntax of a call.
func (w *printer) callLike(x syntax.Expr) {
	try := map[bool]string{true: "TRY_"}
	switch x := x.(type) {
	case *syntax.FuncCall:
		w.call(x)
	case *syntax.CastExpr:
		w.text(try[x.Try], "CAST(")
		w.expr(x.X)
		w.text(" AS ")
		w.typeRef(x.Type)
		w.text(")")
	case *syntax.ConvertExpr:
		w.text(try[x.Try], "CONVERT(")
		w.typeRef(x.Type)
		w.text(", ")
		w.expr(x.X)
		if x.Style != nil {
			w.text(", ")
			w.expr(x.Style)
		}
		w.text(")")
	case *syntax.ParseAsExpr:
		w.text(try[x.Try], "PARSE(")
		w.expr(x.X)
		w.text(" AS ")
		w.typeRef(x.Type)
		if x.Culture != nil {
			w.text(" USING ")
			w.expr(x.Culture)
		}
		w.text(")")
	case *syntax.IIfExpr:
		w.text("IIF(")
		w.cond(x.Cond)
		w.text(", ")
		w.expr(x.Then)
		w.text(", ")
		w.expr(x.Else)
		w.text(")")
	case *syntax.MethodCall:
		w.expr(x.X)
		w.text(".")
		w.ident(syntax.Ident{Name: x.Method})
		w.text("(")
		w.exprs(x.Args)
		w.text(")")
	case *syntax.TrimExpr:
		w.text("TRIM(")
		w.textIf(x.Side != "", x.Side, " ")
		w.expr(x.Chars)
		w.text(" FROM ")
		w.expr(x.X)
		w.text(")")
	case *syntax.JSONObjectExpr:
		w.text("JSON_OBJECT(")
		for i := range x.Keys {
			w.textIf(i > 0, ", ")
			w.expr(x.Keys[i])
			w.text(": ")
			w.expr(x.Values[i])
		}
		w.textIf(x.AbsentOnNull, " ABSENT ON NULL")
		w.text(")")
	case *syntax.JSONArrayExpr:
		w.text("JSON_ARRAY(")
		w.exprs(x.Items)
		w.textIf(x.NullOnNull, " NULL ON NULL")
		w.text(")")
	case *syntax.NextValueExpr:
		w.text("NEXT VALUE FOR ")
		w.name(x.Sequence)
		if x.Over != nil {
			w.text(" ")
			w.over(x.Over)
		}
	case *syntax.IdentityExpr:
		w.text("IDENTITY(")
		w.typeRef(x.Type)
		w.text(", ", x.Seed, ", ", x.Increment, ")")
	}
}

// literal writes a constant.
func (w *printer) literal(l *syntax.Literal) {
	switch l.Kind {
	case syntax.NullLit:
		w.text("NULL")
	case syntax.MoneyLit:
		w.text("$", l.Text)
	case syntax.StringLit:
		if l.Bare {
			w.ident(syntax.Ident{Name: l.Text})
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
func (w *printer) call(f *syntax.FuncCall) {
	w.textIf(f.ODBC, "{fn ")
	w.keywordName(f.Name)
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
		w.expr(x)
	})
	w.text(")")
	if f.WithinGroup != nil {
		w.text(" WITHIN GROUP (ORDER BY ")
		nodes(w, f.WithinGroup)
		w.text(")")
	}
	w.textIf(f.Nulls == syntax.NullsIgnore, " IGNORE NULLS")
	w.textIf(f.Nulls == syntax.NullsRespect, " RESPECT NULLS")
	if f.Over != nil {
		w.text(" ")
		w.over(f.Over)
	}
	w.textIf(f.ODBC, "}")
}

// caseExpr writes CASE.
func (w *printer) caseExpr(x *syntax.CaseExpr) {
	w.text("CASE")
	if x.Operand != nil {
		w.text(" ")
		w.expr(x.Operand)
	}
	for _, c := range x.Whens {
		w.text(" ")
		w.caseWhen(c)
	}
	if x.Else != nil {
		w.text(" ELSE ")
		w.expr(x.Else)
	}
	w.text(" END")
}

// caseWhen writes a branch of CASE.
func (w *printer) caseWhen(c *syntax.When) {
	w.text("WHEN ")
	if c.Cond != nil {
		w.cond(c.Cond)
	} else {
		w.expr(c.Value)
	}
	w.text(" THEN ")
	w.expr(c.Then)
}

// over writes OVER.
func (w *printer) over(o *syntax.Over) {
	w.text("OVER ")
	if o.Window.Name != "" && o.PartitionBy == nil && o.OrderBy == nil && o.Frame == nil {
		w.ident(o.Window)
		return
	}
	w.window(o)
}

// window writes the parentheses of OVER.
func (w *printer) window(o *syntax.Over) {
	w.text("(")
	sep := ""
	if o.Window.Name != "" {
		w.ident(o.Window)
		sep = " "
	}
	if o.PartitionBy != nil {
		w.text(sep, "PARTITION BY ")
		w.exprs(o.PartitionBy)
		sep = " "
	}
	if o.OrderBy != nil {
		w.text(sep, "ORDER BY ")
		nodes(w, o.OrderBy)
		sep = " "
	}
	if o.Frame != nil {
		w.text(sep)
		w.frame(o.Frame)
	}
	w.text(")")
}

// frame writes ROWS or RANGE.
func (w *printer) frame(f *syntax.Frame) {
	w.text(map[bool]string{true: "ROWS ", false: "RANGE "}[f.Rows])
	if f.To == nil {
		w.bound(f.From)
		return
	}
	w.text("BETWEEN ")
	w.bound(f.From)
	w.text(" AND ")
	w.bound(*f.To)
}

// bound writes one end of a frame.
func (w *printer) bound(b syntax.FrameBound) {
	if b.Offset != nil {
		w.expr(b.Offset)
		w.text(" ")
	}
	w.text(map[syntax.BoundKind]string{
		syntax.UnboundedPreceding: "UNBOUNDED PRECEDING", syntax.Preceding: "PRECEDING", syntax.CurrentRow: "CURRENT ROW",
		syntax.Following: "FOLLOWING", syntax.UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// cond writes a condition, or nothing for nil.
func (w *printer) cond(c syntax.Cond) {
	switch c := c.(type) {
	case nil:
	case *syntax.CompareCond:
		w.expr(c.X)
		w.text(" ", c.Op.String(), " ")
		w.expr(c.Y)
	case *syntax.QuantifiedCond:
		w.expr(c.X)
		w.text(" ", c.Op.String(), map[bool]string{true: " ALL ", false: " ANY "}[c.All])
		w.parenQuery(c.Query)
	case *syntax.LogicCond:
		w.cond(c.X)
		w.text(" ", c.Op.String(), " ")
		w.cond(c.Y)
	case *syntax.NotCond:
		w.text("NOT ")
		w.cond(c.X)
	case *syntax.ParenCond:
		w.text("(")
		w.cond(c.X)
		w.text(")")
	case *syntax.LikeCond:
		w.expr(c.X)
		w.textIf(c.Not, " NOT")
		w.text(" LIKE ")
		w.expr(c.Pattern)
		if c.Escape != nil {
			w.text(" ESCAPE ")
			w.expr(c.Escape)
		}
	case *syntax.BetweenCond:
		w.expr(c.X)
		w.textIf(c.Not, " NOT")
		w.text(" BETWEEN ")
		w.expr(c.Low)
		w.text(" AND ")
		w.expr(c.High)
	case *syntax.InCond:
		w.expr(c.X)
		w.textIf(c.Not, " NOT")
		w.text(" IN ")
		if c.Query != nil {
			w.parenQuery(c.Query)
			return
		}
		w.text("(")
		w.exprs(c.List)
		w.text(")")
	case *syntax.ExistsCond:
		w.text("EXISTS ")
		w.parenQuery(c.Query)
	case *syntax.IsNullCond:
		w.expr(c.X)
		w.text(" IS ")
		w.textIf(c.Not, "NOT ")
		w.text("NULL")
	case *syntax.DistinctCond:
		w.expr(c.X)
		w.text(" IS ")
		w.textIf(c.Not, "NOT ")
		w.text("DISTINCT FROM ")
		w.expr(c.Y)
	case *syntax.UpdatedCond:
		w.text("UPDATE(")
		w.ident(c.Column)
		w.text(")")
	}
}
