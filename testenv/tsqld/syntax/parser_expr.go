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
	for p.got(",") {
		xs = append(xs, p.expr())
	}
	return xs
}

// cond reads a condition.
func (p *parser) cond() Cond { return p.toCond(p.or()) }

// toCond turns what or returns into a condition; a value is error 4145.
func (p *parser) toCond(n Node) Cond {
	c, ok := n.(Cond)
	if !ok && p.err == nil {
		t := p.tok()
		if t.kind == tokEOF {
			t = p.last()
		}
		p.errorAt(t, mserr.NonBoolean(shown(t)))
	}
	return c
}

// or reads a condition, or a value where the caller can take either (inside parentheses).
func (p *parser) or() Node {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	before := p.operand()
	defer p.operandEnd(before)
	x := p.and()
	for p.at("OR") {
		p.chain()
		left := p.toCond(x)
		p.next()
		x = &LogicCond{cond: condAt(left), Op: OpOr, X: left, Y: p.toCond(p.and())}
	}
	return x
}

// and reads operands of OR.
func (p *parser) and() Node {
	before := p.operand()
	defer p.operandEnd(before)
	x := p.not()
	for p.at("AND") {
		p.chain()
		left := p.toCond(x)
		p.next()
		x = &LogicCond{cond: condAt(left), Op: OpAnd, X: left, Y: p.toCond(p.not())}
	}
	return x
}

// condAt is the head of a condition that starts where n does; n may be nil after an error.
func condAt(n Node) cond {
	if n == nil {
		return cond{}
	}
	return cond{node{n.Pos()}}
}

// exprAt is the head of an expression that starts where n does.
func exprAt(n Node) expr {
	if n == nil {
		return expr{}
	}
	return expr{node{n.Pos()}}
}

// not reads operands of AND.
func (p *parser) not() Node {
	if p.at("NOT") {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		c := cond{p.here()}
		p.next()
		return &NotCond{cond: c, X: p.toCond(p.not())}
	}
	return p.predicate()
}

// compareOps are the comparisons; blanks inside of them are handled by comparison.
var compareOps = map[string]Op{
	"=": OpEQ, "<>": OpNE, "!=": OpNE, "<": OpLT, "<=": OpLE, "!>": OpLE, ">": OpGT, ">=": OpGE, "!<": OpGE,
}

// comparison takes a comparison operator; OpNone if there is none. "> =" is ">=" to SQL Server, too.
func (p *parser) comparison() Op {
	t := p.tok()
	if t.kind != tokOp {
		return OpNone
	}
	for _, pair := range [...]struct {
		a, b string
		op   Op
	}{{"<", "=", OpLE}, {">", "=", OpGE}, {"<", ">", OpNE}, {"!", "=", OpNE}, {"!", "<", OpGE}, {"!", ">", OpLE}} {
		if p.got(pair.a, pair.b) {
			return pair.op
		}
	}
	op := compareOps[t.text]
	if op != OpNone {
		p.next()
	}
	return op
}

// predicate reads a comparison and its like, or a bare value.
func (p *parser) predicate() Node {
	c := cond{p.here()}
	switch {
	case p.at("EXISTS"):
		p.next()
		return &ExistsCond{cond: c, Query: p.parenQuery()}
	case p.got("UPDATE", "("):
		id := p.ident()
		p.want(")")
		return &UpdatedCond{cond: c, Column: id}
	case p.at("CONTAINS"), p.at("FREETEXT"):
		p.reject("the full-text predicate " + p.tok().up)
		return nil
	}
	n := p.additive(true)
	x, ok := n.(Expr)
	if !ok {
		return n
	}
	if op := p.comparison(); op != OpNone {
		all := p.at("ALL")
		if all || p.atAny("ANY", "SOME") {
			p.next()
			return &QuantifiedCond{cond: c, Op: op, X: x, All: all, Query: p.parenQuery()}
		}
		return &CompareCond{cond: c, Op: op, X: x, Y: p.expr()}
	}
	if p.got("IS") {
		not := p.got("NOT")
		if p.got("DISTINCT", "FROM") {
			return &DistinctCond{cond: c, Not: not, X: x, Y: p.expr()}
		}
		p.want("NULL")
		return &IsNullCond{cond: c, Not: not, X: x}
	}
	not := false
	if p.at("NOT") && (p.ahead(1).is("LIKE") || p.ahead(1).is("BETWEEN") || p.ahead(1).is("IN")) {
		p.next()
		not = true
	}
	switch {
	case p.got("LIKE"):
		l := &LikeCond{cond: c, Not: not, X: x, Pattern: p.expr()}
		if p.got("ESCAPE") {
			l.Escape = p.expr()
		} else if p.got("{", "ESCAPE") {
			l.Escape = p.expr()
			p.want("}")
		}
		return l
	case p.got("BETWEEN"):
		b := &BetweenCond{cond: c, Not: not, X: x, Low: p.expr()}
		p.want("AND")
		b.High = p.expr()
		return b
	case p.got("IN"):
		in := &InCond{cond: c, Not: not, X: x}
		if p.at("(", "SELECT") || p.at("(", "WITH") {
			in.Query = p.parenQuery()
			return in
		}
		p.want("(")
		in.List = p.exprList()
		p.want(")")
		if len(in.List) == 1 { // IN ((SELECT ...)) is a query, too
			x := in.List[0]
			for {
				inner, ok := x.(*ParenExpr)
				if !ok {
					break
				}
				x = inner.X
			}
			if sub, ok := x.(*SubqueryExpr); ok {
				in.Query, in.List = sub.Query, nil
			}
		}
		return in
	}
	return x
}

