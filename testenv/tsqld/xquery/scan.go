package xquery

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// maxNesting is the maximum depth of nested expressions.
const maxNesting = 200

// cursor is a place in the text of a query. It keeps the first error.
type cursor struct {
	method string // for messages
	src    string
	pos    int
	err    error
	depth  int
	// spaces are the namespaces in scope, innermost last.
	spaces []Binding
	prolog []Binding // those of the statement and of the prolog
	refs   []*sqlRef // sql:variable and sql:column
}

// fail records an error and ends the input.
func (p *cursor) fail(problem mserr.XQueryProblem, args ...any) {
	p.failWith(problem.In(p.method, args...))
}

// failWith records an error and ends the input.
func (p *cursor) failWith(err error) {
	if p.err == nil {
		p.err = err
	}
	p.pos = len(p.src)
}

// enter counts a level of nesting. Error 2363 for too many.
func (p *cursor) enter() bool {
	if p.depth++; p.depth > maxNesting {
		p.fail(mserr.XQueryComplex)
		return false
	}
	return true
}

// leave ends a level of nesting.
func (p *cursor) leave() { p.depth-- }

// line returns the line of a position, from 1.
func (p *cursor) line(at int) int { return 1 + strings.Count(p.src[:at], "\n") }

// skip skips white space and comments.
func (p *cursor) skip() {
	for p.pos < len(p.src) {
		switch {
		case isSpace(p.src[p.pos]):
			p.pos++
		case strings.HasPrefix(p.src[p.pos:], "(:"):
			p.comment()
		default:
			return
		}
	}
}

// isSpace reports whether a byte is white space of XML.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// comment skips a comment, which may contain comments.
func (p *cursor) comment() {
	start, depth := p.pos, 0
	for p.pos < len(p.src) {
		switch {
		case strings.HasPrefix(p.src[p.pos:], "(:"):
			depth++
			p.pos += 2
		case strings.HasPrefix(p.src[p.pos:], ":)"):
			p.pos += 2
			if depth--; depth == 0 {
				return
			}
		default:
			p.pos++
		}
	}
	p.fail(mserr.XQueryComment, p.line(start))
}

// rest returns the text from the next token on.
func (p *cursor) rest() string {
	p.skip()
	return p.src[p.pos:]
}

// near returns the next token for a message.
func (p *cursor) near() string {
	rest := p.rest()
	if rest == "" {
		return "<eof>"
	}
	if n := nameLength(rest); n > 0 {
		return rest[:n]
	}
	_, n := utf8.DecodeRuneInString(rest)
	return rest[:n]
}

// syntax records error 2209 at the next token.
func (p *cursor) syntax() {
	if p.err == nil {
		p.fail(mserr.XQuerySyntax, p.near())
	}
}

// nameLength returns the length of the NCName at the start of a text; 0 for none.
func nameLength(s string) int {
	n := 0
	for n < len(s) {
		c, size := utf8.DecodeRuneInString(s[n:])
		first := unicode.IsLetter(c) || c == '_'
		if !first && (n == 0 || !unicode.IsDigit(c) && c != '-' && c != '.' && c != '·' && !unicode.Is(unicode.Mn, c)) {
			break
		}
		n += size
	}
	return n
}

// at reports whether a symbol comes next.
func (p *cursor) at(symbol string) bool { return strings.HasPrefix(p.rest(), symbol) }

// accept reads a symbol if it comes next.
func (p *cursor) accept(symbol string) bool {
	if !p.at(symbol) {
		return false
	}
	p.pos += len(symbol)
	return true
}

// expect reads a symbol. Error 9303 if another token comes next.
func (p *cursor) expect(symbol string) {
	if !p.accept(symbol) && p.err == nil {
		p.fail(mserr.XQueryNear, p.near(), symbol)
	}
}

// atWord reports whether a word comes next.
func (p *cursor) atWord(word string) bool {
	rest := p.rest()
	return nameLength(rest) == len(word) && strings.HasPrefix(rest, word)
}

// acceptWord reads a word if it comes next.
func (p *cursor) acceptWord(word string) bool {
	if !p.atWord(word) {
		return false
	}
	p.pos += len(word)
	return true
}

// expectWord reads a word. Error 9303 if another token comes next.
func (p *cursor) expectWord(word string) {
	if !p.acceptWord(word) && p.err == nil {
		p.fail(mserr.XQueryNear, p.near(), word)
	}
}

