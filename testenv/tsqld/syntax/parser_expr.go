package syntax

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// expr reads a value.
func (p *parser) expr() Expr {
	x, _ := p.additive(false).(Expr)
	return x
}

// exprList reads values separated by commas.
func (p *parser) exprList() []Expr {
	xs := []Expr{p.expr()}
	for p.accept(",") {
		xs = append(xs, p.expr())
	}
	return xs
}

// additiveOps bind less tightly than multiplicativeOps. SQL Server gives &, ^ and | the precedence
// of + and -.
var (
	additiveOps       = map[string]Op{"+": OpAdd, "-": OpSub, "&": OpBitAnd, "|": OpBitOr, "^": OpBitXor}
	multiplicativeOps = map[string]Op{"*": OpMul, "/": OpDiv, "%": OpMod}
)

// shifts are the operators that are other spellings of functions ("LEFT_SHIFT"). SQL Server gives
// them the precedence of &.
var shifts = map[string]string{"<<": "LEFT_SHIFT", ">>": "RIGHT_SHIFT"}

// infix consumes an operator of ops; it returns OpNone if there is none.
func (p *parser) infix(ops map[string]Op) Op {
	if t := p.current(); t.kind == tokOp {
		if op, ok := ops[t.text]; ok {
			p.next()
			if op == OpBitOr && p.at("|") {
				p.reject("the operator ||")
			}
			return op
		}
	}
	return OpNone
}

