package syntax

// opText is the text of the operators.
var opText = map[Op]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^",
	OpPlus: "+", OpMinus: "-", OpBitNot: "~",
	OpEQ: "=", OpNE: "<>", OpLT: "<", OpLE: "<=", OpGT: ">", OpGE: ">=", OpAnd: "AND", OpOr: "OR",
}

// String returns the operator as Print writes it, or "" for OpNone.
func (o Op) String() string { return opText[o] }

// assign writes an assignment operator between blanks.
func (w *printer) assign(op Op) { w.text(" ", opText[op], "= ") }

// exprs writes values separated by commas.
func (w *printer) exprs(xs []Expr) { writeList(w, xs, w.expr) }

// expr writes a value, or nothing for nil.
func (w *printer) expr(x Expr) {
	switch x := x.(type) {
	case nil:
	case *Literal:
		w.literal(x)
	case *Default:
		w.text("DEFAULT")
	case *Keyword:
		w.text(x.Name)
	case *ColumnRef:
		w.parts(x.Parts)
	case *PseudoColumn:
		w.parts(x.Qualifier)
		w.textIf(len(x.Qualifier) > 0, ".")
		w.text(x.Name)
	case *VarRef:
		w.text(x.Name)
	case *GlobalRef:
		w.text(x.Name)
	case *UnaryExpr:
		w.text(opText[x.Op])
		if u, ok := x.X.(*UnaryExpr); ok && u.Op == x.Op { // "--" would start a comment
			w.text(" ")
		}
		w.expr(x.X)
	case *BinaryExpr:
		w.expr(x.X)
		w.text(" ", opText[x.Op], " ")
		w.expr(x.Y)
	case *ParenExpr:
		w.text("(")
		w.expr(x.X)
		w.text(")")
	case *CollateExpr:
		w.expr(x.X)
		w.text(" COLLATE ", x.Collation)
	case *AtTimeZoneExpr:
		w.expr(x.X)
		w.text(" AT TIME ZONE ")
		w.expr(x.Zone)
	case *SubqueryExpr:
		w.parenQuery(x.Query)
	case *CaseExpr:
		w.caseExpr(x)
	default:
		w.callLike(x)
	}
}

// callLike writes expressions with the syntax of a call.
func (w *printer) callLike(x Expr) {
	try := map[bool]string{true: "TRY_"}
	switch x := x.(type) {
	case *FuncCall:
		w.call(x)
	case *CastExpr:
		w.text(try[x.Try], "CAST(")
		w.expr(x.X)
		w.text(" AS ")
		w.typeRef(x.Type)
		w.text(")")
	case *ConvertExpr:
		w.text(try[x.Try], "CONVERT(")
		w.typeRef(x.Type)
		w.text(", ")
		w.expr(x.X)
		if x.Style != nil {
			w.text(", ")
			w.expr(x.Style)
		}
		w.text(")")
	case *ParseAsExpr:
		w.text(try[x.Try], "PARSE(")
		w.expr(x.X)
		w.text(" AS ")
		w.typeRef(x.Type)
		if x.Culture != nil {
			w.text(" USING ")
			w.expr(x.Culture)
		}
		w.text(")")
	case *IIfExpr:
		w.text("IIF(")
		w.cond(x.Cond)
		w.text(", ")
		w.expr(x.Then)
		w.text(", ")
		w.expr(x.Else)
		w.text(")")
	case *MethodCall:
		w.expr(x.X)
		w.text(".")
		w.ident(Ident{Name: x.Method})
		w.text("(")
		w.exprs(x.Args)
		w.text(")")
	case *TrimExpr:
		w.text("TRIM(")
		w.textIf(x.Side != "", x.Side, " ")
		w.expr(x.Chars)
		w.text(" FROM ")
		w.expr(x.X)
		w.text(")")
	case *JSONObjectExpr:
		w.text("JSON_OBJECT(")
		for i := range x.Keys {
			w.textIf(i > 0, ", ")
			w.expr(x.Keys[i])
			w.text(": ")
			w.expr(x.Values[i])
		}
		w.textIf(x.AbsentOnNull, " ABSENT ON NULL")
		w.text(")")
	case *JSONArrayExpr:
		w.text("JSON_ARRAY(")
		w.exprs(x.Items)
		w.textIf(x.NullOnNull, " NULL ON NULL")
		w.text(")")
	case *NextValueExpr:
		w.text("NEXT VALUE FOR ")
		w.name(x.Sequence)
		if x.Over != nil {
			w.text(" ")
			w.over(x.Over)
		}
	case *IdentityExpr:
		w.text("IDENTITY(")
		w.typeRef(x.Type)
		w.text(", ", x.Seed, ", ", x.Increment, ")")
	}
}

