package xquery

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// query reads the prolog and the expression of a query.
func query(p *cursor) expr {
	readProlog(p)
	x := expression(p)
	end(p)
	return x
}

// end checks that nothing follows.
func end(p *cursor) {
	if p.rest() != "" && p.err == nil {
		p.syntax()
	}
}

// readProlog reads the declarations before a query.
func readProlog(p *cursor) {
	if p.acceptWords("xquery", "version") {
		p.stringLiteral()
		endDeclaration(p)
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
		endDeclaration(p)
	}
}

// declare adds a namespace of the prolog.
func (p *cursor) declare(b Binding) {
	p.spaces = append(p.spaces, b)
	p.prolog = append([]Binding{b}, p.prolog...)
}

// endDeclaration reads the end of a declaration.
func endDeclaration(p *cursor) {
	if !p.accept(";") && p.err == nil {
		p.fail(mserr.XQueryProlog, p.near())
	}
}

// expression reads expressions separated by commas.
func expression(p *cursor) expr {
	x := single(p)
	if !p.at(",") {
		return x
	}
	s := &sequenceExpr{parts: []expr{x}}
	for p.accept(",") {
		s.parts = append(s.parts, single(p))
	}
	return s
}

// unsupported are the words that begin syntax which SQL Server refuses, with the token after them.
var unsupported = []struct{ word, next string }{
	{"typeswitch", "("}, {"validate", "{"}, {"ordered", "{"}, {"unordered", "{"},
}

// single reads an expression without commas.
func single(p *cursor) expr {
	if !p.enter() {
		return &sequenceExpr{}
	}
	defer p.leave()
	switch {
	case p.atWords("for", "$"), p.atWords("let", "$"):
		return flwor(p)
	case p.atWords("some", "$"), p.atWords("every", "$"):
		return quantified(p)
	case p.atWords("if", "("):
		return conditional(p)
	}
	for _, u := range unsupported {
		if p.atWords(u.word, u.next) {
			p.fail(mserr.XQueryUnsupported, u.word)
		}
	}
	return or(p)
}

// or reads operands of or.
func or(p *cursor) expr {
	x := and(p)
	for p.acceptWord("or") {
		x = &logicExpr{op: "or", x: x, y: and(p)}
	}
	return x
}

// and reads operands of and.
func and(p *cursor) expr {
	x := comparison(p)
	for p.acceptWord("and") {
		x = &logicExpr{op: "and", x: x, y: comparison(p)}
	}
	return x
}

// comparisonOps are the operators of comparisons; longer ones precede their beginnings.
var (
	comparisonSymbols = []string{"<<", ">>", "<=", ">=", "!=", "=", "<", ">"}
	comparisonWords   = []string{"eq", "ne", "lt", "le", "gt", "ge", "is"}
)

// comparison reads a comparison.
func comparison(p *cursor) expr {
	x := additive(p)
	for _, op := range comparisonSymbols {
		if p.accept(op) {
			return &compareExpr{op: op, x: x, y: additive(p)}
		}
	}
	for _, op := range comparisonWords {
		if p.acceptWord(op) {
			return &compareExpr{op: op, x: x, y: additive(p)}
		}
	}
	if p.atWord("to") {
		p.fail(mserr.XQueryUnsupported, "to")
	}
	return x
}

// additive reads operands of + and -.
func additive(p *cursor) expr {
	x := multiplicative(p)
	for {
		switch {
		case p.accept("+"):
			x = &arithExpr{op: "+", x: x, y: multiplicative(p)}
		case p.accept("-"):
			x = &arithExpr{op: "-", x: x, y: multiplicative(p)}
		default:
			return x
		}
	}
}