// atWords reports whether words come next, the last of which may be a symbol.
func (p *cursor) atWords(words ...string) bool {
	start := p.pos
	defer func() { p.pos = start }()
	for _, w := range words {
		if nameLength(w) > 0 && !p.acceptWord(w) || nameLength(w) == 0 && !p.accept(w) {
			return false
		}
	}
	return true
}

// acceptWords reads words if they come next.
func (p *cursor) acceptWords(words ...string) bool {
	if !p.atWords(words...) {
		return false
	}
	for _, w := range words {
		if !p.acceptWord(w) {
			p.accept(w)
		}
	}
	return true
}

// ncName reads a name without a prefix.
func (p *cursor) ncName() string {
	n := nameLength(p.rest())
	if n == 0 {
		p.syntax()
		return ""
	}
	p.pos += n
	return p.src[p.pos-n : p.pos]
}

// qName reads a name with an optional prefix. It does not resolve the prefix.
func (p *cursor) qName() Name {
	n := Name{Local: p.ncName()}
	if rest := p.src[p.pos:]; len(rest) > 1 && rest[0] == ':' && nameLength(rest[1:]) > 0 {
		p.pos++
		n.Prefix, n.Local = n.Local, p.ncName()
	}
	return n
}

// resolve sets the namespace of a name. Error 2229 for an unknown prefix.
func (p *cursor) resolve(n Name, isElement bool) Name {
	if n.Prefix == "" && !isElement {
		return n
	}
	for i := len(p.spaces) - 1; i >= 0; i-- {
		if p.spaces[i].Prefix == n.Prefix {
			n.Space = p.spaces[i].Space
			return n
		}
	}
	if n.Prefix != "" {
		p.fail(mserr.XQueryPrefix, n.Prefix)
	}
	return n
}

// atString reports whether a string literal comes next.
func (p *cursor) atString() bool { return p.at(`"`) || p.at("'") }

// stringLiteral reads a string literal.
func (p *cursor) stringLiteral() string {
	if !p.atString() {
		p.fail(mserr.XQueryString)
		return ""
	}
	start := p.pos
	quote := p.src[p.pos : p.pos+1]
	p.pos++
	var b strings.Builder
	for p.pos < len(p.src) {
		switch {
		case strings.HasPrefix(p.src[p.pos:], quote+quote):
			b.WriteString(quote)
			p.pos += 2
		case p.src[p.pos] == quote[0]:
			p.pos++
			return b.String()
		case p.src[p.pos] == '&':
			b.WriteString(p.entity())
		default:
			b.WriteByte(p.src[p.pos])
			p.pos++
		}
	}
	if p.err == nil {
		p.fail(mserr.XQueryUnterminated, p.line(start))
	}
	return ""
}

// entities are the predefined entities of XML.
var entities = map[string]string{"amp": "&", "lt": "<", "gt": ">", "quot": `"`, "apos": "'"}

// entity reads an entity or character reference. Error 2282.
func (p *cursor) entity() string {
	name, _, ok := strings.Cut(p.src[p.pos+1:], ";")
	if ok {
		p.pos += len(name) + 2
		if s := entities[name]; s != "" {
			return s
		}
		if c := charReference(name); c > 0 {
			return string(c)
		}
	}
	p.fail(mserr.XQueryEntity)
	return ""
}

// charReference returns the character of "#10" or "#xA"; 0 for none that XML allows.
func charReference(name string) rune {
	text, ok := strings.CutPrefix(name, "#")
	base, digits := 10, "0123456789"
	if hex, isHex := strings.CutPrefix(text, "x"); isHex {
		text, base, digits = hex, 16, "0123456789abcdef"
	}
	if !ok || text == "" || len(text) > 8 {
		return 0
	}
	c := 0
	for _, d := range strings.ToLower(text) {
		v := strings.IndexRune(digits, d)
		if v < 0 {
			return 0
		}
		c = c*base + v
	}
	valid := c == 9 || c == 10 || c == 13 || c >= 0x20 && c < 0xD800 || c >= 0xE000 && c < 0xFFFE || c >= 0x10000 && c <= 0x10FFFF
	if !valid {
		return 0
	}
	return rune(c)
}
