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
	b.Bytes = len(src) + len(p.tokens)*treeBytes
	opt.Meter.Release(p.meterMark)
	return b, opt.Meter.Take(b.Bytes)
}

// ParseExpr reads an expression that takes up the whole of src, such as the stored text of a default.
func ParseExpr(src string, opt Options) (Expr, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	x := p.expr()
	p.expectEOF()
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
	p.expectEOF()
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
	p.expectEOF()
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
	p.expectEOF()
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
	for p.current().kind != tokEOF {
		ps = append(ps, p.param())
		if !p.accept(",") {
			break
		}
	}
	p.expectEOF()
	if p.err != nil {
		return nil, p.err
	}
	return ps, nil
}

// parser is the state of one parse. The first error sticks: it moves the parser to the end of the text, where nothing
// matches any more, so that all functions come home by themselves; what they return is thrown away.
type parser struct {
	opt          Options
	src          string
	scanner      scanner
	tokens       []token // what was scanned, as far as anybody has looked ahead; the last one is tokEOF once all was
	scanned      bool    // all was
	pos          int     // of the current token
	meterMark    int64   // of the meter before the parse
	err          error   // a *mserr.Error, what the meter has answered, or nil
	depth        int     // levels of nesting around the current token
	deepest      int     // depth of the deepest node of the operand that is being read, or was read last: see chain
	whileDepth   int     // WHILE statements around
	terminated   bool    // the previous statement ended with a semicolon, or there is none
	labels       map[string]bool
	gotos        []label
	mergeAlias   bool // USING is no alias
	mustEndBatch bool // the batch may hold nothing behind the statement just read: a view or function
	firstToken   int  // index of the batch's first token that is no semicolon

	// What was found out about tokens far ahead, so that no place of the text is looked at again and again.
	afterClosing []int32                  // for an opening parenthesis, the token behind its closing one: see matching
	parenRun     struct{ start, end int } // of opening parentheses: see parentheses
	globals      map[string][]int32       // functions of the system, by name: see declared
}

// label is a place where GOTO names a label.
type label struct {
	name string
	line int32
}

const (
	// chunkTokens is how many tokens are scanned at once.
	chunkTokens = 256
	// treeBytes is what the nodes of a token take, in bytes. Measured: 20 to 130 in texts of one construct, 43 in procedures.
	treeBytes = 130
	// tokenWork is what a token costs to be scanned and parsed, in steps of [meter.Meter.Work].
	tokenWork = 60
)

// newParser begins to read src; its error is a *mserr.Error, or that of the meter.
func newParser(src string, opt Options) (*parser, error) {
	p := &parser{opt: opt, src: src, scanner: newScanner(src, opt.QuotedIdentifier), terminated: true, labels: map[string]bool{}, meterMark: opt.Meter.Mark()}
	p.tokens = make([]token, 0, min(len(src)/5+2, chunkTokens))
	p.fill(0)
	return p, p.err
}

// fill scans until the token at index i is there, or the text is over.
func (p *parser) fill(i int) {
	for len(p.tokens) <= i && !p.scanned {
		p.scanChunk()
	}
}

// fillAll scans the rest of the text.
func (p *parser) fillAll() {
	for !p.scanned {
		p.scanChunk()
	}
}

