package xquery

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// query reads the prolog and the expression of a query.
func (p *parser) query() expr {
	p.readProlog()
	x := p.expr()
	p.end()
	return x
}

// end checks that nothing follows.
func (p *parser) end() {
	if p.rest() != "" && p.err == nil {
		p.syntax()
	}
}

// readProlog reads the declarations before a query.
func (p *parser) readProlog() {
	if p.acceptWords("xquery", "version") {
		p.stringLiteral()
		p.endDeclaration()
	}
	for p.err == nil && p.atWord("declare") {
		switch {
		case p.acceptWords("declare", "default", "element", "namespace"):
			p.declare(Binding{Space: p.stringLiteral()})
		case p.acceptWords("declare", "default", "function", "namespace"):
			p.stringLiteral()
		case p.acceptWords("declare", "namespace"):
			b := Binding{Prefix: p.ncName()}
			p.expect("=")
			b.Space = p.stringLiteral()
			p.declare(b)
		case p.atWords("declare", "function"), p.atWords("declare", "variable"):
			p.acceptWord("declare")
			p.fail(mserr.XQueryUnsupported, "declare "+p.near())
		default:
			p.syntax()
		}
		p.endDeclaration()
	}
}

// declare adds a namespace of the prolog.
func (p *parser) declare(b Binding) {
	p.spaces = append(p.spaces, b)
	p.prolog = append([]Binding{b}, p.prolog...)
}

// endDeclaration reads the end of a declaration.
func (p *parser) endDeclaration() {
	if !p.accept(";") && p.err == nil {
		p.fail(mserr.XQueryProlog, p.near())
	}
}

// expr reads expressions separated by commas.
func (p *parser) expr() expr {
	x := p.single()
	if !p.at(",") {
		return x
	}
	s := &sequenceExpr{parts: []expr{x}}
	for p.accept(",") {
		s.parts = append(s.parts, p.single())
	}
	return s
}

// unsupported are the words that begin syntax which SQL Server refuses, with the token after them.
var unsupported = []struct{ word, next string }{
	{"typeswitch", "("}, {"validate", "{"}, {"ordered", "{"}, {"unordered", "{"},
}

// single reads an expression without commas.
func (p *parser) single() expr {
	if !p.enter() {
		return &sequenceExpr{}
	}
	defer p.leave()
	switch {
	case p.atWords("for", "$"), p.atWords("let", "$"):
		return p.flwor()
	case p.atWords("some", "$"), p.atWords("every", "$"):
		return p.quantified()
	case p.atWords("if", "("):
		return p.conditional()
	}
	for _, u := range unsupported {
		if p.atWords(u.word, u.next) {
			p.fail(mserr.XQueryUnsupported, u.word)
		}
	}
	return p.or()
}

// or reads operands of or.
func (p *parser) or() expr {
	x := p.and()
	for p.acceptWord("or") {
		x = &logicExpr{op: "or", x: x, y: p.and()}
	}
	return x
}

// and reads operands of and.
func (p *parser) and() expr {
	x := p.comparison()
	for p.acceptWord("and") {
		x = &logicExpr{op: "and", x: x, y: p.comparison()}
	}
	return x
}

// comparisonOps are the operators of comparisons; longer ones precede their beginnings.
var (
	comparisonSymbols = []string{"<<", ">>", "<=", ">=", "!=", "=", "<", ">"}
	comparisonWords   = []string{"eq", "ne", "lt", "le", "gt", "ge", "is"}
)

// comparison reads a comparison.
func (p *parser) comparison() expr {
	x := p.additive()
	for _, op := range comparisonSymbols {
		if p.accept(op) {
			return &compareExpr{op: op, x: x, y: p.additive()}
		}
	}
	for _, op := range comparisonWords {
		if p.acceptWord(op) {
			return &compareExpr{op: op, x: x, y: p.additive()}
		}
	}
	if p.atWord("to") {
		p.fail(mserr.XQueryUnsupported, "to")
	}
	return x
}

