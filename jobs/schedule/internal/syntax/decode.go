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
	free []Value // allocated in blocks
	size int     // of the last block
}

// newValue returns a new value.
func (s *scanner) newValue() *Value {
	if len(s.free) == 0 {
		s.size = min(max(8, 2*s.size), 256)
		s.free = make([]Value, s.size)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
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
	v := s.newValue()
	v.Path, v.Kind = path, s.space()
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
	begin, length, words := s.at, len("[]"), true
	var paths itemPaths
	for s.at++; s.space() != ']'; {
		if s.text[s.at] == ',' {
			s.at++
			length++
		}
		item, err := s.value(paths.next(v.Path), depth+1)
		if err != nil {
			return err
		}
		v.Items = append(v.Items, item)
		length += len(item.Raw)
		words = words && strings.IndexByte(`{["`, item.Kind) < 0
	}
	s.at++
	if words && s.at-begin == length { // no blanks
		v.Raw = s.text[begin:s.at]
		return nil
	}
	var raw strings.Builder
	raw.Grow(length)
	raw.WriteByte('[')
	for i, item := range v.Items {
		if i > 0 {
			raw.WriteByte(',')
		}
		raw.WriteString(item.Raw)
	}
	raw.WriteByte(']')
	v.Raw = raw.String()
	return nil
}

// itemPaths makes the paths of the items of one list, more of them at once the longer the list is.
type itemPaths struct {
	block  string
	buffer []byte // in which block is made
	ends   []int  // of the paths in block
	begin  int    // of the next path in block
	used   int    // paths of block
	count  int    // paths made
}

// next returns the path of the next item of the list at path.
func (p *itemPaths) next(path string) string {
	if p.used == len(p.ends) {
		size := min(max(1, 2*len(p.ends)), 256)
		p.buffer, p.ends, p.used, p.begin = p.buffer[:0], p.ends[:0], 0, 0
		for range size {
			p.buffer = append(append(p.buffer, path...), '[')
			p.buffer = append(strconv.AppendInt(p.buffer, int64(p.count), 10), ']')
			p.ends = append(p.ends, len(p.buffer))
			p.count++
		}
		p.block = string(p.buffer)
	}
	item := p.block[p.begin:p.ends[p.used]]
	p.begin = p.ends[p.used]
	p.used++
	return item
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