// scanChunk scans some tokens. After an error the text is over.
func (p *parser) scanChunk() {
	const size = int(unsafe.Sizeof(token{}))
	err := p.opt.Meter.Work(chunkTokens * tokenWork)
	if err == nil {
		err = p.opt.Meter.Take(chunkTokens * (size + size/4 + treeBytes)) // a slice grows by a quarter
	}
	if err != nil {
		p.end(err)
		return
	}
	for range chunkTokens {
		p.tokens = append(p.tokens, token{})
		t := &p.tokens[len(p.tokens)-1]
		if err := p.scanner.scan(t); err != nil {
			p.tokens = p.tokens[:len(p.tokens)-1]
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
	p.tokens = append(p.tokens, token{at: p.scanner.pos(), end: int32(p.scanner.off)})
	p.pos = len(p.tokens) - 1
}

// current is the current token.
func (p *parser) current() *token { return &p.tokens[p.pos] }

// peek is the token n places on, the last one if there are not so many.
func (p *parser) peek(n int) *token {
	if p.pos+n >= len(p.tokens) {
		p.fill(p.pos + n)
		return &p.tokens[min(p.pos+n, len(p.tokens)-1)]
	}
	return &p.tokens[p.pos+n]
}

// previous is the token before the current one.
func (p *parser) previous() *token { return &p.tokens[max(p.pos-1, 0)] }

// next moves on and returns the token that was current.
func (p *parser) next() *token {
	t := p.current()
	if p.pos+1 >= len(p.tokens) {
		p.fill(p.pos + 1)
	}
	if p.pos < len(p.tokens)-1 {
		p.pos++
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
		if !p.peek(n).is(w) {
			return false
		}
	}
	return true
}

// atAny reports whether the current token is one of words.
func (p *parser) atAny(words ...string) bool {
	for _, w := range words {
		if p.current().is(w) {
			return true
		}
	}
	return false
}

// accept takes the given words if all of them come next.
func (p *parser) accept(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

// acceptAny takes the current token if it is one of words, and returns it in capitals; "" otherwise.
func (p *parser) acceptAny(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// expect takes the given words and fails where they do not come.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.fail()
			return
		}
	}
}

// expectAny is gotAny that fails when none comes.
func (p *parser) expectAny(words ...string) string {
	w := p.acceptAny(words...)
	if w == "" {
		p.fail()
	}
	return w
}

// expectEOF fails unless everything was read.
func (p *parser) expectEOF() {
	if p.current().kind != tokEOF {
		p.fail()
	}
}

// fail reports a syntax error at the current token: 156 for keywords, else 102; at the end of the text the last token
// is named.
func (p *parser) fail() { p.failAt(p.current()) }

// failAt reports a syntax error at t.
func (p *parser) failAt(t *token) {
	if t.kind == tokEOF && p.pos > 0 {
		t = p.previous()
		p.errorAt(t, mserr.Syntax(tokenText(t)))
		return
	}
	if t.kind == tokWord && reserved[t.upper] {
		p.errorAt(t, mserr.SyntaxKeyword(t.text))
		return
	}
	p.errorAt(t, mserr.Syntax(tokenText(t)))
}

// tokenText is what an error message says of a token; long strings are cut, as in SQL Server.
func tokenText(t *token) string {
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
func (p *parser) reject(what string) { p.errorAt(p.current(), mserr.NotSupported("%s", what)) }

// enter counts a level of nesting; every call that returns true is paired with leave.
func (p *parser) enter() bool {
	if p.depth >= maxDepth {
		p.errorAt(p.current(), mserr.NestedTooDeeply())
		return false
	}
	p.depth++
	p.deepest = max(p.deepest, p.depth)
	return true
}

// leave ends a level of nesting.
func (p *parser) leave() { p.depth-- }

// beginChain begins the first operand of what may be a chain of operators. Its result goes to operandEnd.
func (p *parser) beginChain() (before int) {
	before, p.deepest = p.deepest, p.depth
	return before
}

// addOperator takes note that an operator follows, whose node is put above all that was read since operand.
func (p *parser) addOperator() {
	if p.deepest++; p.deepest > maxTree {
		p.errorAt(p.current(), mserr.NestedTooDeeply())
	}
}

// endChain ends a chain that operand has begun.
func (p *parser) endChain(before int) { p.deepest = max(p.deepest, before) }

// newNode is the place of the current token as a node.
func (p *parser) newNode() node { return node{p.current().at} }

// atIdent reports whether t may be a name.
func atIdent(t *token) bool {
	return t.kind == tokQuoted || t.kind == tokWord && !reserved[t.upper]
}

// ident reads a name. Names that are empty in their brackets are error 1038.
func (p *parser) ident() Ident {
	t := p.current()
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
	p.expect("(")
	ids := []Ident{p.ident()}
	for p.accept(",") {
		ids = append(ids, p.ident())
	}
	p.expect(")")
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
	if t := p.current(); t.is("PUBLIC") {
		p.next()
		return Ident{Name: t.text, At: t.at}
	}
	return p.ident()
}

// maxShownParts is how many parts of a name are read: too many of them, and as many as the error has to show.
const maxShownParts = 64

// parts reads a dotted name; parts in the middle may be empty.
func (p *parser) parts(what string) []Ident {
	start := p.current()
	var ids []Ident
	if p.at(".") { // ".t", "..t": the current schema or database
		ids = append(ids, Ident{At: start.at})
	} else {
		ids = append(ids, p.ident())
	}
	for p.at(".") && !p.peek(1).is("*") && p.peek(1).kind != tokPseudo {
		if len(ids) == maxShownParts {
			break
		}
		p.next()
		if p.at(".") {
			ids = append(ids, Ident{At: p.current().at})
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
	n := p.newNode()
	return &ObjectName{node: n, Parts: p.parts("object")}
}

// objectNames reads names separated by commas.
func (p *parser) objectNames() []*ObjectName {
	ns := []*ObjectName{p.objectName()}
	for p.accept(",") {
		ns = append(ns, p.objectName())
	}
	return ns
}

// typeRef reads a type.
func (p *parser) typeRef() *TypeRef {
	t := &TypeRef{node: p.newNode()}
	tok := p.current()
	simple := func(name string) {
		t.Name = &ObjectName{node: t.node, Parts: []Ident{{Name: name, At: tok.at}}}
	}
	switch {
	case p.accept("DOUBLE", "PRECISION"):
		simple("float")
	case p.accept("NATIONAL"):
		switch {
		case p.accept("TEXT"):
			simple("ntext")
		case p.acceptAny("CHAR", "CHARACTER") == "":
			p.fail()
		case p.accept("VARYING"):
			simple("nvarchar")
		default:
			simple("nchar")
		}
	case p.accept("CHAR", "VARYING"), p.accept("CHARACTER", "VARYING"):
		simple("varchar")
	case p.accept("BINARY", "VARYING"):
		simple("varbinary")
	case p.at("CHARACTER"):
		p.next()
		simple("char")
	default:
		t.Name = p.objectName()
	}
	if !p.accept("(") {
		return t
	}
	switch {
	case p.accept("MAX"):
		t.Max = true
	case p.current().kind != tokInt && strings.EqualFold(t.Name.Last(), "xml"):
		p.reject("a typed xml column")
	default:
		t.Args = append(t.Args, p.integer())
		if p.accept(",") {
			t.Args = append(t.Args, p.integer())
		}
	}
	p.expect(")")
	return t
}

// integer reads a small number without sign; what does not fit becomes too large for anything.
func (p *parser) integer() int {
	t := p.current()
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
	if p.accept("-") {
		sign = "-"
	} else {
		p.accept("+")
	}
	t := p.current()
	if t.kind != tokInt && t.kind != tokDecimal {
		p.fail()
		return ""
	}
	p.next()
	return sign + t.text
}
