package scanner

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// MaxIdentifier is the maximum length of a name in characters: SQL Server's sysname is
// nvarchar(128).
const MaxIdentifier = 128

// Scanner splits a batch into tokens.
type Scanner struct {
	src       string
	quoted    bool // QUOTED_IDENTIFIER
	off       int
	line      int32
	lineStart int
}

// New returns a scanner at the beginning of src, after a byte order mark.
func New(src string, quotedIdentifier bool) Scanner {
	s := Scanner{src: src, quoted: quotedIdentifier, line: 1}
	if strings.HasPrefix(src, "\uFEFF") {
		s.off = len("\uFEFF")
	}
	return s
}

// Scan reads the next token into t, which must be zero. The token at the end is tokEOF. Errors:
// 103, 105, 113.
func (s *Scanner) Scan(t *Token) *mserr.Error {
	if err := s.skip(); err != nil {
		return err
	}
	t.At = s.Pos()
	if s.off < len(s.src) {
		if err := s.next(t); err != nil {
			err.Line = t.At.Line
			return err
		}
	}
	t.End = int32(s.off)
	return nil
}

// Pos returns the position after the last token.
func (s *Scanner) Pos() syntax.Pos {
	return syntax.Pos{Line: s.line, Column: int32(s.off-s.lineStart) + 1, Offset: int32(s.off)}
}

// peek returns the byte after the next one, or 0 after the end.
func (s *Scanner) peek() byte {
	if s.off+1 < len(s.src) {
		return s.src[s.off+1]
	}
	return 0
}

// advance moves to offset off and counts the lines up to it.
func (s *Scanner) advance(off int) {
	for i := s.off; i < off; i++ {
		if s.src[i] == '\n' {
			s.line++
			s.lineStart = i + 1
		}
	}
	s.off = off
}

// skip skips white space and comments. Comments nest.
func (s *Scanner) skip() *mserr.Error {
	for s.off < len(s.src) {
		c := s.src[s.off]
		switch {
		case c <= ' ':
			s.advance(s.off + 1)
		case c == '-' && s.peek() == '-':
			// A carriage return alone ends the comment, too:
			// https://learn.microsoft.com/sql/t-sql/language-elements/comment-transact-sql
			n := strings.IndexAny(s.src[s.off:], "\r\n")
			if n < 0 {
				n = len(s.src) - s.off
			}
			s.off += n
		case c == '/' && s.peek() == '*':
			at, depth := s.line, 1
			i := s.off + 2
			for ; depth > 0; i++ {
				if i+1 >= len(s.src) {
					err := mserr.UnclosedComment()
					err.Line = at
					return err
				}
				switch {
				case s.src[i] == '*' && s.src[i+1] == '/':
					depth--
					i++
				case s.src[i] == '/' && s.src[i+1] == '*':
					depth++
					i++
				}
			}
			s.advance(i)
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(s.src[s.off:])
			if !unicode.IsSpace(r) && r != '\uFEFF' && r != '\u200B' {
				return nil
			}
			s.off += n
		default:
			return nil
		}
	}
	return nil
}

// next scans the token at the current position into t.
func (s *Scanner) next(t *Token) *mserr.Error {
	c := s.src[s.off]
	switch {
	case c == '\'':
		t.Kind = String
		return s.text(t, '\'')
	case (c == 'N' || c == 'n') && s.peek() == '\'':
		s.off++
		t.Kind = NString
		return s.text(t, '\'')
	case c == '"':
		t.Kind = String
		if s.quoted {
			t.Kind = Quoted
		}
		return s.text(t, '"')
	case c == '[':
		t.Kind = Quoted
		return s.text(t, ']')
	case c == '0' && (s.peek() == 'x' || s.peek() == 'X'):
		s.binary(t)
	case isDigit(c), c == '.' && isDigit(s.peek()):
		s.number(t)
	case c == '@':
		t.Kind = Variable
		if s.peek() == '@' {
			t.Kind = Global
		}
		err := s.word(t)
		if t.Kind == Global && !globals[t.Upper] { // a variable may also begin with @@
			t.Kind, t.Upper = Variable, ""
		}
		return err
	case c == '$':
		n := s.peek()
		if isWordStart(rune(n)) {
			t.Kind = Pseudo
			return s.word(t)
		}
		s.money(t, 1)
	case c < utf8.RuneSelf:
		if isWordStart(rune(c)) {
			t.Kind = Word
			return s.word(t)
		}
		s.operator(t)
	default:
		r, n := utf8.DecodeRuneInString(s.src[s.off:])
		switch {
		case isWordStart(r):
			t.Kind = Word
			return s.word(t)
		case unicode.Is(unicode.Sc, r):
			s.money(t, n)
		default:
			t.Kind, t.Text = Operator, s.src[s.off:s.off+n]
			s.off += n
		}
	}
	return nil
}

// text scans a string or quoted name up to the byte closing, which is doubled inside the text. In
// strings, a backslash before a line break removes both ("\ (Line Continuation)" in the
// documentation).
func (s *Scanner) text(t *Token, closing byte) *mserr.Error {
	start := s.off + 1
	i, plain := start, true
	for ; i < len(s.src); i++ {
		switch s.src[i] {
		case closing:
			if i+1 < len(s.src) && s.src[i+1] == closing {
				plain = false
				i++
				continue
			}
			raw := s.src[start:i]
			if !plain {
				raw = unescape(raw, closing, t.Kind != Quoted)
			}
			t.Text = raw
			s.advance(i + 1)
			if t.Kind == Quoted {
				return checkIdentifier(t.Text)
			}
			return nil
		case '\\':
			plain = false
		}
	}
	return mserr.UnclosedQuote(truncate(s.src[start:], maxErrorText))
}