// multiplicative reads operands of *, div and mod.
func multiplicative(p *cursor) expr {
	x := unions(p)
	for {
		switch {
		case p.accept("*"):
			x = &arithExpr{op: "*", x: x, y: unions(p)}
		case p.acceptWord("div"):
			x = &arithExpr{op: "div", x: x, y: unions(p)}
		case p.acceptWord("mod"):
			x = &arithExpr{op: "mod", x: x, y: unions(p)}
		case p.atWord("idiv"):
			p.fail(mserr.XQueryUnsupported, "idiv")
		default:
			return x
		}
	}
}

// unions refuses the operators of sets of nodes, as SQL Server does.
func unions(p *cursor) expr {
	x := instanceOf(p)
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
func instanceOf(p *cursor) expr {
	x := castAs(p)
	if p.atWords("instance", "of") {
		p.acceptWords("instance", "of")
		return sequenceType(p, x)
	}
	for _, op := range []string{"treat", "castable"} {
		if p.atWords(op, "as") {
			p.fail(mserr.XQueryUnsupported, op+" as")
		}
	}
	return x
}

// sequenceType reads the type after instance of.
func sequenceType(p *cursor, x expr) expr {
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
		i.atom = namedType(p, n)
	}
	i.optional = p.accept("?") || p.accept("*")
	if !i.optional {
		p.accept("+")
	}
	return i
}

// namedType returns the atomic type with a name. Error 2232.
func namedType(p *cursor, n Name) atomType {
	if t := atomsByName[n.String()]; t != 0 {
		return t
	}
	if p.err == nil {
		p.fail(mserr.XQueryType, n.Prefix, n.Local)
	}
	return typeString
}

// castAs reads cast as.
func castAs(p *cursor) expr {
	x := unary(p)
	if !p.acceptWords("cast", "as") {
		return x
	}
	t := namedType(p, p.qName())
	if !p.accept("?") && p.err == nil {
		p.fail(mserr.XQueryCastMark)
	}
	return &castExpr{x: x, to: t}
}

// unary reads signs.
func unary(p *cursor) expr {
	negative, signed := false, false
	for {
		switch {
		case p.accept("-"):
			negative, signed = !negative, true
		case p.accept("+"):
			signed = true
		case signed:
			return &signExpr{negative: negative, x: path(p)}
		default:
			return path(p)
		}
	}
}

// primary reads an operand. It returns nil if none comes next.
func primary(p *cursor) expr {
	rest := p.rest()
	switch {
	case rest == "":
		return nil
	case rest[0] == '"' || rest[0] == '\'':
		return &literalExpr{textAtom(typeString, p.stringLiteral())}
	case rest[0] >= '0' && rest[0] <= '9', rest[0] == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
		return number(p)
	case rest[0] == '$':
		p.pos++
		return &varExpr{name: p.ncName()}
	case rest[0] == '(':
		p.pos++
		if p.accept(")") {
			return &sequenceExpr{}
		}
		x := expression(p)
		p.expect(")")
		return &parenExpr{x}
	case rest[0] == '.' && !strings.HasPrefix(rest, ".."):
		p.pos++
		return &contextExpr{}
	case rest[0] == '<':
		return direct(p)
	}
	return computedOrCall(p)
}

// computedOrCall reads a computed constructor or the call of a function. It returns nil if none
// comes next.
func computedOrCall(p *cursor) expr {
	start := p.pos
	if x := computed(p); x != nil {
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
	return call(p, n)
}

// nodeTests are the names of node tests, which look like calls.
var nodeTests = map[string]bool{
	"text": true, "node": true, "comment": true, "processing-instruction": true, "element": true,
	"attribute": true, "document-node": true,
}

// number reads a number. Error 2342.
func number(p *cursor) expr {
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
func call(p *cursor, n Name) expr {
	n = p.resolve(Name{Prefix: n.Prefix, Local: n.Local}, false)
	if n.Prefix == "" {
		n.Space = functionSpace
	}
	p.expect("(")
	if n.Space == sqlSpace {
		return sqlCall(p, n.Local)
	}
	var args []expr
	for p.err == nil && !p.at(")") {
		args = append(args, single(p))
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
func sqlCall(p *cursor, name string) expr {
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
