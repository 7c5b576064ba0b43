package parser

import (
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// expr reads a value.
func (p *parser) expr() syntax.Expr {
	x, _ := p.additive(false).(syntax.Expr)
	return x
}

// exprList reads values separated by commas.
func (p *parser) exprList() []syntax.Expr {
	xs := []syntax.Expr{p.expr()}
	for p.accept(",") {
		xs = append(xs, p.expr())
	}
	return xs
}

// additiveOps bind less tightly than multiplicativeOps. SQL Server gives &, ^ and | the precedence
// of + and -.
var (
	additiveOps       = map[string]syntax.Op{"+": syntax.OpAdd, "-": syntax.OpSub, "&": syntax.OpBitAnd, "|": syntax.OpBitOr, "^": syntax.OpBitXor}
	multiplicativeOps = map[string]syntax.Op{"*": syntax.OpMul, "/": syntax.OpDiv, "%": syntax.OpMod}
)

// shifts are the operators that are other spellings of functions ("LEFT_SHIFT"). SQL Server gives
// them the precedence of &.
var shifts = map[string]string{"<<": "LEFT_SHIFT", ">>": "RIGHT_SHIFT"}

// infix consumes an operator of ops; it returns OpNone if there is none.
func (p *parser) infix(ops map[string]syntax.Op) syntax.Op {
	if t := p.current(); t.Kind == scanner.Operator {
		if op, ok := ops[t.Text]; ok {
			p.next()
			if op == syntax.OpBitOr && p.at("|") {
				p.reject("the operator ||")
			}
			return op
		}
	}
	return syntax.OpNone
}

// additive reads a value. If either is set, it also accepts a condition in parentheses.
func (p *parser) additive(either bool) syntax.Node {
	before := p.beginChain()
	defer p.endChain(before)
	n := p.multiplicative(either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		if name := shifts[p.current().Text]; name != "" && p.current().Kind == scanner.Operator {
			p.addOperator()
			e := atNode(x)
			p.next()
			y, _ := p.multiplicative(false).(syntax.Expr)
			n = &syntax.FuncCall{At: e, Name: &syntax.ObjectName{At: e, Parts: []syntax.Ident{{Name: name}}}, Args: []syntax.Expr{x, y}}
			continue
		}
		op := p.infix(additiveOps)
		if op == syntax.OpNone {
			return n
		}
		p.addOperator()
		y, _ := p.multiplicative(false).(syntax.Expr)
		n = &syntax.BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// multiplicative reads an operand of + and the other additive operators.
func (p *parser) multiplicative(either bool) syntax.Node {
	before := p.beginChain()
	defer p.endChain(before)
	n := p.unary(either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		op := p.infix(multiplicativeOps)
		if op == syntax.OpNone {
			return n
		}
		p.addOperator()
		y, _ := p.unary(false).(syntax.Expr)
		n = &syntax.BinaryExpr{At: atNode(x), Op: op, X: x, Y: y}
	}
}

// unaryOps are the prefix operators.
var unaryOps = map[string]syntax.Op{"+": syntax.OpPlus, "-": syntax.OpMinus, "~": syntax.OpBitNot}

// unary reads a value with prefix operators, and with methods, COLLATE or AT TIME ZONE after it.
func (p *parser) unary(either bool) syntax.Node {
	e := p.here()
	if op := p.infix(unaryOps); op != syntax.OpNone {
		if !p.enter() {
			return nil
		}
		defer p.leave()
		x, _ := p.unary(false).(syntax.Expr)
		return &syntax.UnaryExpr{At: e, Op: op, X: x}
	}
	before := p.beginChain()
	defer p.endChain(before)
	n := p.primary(either)
	for {
		x, ok := n.(syntax.Expr)
		if !ok {
			return n
		}
		switch {
		case p.at(".") && p.peek(1).IsName() && p.peek(2).Is("("):
			p.addOperator()
			n = p.method(x)
		case p.accept("COLLATE"):
			p.addOperator()
			n = &syntax.CollateExpr{At: e, X: x, Collation: p.ident().Name}
		case p.accept("AT", "TIME", "ZONE"):
			p.addOperator()
			zone, _ := p.primary(false).(syntax.Expr)
			n = &syntax.AtTimeZoneExpr{At: e, X: x, Zone: zone}
		default:
			return n
		}
	}
}

// literalKinds maps the tokens that are constants.
var literalKinds = map[scanner.Kind]syntax.LiteralKind{
	scanner.Int: syntax.IntLit, scanner.Decimal: syntax.DecimalLit, scanner.Float: syntax.FloatLit, scanner.Money: syntax.MoneyLit,
	scanner.String: syntax.StringLit, scanner.NString: syntax.NStringLit, scanner.Binary: syntax.BinaryLit,
}

// literal consumes a constant without sign; it returns nil if there is none.
func (p *parser) literal() *syntax.Literal {
	t := p.current()
	kind, ok := literalKinds[t.Kind]
	if !ok {
		return nil
	}
	l := &syntax.Literal{At: p.here(), Kind: kind, Text: t.Text}
	p.next()
	return l
}

// primary reads an operand.
func (p *parser) primary(either bool) syntax.Node {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	if l := p.literal(); l != nil {
		return l
	}
	t := p.current()
	e := p.here()
	switch t.Kind {
	case scanner.Variable:
		p.next()
		return &syntax.VarRef{At: e, Name: t.Text}
	case scanner.Global:
		p.next()
		return &syntax.GlobalRef{At: e, Name: t.Upper}
	case scanner.Pseudo:
		p.next()
		if t.Upper == "$PARTITION" {
			return p.partitionNumber(e)
		}
		return &syntax.PseudoColumn{At: e, Name: t.Upper}
	case scanner.Quoted:
		return p.named()
	case scanner.Word:
		return p.wordPrimary()
	case scanner.Operator:
		switch t.Text {
		case "(":
			return p.parenthesised(either)
		case "{":
			return p.odbc()
		case ".":
			return p.named()
		}
	}
	p.fail()
	return &syntax.Literal{At: e}
}

// method reads .name(args) after x.
func (p *parser) method(x syntax.Expr) syntax.Expr {
	p.expect(".")
	if !p.peek(1).Is("(") {
		p.reject("a property of a CLR type")
	}
	m := &syntax.MethodCall{At: atNode(x), X: x, Method: p.ident().Name}
	p.expect("(")
	if !p.at(")") {
		m.Args = p.exprList()
	}
	p.expect(")")
	return m
}

// parenthesised reads a value or subquery in parentheses, or a condition if either is set.
func (p *parser) parenthesised(either bool) syntax.Node {
	at := p.here()
	if p.peek(1).Is("SELECT") || p.peek(1).Is("WITH") {
		return &syntax.SubqueryExpr{At: at, Query: p.parenQuery()}
	}
	p.expect("(")
	var n syntax.Node
	if either {
		n = p.or()
	} else {
		n = p.expr()
	}
	if c, ok := n.(syntax.Cond); ok {
		p.expect(")")
		return &syntax.ParenCond{At: at, X: c}
	}
	x, _ := n.(syntax.Expr)
	if sub, ok := x.(*syntax.SubqueryExpr); ok && p.atAny("UNION", "EXCEPT", "INTERSECT") {
		left := &syntax.ParenQuery{At: sub.At, X: sub.Query.Body}
		deepest := p.deepest
		q := &syntax.Query{At: sub.At, Body: p.setOps(func() syntax.QueryBody { p.deepen(deepest); return left })}
		p.queryTail(q)
		p.expect(")")
		return &syntax.SubqueryExpr{At: at, Query: q}
	}
	p.expect(")")
	return &syntax.ParenExpr{At: at, X: x}
}

// wordPrimary reads an operand that starts with a word without quotes.
func (p *parser) wordPrimary() syntax.Expr {
	t := p.current()
	e := p.here()
	call := p.peek(1).Is("(")
	switch t.Upper {
	case "NULL":
		p.next()
		return &syntax.Literal{At: e, Kind: syntax.NullLit}
	case "CASE":
		return p.caseExpr()
	case "CURRENT_TIMESTAMP", "CURRENT_USER", "SESSION_USER", "SYSTEM_USER", "USER", "CURRENT_DATE", "CURRENT_TIME":
		p.next()
		if call && p.peek(1).Is(")") { // CURRENT_TIMESTAMP() is an ODBC function call
			p.next()
			p.next()
		}
		return &syntax.FuncCall{At: e, NoParens: true, Name: keywordName(t)}
	case "IDENTITYCOL":
		p.next()
		return &syntax.PseudoColumn{At: e, Name: "$IDENTITY"}
	case "ROWGUIDCOL":
		p.next()
		return &syntax.PseudoColumn{At: e, Name: "$ROWGUID"}
	case "NEXT":
		if p.at("NEXT", "VALUE", "FOR") {
			p.accept("NEXT", "VALUE", "FOR")
			n := &syntax.NextValueExpr{At: e, Sequence: p.objectName()}
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
func (p *parser) keywordCall(e syntax.At, t *scanner.Token) syntax.Expr {
	switch t.Upper {
	case "CAST", "TRY_CAST":
		p.next()
		p.expect("(")
		c := &syntax.CastExpr{At: e, Try: t.Upper == "TRY_CAST", X: p.expr()}
		p.expect("AS")
		c.Type = p.typeRef()
		p.expect(")")
		return c
	case "CONVERT", "TRY_CONVERT":
		p.next()
		p.expect("(")
		c := &syntax.ConvertExpr{At: e, Try: t.Upper == "TRY_CONVERT", Type: p.typeRef()}
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
		c := &syntax.ParseAsExpr{At: e, Try: t.Upper == "TRY_PARSE", X: p.expr()}
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
		c := &syntax.IIfExpr{At: e, Cond: p.cond()}
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
func keywordName(t *scanner.Token) *syntax.ObjectName {
	return &syntax.ObjectName{At: syntax.AtPos(t.At), Parts: []syntax.Ident{{Name: t.Upper, At: t.At}}}
}

// named reads a column or a function call.
func (p *parser) named() syntax.Expr {
	e := p.here()
	parts := p.parts("column")
	if p.at("(") {
		return p.call(e, &syntax.ObjectName{At: e, Parts: parts})
	}
	if p.at("::") {
		p.reject("a static method (::)")
	}
	if p.at(".") {
		p.next()
		if t := p.current(); t.Kind == scanner.Pseudo {
			p.next()
			return &syntax.PseudoColumn{At: e, Qualifier: parts, Name: t.Upper}
		}
		p.fail()
	}
	return &syntax.ColumnRef{At: e, Parts: parts}
}

// datepartFunctions are the functions whose first argument is a date part.
var datepartFunctions = scanner.WordSet("DATEADD DATEDIFF DATEDIFF_BIG DATENAME DATEPART DATETRUNC DATE_BUCKET")

// call reads the arguments of a function and the clauses after them.
func (p *parser) call(e syntax.At, name *syntax.ObjectName) syntax.Expr {
	f := &syntax.FuncCall{At: e, Name: name}
	p.expect("(")
	switch {
	case p.at("*", ")"):
		p.next()
		f.Star = true
	case len(name.Parts) == 1 && datepartFunctions[scanner.Upper(name.Last())]:
		t := p.current()
		if t.Kind != scanner.Word && t.Kind != scanner.Quoted {
			p.errorAt(t, mserr.InvalidParameter(1, lower(name.Last())))
			return f
		}
		p.next()
		f.Args = append(f.Args, &syntax.Keyword{At: syntax.AtPos(t.At), Name: t.Text})
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
func (p *parser) nulls(f *syntax.FuncCall) {
	switch {
	case p.accept("IGNORE", "NULLS"):
		f.Nulls = syntax.NullsIgnore
	case p.accept("RESPECT", "NULLS"):
		f.Nulls = syntax.NullsRespect
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
func (p *parser) exprOrDefault() syntax.Expr {
	if p.at("DEFAULT") {
		d := &syntax.Default{At: p.here()}
		p.next()
		return d
	}
	return p.expr()
}

// caseExpr reads CASE.
func (p *parser) caseExpr() syntax.Expr {
	c := &syntax.CaseExpr{At: p.here()}
	p.expect("CASE")
	if !p.at("WHEN") {
		c.Operand = p.expr()
	}
	if !p.at("WHEN") {
		p.fail()
	}
	for p.at("WHEN") {
		w := &syntax.When{At: p.here()}
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
func (p *parser) trim() syntax.Expr {
	t := p.current()
	e := p.here()
	p.next()
	p.expect("(")
	side := ""
	if !p.peek(1).Is(")") && !p.peek(1).Is("FROM") {
		side = p.acceptAny("LEADING", "TRAILING", "BOTH")
	}
	x := p.expr()
	if !p.accept("FROM") {
		p.expect(")")
		if side != "" {
			p.fail()
		}
		return &syntax.FuncCall{
			At:   e,
			Name: &syntax.ObjectName{At: e, Parts: []syntax.Ident{{Name: t.Text, At: t.At}}},
			Args: []syntax.Expr{x},
		}
	}
	tr := &syntax.TrimExpr{At: e, Side: side, Chars: x, X: p.expr()}
	p.expect(")")
	return tr
}

// jsonObject reads JSON_OBJECT(key: value, ...).
func (p *parser) jsonObject() syntax.Expr {
	j := &syntax.JSONObjectExpr{At: p.here()}
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
func (p *parser) jsonArray() syntax.Expr {
	j := &syntax.JSONArrayExpr{At: p.here()}
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
func (p *parser) identityExpr() syntax.Expr {
	x := &syntax.IdentityExpr{At: p.here(), Seed: "1", Increment: "1"}
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
func (p *parser) over() *syntax.Over {
	if !p.at("OVER") {
		return nil
	}
	o := &syntax.Over{At: p.here()}
	p.next()
	if !p.at("(") {
		o.Window = p.ident()
		return o
	}
	p.window(o)
	return o
}

// window reads the parentheses of OVER or of a window's definition into o.
func (p *parser) window(o *syntax.Over) {
	p.expect("(")
	if p.current().IsName() && !p.at("PARTITION", "BY") && !p.at("ROWS") && !p.at("RANGE") {
		o.Window = p.ident()
	}
	if p.accept("PARTITION", "BY") {
		o.PartitionBy = p.exprList()
	}
	if p.accept("ORDER", "BY") {
		o.OrderBy = p.orderItems()
	}
	if p.atAny("ROWS", "RANGE") {
		f := &syntax.Frame{At: p.here(), Rows: p.at("ROWS")}
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
func (p *parser) frameBound() syntax.FrameBound {
	switch {
	case p.accept("UNBOUNDED", "PRECEDING"):
		return syntax.FrameBound{Kind: syntax.UnboundedPreceding}
	case p.accept("UNBOUNDED", "FOLLOWING"):
		return syntax.FrameBound{Kind: syntax.UnboundedFollowing}
	case p.accept("CURRENT", "ROW"):
		return syntax.FrameBound{Kind: syntax.CurrentRow}
	}
	b := syntax.FrameBound{Kind: syntax.Following, Offset: p.expr()}
	if p.expectAny("PRECEDING", "FOLLOWING") == "PRECEDING" {
		b.Kind = syntax.Preceding
	}
	return b
}

// orderItems reads the items after ORDER BY.
func (p *parser) orderItems() []*syntax.OrderItem {
	var items []*syntax.OrderItem
	for {
		o := &syntax.OrderItem{At: p.here(), X: p.expr()}
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
