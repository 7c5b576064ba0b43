package tokens

import (
	"errors"
	"slices"
	"unsafe"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/scanner"
)

// Cursor is the state of one parse. After the first error, the current token is the end of the
// text, which no parser function accepts. All functions therefore return soon, and their results
// are discarded.
type Cursor struct {
	meter     *meter.Meter
	meterMark int64 // state of the meter before the parse
	src       string
	scanner   scanner.Scanner
	tokens    []scanner.Token // scanned so far; once all is scanned, the last one is the end
	scanned   bool            // the whole text is scanned
	pos       int             // index of the current token
	err       error           // nil, a *mserr.Error or an error of the meter
	lacks     string          // an unsupported construct of the current statement; "" for none
	depth     int             // nesting depth of the current token
	deepest   int             // depth of the deepest node of the current or last operand: see AddOperator

	// Results of looking far ahead, cached so that no part of the text is scanned repeatedly.
	afterClosing []int32                  // for an opening parenthesis, the token after its closing one: see Matching
	parenRun     struct{ start, end int } // a run of opening parentheses: see Parentheses
	globals      map[string][]int32       // indexes of the tokens of system functions, by name: see MarkDeclared
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

// New returns a cursor at the first token of src. quotedIdentifier is the option of SET, and m is
// charged for the tokens and the tree; m may be nil. The error is a *mserr.Error or an error of the
// meter.
func New(src string, quotedIdentifier bool, m *meter.Meter) (*Cursor, error) {
	c := &Cursor{meter: m, meterMark: m.Mark(), src: src, scanner: scanner.New(src, quotedIdentifier)}
	c.tokens = make([]scanner.Token, 0, min(len(src)/5+2, chunkTokens))
	c.fill(0)
	return c, c.err
}

// Err returns nil, or the error of the parse: a *mserr.Error or an error of the meter.
func (c *Cursor) Err() error { return c.err }

// Settle charges the meter for the tree instead of the tokens, after the parse. It returns the
// approximate memory of the text and the tree in bytes, and the error of the meter.
func (c *Cursor) Settle() (bytes int, err error) {
	bytes = len(c.src) + len(c.tokens)*treeBytes
	c.meter.Release(c.meterMark)
	return bytes, c.meter.Take(bytes)
}

// fill scans tokens up to index i or the end of the text.
func (c *Cursor) fill(i int) {
	for len(c.tokens) <= i && !c.scanned {
		c.scanChunk()
	}
}

// fillAll scans the rest of the text.
func (c *Cursor) fillAll() {
	for !c.scanned {
		c.scanChunk()
	}
}

// scanChunk scans up to chunkTokens tokens. An error ends the text.
func (c *Cursor) scanChunk() {
	const size = int(unsafe.Sizeof(scanner.Token{}))
	err := c.meter.Work(chunkTokens * tokenWork)
	if err == nil {
		err = c.meter.Take(chunkTokens * (size + size/4 + treeBytes)) // append grows a slice by a quarter
	}
	if err != nil {
		c.end(err)
		return
	}
	for range chunkTokens {
		c.tokens = append(c.tokens, scanner.Token{})
		t := &c.tokens[len(c.tokens)-1]
		if err := c.scanner.Scan(t); err != nil {
			c.tokens = c.tokens[:len(c.tokens)-1]
			c.end(err)
			return
		}
		if len(t.Text) > meter.Small {
			if err := c.meter.Take(len(t.Text)); err != nil { // the text may be a copy
				c.end(err)
				return
			}
		}
		if t.Kind == scanner.EOF {
			c.scanned = true
			return
		}
	}
}

// end replaces the parse's error by err and ends the text.
func (c *Cursor) end(err error) {
	var m *mserr.Error
	if errors.As(err, &m) && m.Line == 0 {
		m.Line = c.scanner.Pos().Line
	}
	c.err, c.scanned = err, true
	at := c.scanner.Pos()
	c.tokens = append(c.tokens, scanner.Token{At: at, End: at.Offset})
	c.pos = len(c.tokens) - 1
}

// Current returns the current token.
func (c *Cursor) Current() *scanner.Token { return &c.tokens[c.pos] }

// Peek returns the token n places after the current one, or the last one of the text.
func (c *Cursor) Peek(n int) *scanner.Token {
	if c.pos+n >= len(c.tokens) {
		c.fill(c.pos + n)
		return &c.tokens[min(c.pos+n, len(c.tokens)-1)]
	}
	return &c.tokens[c.pos+n]
}

// Previous returns the token before the current one.
func (c *Cursor) Previous() *scanner.Token { return &c.tokens[max(c.pos-1, 0)] }

// Next advances by one token and returns the token that was current.
func (c *Cursor) Next() *scanner.Token {
	t := c.Current()
	if c.pos+1 >= len(c.tokens) {
		c.fill(c.pos + 1)
	}
	if c.pos < len(c.tokens)-1 {
		if c.pos++; c.pos%chunkTokens == 0 {
			c.charge()
		}
	}
	return t
}

// charge charges the meter for parsing chunkTokens tokens. Scanning alone does not suffice: some
// constructs have the whole text scanned ahead.
func (c *Cursor) charge() {
	if err := c.meter.Work(chunkTokens * parseWork); err != nil {
		c.end(err)
	}
}

// Skip advances by n tokens.
func (c *Cursor) Skip(n int) {
	for range n {
		c.Next()
	}
}

// At reports whether the next tokens are the given words and operators.
func (c *Cursor) At(words ...string) bool {
	for n, w := range words {
		if !c.Peek(n).Is(w) {
			return false
		}
	}
	return true
}

// AtAny reports whether the current token is one of words.
func (c *Cursor) AtAny(words ...string) bool {
	for _, w := range words {
		if c.Current().Is(w) {
			return true
		}
	}
	return false
}

// AtKind reports whether the current token has one of kinds.
func (c *Cursor) AtKind(kinds ...scanner.Kind) bool { return slices.Contains(kinds, c.Current().Kind) }

// AtText reports whether the current token is a string.
func (c *Cursor) AtText() bool { return c.AtKind(scanner.String, scanner.NString) }

// Accept consumes the given words if all of them come next, and reports whether they did.
func (c *Cursor) Accept(words ...string) bool {
	if !c.At(words...) {
		return false
	}
	for range words {
		c.Next()
	}
	return true
}

// AcceptAny consumes the current token if it is one of words, and returns it in capitals; otherwise
// "".
func (c *Cursor) AcceptAny(words ...string) string {
	for _, w := range words {
		if c.Accept(w) {
			return w
		}
	}
	return ""
}

// Expect consumes the given words, and fails if they do not come next.
func (c *Cursor) Expect(words ...string) {
	for _, w := range words {
		if !c.Accept(w) {
			c.Fail()
			return
		}
	}
}

// ExpectAny is AcceptAny that fails if the current token is not one of words.
func (c *Cursor) ExpectAny(words ...string) string {
	w := c.AcceptAny(words...)
	if w == "" {
		c.Fail()
	}
	return w
}

// ExpectEOF fails unless the whole text was read.
func (c *Cursor) ExpectEOF() {
	if c.Current().Kind != scanner.EOF {
		c.Fail()
	}
}

// Words returns the next two tokens that are words, in capitals, with "" for others.
func (c *Cursor) Words() (words [2]string) {
	for i := range words {
		t := c.Peek(i)
		if t.Kind != scanner.Word {
			break
		}
		words[i] = t.Upper
	}
	return words
}

// Here returns the position of the current token.
func (c *Cursor) Here() syntax.At { return syntax.AtPos(c.Current().At) }
