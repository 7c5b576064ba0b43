package syntax

// opText is how operators are written.
var opText = map[Op]string{
	OpAdd: "+", OpSub: "-", OpMul: "*", OpDiv: "/", OpMod: "%", OpBitAnd: "&", OpBitOr: "|", OpBitXor: "^",
	OpPlus: "+", OpMinus: "-", OpBitNot: "~",
	OpEQ: "=", OpNE: "<>", OpLT: "<", OpLE: "<=", OpGT: ">", OpGE: ">=", OpAnd: "AND", OpOr: "OR",
}

// String is the operator as Print writes it; "" for OpNone.
func (o Op) String() string { return opText[o] }

// assign writes an assignment sign with blanks around.
func (w *printer) assign(op Op) { w.w(" ", opText[op], "= ") }

// exprs writes values with commas between.
func (w *printer) exprs(xs []Expr) { list(w, xs, w.expr) }

// expr writes a value; nothing for nil.
func (w *printer) expr(x Expr) {
	switch x := x.(type) {
	case nil:
	case *Literal:
		w.literal(x)
	case *Default:
		w.w("DEFAULT")
	case *Keyword:
		w.w(x.Name)
	case *ColumnRef:
		w.parts(x.Parts)
	case *PseudoColumn:
		w.parts(x.Qualifier)
		w.when(len(x.Qualifier) > 0, ".")
		w.w(x.Name)
	case *VarRef:
		w.w(x.Name)
	case *GlobalRef:
		w.w(x.Name)
	case *UnaryExpr:
		w.w(opText[x.Op])
		if u, ok := x.X.(*UnaryExpr); ok && u.Op == x.Op { // "--" would start a comment
			w.w(" ")
		}
		w.expr(x.X)
	case *BinaryExpr:
		w.expr(x.X)
		w.w(" ", opText[x.Op], " ")
		w.expr(x.Y)
	case *ParenExpr:
		w.w("(")
		w.expr(x.X)
		w.w(")")
	case *CollateExpr:
		w.expr(x.X)
		w.w(" COLLATE ", x.Collation)
	case *AtTimeZoneExpr:
		w.expr(x.X)
		w.w(" AT TIME ZONE ")
		w.expr(x.Zone)
	case *SubqueryExpr:
		w.parenQuery(x.Query)
	case *CaseExpr:
		w.caseExpr(x)
	default:
		w.callLike(x)
	}
}

// callLike writes what looks like a call.
func (w *printer) callLike(x Expr) {
	try := map[bool]string{true: "TRY_"}
	switch x := x.(type) {
	case *FuncCall:
		w.call(x)
	case *CastExpr:
		w.w(try[x.Try], "CAST(")
		w.expr(x.X)
		w.w(" AS ")
		w.typeRef(x.Type)
		w.w(")")
	case *ConvertExpr:
		w.w(try[x.Try], "CONVERT(")
		w.typeRef(x.Type)
		w.w(", ")
		w.expr(x.X)
		if x.Style != nil {
			w.w(", ")
			w.expr(x.Style)
		}
		w.w(")")
	case *ParseAsExpr:
		w.w(try[x.Try], "PARSE(")
		w.expr(x.X)
		w.w(" AS ")
		w.typeRef(x.Type)
		if x.Culture != nil {
			w.w(" USING ")
			w.expr(x.Culture)
		}
		w.w(")")
	case *IIfExpr:
		w.w("IIF(")
		w.cond(x.Cond)
		w.w(", ")
		w.expr(x.Then)
		w.w(", ")
		w.expr(x.Else)
		w.w(")")
	case *MethodCall:
		w.expr(x.X)
		w.w(".")
		w.ident(Ident{Name: x.Method})
		w.w("(")
		w.exprs(x.Args)
		w.w(")")
	case *TrimExpr:
		w.w("TRIM(")
		w.when(x.Side != "", x.Side, " ")
		w.expr(x.Chars)
		w.w(" FROM ")
		w.expr(x.X)
		w.w(")")
	case *JSONObjectExpr:
		w.w("JSON_OBJECT(")
		for i := range x.Keys {
			w.when(i > 0, ", ")
			w.expr(x.Keys[i])
			w.w(": ")
			w.expr(x.Values[i])
		}
		w.when(x.AbsentOnNull, " ABSENT ON NULL")
		w.w(")")
	case *JSONArrayExpr:
		w.w("JSON_ARRAY(")
		w.exprs(x.Items)
		w.when(x.NullOnNull, " NULL ON NULL")
		w.w(")")
	case *NextValueExpr:
		w.w("NEXT VALUE FOR ")
		w.name(x.Sequence)
		if x.Over != nil {
			w.w(" ")
			w.over(x.Over)
		}
	case *IdentityExpr:
		w.w("IDENTITY(")
		w.typeRef(x.Type)
		w.w(", ", x.Seed, ", ", x.Increment, ")")
	}
}

// literal writes a constant.
func (w *printer) literal(l *Literal) {
	switch l.Kind {
	case NullLit:
		w.w("NULL")
	case MoneyLit:
		w.w("$", l.Text)
	case StringLit:
		if l.Bare {
			w.ident(Ident{Name: l.Text})
			return
		}
		w.w(quoteString(l.Text))
	case NStringLit:
		w.w("N", quoteString(l.Text))
	case BinaryLit:
		w.w("0x", hexDigits(l.Text))
	case DateLit:
		w.w("{d ", quoteString(l.Text), "}")
	case TimeLit:
		w.w("{t ", quoteString(l.Text), "}")
	case TimestampLit:
		w.w("{ts ", quoteString(l.Text), "}")
	case GUIDLit:
		w.w("{guid ", quoteString(l.Text), "}")
	default:
		w.w(l.Text)
	}
}

