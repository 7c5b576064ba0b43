package jsontree

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Parse reads a text that is one JSON value. The error is the *json.SyntaxError of json.Unmarshal.
func Parse(text string) (*Value, error) {
	if !json.Valid([]byte(text)) {
		var raw json.RawMessage
		return nil, json.Unmarshal([]byte(text), &raw) //nolint:wrapcheck // the error of this package
	}
	return (&scanner{text: text}).value(nil), nil
}

// scanner builds the values of a JSON text that json.Valid accepts. It needs a tenth of the time of
// json.Decoder: a schedule of 64 KiB may have a list of 20,000 numbers.
type scanner struct {
	text string
	at   int
	free []Value // allocated in blocks
	size int     // of the last block
}

func (s *scanner) newValue() *Value {
	if len(s.free) == 0 {
		s.size = min(max(8, 2*s.size), 256)
		s.free = make([]Value, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// next skips white space and the signs between values, and returns the byte after them.
func (s *scanner) next() byte {
	for {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			s.at++
		default:
			return c
		}
	}
}

// value returns the value at the position of the scanner.
func (s *scanner) value(parent *Value) *Value {
	v := s.newValue()
	v.Kind, v.At, v.parent = s.next(), s.at, parent
	switch v.Kind {
	case '{':
		for s.at++; s.next() != '}'; {
			at := s.at
			name := s.str()
			m := s.value(v)
			m.Name, m.NameAt = name, at
			v.Members = append(v.Members, m)
		}
		s.at++
	case '[':
		for s.at++; s.next() != ']'; {
			item := s.value(v)
			item.index = len(v.Items)
			v.Items = append(v.Items, item)
		}
		s.at++
	case '"':
		v.Text = s.str()
	case 'n', 't':
		s.at += len("null")
	case 'f':
		v.Kind = 't'
		s.at += len("false")
	default:
		v.Kind = '0'
		for s.at < len(s.text) && strings.IndexByte("+-.0123456789Ee", s.text[s.at]) >= 0 {
			s.at++
		}
	}
	v.Raw = s.text[v.At:s.at]
	return v
}

// str reads a string.
func (s *scanner) str() string {
	begin := s.at
	plain := true
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	text := s.text[begin+1 : s.at-1]
	if !plain || !utf8.ValidString(text) {
		_ = json.Unmarshal([]byte(s.text[begin:s.at]), &text) // a valid string
	}
	return text
}
