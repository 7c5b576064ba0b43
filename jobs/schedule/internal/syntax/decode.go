package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scanner builds the values of a JSON text that json.Valid accepts. It needs a tenth of the time of
// json.Decoder: a text of 64 KiB may have a list of 20,000 numbers.
type scanner struct {
	text string
	at   int
}

// maxDepth is the largest depth of nested JSON values. Schedules need five.
const maxDepth = 32

var errDeep = fmt.Errorf("values are nested more than %d deep", maxDepth)

// space skips white space and returns the next byte.
func (s *scanner) space() byte {
	for s.text[s.at] == ' ' || s.text[s.at] == '\t' || s.text[s.at] == '\n' || s.text[s.at] == '\r' {
		s.at++
	}
	return s.text[s.at]
}

// value returns the value at the position of the scanner.
func (s *scanner) value(path string, depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	v := &Value{Path: path, Kind: s.space()}
	var err error
	switch v.Kind {
	case '{':
		err = s.members(v, depth)
	case '[':
		err = s.items(v, depth)
	case '"':
		v.Text, err = s.str()
		v.Raw = Quote(v.Text)
	case 't', 'f':
		v.Kind, v.Raw = 't', s.word()
	case 'n':
		v.Raw = s.word()
	default:
		v.Kind, v.Raw = '0', s.word()
	}
	return v, err
}

// members reads an object.
func (s *scanner) members(v *Value, depth int) error {
	var raw strings.Builder
	raw.WriteByte('{')
	for s.at++; s.space() != '}'; {
		if s.text[s.at] == ',' {
			s.at++
			s.space()
			raw.WriteByte(',')
		}
		name, err := s.str()
		if err != nil {
			return err
		}
		s.space()
		s.at++ // the colon
		item, err := s.value(Join(v.Path, name), depth+1)
		if err != nil {
			return err
		}
		v.Members = append(v.Members, member{Name: name, Value: item})
		raw.WriteString(Quote(name) + ":" + item.Raw)
	}
	s.at++
	raw.WriteByte('}')
	v.Raw = raw.String()
	return nil
}

// items reads a list.
func (s *scanner) items(v *Value, depth int) error {
	var raw strings.Builder
	raw.WriteByte('[')
	for s.at++; s.space() != ']'; {
		if s.text[s.at] == ',' {
			s.at++
			raw.WriteByte(',')
		}
		item, err := s.value(v.Path+"["+strconv.Itoa(len(v.Items))+"]", depth+1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
		raw.WriteString(item.Raw)
	}
	s.at++
	raw.WriteByte(']')
	v.Raw = raw.String()
	return nil
}

// str reads a string.
func (s *scanner) str() (string, error) {
	begin := s.at
	plain := true
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			plain = false
			s.at++
		}
	}
	s.at++
	if text := s.text[begin+1 : s.at-1]; plain && utf8.ValidString(text) {
		return text, nil
	}
	var text string
	if err := json.Unmarshal([]byte(s.text[begin:s.at]), &text); err != nil {
		return "", errors.New("invalid string")
	}
	return text, nil
}

// word reads a number, true, false or null.
func (s *scanner) word() string {
	begin := s.at
	for s.at < len(s.text) && !strings.ContainsRune(" \t\r\n,]}", rune(s.text[s.at])) {
		s.at++
	}
	return s.text[begin:s.at]
}
