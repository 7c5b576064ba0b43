package parser

import (
	"errors"
	"strings"
	"unsafe"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// maxDepth is the maximum nesting depth of expressions, queries and statements. People write far
// less, and a goroutine's stack allows far more.
const maxDepth = 500

// maxTree is the maximum depth of a statement's tree, for nesting and operator chains together. The
// tree of a chain such as a + a + a or x OR y OR z is as deep as the chain is long, and its first
// operand is at the bottom. All functions that walk a tree are recursive and rely on this limit.
const maxTree = 5500

// Options are the session settings that affect parsing. The zero value is not the default: see
// [DefaultOptions].
type Options struct {
	QuotedIdentifier bool // "x" is a name, otherwise a string
	// Meter is charged for the tree; it may be nil. Parsing stops when the meter's request is
	// cancelled or out of memory; the error is then the cause of cancellation or error 701.
	Meter *meter.Meter
}

// DefaultOptions are the settings of a new session.
var DefaultOptions = Options{QuotedIdentifier: true}

// Parse parses a batch. The error is a *mserr.Error with its line set, or an error of the meter;
// after an error, no statement of the batch may run.
func Parse(src string, opt Options) (*syntax.Batch, error) {
	p, err := newParser(src, opt)
	if err != nil {
		return nil, err
	}
	b := &syntax.Batch{Source: src, Stmts: p.batch()}
	p.checkLabels()
	if p.showPlan != nil && !isSetOption(b.Stmts) {
		p.errorAt(p.showPlan, mserr.ShowPlanNotAlone())
	}
	if p.err != nil {
		return nil, p.err
	}
	b.Bytes = len(src) + len(p.tokens)*treeBytes
	opt.Meter.Release(p.meterMark)
	return b, opt.Meter.Take(b.Bytes)
}

// isSetOption reports whether the only statement sets options.
func isSetOption(stmts []syntax.Stmt) bool {
	if len(stmts) != 1 {
		return false
	}
	_, ok := stmts[0].(*syntax.SetOptionStmt)
	return ok
}

// ParseExpr parses an expression that is the whole of src, such as the stored text of a default.
func ParseExpr(src string, opt Options) (syntax.Expr, error) {
	return parseWhole(src, opt, (*parser).expr)
}

// ParseCond parses a condition that is the whole of src, such as the stored text of a check
// constraint.
func ParseCond(src string, opt Options) (syntax.Cond, error) {
	return parseWhole(src, opt, (*parser).cond)
}

// ParseType parses a type with its arguments that is the whole of src.
func ParseType(src string, opt Options) (*syntax.TypeRef, error) {
	return parseWhole(src, opt, (*parser).typeRef)
}

// ParseName parses a name of up to four parts that is the whole of src, such as the argument of
// OBJECT_ID.
func ParseName(src string) (*syntax.ObjectName, error) {
	return parseWhole(src, DefaultOptions, (*parser).objectName)
}

// ParseParams parses a list of parameters, such as the second argument of sp_executesql. An empty
// text is an empty list.
func ParseParams(src string, opt Options) ([]*syntax.Param, error) {
	return parseWhole(src, opt, func(p *parser) []*syntax.Param {
		var ps []*syntax.Param
		for p.current().Kind != scanner.EOF {
			ps = append(ps, p.param())
			if !p.accept(",") {
				break
			}
		}
		return ps
	})
}

// parseWhole parses a construct that is the whole of src.
func parseWhole[T any](src string, opt Options, read func(*parser) T) (T, error) {
	var zero T
	p, err := newParser(src, opt)
	if err != nil {
		return zero, err
	}
	x := read(p)
	p.expectEOF()
	if p.err != nil {
		return zero, p.err
	}
	return x, p.lacking()
}

// parser is the state of one parse. After the first error, the current token is the end of the
// text, which no parser function accepts. All functions therefore return soon, and their results
// are discarded.
type parser struct {
	lacks        string // an unsupported construct of the current statement; "" for none
	opt          Options
	src          string
	scanner      scanner.Scanner
	tokens       []scanner.Token // scanned so far; once all is scanned, the last one is tokEOF
	scanned      bool            // the whole text is scanned
	pos          int             // index of the current token
	meterMark    int64           // state of the meter before the parse
	err          error           // nil, a *mserr.Error or an error of the meter
	depth        int             // nesting depth of the current token
	deepest      int             // depth of the deepest node of the current or last operand: see addOperator
	whileDepth   int             // number of enclosing WHILE statements
	terminated   bool            // the previous statement ended with a semicolon, or there is none
	labels       map[string]bool
	gotos        []*scanner.Token // the names of the labels
	showPlan     *scanner.Token   // SHOWPLAN_XML, if the batch sets it
	mustEndBatch bool             // the last statement must end the batch: a view or function
	first        syntax.Pos       // the position of the first token other than a semicolon

	// Results of looking far ahead, cached so that no part of the text is scanned repeatedly.
	afterClosing []int32                  // for an opening parenthesis, the token after its closing one: see matching
	parenRun     struct{ start, end int } // a run of opening parentheses: see parentheses
	globals      map[string][]int32       // indexes of the tokens of system functions, by name: see markDeclared
}

const (
	// chunkTokens is the number of tokens that are scanned at once.
	chunkTokens = 256
	// treeBytes is the approximate memory of the nodes per token, in bytes. Measured: 20 to 130 in
	// texts of one construct, 43 in procedures.
	treeBytes = 130
	// tokenWork is the cost of scanning a token, and parseWork that of parsing it, in steps of
	// [meter.Meter.Work].
	tokenWork = 20
	parseWork = 40
)

// newParser returns a parser of src. The error is a *mserr.Error or an error of the meter.
func newParser(src string, opt Options) (*parser, error) {
	p := &parser{
		opt:        opt,
		src:        src,
		scanner:    scanner.New(src, opt.QuotedIdentifier),
		terminated: true,
		labels:     map[string]bool{},
		meterMark:  opt.Meter.Mark(),
	}
	p.tokens = make([]scanner.Token, 0, min(len(src)/5+2, chunkTokens))
	p.fill(0)
	return p, p.err
}

// fill scans tokens up to index i or the end of the text.
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

// scanChunk scans up to chunkTokens tokens. An error ends the text.
func (p *parser) scanChunk() {
	const size = int(unsafe.Sizeof(scanner.Token{}))
	err := p.opt.Meter.Work(chunkTokens * tokenWork)
	if err == nil {
		err = p.opt.Meter.Take(chunkTokens * (size + size/4 + treeBytes)) // append grows a slice by a quarter
	}
	if err != nil {
		p.end(err)
		return
	}
	for range chunkTokens {
		p.tokens = append(p.tokens, scanner.Token{})
		t := &p.tokens[len(p.tokens)-1]
		if err := p.scanner.Scan(t); err != nil {
			p.tokens = p.tokens[:len(p.tokens)-1]
			p.end(err)
			return
		}
		if len(t.Text) > meter.Small {
			if err := p.opt.Meter.Take(len(t.Text)); err != nil { // the text may be a copy
				p.end(err)
				return
			}
		}
		if t.Kind == scanner.EOF {
			p.scanned = true
			return
		}
	}
}

// end replaces the parse's error by err and ends the text.
func (p *parser) end(err error) {
	var m *mserr.Error
	if errors.As(err, &m) && m.Line == 0 {
		m.Line = p.scanner.Pos().Line
	}
	p.err, p.scanned = err, true
	at := p.scanner.Pos()
	p.tokens = append(p.tokens, scanner.Token{At: at, End: at.Offset})
	p.pos = len(p.tokens) - 1
}

// current returns the current token.
func (p *parser) current() *scanner.Token { return &p.tokens[p.pos] }

// peek returns the token n places after the current one, or the last one of the text.
func (p *parser) peek(n int) *scanner.Token {
	if p.pos+n >= len(p.tokens) {
		p.fill(p.pos + n)
		return &p.tokens[min(p.pos+n, len(p.tokens)-1)]
	}
	return &p.tokens[p.pos+n]
}

// previous returns the token before the current one.
func (p *parser) previous() *scanner.Token { return &p.tokens[max(p.pos-1, 0)] }

// next advances by one token and returns the token that was current.
func (p *parser) next() *scanner.Token {
	t := p.current()
	if p.pos+1 >= len(p.tokens) {
		p.fill(p.pos + 1)
	}
	if p.pos < len(p.tokens)-1 {
		if p.pos++; p.pos%chunkTokens == 0 {
			p.charge()
		}
	}
	return t
}

// charge charges the meter for parsing chunkTokens tokens. Scanning alone does not suffice: some
// constructs have the whole text scanned ahead.
func (p *parser) charge() {
	if err := p.opt.Meter.Work(chunkTokens * parseWork); err != nil {
		p.end(err)
	}
}

// skip advances by n tokens.
func (p *parser) skip(n int) {
	for range n {
		p.next()
	}
}

// at reports whether the next tokens are the given words and operators.
func (p *parser) at(words ...string) bool {
	for n, w := range words {
		if !p.peek(n).Is(w) {
			return false
		}
	}
	return true
}

// atAny reports whether the current token is one of words.
func (p *parser) atAny(words ...string) bool {
	for _, w := range words {
		if p.current().Is(w) {
			return true
		}
	}
	return false
}

// accept consumes the given words if all of them come next, and reports whether they did.
func (p *parser) accept(words ...string) bool {
	if !p.at(words...) {
		return false
	}
	for range words {
		p.next()
	}
	return true
}

// acceptAny consumes the current token if it is one of words, and returns it in capitals; otherwise
// "".
func (p *parser) acceptAny(words ...string) string {
	for _, w := range words {
		if p.accept(w) {
			return w
		}
	}
	return ""
}

// expect consumes the given words, and fails if they do not come next.
func (p *parser) expect(words ...string) {
	for _, w := range words {
		if !p.accept(w) {
			p.fail()
			return
		}
	}
}

// expectAny is acceptAny that fails if the current token is not one of words.
func (p *parser) expectAny(words ...string) string {
	w := p.acceptAny(words...)
	if w == "" {
		p.fail()
	}
	return w
}

// expectEOF fails unless the whole text was read.
func (p *parser) expectEOF() {
	if p.current().Kind != scanner.EOF {
		p.fail()
	}
}

// fail reports a syntax error at the current token: 156 for keywords, 102 for others. At the end of
// the text, the error names the last token.
func (p *parser) fail() { p.failAt(p.current()) }

// failAt reports a syntax error at t.
func (p *parser) failAt(t *scanner.Token) {
	if t.Kind == scanner.EOF && p.pos > 0 {
		t = p.previous()
		p.errorAt(t, mserr.Syntax(tokenText(t)))
		return
	}
	if t.IsReserved() {
		p.errorAt(t, mserr.SyntaxKeyword(t.Text))
		return
	}
	p.errorAt(t, mserr.Syntax(tokenText(t)))
}

// tokenText returns the text of a token for an error message. Long strings are truncated, as in SQL
// Server.
func tokenText(t *scanner.Token) string {
	s := t.Text
	if t.Kind == scanner.Binary {
		s = "0x" + scanner.HexDigits(s)
	}
	if r := []rune(s); len(r) > scanner.MaxIdentifier {
		s = string(r[:scanner.MaxIdentifier])
	}
	return s
}

// errorAt sets the parse's error unless there is one, and ends the parse. An error of the scanner
// later in the text takes precedence.
func (p *parser) errorAt(t *scanner.Token, e *mserr.Error) {
	if p.err != nil {
		return
	}
	e.Line = t.At.Line
	for !p.scanned {
		if err := p.opt.Meter.Work(tokenWork); err != nil {
			p.end(err)
			return
		}
		var t scanner.Token
		if err := p.scanner.Scan(&t); err != nil {
			p.end(err)
			return
		}
		p.scanned = t.Kind == scanner.EOF
	}
	p.end(e)
}

// reject refuses a construct at the current token as not supported.
func (p *parser) reject(what string) { p.errorAt(p.current(), mserr.NotSupported("%s", what)) }

// enter begins a level of nesting. Each call that returns true is paired with leave.
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

// beginChain begins the first operand of a possible chain of operators. Its result is for endChain.
func (p *parser) beginChain() (before int) {
	before, p.deepest = p.deepest, p.depth
	return before
}

// addOperator records that an operator follows, whose node is placed above all nodes read since
// beginChain.
func (p *parser) addOperator() {
	if p.deepest++; p.deepest > maxTree {
		p.errorAt(p.current(), mserr.NestedTooDeeply())
	}
}

// deepen records that the current operand has a node at the given depth.
func (p *parser) deepen(depth int) { p.deepest = max(p.deepest, depth) }

// endChain ends a chain that beginChain has begun.
func (p *parser) endChain(before int) { p.deepest = max(p.deepest, before) }

// here returns the position of the current token.
func (p *parser) here() syntax.At { return syntax.AtPos(p.current().At) }

// ident reads a name. Error 1038 for an empty name in brackets.
func (p *parser) ident() syntax.Ident {
	t := p.current()
	if !t.IsName() {
		p.fail()
		return syntax.Ident{At: t.At}
	}
	if t.Text == "" {
		p.errorAt(t, mserr.MissingName())
		return syntax.Ident{At: t.At}
	}
	p.next()
	return syntax.Ident{Name: t.Text, Quoted: t.Kind == scanner.Quoted, At: t.At}
}

// identList reads names in parentheses.
func (p *parser) identList() []syntax.Ident {
	p.expect("(")
	ids := []syntax.Ident{p.ident()}
	for p.accept(",") {
		ids = append(ids, p.ident())
	}
	p.expect(")")
	return ids
}

// optionalIdentList reads names in parentheses if there are any.
func (p *parser) optionalIdentList() []syntax.Ident {
	if !p.at("(") {
		return nil
	}
	return p.identList()
}

// principal reads the name of a user, role or login. PUBLIC is a keyword that is also a role.
func (p *parser) principal() syntax.Ident {
	if t := p.current(); t.Is("PUBLIC") {
		p.next()
		return syntax.Ident{Name: t.Text, At: t.At}
	}
	return p.ident()
}

// maxShownParts is the maximum number of name parts that are read. The error for too many parts
// quotes all of them.
const maxShownParts = 64

// parts reads a dotted name; parts in the middle may be empty.
func (p *parser) parts(what string) []syntax.Ident {
	start := p.current()
	var ids []syntax.Ident
	if p.at(".") { // ".t", "..t": the current schema or database
		ids = append(ids, syntax.Ident{At: start.At})
	} else {
		ids = append(ids, p.ident())
	}
	for p.at(".") && !p.peek(1).Is("*") && p.peek(1).Kind != scanner.Pseudo {
		if len(ids) == maxShownParts {
			break
		}
		p.next()
		if p.at(".") {
			ids = append(ids, syntax.Ident{At: p.current().At})
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
func (p *parser) objectName() *syntax.ObjectName {
	n := p.here()
	return &syntax.ObjectName{At: n, Parts: p.parts("object")}
}

// objectNames reads names separated by commas.
func (p *parser) objectNames() []*syntax.ObjectName {
	ns := []*syntax.ObjectName{p.objectName()}
	for p.accept(",") {
		ns = append(ns, p.objectName())
	}
	return ns
}

// typeRef reads a type.
func (p *parser) typeRef() *syntax.TypeRef {
	t := &syntax.TypeRef{At: p.here()}
	tok := p.current()
	simple := func(name string) {
		t.Name = &syntax.ObjectName{At: t.At, Parts: []syntax.Ident{{Name: name, At: tok.At}}}
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
	case p.current().Kind != scanner.Int && strings.EqualFold(t.Name.Last(), "xml"):
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

// integer reads a small unsigned number. A number that does not fit is replaced by one that exceeds
// all limits.
func (p *parser) integer() int {
	t := p.current()
	if t.Kind != scanner.Int {
		p.fail()
		return 0
	}
	p.next()
	n := 0
	for i := range len(t.Text) {
		if n = n*10 + int(t.Text[i]-'0'); n > 1<<30 {
			return 1 << 30
		}
	}
	return n
}

// signedInteger reads an integer of any length with an optional sign and returns its text.
func (p *parser) signedInteger() string {
	sign := ""
	if p.accept("-") {
		sign = "-"
	} else {
		p.accept("+")
	}
	t := p.current()
	if t.Kind != scanner.Int && t.Kind != scanner.Decimal {
		p.fail()
		return ""
	}
	p.next()
	return sign + t.Text
}