// maxErrorText is the maximum length in bytes of the text that error 105 quotes. A TDS message has
// at most 65535 characters (MS-TDS 2.2.7.10).
const maxErrorText = 1000

// truncate shortens s to at most n bytes, without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// unescape replaces doubled closing bytes by single ones and, if continued is set, removes line
// continuations.
func unescape(raw string, closing byte, continued bool) string {
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == closing:
			i++
			b.WriteByte(c)
		case c == '\\' && continued && strings.HasPrefix(raw[i+1:], "\r\n"):
			i += 2
		case c == '\\' && continued && strings.HasPrefix(raw[i+1:], "\n"):
			i++
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// checkIdentifier returns an error for names that are too long.
func checkIdentifier(name string) *mserr.Error {
	if len(name) > MaxIdentifier && utf8.RuneCountInString(name) > MaxIdentifier {
		return mserr.IdentifierTooLong(string([]rune(name)[:MaxIdentifier]), MaxIdentifier)
	}
	return nil
}

// word scans a name, variable or pseudo column.
func (s *Scanner) word(t *Token) *mserr.Error {
	i := s.off
	for i < len(s.src) {
		c := s.src[i]
		if c < utf8.RuneSelf {
			if !isWordPart(rune(c)) {
				break
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s.src[i:])
		if !isWordPart(r) {
			break
		}
		i += n
	}
	t.Text = s.src[s.off:i]
	if t.Kind != Variable {
		t.Upper = Upper(t.Text)
	}
	s.off = i
	return checkIdentifier(t.Text)
}

// number scans an integer, decimal or float. "1e" is a float, as in SQL Server.
func (s *Scanner) number(t *Token) {
	t.Kind = Int
	i := s.off
	digits := func() {
		for i < len(s.src) && isDigit(s.src[i]) {
			i++
		}
	}
	digits()
	if i < len(s.src) && s.src[i] == '.' {
		t.Kind = Decimal
		i++
		digits()
	}
	if i < len(s.src) && (s.src[i] == 'e' || s.src[i] == 'E') {
		t.Kind = Float
		i++
		if i+1 < len(s.src) && (s.src[i] == '+' || s.src[i] == '-') && isDigit(s.src[i+1]) {
			i++
		}
		digits()
	}
	t.Text = s.src[s.off:i]
	s.off = i
}

// binary scans 0x.... An odd number of digits is padded with a leading zero, as in SQL Server.
func (s *Scanner) binary(t *Token) {
	t.Kind = Binary
	i := s.off + 2
	var digits []byte
	for i < len(s.src) {
		if v, ok := hexValue(s.src[i]); ok {
			digits = append(digits, v)
			i++
			continue
		}
		rest := s.src[i:]
		if strings.HasPrefix(rest, "\\\n") {
			i += 2
			continue
		}
		if strings.HasPrefix(rest, "\\\r\n") {
			i += 3
			continue
		}
		break
	}
	if len(digits)%2 == 1 {
		digits = append([]byte{0}, digits...)
	}
	b := make([]byte, len(digits)/2)
	for j := range b {
		b[j] = digits[2*j]<<4 | digits[2*j+1]
	}
	t.Text = string(b)
	s.advance(i)
}

// money scans an amount after a currency sign of n bytes. The sign alone means 0.
func (s *Scanner) money(t *Token, n int) {
	t.Kind = Money
	i := s.off + n
	j := i
	if j < len(s.src) && (s.src[j] == '-' || s.src[j] == '+') {
		j++
	}
	start := j
	for j < len(s.src) && (isDigit(s.src[j]) || s.src[j] == '.') {
		j++
	}
	if j == start {
		j = i
	}
	t.Text = strings.TrimPrefix(s.src[i:j], "+")
	s.off = j
}

// operator scans punctuation. Operators of two characters take precedence.
func (s *Scanner) operator(t *Token) {
	t.Kind = Operator
	n := 1
	switch two := s.src[s.off:min(s.off+2, len(s.src))]; two {
	case "<>", "!=", "<=", ">=", "!<", "!>", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "::", "<<", ">>":
		n = 2
	}
	t.Text = s.src[s.off : s.off+n]
	s.off += n
}

// isDigit reports whether c is an ASCII digit.
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordStart reports whether a regular identifier may begin with r.
func isWordStart(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r == '#' ||
		r >= utf8.RuneSelf && unicode.IsLetter(r)
}

// isWordPart reports whether r is allowed inside a regular identifier.
func isWordPart(r rune) bool {
	return isWordStart(r) || r >= '0' && r <= '9' || r == '@' || r == '$' ||
		r >= utf8.RuneSelf && (unicode.IsDigit(r) || unicode.IsMark(r))
}

// IsWord reports whether the scanner reads name as one word.
func IsWord(name string) bool {
	if name == "" {
		return false
	}
	for i, r := range name {
		if i == 0 && !isWordStart(r) || !isWordPart(r) || r == unicode.ReplacementChar {
			return false
		}
	}
	return utf8.RuneCountInString(name) <= MaxIdentifier
}

// hexValue returns the value of a hexadecimal digit.
func hexValue(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// Upper converts ASCII letters to upper case. Keywords contain only these, and the Turkish i must
// not interfere.
func Upper(s string) string {
	for i := range len(s) {
		if upperByte(s[i]) != s[i] {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = upperByte(b[i])
			}
			return string(b)
		}
	}
	return s
}

// upperByte converts an ASCII letter to upper case.
func upperByte(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

// WordSet returns the set of words in list.
func WordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[w] = true
	}
	return m
}

// HexDigits returns the bytes of s in hexadecimal, in upper case.
func HexDigits(s string) string {
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = append(b, digits[s[i]>>4], digits[s[i]&15])
	}
	return string(b)
}
