package jsontext

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Kind is the type of a JSON value; the numbers are those of OPENJSON's column type.
type Kind int64

// The kinds.
const (
	Null Kind = iota
	String
	Number
	Bool
	Array
	Object
)

// maxDepth is the deepest nesting ("JSON data in SQL Server", 128 levels).
const maxDepth = 128

// scanner reads a text without a tree: values are spans of the text. It asks a meter whether to go
// on.
type scanner struct {
	s       string
	pos     int
	depth   int
	m       *meter.Meter
	counted int // what the meter has been told of
	next    int // where to ask again
}

// newScanner returns a scanner that begins at a position.
func newScanner(m *meter.Meter, s string, pos int) scanner {
	return scanner{s: s, pos: pos, m: m, counted: pos, next: pos + stride}
}

// stride is how many bytes a scanner reads before it asks its meter.
const stride = 4 << 10

// ask tells the meter of the bytes since the last time.
func (sc *scanner) ask() error {
	n := sc.pos - sc.counted
	sc.counted, sc.next = sc.pos, sc.pos+stride
	return sc.m.Work(n)
}

// span is a value in a text, without the blanks around it.
type span struct {
	start, end int
	kind       Kind
}

// of returns the value's text.
func (v span) of(s string) string { return s[v.start:v.end] }

// scan checks a whole text and returns its value's span. Error 13609.
func scan(m *meter.Meter, s string) (span, error) {
	sc := newScanner(m, s, 0)
	v, err := sc.value()
	if err != nil {
		return v, err
	}
	sc.blanks()
	if sc.pos < len(s) {
		return v, sc.bad()
	}
	return v, nil
}

// bad returns error 13609 at the current position.
func (sc *scanner) bad() error {
	return mserr.JSONText(runeAt(sc.s, sc.pos), types.Units(sc.s[:min(sc.pos, len(sc.s))]))
}

func (sc *scanner) blanks() {
	for sc.pos < len(sc.s) {
		switch sc.s[sc.pos] {
		case ' ', '\t', '\n', '\r':
			sc.pos++
		default:
			return
		}
	}
}

// value reads any value.
func (sc *scanner) value() (span, error) {
	sc.blanks()
	v := span{start: sc.pos}
	if sc.pos >= len(sc.s) {
		return v, sc.bad()
	}
	if sc.pos >= sc.next {
		if err := sc.ask(); err != nil {
			return v, err
		}
	}
	var err error
	switch c := sc.s[sc.pos]; {
	case c == '{':
		v.kind = Object
		err = sc.members(nil)
	case c == '[':
		v.kind = Array
		err = sc.elements(nil)
	case c == '"':
		v.kind = String
		err = sc.str()
	case c == '-' || c >= '0' && c <= '9':
		v.kind = Number
		err = sc.number()
	case c == 't':
		v.kind = Bool
		err = sc.literal("true")
	case c == 'f':
		v.kind = Bool
		err = sc.literal("false")
	case c == 'n':
		err = sc.literal("null")
	default:
		err = sc.bad()
	}
	v.end = sc.pos
	return v, err
}

// literal reads true, false or null.
func (sc *scanner) literal(word string) error {
	for i := range len(word) {
		if sc.pos >= len(sc.s) || sc.s[sc.pos] != word[i] {
			return sc.bad()
		}
		sc.pos++
	}
	return nil
}

// number reads a number in JSON's grammar.
func (sc *scanner) number() error {
	if sc.at('-', '-') {
		sc.pos++
	}
	switch {
	case sc.at('0', '0'):
		sc.pos++
	case !sc.digits():
		return sc.bad()
	}
	if sc.at('.', '.') {
		sc.pos++
		if !sc.digits() {
			return sc.bad()
		}
	}
	if sc.at('e', 'E') {
		sc.pos++
		if sc.at('+', '-') {
			sc.pos++
		}
		if !sc.digits() {
			return sc.bad()
		}
	}
	return nil
}

// at reports whether one of two characters comes next.
func (sc *scanner) at(x, y byte) bool {
	return sc.pos < len(sc.s) && (sc.s[sc.pos] == x || sc.s[sc.pos] == y)
}

// digits reads digits, and reports whether there were any.
func (sc *scanner) digits() bool {
	start := sc.pos
	for sc.pos < len(sc.s) && sc.s[sc.pos] >= '0' && sc.s[sc.pos] <= '9' {
		sc.pos++
	}
	return sc.pos > start
}

// str reads a string.
func (sc *scanner) str() error {
	for sc.pos++; sc.pos < len(sc.s); sc.pos++ {
		if sc.pos >= sc.next {
			if err := sc.ask(); err != nil {
				return err
			}
		}
		switch c := sc.s[sc.pos]; {
		case c == '"':
			sc.pos++
			return nil
		case c < 0x20:
			return sc.bad()
		case c == '\\':
			sc.pos++
			if sc.pos >= len(sc.s) {
				return sc.bad()
			}
			switch sc.s[sc.pos] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					sc.pos++
					if sc.pos >= len(sc.s) || !isHex(sc.s[sc.pos]) {
						return sc.bad()
					}
				}
			default:
				return sc.bad()
			}
		}
	}
	return sc.bad()
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

