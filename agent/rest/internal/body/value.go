package body

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds how deep arrays and objects are nested, as SQL Server's JSON functions do.
const maxDepth = 100

// maxValues bounds the values of a body. A value takes up to 600 bytes with its name, and four
// megabytes of zeros would be two million values. The largest bodies that have a meaning are target
// groups of 10,000 members, with 8 values each.
const maxValues = 100_000

// kind is the type of a JSON value.
type kind int

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindArray
	kindObject
)

// String returns the kind for messages.
func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a string", "an array", "an object"}[k]
}

// value is a JSON value.
type value struct {
	kind    kind
	text    string   // of a string, unescaped; of a number or boolean as written
	raw     []byte   // as written
	items   []value  // of an array
	members []member // of an object, without duplicates
}

// member is a property of an object.
type member struct {
	name  string
	value value
}

// parser reads one JSON text. A syntax error ends the parse; duplicate properties do not.
type parser struct {
	data   []byte
	at     int
	depth  int
	values int  // so far
	fold   bool // names that differ in case only are duplicates
	path   path
	faults *faults
}

// syntaxError is an error in the text.
type syntaxError struct {
	at   int
	text string
}

// Error implements error.
func (e *syntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.text, e.at+1) }

func (p *parser) fail(format string, args ...any) error {
	return &syntaxError{p.at, fmt.Sprintf(format, args...)}
}

// parse reads the whole text.
func (p *parser) parse() (value, error) {
	v, err := p.value()
	if err != nil {
		return v, err
	}
	p.space()
	if p.at < len(p.data) {
		return v, p.fail("unexpected text after the JSON value")
	}
	return v, nil
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.data) {
		switch p.data[p.at] {
		case ' ', '\t', '\r', '\n':
			p.at++
		default:
			return
		}
	}
}

// next returns the next byte that is not white space, without taking it; 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.at == len(p.data) {
		return 0
	}
	return p.data[p.at]
}

// value reads a value.
func (p *parser) value() (v value, err error) {
	c := p.next()
	start := p.at
	if p.values++; p.values > maxValues {
		return v, p.fail("too many values: at most %d", maxValues)
	}
	switch {
	case c == '{':
		v, err = p.object()
	case c == '[':
		v, err = p.array()
	case c == '"':
		v.kind = kindString
		v.text, err = p.text()
	case c == '-' || c >= '0' && c <= '9':
		v, err = p.number()
	default:
		v, err = p.word()
	}
	v.raw = p.data[start:p.at]
	return v, err
}

// word reads null, true or false.
func (p *parser) word() (value, error) {
	for _, w := range []struct {
		text string
		kind kind
	}{{"null", kindNull}, {"true", kindBool}, {"false", kindBool}} {
		if len(p.data)-p.at >= len(w.text) && string(p.data[p.at:p.at+len(w.text)]) == w.text {
			p.at += len(w.text)
			return value{kind: w.kind, text: w.text}, nil
		}
	}
	if p.at == len(p.data) {
		return value{}, p.fail("unexpected end of the JSON text")
	}
	return value{}, p.fail("invalid JSON: want a value")
}

// number reads a number.
func (p *parser) number() (value, error) {
	start := p.at
	digits := func() bool {
		from := p.at
		for p.at < len(p.data) && p.data[p.at] >= '0' && p.data[p.at] <= '9' {
			p.at++
		}
		return p.at > from
	}
	is := func(set string) bool {
		for i := range len(set) {
			if p.at < len(p.data) && p.data[p.at] == set[i] {
				return true
			}
		}
		return false
	}
	if is("-") {
		p.at++
	}
	zero := is("0")
	whole := p.at
	if !digits() || zero && p.at > whole+1 {
		return value{}, p.fail("invalid JSON number")
	}
	if is(".") {
		p.at++
		if !digits() {
			return value{}, p.fail("invalid JSON number")
		}
	}
	if is("eE") {
		p.at++
		if is("+-") {
			p.at++
		}
		if !digits() {
			return value{}, p.fail("invalid JSON number")
		}
	}
	return value{kind: kindNumber, text: string(p.data[start:p.at])}, nil
}