// call writes a function call.
func (w *printer) call(f *FuncCall) {
	w.when(f.ODBC, "{fn ")
	w.keywordName(f.Name)
	if f.NoParens {
		w.when(f.ODBC, "}")
		return
	}
	w.w("(")
	w.when(f.Distinct, "DISTINCT ")
	w.when(f.Star, "*")
	list(w, f.Args, func(x Expr) {
		if k, ok := x.(*Keyword); ok && !isWord(k.Name) { // a datepart in brackets
			w.w(QuoteName(k.Name))
			return
		}
		w.expr(x)
	})
	w.w(")")
	if f.WithinGroup != nil {
		w.w(" WITHIN GROUP (ORDER BY ")
		nodes(w, f.WithinGroup)
		w.w(")")
	}
	w.when(f.Nulls == NullsIgnore, " IGNORE NULLS")
	w.when(f.Nulls == NullsRespect, " RESPECT NULLS")
	if f.Over != nil {
		w.w(" ")
		w.over(f.Over)
	}
	w.when(f.ODBC, "}")
}

// caseExpr writes CASE.
func (w *printer) caseExpr(x *CaseExpr) {
	w.w("CASE")
	if x.Operand != nil {
		w.w(" ")
		w.expr(x.Operand)
	}
	for _, c := range x.Whens {
		w.w(" ")
		w.caseWhen(c)
	}
	if x.Else != nil {
		w.w(" ELSE ")
		w.expr(x.Else)
	}
	w.w(" END")
}

// caseWhen writes a branch of CASE.
func (w *printer) caseWhen(c *When) {
	w.w("WHEN ")
	if c.Cond != nil {
		w.cond(c.Cond)
	} else {
		w.expr(c.Value)
	}
	w.w(" THEN ")
	w.expr(c.Then)
}

// over writes OVER.
func (w *printer) over(o *Over) {
	w.w("OVER ")
	if o.Window.Name != "" && o.PartitionBy == nil && o.OrderBy == nil && o.Frame == nil {
		w.ident(o.Window)
		return
	}
	w.window(o)
}

// window writes the parentheses of OVER.
func (w *printer) window(o *Over) {
	w.w("(")
	sep := ""
	if o.Window.Name != "" {
		w.ident(o.Window)
		sep = " "
	}
	if o.PartitionBy != nil {
		w.w(sep, "PARTITION BY ")
		w.exprs(o.PartitionBy)
		sep = " "
	}
	if o.OrderBy != nil {
		w.w(sep, "ORDER BY ")
		nodes(w, o.OrderBy)
		sep = " "
	}
	if o.Frame != nil {
		w.w(sep)
		w.frame(o.Frame)
	}
	w.w(")")
}

// frame writes ROWS or RANGE.
func (w *printer) frame(f *Frame) {
	w.w(map[bool]string{true: "ROWS ", false: "RANGE "}[f.Rows])
	if f.To == nil {
		w.bound(f.From)
		return
	}
	w.w("BETWEEN ")
	w.bound(f.From)
	w.w(" AND ")
	w.bound(*f.To)
}

// bound writes an end of a frame.
func (w *printer) bound(b FrameBound) {
	if b.Offset != nil {
		w.expr(b.Offset)
		w.w(" ")
	}
	w.w(map[BoundKind]string{
		UnboundedPreceding: "UNBOUNDED PRECEDING", Preceding: "PRECEDING", CurrentRow: "CURRENT ROW",
		Following: "FOLLOWING", UnboundedFollowing: "UNBOUNDED FOLLOWING",
	}[b.Kind])
}

// cond writes a condition; nothing for nil.
func (w *printer) cond(c Cond) {
	switch c := c.(type) {
	case nil:
	case *CompareCond:
		w.expr(c.X)
		w.w(" ", opText[c.Op], " ")
		w.expr(c.Y)
	case *QuantifiedCond:
		w.expr(c.X)
		w.w(" ", opText[c.Op], map[bool]string{true: " ALL ", false: " ANY "}[c.All])
		w.parenQuery(c.Query)
	case *LogicCond:
		w.cond(c.X)
		w.w(" ", opText[c.Op], " ")
		w.cond(c.Y)
	case *NotCond:
		w.w("NOT ")
		w.cond(c.X)
	case *ParenCond:
		w.w("(")
		w.cond(c.X)
		w.w(")")
	case *LikeCond:
		w.expr(c.X)
		w.when(c.Not, " NOT")
		w.w(" LIKE ")
		w.expr(c.Pattern)
		if c.Escape != nil {
			w.w(" ESCAPE ")
			w.expr(c.Escape)
		}
	case *BetweenCond:
		w.expr(c.X)
		w.when(c.Not, " NOT")
		w.w(" BETWEEN ")
		w.expr(c.Low)
		w.w(" AND ")
		w.expr(c.High)
	case *InCond:
		w.expr(c.X)
		w.when(c.Not, " NOT")
		w.w(" IN ")
		if c.Query != nil {
			w.parenQuery(c.Query)
			return
		}
		w.w("(")
		w.exprs(c.List)
		w.w(")")
	case *ExistsCond:
		w.w("EXISTS ")
		w.parenQuery(c.Query)
	case *IsNullCond:
		w.expr(c.X)
		w.w(" IS ")
		w.when(c.Not, "NOT ")
		w.w("NULL")
	case *DistinctCond:
		w.expr(c.X)
		w.w(" IS ")
		w.when(c.Not, "NOT ")
		w.w("DISTINCT FROM ")
		w.expr(c.Y)
	case *UpdatedCond:
		w.w("UPDATE(")
		w.ident(c.Column)
		w.w(")")
	}
}