// enter counts a level of nesting.
func (sc *scanner) enter() error {
	if sc.depth++; sc.depth > maxDepth {
		return mserr.NotSupported("JSON nested deeper than %d levels", maxDepth)
	}
	sc.pos++
	sc.blanks()
	return nil
}

// members reads an object and calls f with every member. If f returns false, members returns early.
// A nil f only checks the object.
func (sc *scanner) members(f func(key string, v span) bool) error {
	if err := sc.enter(); err != nil {
		return err
	}
	defer func() { sc.depth-- }()
	if sc.pos < len(sc.s) && sc.s[sc.pos] == '}' {
		sc.pos++
		return nil
	}
	for {
		sc.blanks()
		start := sc.pos
		if sc.pos >= len(sc.s) || sc.s[sc.pos] != '"' {
			return sc.bad()
		}
		if err := sc.str(); err != nil {
			return err
		}
		end := sc.pos
		sc.blanks()
		if sc.pos >= len(sc.s) || sc.s[sc.pos] != ':' {
			return sc.bad()
		}
		sc.pos++
		v, err := sc.value()
		if err != nil {
			return err
		}
		if f != nil {
			if key, _ := unquote(sc.s[start:end]); !f(key, v) { // str has checked the key
				return nil
			}
		}
		if more, err := sc.separator('}'); err != nil || !more {
			return err
		}
	}
}

// separator reads the comma after a member or element, or the bracket that closes the list.
func (sc *scanner) separator(closing byte) (more bool, err error) {
	sc.blanks()
	if sc.pos >= len(sc.s) || sc.s[sc.pos] != ',' && sc.s[sc.pos] != closing {
		return false, sc.bad()
	}
	sc.pos++
	return sc.s[sc.pos-1] == ',', nil
}

// elements is members for an array.
func (sc *scanner) elements(f func(i int, v span) bool) error {
	return sc.each(func(i int) (bool, error) {
		v, err := sc.value()
		return err == nil && (f == nil || f(i, v)), err
	})
}

// each reads an array. It calls f to read each element, until f returns false.
func (sc *scanner) each(f func(i int) (more bool, err error)) error {
	if err := sc.enter(); err != nil {
		return err
	}
	defer func() { sc.depth-- }()
	if sc.pos < len(sc.s) && sc.s[sc.pos] == ']' {
		sc.pos++
		return nil
	}
	for i := 0; ; i++ {
		if more, err := f(i); err != nil || !more {
			return err
		}
		if more, err := sc.separator(']'); err != nil || !more {
			return err
		}
	}
}

// find follows the steps of a path from a value of a checked text; ok is false if there is no
// value. The only error is that of a canceled request.
func find(m *meter.Meter, s string, v span, steps []pathStep) (_ span, ok bool, err error) {
	for _, step := range steps {
		sc := newScanner(m, s, v.start)
		isFound := false
		var next span
		switch {
		case step.isIndex && v.kind == Array:
			err = sc.elements(func(i int, e span) bool {
				isFound = i == step.index
				next = e
				return !isFound
			})
		case !step.isIndex && v.kind == Object:
			err = sc.members(func(key string, e span) bool {
				isFound = key == step.key
				next = e
				return !isFound
			})
		}
		if err == nil {
			err = sc.ask()
		}
		if err != nil || !isFound {
			return span{}, false, err
		}
		v = next
	}
	return v, true, nil
}

// scalar returns the text of a value other than an object or array; nil for null.
func scalar(s string, v span) types.Value {
	if text, ok := scalarText(s, v); ok {
		return text
	}
	return nil
}

// scalarText is scalar with ok false for null.
func scalarText(s string, v span) (text string, ok bool) {
	switch v.kind {
	case Null:
		return "", false
	case String:
		text, _ = unquote(v.of(s))
		return text, true
	}
	return v.of(s), true
}

// unquote returns the text of a JSON string with its quotes; ok is false for a malformed one.
func unquote(s string) (text string, ok bool) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return "", false
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		switch s[i] {
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			r, size := unicodeEscape(s[i-1:])
			if size == 0 {
				return "", false
			}
			b.WriteRune(r)
			i += size - 2
		case '"', '\\', '/':
			b.WriteByte(s[i])
		default:
			return "", false
		}
	}
	return b.String(), true
}

// unicodeEscape reads \uXXXX, or two of them for a surrogate pair; size is 0 for malformed text.
func unicodeEscape(s string) (r rune, size int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(n), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := unit(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}