// additive reads operands of + and -.
func (p *parser) additive() expr {
	x := p.multiplicative()
	for {
		switch {
		case p.accept("+"):
			x = &arithExpr{op: "+", x: x, y: p.multiplicative()}
		case p.accept("-"):
			x = &arithExpr{op: "-", x: x, y: p.multiplicative()}
		default:
			return x
		}
	}
}

// multiplicative reads operands of *, div and mod.
func (p *parser) multiplicative() expr {
	x := p.union()
	for {
		switch {
		case p.accept("*"):
			x = &arithExpr{op: "*", x: x, y: p.union()}
		case p.acceptWord("div"):
			x = &arithExpr{op: "div", x: x, y: p.union()}
		case p.acceptWord("mod"):
			x = &arithExpr{op: "mod", x: x, y: p.union()}
		case p.atWord("idiv"):
			p.fail(mserr.XQueryUnsupported, "idiv")
		default:
			return x
		}
	}
}

// union refuses the operators of sets of nodes, as SQL Server does.
func (p *parser) union() expr {
	x := p.instanceOf()
	for _, op := range []string{"union", "intersect", "except"} {
		if p.atWord(op) {
			p.fail(mserr.XQueryUnsupported, op)
		}
	}
	if p.at("|") {
		p.fail(mserr.XQueryUnsupported, "|")
	}
	return x
}

// instanceOf reads instance of.
func (p *parser) instanceOf() expr {
	x := p.castAs()
	if p.atWords("instance", "of") {
		p.acceptWords("instance", "of")
		return p.sequenceType(x)
	}
	for _, op := range []string{"treat", "castable"} {
		if p.atWords(op, "as") {
			p.fail(mserr.XQueryUnsupported, op+" as")
		}
	}
	return x
}

// sequenceType reads the type after instance of.
func (p *parser) sequenceType(x expr) expr {
	i := &instanceExpr{x: x}
	if p.acceptWords("empty", "(", ")") {
		return i
	}
	n := p.qName()
	if p.accept("(") {
		if n.Prefix != "" || !slices.Contains([]string{"item", "node", "element", "attribute", "text", "comment", "processing-instruction"}, n.Local) {
			p.fail(mserr.XQueryUnsupported, n.String())
		}
		i.kind = n.Local
		if !p.at(")") {
			i.name = p.resolve(p.qName(), i.kind == "element")
		}
		p.expect(")")
	} else {
		i.atom = p.atomType(n)
	}
	i.optional = p.accept("?") || p.accept("*")
	if !i.optional {
		p.accept("+")
	}
	return i
}

// atomType returns the atomic type with a name. Error 2232.
func (p *parser) atomType(n Name) atomType {
	if t := atomsByName[n.String()]; t != 0 {
		return t
	}
	if p.err == nil {
		p.fail(mserr.XQueryType, n.Prefix, n.Local)
	}
	return typeString
}

// castAs reads cast as.
func (p *parser) castAs() expr {
	x := p.unary()
	if !p.acceptWords("cast", "as") {
		return x
	}
	t := p.atomType(p.qName())
	if !p.accept("?") && p.err == nil {
		p.fail(mserr.XQueryCastMark)
	}
	return &castExpr{x: x, to: t}
}

// unary reads signs.
func (p *parser) unary() expr {
	negative, signed := false, false
	for {
		switch {
		case p.accept("-"):
			negative, signed = !negative, true
		case p.accept("+"):
			signed = true
		case signed:
			return &signExpr{negative: negative, x: p.path()}
		default:
			return p.path()
		}
	}
}

// primary reads an operand. It returns nil if none comes next.
func (p *parser) primary() expr {
	rest := p.rest()
	switch {
	case rest == "":
		return nil
	case rest[0] == '"' || rest[0] == '\'':
		return &literalExpr{textAtom(typeString, p.stringLiteral())}
	case rest[0] >= '0' && rest[0] <= '9', rest[0] == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		return p.number()
	case rest[0] == '$':
		p.pos++
		return &varExpr{name: p.ncName()}
	case rest[0] == '(':
		p.pos++
		if p.accept(")") {
			return &sequenceExpr{}
		}
		x := p.expr()
		p.expect(")")
		return &parenExpr{x}
	case rest[0] == '.' && !strings.HasPrefix(rest, ".."):
		p.pos++
		return &contextExpr{}
	case rest[0] == '<':
		return p.direct()
	}
	return p.computedOrCall()
}