// text reads a string.
func (p *parser) text() (string, error) {
	p.at++ // the quotation mark
	var out []byte
	start := p.at
	for p.at < len(p.data) {
		switch c := p.data[p.at]; {
		case c == '"':
			out = append(out, p.data[start:p.at]...)
			p.at++
			return string(out), nil
		case c == '\\':
			out = append(out, p.data[start:p.at]...)
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			if r == 0 { // the database would store it, and most programs that show it would end the text here
				return "", p.fail("the character U+0000 in a JSON string")
			}
			out = utf8.AppendRune(out, r)
			start = p.at
		case c < ' ':
			return "", p.fail("invalid control character in a JSON string")
		case c < utf8.RuneSelf:
			p.at++
		default:
			r, size := utf8.DecodeRune(p.data[p.at:])
			if r == utf8.RuneError && size == 1 {
				return "", p.fail("invalid UTF-8")
			}
			p.at += size
		}
	}
	return "", p.fail("unexpected end of the JSON text in a string")
}

// escape reads an escape sequence.
func (p *parser) escape() (rune, error) {
	if p.at+1 >= len(p.data) {
		p.at = len(p.data)
		return 0, p.fail("unexpected end of the JSON text in a string")
	}
	c := p.data[p.at+1]
	if c == 'u' {
		return p.unicodeEscape()
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	for i := range len(from) {
		if c == from[i] {
			p.at += 2
			return rune(to[i]), nil
		}
	}
	return 0, p.fail("invalid escape in a JSON string")
}

// unicodeEscape reads \uXXXX, or two of them for a character beyond the basic plane. Half of such a
// pair is refused.
func (p *parser) unicodeEscape() (rune, error) {
	hex := func(at int) (rune, bool) {
		if at+6 > len(p.data) || p.data[at] != '\\' || p.data[at+1] != 'u' {
			return 0, false
		}
		n, err := strconv.ParseUint(string(p.data[at+2:at+6]), 16, 16)
		return rune(n), err == nil
	}
	r, ok := hex(p.at)
	if !ok {
		return 0, p.fail("invalid escape in a JSON string")
	}
	if !utf16.IsSurrogate(r) {
		p.at += 6
		return r, nil
	}
	low, ok := hex(p.at + 6)
	if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
		return 0, p.fail("invalid escape in a JSON string: half of a surrogate pair")
	}
	p.at += 12
	return r, nil
}

// enter counts a level of nesting.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxDepth {
		return p.fail("invalid JSON: nested deeper than %d", maxDepth)
	}
	p.at++ // the bracket
	return nil
}

// array reads an array.
func (p *parser) array() (value, error) {
	v := value{kind: kindArray, items: []value{}}
	if err := p.enter(); err != nil {
		return v, err
	}
	defer func() { p.depth-- }()
	if p.next() == ']' {
		p.at++
		return v, nil
	}
	for {
		p.path = p.path.index(len(v.items))
		item, err := p.value()
		if err != nil {
			return v, err // the path stays: it says where
		}
		p.path = p.path.parent()
		v.items = append(v.items, item)
		switch p.next() {
		case ',':
			p.at++
		case ']':
			p.at++
			return v, nil
		default:
			return v, p.fail("invalid JSON: want a comma or the end of an array")
		}
	}
}

// object reads an object.
func (p *parser) object() (value, error) {
	v := value{kind: kindObject}
	if err := p.enter(); err != nil {
		return v, err
	}
	defer func() { p.depth-- }()
	if p.next() == '}' {
		p.at++
		return v, nil
	}
	names := map[string]bool{}
	for {
		if p.next() != '"' {
			return v, p.fail("invalid JSON: want the name of a property")
		}
		name, err := p.text()
		if err != nil {
			return v, err
		}
		if p.next() != ':' {
			return v, p.fail("invalid JSON: want a colon after the name of a property")
		}
		p.at++
		p.path = p.path.property(name)
		key := name
		if p.fold {
			key = folded(name)
		}
		twice := names[key]
		if twice {
			p.faults.add(p.path, CodeDuplicate, "The property is given twice.")
		}
		names[key] = true
		one, err := p.value()
		if err != nil {
			return v, err // the path stays: it says where
		}
		p.path = p.path.parent()
		if !twice {
			v.members = append(v.members, member{name, one})
		}
		switch p.next() {
		case ',':
			p.at++
		case '}':
			p.at++
			return v, nil
		default:
			return v, p.fail("invalid JSON: want a comma or the end of an object")
		}
	}
}
