package syntax

import (
	"strings"
	"unsafe"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// maxDepth bounds how deep expressions, queries and statements may nest in each other. It is far above
// what people write, and far below what a goroutine's stack holds.
const maxDepth = 500

// maxTree bounds the depth of a statement's tree, nesting and chains together: the tree of a chain such as a + a + a or
// x OR y OR z is as deep as the chain is long, and what stands in its first operand lies below all of it. Everything
// that walks a tree is recursive and relies on this bound.
const maxTree = 5500

// Options are the session settings that change how a text is read. The zero value is not the default:
// see [DefaultOptions].
type Options struct {
	QuotedIdentifier bool // "x" is a name, else a string
	// Meter is the account of who reads; nil for none. The tree is taken from it, and reading ends when the request does. The
	// error is then its cause, or 701.
	Meter *meter.Meter
}

// DefaultOptions are the settings of a session that has not changed any.
var DefaultOptions = Options{QuotedIdentifier: true}

// Parse reads a batch. The error is a *mserr.Error with its line set, or that of the meter; nothing of the batch may run then.
func Parse(src string, opt Options) (*Batch, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	b := &Batch{Source: src, Stmts: p.batch()}
	p.checkLabels()
	if p.err != nil {
		return nil, p.err
	}
	b.Bytes = len(src) + len(p.toks)*treeBytes
	opt.Meter.Release(p.mark)
	return b, opt.Meter.Take(b.Bytes)
}

// ParseExpr reads an expression that takes up the whole of src, such as the stored text of a default.
func ParseExpr(src string, opt Options) (Expr, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	x := p.expr()
	p.wantEOF()
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// ParseCond reads a condition that takes up the whole of src, such as the stored text of a check constraint.
func ParseCond(src string, opt Options) (Cond, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	x := p.cond()
	p.wantEOF()
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// ParseType reads a type's name with its arguments: the second argument of sp_executesql has them, too.
func ParseType(src string, opt Options) (*TypeRef, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	x := p.typeRef()
	p.wantEOF()
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// ParseName reads a name of up to four parts that takes up the whole of src: what OBJECT_ID and the
// system procedures are given.
func ParseName(src string) (*ObjectName, error) {
	p, err := newParser(src, DefaultOptions)
	if err != nil {
		return nil, err
	}
	x := p.objectName()
	p.wantEOF()
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// ParseParams reads a list of parameters as sp_executesql's second argument has it. An empty text is an empty list.
func ParseParams(src string, opt Options) ([]*Param, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	var ps []*Param
	for p.tok().kind != tokEOF {
		ps = append(ps, p.param())
		if !p.got(",") {
			break
		}
	}
	p.wantEOF()
	if p.err != nil {
		return nil, p.err
	}
	return ps, nil
}

// parser is the state of one parse. The first error sticks: it moves the parser to the end of the text, where nothing
// matches any more, so that all functions come home by themselves; what they return is thrown away.
type parser struct {
	opt        Options
	src        string
	scanner    scanner
	toks       []token // what was scanned, as far as anybody has looked ahead; the last one is tokEOF once all was
	scanned    bool    // all was
	i          int     // of the current token
	mark       int64   // of the meter before the parse
	err        error   // a *mserr.Error, what the meter has answered, or nil
	depth      int     // levels of nesting around the current token
	deepest    int     // depth of the deepest node of the operand that is being read, or was read last: see chain
	loops      int     // WHILE statements around
	terminated bool    // the previous statement ended with a semicolon, or there is none
	labels     map[string]bool
	gotos      []label
	mergeAlias bool // USING is no alias
	alone      bool // the batch may hold nothing behind the statement just read: a view or function
	first      int  // index of the batch's first token that is no semicolon

	// What was found out about tokens far ahead, so that no place of the text is looked at again and again.
	behind  []int32                  // for an opening parenthesis, the token behind its closing one: see matching
	run     struct{ start, end int } // of opening parentheses: see parentheses
	globals map[string][]int32       // functions of the system, by name: see declared
}

// label is a place where GOTO names a label.
type label struct {
	name string
	line int32
}

const (
	// someTokens is how many tokens are scanned at once.
	someTokens = 256
	// treeBytes is what the nodes of a token take, in bytes. Measured: 20 to 130 in texts of one construct, 43 in procedures.
	treeBytes = 130
	// tokenWork is what a token costs to be scanned and parsed, in steps of [meter.Meter.Work].
	tokenWork = 60
)

// newParser begins to read src; its error is a *mserr.Error, or that of the meter.
func newParser(src string, opt Options) (*parser, error) {
	p := &parser{opt: opt, src: src, scanner: newScanner(src, opt.QuotedIdentifier), terminated: true, labels: map[string]bool{}, mark: opt.Meter.Mark()}
	p.toks = make([]token, 0, min(len(src)/5+2, someTokens))
	p.fill(0)
	return p, p.err
}

// fill scans until the token at index i is there, or the text is over.
func (p *parser) fill(i int) {
	for len(p.toks) <= i && !p.scanned {
		p.scanSome()
	}
}

// fillAll scans the rest of the text.
func (p *parser) fillAll() {
	for !p.scanned {
		p.scanSome()
	}
}

// scanSome scans some tokens. After an error the text is over.
func (p *parser) scanSome() {
	const size = int(unsafe.Sizeof(token{}))
	err := p.opt.Meter.Work(someTokens * tokenWork)
	if err == nil {
		err = p.opt.Meter.Take(someTokens * (size + size/4 + treeBytes)) // a slice grows by a quarter
	}
	if err != nil {
		p.end(err)
		return
	}
	for range someTokens {
		p.toks = append(p.toks, token{})
		t := &p.toks[len(p.toks)-1]
		if err := p.scanner.scan(t); err != nil {
			p.toks = p.toks[:len(p.toks)-1]
			p.end(err)
			return
		}
		if len(t.text) > meter.Small {
			if err := p.opt.Meter.Take(len(t.text)); err != nil { // it may be a copy
				p.end(err)
				return
			}
		}
		if t.kind == tokEOF {
			p.scanned = true
			return
		}
	}
}

// end makes err the parse's error, whatever it was before, and ends the text.
func (p *parser) end(err error) {
	if m, ok := err.(*mserr.Error); ok && m.Line == 0 {
		m.Line = p.scanner.line
	}
	p.err, p.scanned = err, true
	p.toks = append(p.toks, token{at: p.scanner.pos(), end: int32(p.scanner.off)})
	p.i = len(p.toks) - 1
}

// tok is the current token.
func (p *parser) tok() *token { return &p.toks[p.i] }

// ahead is the token n places on, the last one if there are not so many.
func (p *parser) ahead(n int) *token {
	if p.i+n >= len(p.toks) {
		p.fill(p.i + n)
		return &p.toks[min(p.i+n, len(p.toks)-1)]
	}
	return &p.toks[p.i+n]
}

// last is the token before the current one.
func (p *parser) last() *token { return &p.toks[max(p.i-1, 0)] }

// next moves on and returns the token that was current.
func (p *parser) next() *token {
	t := p.tok()
	if p.i+1 >= len(p.toks) {
		p.fill(p.i + 1)
	}
	if p.i < len(p.toks)-1 {
		p.i++
	}
	return t
}

// skip moves on by n tokens.
func (p *parser) skip(n int) {
	for range n {
		p.next()
	}
}

// at reports whether the next tokens are the given words and operators.
func (p *parser) at(words ...string) bool {
	for n, w := range words {
		if !p.ahead(n).is(w) {
			return false
		}
	}
	return true
}

// atAny reports whether the current token is one of words.
func (p *parser) atAny(words ...string) bool {
	for _, w := range words {
		if p.tok().is(w) {
			return true
		}
	}
	return false
}

// got takes the given words if all of them come next.
func (p *parser) got(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

// gotAny takes the current token if it is one of words, and returns it in capitals; "" otherwise.
func (p *parser) gotAny(words ...string) string {
	for _, w := range words {
		if p.got(w) {
			return w
		}
	}
	return ""
}

// want takes the given words and fails where they do not come.
func (p *parser) want(words ...string) {
	for _, w := range words {
		if !p.got(w) {
			p.fail()
			return
		}
	}
}

// wantAny is gotAny that fails when none comes.
func (p *parser) wantAny(words ...string) string {
	w := p.gotAny(words...)
	if w == "" {
		p.fail()
	}
	return w
}

// wantEOF fails unless everything was read.
func (p *parser) wantEOF() {
	if p.tok().kind != tokEOF {
		p.fail()
	}
}

// fail reports a syntax error at the current token: 156 for keywords, else 102; at the end of the text the last token
// is named.
func (p *parser) fail() { p.failAt(p.tok()) }

// failAt reports a syntax error at t.
func (p *parser) failAt(t *token) {
	if t.kind == tokEOF && p.i > 0 {
		t = p.last()
		p.errorAt(t, mserr.Syntax(shown(t)))
		return
	}
	if t.kind == tokWord && reserved[t.up] {
		p.errorAt(t, mserr.SyntaxKeyword(t.text))
		return
	}
	p.errorAt(t, mserr.Syntax(shown(t)))
}

// shown is what an error message says of a token; long strings are cut, as in SQL Server.
func shown(t *token) string {
	s := t.text
	if t.kind == tokBinary {
		s = "0x" + hexDigits(s)
	}
	if r := []rune(s); len(r) > maxIdentifier {
		s = string(r[:maxIdentifier])
	}
	return s
}

// errorAt makes e the parse's error unless there is one, and ends the parse. What is no token, further on in the text, is an
// error that goes before it.
func (p *parser) errorAt(t *token, e *mserr.Error) {
	if p.err != nil {
		return
	}
	e.Line = t.at.Line
	for !p.scanned {
		if err := p.opt.Meter.Work(tokenWork); err != nil {
			p.end(err)
			return
		}
		var t token
		if err := p.scanner.scan(&t); err != nil {
			p.end(err)
			return
		}
		p.scanned = t.kind == tokEOF
	}
	p.end(e)
}

// reject answers a construct of [Rejections] at the current token.
func (p *parser) reject(what string) { p.errorAt(p.tok(), mserr.NotSupported("%s", what)) }

// enter counts a level of nesting; every call that returns true is paired with leave.
func (p *parser) enter() bool {
	if p.depth >= maxDepth {
		p.errorAt(p.tok(), mserr.NestedTooDeeply())
		return false
	}
	p.depth++
	p.deepest = max(p.deepest, p.depth)
	return true
}

// leave ends a level of nesting.
func (p *parser) leave() { p.depth-- }

// operand begins the first operand of what may be a chain of operators. Its result goes to operandEnd.
func (p *parser) operand() (before int) {
	before, p.deepest = p.deepest, p.depth
	return before
}

// chain takes note that an operator follows, whose node is put above all that was read since operand.
func (p *parser) chain() {
	if p.deepest++; p.deepest > maxTree {
		p.errorAt(p.tok(), mserr.NestedTooDeeply())
	}
}

// operandEnd ends a chain that operand has begun.
func (p *parser) operandEnd(before int) { p.deepest = max(p.deepest, before) }

// here is the place of the current token as a node.
func (p *parser) here() node { return node{p.tok().at} }

// atIdent reports whether t may be a name.
func atIdent(t *token) bool {
	return t.kind == tokQuoted || t.kind == tokWord && !reserved[t.up]
}

// ident reads a name. Names that are empty in their brackets are error 1038.
func (p *parser) ident() Ident {
	t := p.tok()
	if !atIdent(t) {
		p.fail()
		return Ident{At: t.at}
	}
	if t.text == "" {
		p.errorAt(t, mserr.MissingName())
		return Ident{At: t.at}
	}
	p.next()
	return Ident{Name: t.text, Quoted: t.kind == tokQuoted, At: t.at}
}

// identList reads names in parentheses.
func (p *parser) identList() []Ident {
	p.want("(")
	ids := []Ident{p.ident()}
	for p.got(",") {
		ids = append(ids, p.ident())
	}
	p.want(")")
	return ids
}

// optionalIdentList reads names in parentheses if there are any.
func (p *parser) optionalIdentList() []Ident {
	if !p.at("(") {
		return nil
	}
	return p.identList()
}

// principal reads the name of a user, role or login; PUBLIC is a keyword that may stand there.
func (p *parser) principal() Ident {
	if t := p.tok(); t.is("PUBLIC") {
		p.next()
		return Ident{Name: t.text, At: t.at}
	}
	return p.ident()
}

// maxShownParts is how many parts of a name are read: too many of them, and as many as the error has to show.
const maxShownParts = 64

// parts reads a dotted name; parts in the middle may be empty.
func (p *parser) parts(what string) []Ident {
	start := p.tok()
	var ids []Ident
	if p.at(".") { // ".t", "..t": the current schema or database
		ids = append(ids, Ident{At: start.at})
	} else {
		ids = append(ids, p.ident())
	}
	for p.at(".") && !p.ahead(1).is("*") && p.ahead(1).kind != tokPseudo {
		if len(ids) == maxShownParts {
			break
		}
		p.next()
		if p.at(".") {
			ids = append(ids, Ident{At: p.tok().at})
			continue
		}
		ids = append(ids, p.ident())
	}
	if len(ids) > 4 {
		names := make([]string, len(ids))
		for i, id := range ids {
			names[i] = id.Name
		}
		p.errorAt(start, mserr.TooManyNameParts(what, strings.Join(names, "."), 3))
	}
	return ids
}

// objectName reads a name of up to four parts.
func (p *parser) objectName() *ObjectName {
	n := p.here()
	return &ObjectName{node: n, Parts: p.parts("object")}
}

// objectNames reads names separated by commas.
func (p *parser) objectNames() []*ObjectName {
	ns := []*ObjectName{p.objectName()}
	for p.got(",") {
		ns = append(ns, p.objectName())
	}
	return ns
}

// typeRef reads a type.
func (p *parser) typeRef() *TypeRef {
	t := &TypeRef{node: p.here()}
	tok := p.tok()
	simple := func(name string) {
		t.Name = &ObjectName{node: t.node, Parts: []Ident{{Name: name, At: tok.at}}}
	}
	switch {
	case p.got("DOUBLE", "PRECISION"):
		simple("float")
	case p.got("NATIONAL"):
		switch {
		case p.got("TEXT"):
			simple("ntext")
		case p.gotAny("CHAR", "CHARACTER") == "":
			p.fail()
		case p.got("VARYING"):
			simple("nvarchar")
		default:
			simple("nchar")
		}
	case p.got("CHAR", "VARYING"), p.got("CHARACTER", "VARYING"):
		simple("varchar")
	case p.got("BINARY", "VARYING"):
		simple("varbinary")
	case p.at("CHARACTER"):
		p.next()
		simple("char")
	default:
		t.Name = p.objectName()
	}
	if !p.got("(") {
		return t
	}
	switch {
	case p.got("MAX"):
		t.Max = true
	case p.tok().kind != tokInt && strings.EqualFold(t.Name.Last(), "xml"):
		p.reject("a typed xml column")
	default:
		t.Args = append(t.Args, p.integer())
		if p.got(",") {
			t.Args = append(t.Args, p.integer())
		}
	}
	p.want(")")
	return t
}

// integer reads a small number without sign; what does not fit becomes too large for anything.
func (p *parser) integer() int {
	t := p.tok()
	if t.kind != tokInt {
		p.fail()
		return 0
	}
	p.next()
	n := 0
	for i := range len(t.text) {
		if n = n*10 + int(t.text[i]-'0'); n > 1<<30 {
			return 1 << 30
		}
	}
	return n
}

// signedInteger reads an integer of any length with an optional sign; its text is returned.
func (p *parser) signedInteger() string {
	sign := ""
	if p.got("-") {
		sign = "-"
	} else {
		p.got("+")
	}
	t := p.tok()
	if t.kind != tokInt && t.kind != tokDecimal {
		p.fail()
		return ""
	}
	p.next()
	return sign + t.text
}