// computedOrCall reads a computed constructor or the call of a function. It returns nil if none
// comes next.
func (p *parser) computedOrCall() expr {
	start := p.pos
	if x := p.computed(); x != nil {
		return x
	}
	if nameLength(p.rest()) == 0 {
		return nil
	}
	n := p.qName()
	if !p.at("(") || n.Prefix == "" && nodeTests[n.Local] {
		p.pos = start
		return nil
	}
	return p.call(n)
}

// nodeTests are the names of node tests, which look like calls.
var nodeTests = map[string]bool{
	"text": true, "node": true, "comment": true, "processing-instruction": true, "element": true,
	"attribute": true, "document-node": true,
}

// number reads a number. Error 2342.
func (p *parser) number() expr {
	s := p.src[p.pos:]
	n := len(s) - len(strings.TrimLeft(s, "0123456789."))
	t := typeInteger
	if strings.Contains(s[:n], ".") {
		t = typeDecimal
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		t = typeDouble
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		n += len(s[n:]) - len(strings.TrimLeft(s[n:], "0123456789"))
	}
	p.pos += n
	a, ok := cast(textAtom(typeString, s[:n]), t)
	if !ok || nameLength(p.src[p.pos:]) > 0 {
		p.fail(mserr.XQueryNumber)
		a = intAtom(0)
	}
	return &literalExpr{a}
}

// call reads the arguments of a function.
func (p *parser) call(n Name) expr {
	n = p.resolve(Name{Prefix: n.Prefix, Local: n.Local}, false)
	if n.Prefix == "" {
		n.Space = functionSpace
	}
	p.expect("(")
	if n.Space == sqlSpace {
		return p.sqlCall(n.Local)
	}
	var args []expr
	for p.err == nil && !p.at(")") {
		args = append(args, p.single())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	if t := atomsByName[predeclaredName(n)]; t != 0 && n.Space != functionSpace {
		return &castExpr{x: nil, args: args, to: t, name: n.String(), isCall: true}
	}
	f := functions[n.Local]
	if n.Space != functionSpace || f == nil {
		if p.err == nil {
			p.fail(mserr.XQueryFunction, n.Space, n.Local)
		}
		return &sequenceExpr{}
	}
	return &callExpr{f: f, args: args}
}

// predeclaredName returns a name with the predeclared prefix of its namespace.
func predeclaredName(n Name) string {
	for _, b := range predeclared {
		if b.Space == n.Space && b.Prefix != "fn" {
			return b.Prefix + ":" + n.Local
		}
	}
	return ""
}

// sqlCall reads the argument of sql:variable or sql:column.
func (p *parser) sqlCall(name string) expr {
	if name != "variable" && name != "column" {
		p.fail(mserr.XQueryFunction, sqlSpace, name)
		return &sequenceExpr{}
	}
	ref := &sqlRef{SQLRef: SQLRef{Column: name == "column", Name: p.stringLiteral()}}
	p.expect(")")
	if !ref.Column && !strings.HasPrefix(ref.Name, "@") && p.err == nil {
		p.failWith(mserr.XQuerySQLVariableName(ref.Name))
	}
	for _, r := range p.refs {
		if r.Column == ref.Column && strings.EqualFold(r.Name, ref.Name) {
			return r
		}
	}
	ref.index = len(p.refs)
	p.refs = append(p.refs, ref)
	return ref
}

// integerLiteral returns the value of an integer literal, or 0 for another expression.
func integerLiteral(x expr) int {
	l, ok := x.(*literalExpr)
	if !ok || !l.a.typ.isExact() || !l.a.exact.IsInt() {
		return 0
	}
	n, err := strconv.Atoi(l.a.exact.Num().String())
	if err != nil || l.a.exact.Cmp(new(big.Rat).SetInt64(int64(n))) != 0 {
		return 0
	}
	return n
}