// additive reads a value. If either is set, it also accepts a condition in parentheses.
func (p *parser) additive(either bool) Node {
	before := p.beginChain()
	defer p.endChain(before)
	n := p.multiplicative(either)
	for {
		x, ok := n.(Expr)
		if !ok {
			return n
		}
		if name := shifts[p.current().text]; name != "" && p.current().kind == tokOp {
			p.addOperator()
			e := atNode(x)
			p.next()
			y, _ := p.multiplicative(false).(Expr)
			n = &FuncCall{At: e, Name: &ObjectName{At: e, Parts: []Ident{{Name: name}}}, Args: []Expr{x, y}}
			continue
		}
		op := p.infix(additiveOps)
		if op == OpNone {
			return n
		}
		p.addOperator()
		y, _ := p.multiplicative(false).(Expr)
		n = &BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// multiplicative reads an operand of + and the other additive operators.
func (p *parser) multiplicative(either bool) Node {
	before := p.beginChain()
	defer p.endChain(before)
	n := p.unary(either)
	for {
		x, ok := n.(Expr)
		if !ok {
			return n
		}
		op := p.infix(multiplicativeOps)
		if op == OpNone {
			return n
		}
		p.addOperator()
		y, _ := p.unary(false).(Expr)
		n = &BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// unaryOps are the prefix operators.
var unaryOps = map[string]Op{"+": OpPlus, "-": OpMinus, "~": OpBitNot}

// unary reads a value with prefix operators, and with methods, COLLATE or AT TIME ZONE after it.
func (p *parser) unary(either bool) Node {
	e := p.here()
	if op := p.infix(unaryOps); op != OpNone {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		x, _ := p.unary(false).(Expr)
		return &UnaryExpr{At: e, Op: op, X: x}
	}
	before := p.beginChain()
	defer p.endChain(before)
	n := p.primary(either)
	for {
		x, ok := n.(Expr)
		if !ok {
			return n
		}
		switch {
		case p.at(".") && atIdent(p.peek(1)) && p.peek(2).is("("):
			p.addOperator()
			n = p.method(x)
		case p.accept("COLLATE"):
			p.addOperator()
			n = &CollateExpr{At: e, X: x, Collation: p.ident().Name}
		case p.accept("AT", "TIME", "ZONE"):
			p.addOperator()
			zone, _ := p.primary(false).(Expr)
			n = &AtTimeZoneExpr{At: e, X: x, Zone: zone}
		default:
			return n
		}
	}
}

// literalKinds maps the tokens that are constants.
var literalKinds = map[tokenKind]LiteralKind{
	tokInt: IntLit, tokDecimal: DecimalLit, tokFloat: FloatLit, tokMoney: MoneyLit,
	tokString: StringLit, tokNString: NStringLit, tokBinary: BinaryLit,
}

// literal consumes a constant without sign; it returns nil if there is none.
func (p *parser) literal() *Literal {
	t := p.current()
	kind, ok := literalKinds[t.kind]
	if !ok {
		return nil
	}
	l := &Literal{At: p.here(), Kind: kind, Text: t.text}
	p.next()
	return l
}

// primary reads an operand.
func (p *parser) primary(either bool) Node {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	if l := p.literal(); l != nil {
		return l
	}
	t := p.current()
	e := p.here()
	switch t.kind {
	case tokVar:
		p.next()
		return &VarRef{At: e, Name: t.text}
	case tokGlobal:
		p.next()
		return &GlobalRef{At: e, Name: t.upper}
	case tokPseudo:
		p.next()
		if t.upper == "$PARTITION" {
			return p.partitionNumber(e)
		}
		return &PseudoColumn{At: e, Name: t.upper}
	case tokQuoted:
		return p.named()
	case tokWord:
		return p.wordPrimary()
	case tokOp:
		switch t.text {
		case "(":
			return p.parenthesised(either)
		case "{":
			return p.odbc()
		case ".":
			return p.named()
		}
	}
	p.fail()
	return &Literal{At: e}
}

// method reads .name(args) after x.
func (p *parser) method(x Expr) Expr {
	p.expect(".")
	if !p.peek(1).is("(") {
		p.reject("a property of a CLR type")
	}
	m := &MethodCall{At: atNode(x), X: x, Method: p.ident().Name}
	p.expect("(")
	if !p.at(")") {
		m.Args = p.exprList()
	}
	p.expect(")")
	return m
}

// parenthesised reads a value or subquery in parentheses, or a condition if either is set.
func (p *parser) parenthesised(either bool) Node {
	at := p.here()
	if p.peek(1).is("SELECT") || p.peek(1).is("WITH") {
		return &SubqueryExpr{At: at, Query: p.parenQuery()}
	}
	p.expect("(")
	var n Node
	if either {
		n = p.or()
	} else {
		n = p.expr()
	}
	if c, ok := n.(Cond); ok {
		p.expect(")")
		return &ParenCond{At: at, X: c}
	}
	x, _ := n.(Expr)
	if sub, ok := x.(*SubqueryExpr); ok && p.atAny("UNION", "EXCEPT", "INTERSECT") {
		left := &ParenQuery{At: sub.At, X: sub.Query.Body}
		deepest := p.deepest
		q := &Query{At: sub.At, Body: p.setOps(func() QueryBody { p.deepest = deepest; return left })}
		p.queryTail(q)
		p.expect(")")
		return &SubqueryExpr{At: at, Query: q}
	}
	p.expect(")")
	return &ParenExpr{At: at, X: x}
}

// wordPrimary reads an operand that starts with a word without quotes.
func (p *parser) wordPrimary() Expr {
	t := p.current()
	e := p.here()
	call := p.peek(1).is("(")
	switch t.upper {
	case "NULL":
		p.next()
		return &Literal{At: e, Kind: NullLit}
	case "CASE":
		return p.caseExpr()
	case "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "CURRENT_DATE", "CURRENT_TIME":
		p.next()
		if call && p.peek(1).is(")") { // CURRENT_TIMESTAMP() is an ODBC function call
			p.next()
			p.next()
		}
		return &FuncCall{At: e, NoParens: true, Name: keywordName(t)}
	case "IDENTITYCOL":
		p.next()
		return &PseudoColumn{At: e, Name: "$IDENTITY"}
	case "ROWGUIDCOL":
		p.next()
		return &PseudoColumn{At: e, Name: "$ROWGUID"}
	case "NEXT":
		if p.at("NEXT", "VALUE", "FOR") {
			p.accept("NEXT", "VALUE", "FOR")
			n := &NextValueExpr{At: e, Sequence: p.objectName()}
			n.Over = p.over()
			return n
		}
	}
	if call {
		if x := p.keywordCall(e, t); x != nil {
			return x
		}
	}
	return p.named()
}

// keywordCall reads a call with special syntax, whose first word is t; it returns nil for other
// words.
func (p *parser) keywordCall(e At, t *token) Expr {
	switch t.upper {
	case "CAST", "TRY_CAST":
		p.next()
		p.expect("(")
		c := &CastExpr{At: e, Try: t.upper == "TRY_CAST", X: p.expr()}
		p.expect("AS")
		c.Type = p.typeRef()
		p.expect(")")
		return c
	case "CONVERT", "TRY_CONVERT":
		p.next()
		p.expect("(")
		c := &ConvertExpr{At: e, Try: t.upper == "TRY_CONVERT", Type: p.typeRef()}
		p.expect(",")
		c.X = p.expr()
		if p.accept(",") {
			c.Style = p.expr()
		}
		p.expect(")")
		return c
	case "PARSE", "TRY_PARSE":
		p.next()
		p.expect("(")
		c := &ParseAsExpr{At: e, Try: t.upper == "TRY_PARSE", X: p.expr()}
		p.expect("AS")
		c.Type = p.typeRef()
		if p.accept("USING") {
			c.Culture = p.expr()
		}
		p.expect(")")
		return c
	case "IIF":
		p.next()
		p.expect("(")
		c := &IIfExpr{At: e, Cond: p.cond()}
		p.expect(",")
		c.Then = p.expr()
		p.expect(",")
		c.Else = p.expr()
		p.expect(")")
		return c
	case "TRIM":
		return p.trim()
	case "JSON_OBJECT":
		return p.jsonObject()
	case "JSON_ARRAY":
		return p.jsonArray()
	case "IDENTITY":
		return p.identityExpr()
	case "COALESCE", "NULLIF", "LEFT", "RIGHT":
		p.next()
		return p.call(e, keywordName(t))
	}
	return nil
}

// keywordName returns the name of a function that is a keyword, in capitals.
func keywordName(t *token) *ObjectName {
	return &ObjectName{At: AtPos(t.at), Parts: []Ident{{Name: t.upper, At: t.at}}}
}

// named reads a column or a function call.
func (p *parser) named() Expr {
	e := p.here()
	parts := p.parts("column")
	if p.at("(") {
		return p.call(e, &ObjectName{At: e, Parts: parts})
	}
	if p.at("::") {
		p.reject("a static method (::)")
	}
	if p.at(".") {
		p.next()
		if t := p.current(); t.kind == tokPseudo {
			p.next()
			return &PseudoColumn{At: e, Qualifier: parts, Name: t.upper}
		}
		p.fail()
	}
	return &ColumnRef{At: e, Parts: parts}
}

// datepartFunctions are the functions whose first argument is a date part.
var datepartFunctions = wordSet("DATEADD DATEDIFF DATEDIFF_BIG DATENAME DATEPART DATETRUNC DATE_BUCKET")

// call reads the arguments of a function and the clauses after them.
func (p *parser) call(e At, name *ObjectName) Expr {
	f := &FuncCall{At: e, Name: name}
	p.expect("(")
	switch {
	case p.at("*", ")"):
		p.next()
		f.Star = true
	case len(name.Parts) == 1 && datepartFunctions[upper(name.Last())]:
		t := p.current()
		if t.kind != tokWord && t.kind != tokQuoted {
			p.errorAt(t, mserr.InvalidParameter(1, lower(name.Last())))
			return f
		}
		p.next()
		f.Args = append(f.Args, &Keyword{At: AtPos(t.at), Name: t.text})
		if !p.at(")") {
			p.expect(",")
			f.Args = append(f.Args, p.exprList()...)
		}
	case !p.at(")"):
		if p.accept("DISTINCT") {
			f.Distinct = true
		} else {
			p.accept("ALL")
		}
		f.Args = append(f.Args, p.exprOrDefault())
		for p.accept(",") {
			f.Args = append(f.Args, p.exprOrDefault())
		}
	}
	p.nulls(f)
	p.expect(")")
	if p.accept("WITHIN", "GROUP") {
		p.expect("(", "ORDER", "BY")
		f.WithinGroup = p.orderItems()
		p.expect(")")
	}
	p.nulls(f)
	f.Over = p.over()
	return f
}

// nulls reads IGNORE NULLS and RESPECT NULLS, which are allowed inside the parentheses and after
// them.
func (p *parser) nulls(f *FuncCall) {
	switch {
	case p.accept("IGNORE", "NULLS"):
		f.Nulls = NullsIgnore
	case p.accept("RESPECT", "NULLS"):
		f.Nulls = NullsRespect
	}
}

// lower converts ASCII letters to lower case.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

// exprOrDefault reads a value or DEFAULT.
func (p *parser) exprOrDefault() Expr {
	if p.at("DEFAULT") {
		d := &Default{At: p.here()}
		p.next()
		return d
	}
	return p.expr()
}

// caseExpr reads CASE.
func (p *parser) caseExpr() Expr {
	c := &CaseExpr{At: p.here()}
	p.expect("CASE")
	if !p.at("WHEN") {
		c.Operand = p.expr()
	}
	if !p.at("WHEN") {
		p.fail()
	}
	for p.at("WHEN") {
		w := &When{At: p.here()}
		p.next()
		if c.Operand != nil {
			w.Value = p.expr()
		} else {
			w.Cond = p.cond()
		}
		p.expect("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if p.accept("ELSE") {
		c.Else = p.expr()
	}
	p.expect("END")
	return c
}

// trim reads TRIM in all forms.
func (p *parser) trim() Expr {
	t := p.current()
	e := p.here()
	p.next()
	p.expect("(")
	side := ""
	if !p.peek(1).is(")") && !p.peek(1).is("FROM") {
		side = p.acceptAny("LEADING", "TRAILING", "BOTH")
	}
	x := p.expr()
	if !p.accept("FROM") {
		p.expect(")")
		if side != "" {
			p.fail()
		}
		return &FuncCall{
			At:   e,
			Name: &ObjectName{At: e, Parts: []Ident{{Name: t.text, At: t.at}}},
			Args: []Expr{x},
		}
	}
	tr := &TrimExpr{At: e, Side: side, Chars: x, X: p.expr()}
	p.expect(")")
	return tr
}

// jsonObject reads JSON_OBJECT(key: value, ...).
func (p *parser) jsonObject() Expr {
	j := &JSONObjectExpr{At: p.here()}
	p.next()
	p.expect("(")
	for !p.atAny(")", "ABSENT", "NULL") {
		j.Keys = append(j.Keys, p.expr())
		p.expect(":")
		j.Values = append(j.Values, p.expr())
		if !p.accept(",") {
			break
		}
	}
	if p.accept("ABSENT", "ON", "NULL") {
		j.AbsentOnNull = true
	} else {
		p.accept("NULL", "ON", "NULL")
	}
	p.expect(")")
	return j
}

// jsonArray reads JSON_ARRAY(value, ...).
func (p *parser) jsonArray() Expr {
	j := &JSONArrayExpr{At: p.here()}
	p.next()
	p.expect("(")
	if !p.at(")") && !p.at("NULL", "ON") && !p.at("ABSENT", "ON") {
		j.Items = p.exprList()
	}
	if p.accept("NULL", "ON", "NULL") {
		j.NullOnNull = true
	} else {
		p.accept("ABSENT", "ON", "NULL")
	}
	p.expect(")")
	return j
}

// identityExpr reads IDENTITY(type, seed, increment).
func (p *parser) identityExpr() Expr {
	x := &IdentityExpr{At: p.here(), Seed: "1", Increment: "1"}
	p.next()
	p.expect("(")
	x.Type = p.typeRef()
	if p.accept(",") {
		x.Seed = p.signedInteger()
		p.expect(",")
		x.Increment = p.signedInteger()
	}
	p.expect(")")
	return x
}

// over reads OVER; it returns nil if there is none.
func (p *parser) over() *Over {
	if !p.at("OVER") {
		return nil
	}
	o := &Over{At: p.here()}
	p.next()
	if !p.at("(") {
		o.Window = p.ident()
		return o
	}
	p.window(o)
	return o
}

// window reads the parentheses of OVER or of a window's definition into o.
func (p *parser) window(o *Over) {
	p.expect("(")
	if atIdent(p.current()) && !p.at("PARTITION", "BY") && !p.at("ROWS") && !p.at("RANGE") {
		o.Window = p.ident()
	}
	if p.accept("PARTITION", "BY") {
		o.PartitionBy = p.exprList()
	}
	if p.accept("ORDER", "BY") {
		o.OrderBy = p.orderItems()
	}
	if p.atAny("ROWS", "RANGE") {
		f := &Frame{At: p.here(), Rows: p.at("ROWS")}
		p.next()
		if p.accept("BETWEEN") {
			f.From = p.frameBound()
			p.expect("AND")
			to := p.frameBound()
			f.To = &to
		} else {
			f.From = p.frameBound()
		}
		o.Frame = f
	}
	p.expect(")")
}

// frameBound reads one end of a frame.
func (p *parser) frameBound() FrameBound {
	switch {
	case p.accept("UNBOUNDED", "PRECEDING"):
		return FrameBound{Kind: UnboundedPreceding}
	case p.accept("UNBOUNDED", "FOLLOWING"):
		return FrameBound{Kind: UnboundedFollowing}
	case p.accept("CURRENT", "ROW"):
		return FrameBound{Kind: CurrentRow}
	}
	b := FrameBound{Kind: Following, Offset: p.expr()}
	if p.expectAny("PRECEDING", "FOLLOWING") == "PRECEDING" {
		b.Kind = Preceding
	}
	return b
}

// orderItems reads the items after ORDER BY.
func (p *parser) orderItems() []*OrderItem {
	var items []*OrderItem
	for {
		o := &OrderItem{At: p.here(), X: p.expr()}
		if p.accept("DESC") {
			o.Desc = true
		} else {
			p.accept("ASC")
		}
		items = append(items, o)
		if !p.accept(",") {
			return items
		}
	}
}