// additiveOps bind weaker than multiplicativeOps; SQL Server gives &, ^ and | the rank of + and -.
var (
	additiveOps       = map[string]Op{"+": OpAdd, "-": OpSub, "&": OpBitAnd, "|": OpBitOr, "^": OpBitXor}
	multiplicativeOps = map[string]Op{"*": OpMul, "/": OpDiv, "%": OpMod}
)

// shifts are the operators that are functions in other words ("LEFT_SHIFT"). SQL Server's grammar gives them the rank of &.
var shifts = map[string]string{"<<": "LEFT_SHIFT", ">>": "RIGHT_SHIFT"}

// infix takes an operator of ops.
func (p *parser) infix(ops map[string]Op) Op {
	if t := p.tok(); t.kind == tokOp {
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

// additive reads a value. With either set, a condition in parentheses is read as well and returned.
func (p *parser) additive(either bool) Node {
	before := p.operand()
	defer p.operandEnd(before)
	n := p.multiplicative(either)
	for {
		x, ok := n.(Expr)
		if !ok {
			return n
		}
		if name := shifts[p.tok().text]; name != "" && p.tok().kind == tokOp {
			p.chain()
			e := exprAt(x)
			p.next()
			y, _ := p.multiplicative(false).(Expr)
			n = &FuncCall{expr: e, Name: &ObjectName{node: e.node, Parts: []Ident{{Name: name}}}, Args: []Expr{x, y}}
			continue
		}
		op := p.infix(additiveOps)
		if op == OpNone {
			return n
		}
		p.chain()
		y, _ := p.multiplicative(false).(Expr)
		n = &BinaryExpr{expr: exprAt(x), Op: op, X: x, Y: y}
	}
}

// multiplicative reads operands of + and its like.
func (p *parser) multiplicative(either bool) Node {
	before := p.operand()
	defer p.operandEnd(before)
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
		p.chain()
		y, _ := p.unary(false).(Expr)
		n = &BinaryExpr{expr: exprAt(x), Op: op, X: x, Y: y}
	}
}

// unaryOps are the signs.
var unaryOps = map[string]Op{"+": OpPlus, "-": OpMinus, "~": OpBitNot}

// unary reads a value with signs before and methods, COLLATE or AT TIME ZONE behind it.
func (p *parser) unary(either bool) Node {
	e := expr{p.here()}
	if op := p.infix(unaryOps); op != OpNone {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		x, _ := p.unary(false).(Expr)
		return &UnaryExpr{expr: e, Op: op, X: x}
	}
	before := p.operand()
	defer p.operandEnd(before)
	n := p.primary(either)
	for {
		x, ok := n.(Expr)
		if !ok {
			return n
		}
		switch {
		case p.at(".") && atIdent(p.ahead(1)) && p.ahead(2).is("("):
			p.chain()
			n = p.method(x)
		case p.got("COLLATE"):
			p.chain()
			n = &CollateExpr{expr: e, X: x, Collation: p.ident().Name}
		case p.got("AT", "TIME", "ZONE"):
			p.chain()
			zone, _ := p.primary(false).(Expr)
			n = &AtTimeZoneExpr{expr: e, X: x, Zone: zone}
		default:
			return n
		}
	}
}

// literalKinds are the tokens that are constants by themselves.
var literalKinds = map[tokenKind]LiteralKind{
	tokInt: IntLit, tokDecimal: DecimalLit, tokFloat: FloatLit, tokMoney: MoneyLit,
	tokString: StringLit, tokNString: NStringLit, tokBinary: BinaryLit,
}

// literal takes a constant without sign; nil if there is none.
func (p *parser) literal() *Literal {
	t := p.tok()
	kind, ok := literalKinds[t.kind]
	if !ok {
		return nil
	}
	l := &Literal{expr: expr{p.here()}, Kind: kind, Text: t.text}
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
	t := p.tok()
	e := expr{p.here()}
	switch t.kind {
	case tokVar:
		p.next()
		return &VarRef{expr: e, Name: t.text}
	case tokGlobal:
		p.next()
		return &GlobalRef{expr: e, Name: t.up}
	case tokPseudo:
		p.next()
		if t.up == "$PARTITION" {
			p.reject("$PARTITION")
		}
		return &PseudoColumn{expr: e, Name: t.up}
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
	return &Literal{expr: e}
}

// method reads .name(args) behind x.
func (p *parser) method(x Expr) Expr {
	p.want(".")
	if !p.ahead(1).is("(") {
		p.reject("a property of a CLR type")
	}
	m := &MethodCall{expr: exprAt(x), X: x, Method: p.ident().Name}
	p.want("(")
	if !p.at(")") {
		m.Args = p.exprList()
	}
	p.want(")")
	return m
}

// parenthesised reads what stands in parentheses: a value, a subquery, and with either a condition.
func (p *parser) parenthesised(either bool) Node {
	at := p.here()
	if p.ahead(1).is("SELECT") || p.ahead(1).is("WITH") {
		return &SubqueryExpr{expr: expr{at}, Query: p.parenQuery()}
	}
	p.want("(")
	var n Node
	if either {
		n = p.or()
	} else {
		n = p.expr()
	}
	if c, ok := n.(Cond); ok {
		p.want(")")
		return &ParenCond{cond: cond{at}, X: c}
	}
	x, _ := n.(Expr)
	if sub, ok := x.(*SubqueryExpr); ok && p.atAny("UNION", "EXCEPT", "INTERSECT") {
		left := &ParenQuery{node: sub.node, X: sub.Query.Body}
		deepest := p.deepest
		q := &Query{node: sub.node, Body: p.setOps(func() QueryBody { p.deepest = deepest; return left })}
		p.queryTail(q)
		p.want(")")
		return &SubqueryExpr{expr: expr{at}, Query: q}
	}
	p.want(")")
	return &ParenExpr{expr: expr{at}, X: x}
}

// wordPrimary reads an operand that starts with a bare word.
func (p *parser) wordPrimary() Expr {
	t := p.tok()
	e := expr{p.here()}
	call := p.ahead(1).is("(")
	switch t.up {
	case "NULL":
		p.next()
		return &Literal{expr: e, Kind: NullLit}
	case "CASE":
		return p.caseExpr()
	case "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "CURRENT_DATE", "CURRENT_TIME":
		p.next()
		if call && p.ahead(1).is(")") { // CURRENT_TIMESTAMP() is a call of ODBC's
			p.next()
			p.next()
		}
		return &FuncCall{expr: e, NoParens: true, Name: keywordName(t)}
	case "IDENTITYCOL":
		p.next()
		return &PseudoColumn{expr: e, Name: "$IDENTITY"}
	case "ROWGUIDCOL":
		p.next()
		return &PseudoColumn{expr: e, Name: "$ROWGUID"}
	case "NEXT":
		if p.at("NEXT", "VALUE", "FOR") {
			p.got("NEXT", "VALUE", "FOR")
			n := &NextValueExpr{expr: e, Sequence: p.objectName()}
			n.Over = p.over()
			return n
		}
	}
	if call {
		switch t.up {
		case "CAST", "TRY_CAST":
			p.next()
			p.want("(")
			c := &CastExpr{expr: e, Try: t.up == "TRY_CAST", X: p.expr()}
			p.want("AS")
			c.Type = p.typeRef()
			p.want(")")
			return c
		case "CONVERT", "TRY_CONVERT":
			p.next()
			p.want("(")
			c := &ConvertExpr{expr: e, Try: t.up == "TRY_CONVERT", Type: p.typeRef()}
			p.want(",")
			c.X = p.expr()
			if p.got(",") {
				c.Style = p.expr()
			}
			p.want(")")
			return c
		case "PARSE", "TRY_PARSE":
			p.next()
			p.want("(")
			c := &ParseAsExpr{expr: e, Try: t.up == "TRY_PARSE", X: p.expr()}
			p.want("AS")
			c.Type = p.typeRef()
			if p.got("USING") {
				c.Culture = p.expr()
			}
			p.want(")")
			return c
		case "IIF":
			p.next()
			p.want("(")
			c := &IIfExpr{expr: e, Cond: p.cond()}
			p.want(",")
			c.Then = p.expr()
			p.want(",")
			c.Else = p.expr()
			p.want(")")
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
	}
	return p.named()
}

// keywordName is a name made of a keyword, in capitals.
func keywordName(t *token) *ObjectName {
	return &ObjectName{node: node{t.at}, Parts: []Ident{{Name: t.up, At: t.at}}}
}

// named reads a column or a call.
func (p *parser) named() Expr {
	e := expr{p.here()}
	parts := p.parts("column")
	if p.at("(") {
		return p.call(e, &ObjectName{node: e.node, Parts: parts})
	}
	if p.at("::") {
		p.reject("a static method (::)")
	}
	if p.at(".") {
		p.next()
		if t := p.tok(); t.kind == tokPseudo {
			p.next()
			return &PseudoColumn{expr: e, Qualifier: parts, Name: t.up}
		}
		p.fail()
	}
	return &ColumnRef{expr: e, Parts: parts}
}

// datepartFunctions take a bare word as their first argument.
var datepartFunctions = wordSet("DATEADD DATEDIFF DATEDIFF_BIG DATENAME DATEPART DATETRUNC DATE_BUCKET")

// call reads the arguments of a function and what may stand behind them.
func (p *parser) call(e expr, name *ObjectName) Expr {
	f := &FuncCall{expr: e, Name: name}
	p.want("(")
	switch {
	case p.at("*", ")"):
		p.next()
		f.Star = true
	case len(name.Parts) == 1 && datepartFunctions[upper(name.Last())]:
		t := p.tok()
		if t.kind != tokWord && t.kind != tokQuoted {
			p.errorAt(t, mserr.InvalidParameter(1, lower(name.Last())))
			return f
		}
		p.next()
		f.Args = append(f.Args, &Keyword{expr: expr{node{t.at}}, Name: t.text})
		if !p.at(")") {
			p.want(",")
			f.Args = append(f.Args, p.exprList()...)
		}
	case !p.at(")"):
		if p.got("DISTINCT") {
			f.Distinct = true
		} else {
			p.got("ALL")
		}
		f.Args = append(f.Args, p.exprOrDefault())
		for p.got(",") {
			f.Args = append(f.Args, p.exprOrDefault())
		}
	}
	p.nulls(f)
	p.want(")")
	if p.got("WITHIN", "GROUP") {
		p.want("(", "ORDER", "BY")
		f.WithinGroup = p.orderItems()
		p.want(")")
	}
	p.nulls(f)
	f.Over = p.over()
	return f
}

// nulls reads IGNORE NULLS and RESPECT NULLS, which may stand inside the parentheses or behind them.
func (p *parser) nulls(f *FuncCall) {
	switch {
	case p.got("IGNORE", "NULLS"):
		f.Nulls = NullsIgnore
	case p.got("RESPECT", "NULLS"):
		f.Nulls = NullsRespect
	}
}

// lower turns ASCII capitals into small letters.
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
		d := &Default{expr{p.here()}}
		p.next()
		return d
	}
	return p.expr()
}

// caseExpr reads CASE.
func (p *parser) caseExpr() Expr {
	c := &CaseExpr{expr: expr{p.here()}}
	p.want("CASE")
	if !p.at("WHEN") {
		c.Operand = p.expr()
	}
	if !p.at("WHEN") {
		p.fail()
	}
	for p.at("WHEN") {
		w := &When{node: p.here()}
		p.next()
		if c.Operand != nil {
			w.Value = p.expr()
		} else {
			w.Cond = p.cond()
		}
		p.want("THEN")
		w.Then = p.expr()
		c.Whens = append(c.Whens, w)
	}
	if p.got("ELSE") {
		c.Else = p.expr()
	}
	p.want("END")
	return c
}

// trim reads TRIM in all forms.
func (p *parser) trim() Expr {
	t := p.tok()
	e := expr{p.here()}
	p.next()
	p.want("(")
	side := ""
	if !p.ahead(1).is(")") && !p.ahead(1).is("FROM") {
		side = p.gotAny("LEADING", "TRAILING", "BOTH")
	}
	x := p.expr()
	if !p.got("FROM") {
		p.want(")")
		if side != "" {
			p.fail()
		}
		return &FuncCall{expr: e, Name: &ObjectName{node: e.node, Parts: []Ident{{Name: t.text, At: t.at}}}, Args: []Expr{x}}
	}
	tr := &TrimExpr{expr: e, Side: side, Chars: x, X: p.expr()}
	p.want(")")
	return tr
}

// jsonObject reads JSON_OBJECT(key: value, ...).
func (p *parser) jsonObject() Expr {
	j := &JSONObjectExpr{expr: expr{p.here()}}
	p.next()
	p.want("(")
	for !p.atAny(")", "ABSENT", "NULL") {
		j.Keys = append(j.Keys, p.expr())
		p.want(":")
		j.Values = append(j.Values, p.expr())
		if !p.got(",") {
			break
		}
	}
	if p.got("ABSENT", "ON", "NULL") {
		j.AbsentOnNull = true
	} else {
		p.got("NULL", "ON", "NULL")
	}
	p.want(")")
	return j
}

// jsonArray reads JSON_ARRAY(value, ...).
func (p *parser) jsonArray() Expr {
	j := &JSONArrayExpr{expr: expr{p.here()}}
	p.next()
	p.want("(")
	if !p.at(")") && !p.at("NULL", "ON") && !p.at("ABSENT", "ON") {
		j.Items = p.exprList()
	}
	if p.got("NULL", "ON", "NULL") {
		j.NullOnNull = true
	} else {
		p.got("ABSENT", "ON", "NULL")
	}
	p.want(")")
	return j
}

// identityExpr reads IDENTITY(type, seed, increment).
func (p *parser) identityExpr() Expr {
	x := &IdentityExpr{expr: expr{p.here()}, Seed: "1", Increment: "1"}
	p.next()
	p.want("(")
	x.Type = p.typeRef()
	if p.got(",") {
		x.Seed = p.signedInteger()
		p.want(",")
		x.Increment = p.signedInteger()
	}
	p.want(")")
	return x
}

// over reads OVER; nil if there is none.
func (p *parser) over() *Over {
	if !p.at("OVER") {
		return nil
	}
	o := &Over{node: p.here()}
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
	p.want("(")
	if atIdent(p.tok()) && !p.at("PARTITION", "BY") && !p.at("ROWS") && !p.at("RANGE") {
		o.Window = p.ident()
	}
	if p.got("PARTITION", "BY") {
		o.PartitionBy = p.exprList()
	}
	if p.got("ORDER", "BY") {
		o.OrderBy = p.orderItems()
	}
	if p.atAny("ROWS", "RANGE") {
		f := &Frame{node: p.here(), Rows: p.at("ROWS")}
		p.next()
		if p.got("BETWEEN") {
			f.From = p.frameBound()
			p.want("AND")
			to := p.frameBound()
			f.To = &to
		} else {
			f.From = p.frameBound()
		}
		o.Frame = f
	}
	p.want(")")
}

// frameBound reads an end of a frame.
func (p *parser) frameBound() FrameBound {
	switch {
	case p.got("UNBOUNDED", "PRECEDING"):
		return FrameBound{Kind: UnboundedPreceding}
	case p.got("UNBOUNDED", "FOLLOWING"):
		return FrameBound{Kind: UnboundedFollowing}
	case p.got("CURRENT", "ROW"):
		return FrameBound{Kind: CurrentRow}
	}
	b := FrameBound{Kind: Following, Offset: p.expr()}
	if p.wantAny("PRECEDING", "FOLLOWING") == "PRECEDING" {
		b.Kind = Preceding
	}
	return b
}

// orderItems reads what stands behind ORDER BY.
func (p *parser) orderItems() []*OrderItem {
	var items []*OrderItem
	for {
		o := &OrderItem{node: p.here(), X: p.expr()}
		if p.got("DESC") {
			o.Desc = true
		} else {
			p.got("ASC")
		}
		items = append(items, o)
		if !p.got(",") {
			return items
		}
	}
}
