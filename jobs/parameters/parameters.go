package parameters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/jsontree"
)

// The first parts of the names that Lookup knows, without the dot.
const (
	// Param begins $(param.NAME): a member of the object, or a member of a member: $(param.a.b).
	Param = "param"
	// Payload stands for the whole object, as in $(payload), and begins $(payload.a.b), which is
	// the same as $(param.a.b).
	Payload = "payload"
)

// Kind is the type of a JSON value.
type Kind uint8

const (
	// Null is null. Its text is empty.
	Null Kind = iota
	// Bool is true or false.
	Bool
	// Number is a number. Its text is as it was given.
	Number
	// String is a string. Its text is the string itself, without quotes and escapes.
	String
	// JSON is an object or an array. Its text is JSON without blanks between the tokens.
	JSON
)

// Value is a value of the parameters. The zero value is null.
type Value struct {
	Kind Kind
	// Text is the value as text; empty for null.
	Text string
}

// Parameters are the parameters of one run. They do not change, and are safe for concurrent use.
// nil is the same as an object without members.
type Parameters struct {
	text string
	root *object
}

// object is a JSON object whose members are in the order of the text.
type object struct {
	names  []string
	values map[string]any // *object, []any, string, json.Number, bool, nil
}

// maxDepth is how deep objects and arrays may nest, as in SQL Server's ISJSON.
const maxDepth = 128

// Parse reads the text of parameters. Empty text means none: Parse then returns nil. The text must
// be one JSON object in which no object has two members of the same name.
func Parse(text string) (*Parameters, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	v, err := readValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("invalid parameters: %w", err)
	}
	root, ok := v.(*object)
	if !ok {
		return nil, errors.New("invalid parameters: want a JSON object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("invalid parameters: want nothing after the JSON object")
	}
	return &Parameters{text: text, root: root}, nil
}

// readValue reads the next value.
func readValue(d *json.Decoder, depth int) (any, error) {
	token, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, nil
	}
	if depth == maxDepth {
		return nil, fmt.Errorf("want at most %d levels of objects and arrays", maxDepth)
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			v, err := readValue(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, readEnd(d)
	}
	o := &object{values: map[string]any{}}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		if _, twice := o.values[name]; twice {
			return nil, fmt.Errorf("the name %q is there twice", name)
		}
		v, err := readValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		o.names = append(o.names, name)
		o.values[name] = v
	}
	return o, readEnd(d)
}

// readEnd reads the end of an object or array.
func readEnd(d *json.Decoder) error {
	_, err := d.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Text returns the JSON object as it was given; empty for none.
func (p *Parameters) Text() string {
	if p == nil {
		return ""
	}
	return p.text
}

// Names returns the names of the object's members, in the order of the text.
func (p *Parameters) Names() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.root.names)
}

// Member returns a member of the object by its name, which may contain any character.
func (p *Parameters) Member(name string) (Value, bool) {
	if p == nil {
		return Value{}, false
	}
	v, ok := p.root.values[name]
	return newValue(v), ok
}

// IsName reports whether name, without $( and ), belongs to this package: payload, param.… or
// payload.…. The first part is compared without regard to case.
func IsName(name string) bool {
	first, _, dotted := strings.Cut(name, ".")
	return strings.EqualFold(first, Payload) || dotted && strings.EqualFold(first, Param)
}

// Lookup returns the value of a name for which IsName is true. The parts after the first one are
// names of members, which are compared exactly; a number selects an element of an array, counted
// from 0. Without parameters, payload is the empty object.
func (p *Parameters) Lookup(name string) (Value, bool) {
	_, path, dotted := strings.Cut(name, ".")
	if !IsName(name) {
		return Value{}, false
	}
	if !dotted {
		if p == nil {
			return Value{Kind: JSON, Text: "{}"}, true
		}
		return newValue(p.root), true
	}
	if p == nil {
		return Value{}, false
	}
	var v any = p.root
	for part := range strings.SplitSeq(path, ".") {
		switch parent := v.(type) {
		case *object:
			member, ok := parent.values[part]
			if !ok {
				return Value{}, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(parent) || strconv.Itoa(i) != part {
				return Value{}, false
			}
			v = parent[i]
		default:
			return Value{}, false
		}
	}
	return newValue(v), true
}

// newValue returns a decoded value.
func newValue(v any) Value {
	switch v := v.(type) {
	case bool:
		return Value{Kind: Bool, Text: strconv.FormatBool(v)}
	case json.Number:
		return Value{Kind: Number, Text: v.String()}
	case string:
		return Value{Kind: String, Text: v}
	case *object, []any:
		var b bytes.Buffer
		write(&b, v)
		return Value{Kind: JSON, Text: b.String()}
	}
	return Value{}
}

// write writes a decoded value as JSON, with the members in their order.
func write(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case *object:
		b.WriteByte('{')
		for i, name := range v.names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(jsontree.Quote(name))
			b.WriteByte(':')
			write(b, v.values[name])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			write(b, e)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(jsontree.Quote(v))
	case json.Number:
		b.WriteString(v.String())
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		b.WriteString("null")
	}
}