// literal writes a constant.
func (w *printer) literal(l *Literal) {
	switch l.Kind {
	case NullLit:
		w.text("NULL")
	case MoneyLit:
		w.text("$", l.Text)
	case StringLit:
		if l.Bare {
			w.ident(Ident{Name: l.Text})
			return
		}
		w.text(quoteString(l.Text))
	case NStringLit:
		w.text("N", quoteString(l.Text))
	case BinaryLit:
		w.text("0x", hexDigits(l.Text))
	case DateLit:
		w.text("{d ", quoteString(l.Text), "}")
	case TimeLit:
		w.text("{t ", quoteString(l.Text), "}")
	case TimestampLit:
		w.text("{ts ", quoteString(l.Text), "}")
	case GUIDLit:
		w.text("{guid ", quoteString(l.Text), "}")
	default:
		w.text(l.Text)
	}
}

// call writes a function call.
func (w *printer) call(f *FuncCall) {
	w.textIf(f.ODBC, "{fn ")
	w.keywordName(f.Name)
	if f.NoParens {
		w.textIf(f.ODBC, "}")
		return
	}
	w.text("(")
	w.textIf(f.Distinct, "DISTINCT ")
	w.textIf(f.Star, "*")
	writeList(w, f.Args, func(x Expr) {
		if k, ok := x.(*Keyword); ok && !isWord(k.Name) { // a date part in brackets
			w.text(QuoteName(k.Name))
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
	w.textIf(f.Nulls == NullsIgnore, " IGNORE NULLS")
	w.textIf(f.Nulls == NullsRespect, " RESPECT NULLS")
	if f.Over != nil {
		w.text(" ")
		w.over(f.Over)
	}
	w.textIf(f.ODBC, "}")
}

// caseExpr writes CASE.
func (w *printer) caseExpr(x *CaseExpr) {
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
func (w *printer) caseWhen(c *When) {
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
func (w *printer) over(o *Over) {
	w.text("OVER ")
	if o.Window.Name != "" && o.PartitionBy == nil && o.OrderBy == nil && o.Frame == nil {
		w.ident(o.Window)
		return
	}
	w.window(o)
}

// window writes the parentheses of OVER.
func (w *printer) window(o *Over) {
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
func (w *printer) frame(f *Frame) {
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
func (w *printer) bound(b FrameBound) {
	if b.Offset != nil {
		w.expr(b.Offset)
		w.text(" ")
	}
	w.text(map[BoundKind]string{
		UnboundedPreceding: "UNBOUNDED PRECEDING", Preceding: "PRECEDING", CurrentRow: "CURRENT ROW",
		Following: "FOLLOWING", UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// cond writes a condition, or nothing for nil.
func (w *printer) cond(c Cond) {
	switch c := c.(type) {
	case nil:
	case *CompareCond:
		w.expr(c.X)
		w.text(" ", opText[c.Op], " ")
		w.expr(c.Y)
	case *QuantifiedCond:
		w.expr(c.X)
		w.text(" ", opText[c.Op], map[bool]string{true: " ALL ", false: " ANY "}[c.All])
		w.parenQuery(c.Query)
	case *LogicCond:
		w.cond(c.X)
		w.text(" ", opText[c.Op], " ")
		w.cond(c.Y)
	case *NotCond:
		w.text("NOT ")
		w.cond(c.X)
	case *ParenCond:
		w.text("(")
		w.cond(c.X)
		w.text(")")
	case *LikeCond:
		w.expr(c.X)
		w.textIf(c.Not, " NOT")
		w.text(" LIKE ")
		w.expr(c.Pattern)
		if c.Escape != nil {
			w.text(" ESCAPE ")
			w.expr(c.Escape)
		}
	case *BetweenCond:
		w.expr(c.X)
		w.textIf(c.Not, " NOT")
		w.text(" BETWEEN ")
		w.expr(c.Low)
		w.text(" AND ")
		w.expr(c.High)
	case *InCond:
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
	case *ExistsCond:
		w.text("EXISTS ")
		w.parenQuery(c.Query)
	case *IsNullCond:
		w.expr(c.X)
		w.text(" IS ")
		w.textIf(c.Not, "NOT ")
		w.text("NULL")
	case *DistinctCond:
		w.expr(c.X)
		w.text(" IS ")
		w.textIf(c.Not, "NOT ")
		w.text("DISTINCT FROM ")
		w.expr(c.Y)
	case *UpdatedCond:
		w.text("UPDATE(")
		w.ident(c.Column)
		w.text(")")
	}
}
