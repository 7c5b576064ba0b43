package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/textfile"
)

// Read reads the configuration file. If path is empty, it reads the file in JOBAGENT_CONFIG, if
// any.
func Read(path string) (File, error) {
	var cfg File
	if path == "" {
		path = os.Getenv(EnvConfig)
	}
	if path == "" {
		return cfg, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return cfg, exit.Usagef("configuration file %s: %w", path, err)
	}
	if err := parse(data, &cfg); err != nil {
		return cfg, exit.Usagef("configuration file %s: %w", path, err)
	}
	cfg.Own = []string{path}
	return cfg, nil
}

// parse reads the text of a configuration file. An error names the line, the column and the
// setting.
func parse(data []byte, cfg *File) error {
	text, err := textfile.Decode(data)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("the file is empty: want a JSON object, at least {}")
	}
	c := checker{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	c.dec.UseNumber()
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil { // the only one with true offsets
		return c.syntax(err)
	}
	if err := c.value(reflect.TypeFor[File](), ""); err != nil {
		return err
	}
	if err := json.Unmarshal(c.numbers(), cfg); err != nil {
		return fmt.Errorf("invalid value: %w", err) // a type that the checker does not know
	}
	return nil
}

// checker compares a valid JSON text with a type. It finds members that are given twice, which
// encoding/json accepts, and knows where each value is.
type checker struct {
	text []byte
	dec  *json.Decoder
	// quoted has the offsets of the numbers that are given as strings, in ascending order.
	quoted []span
}

// span is a part of the text.
type span struct{ start, end int }

// numbers returns the text with its quoted numbers as JSON numbers.
func (c *checker) numbers() []byte {
	var b []byte
	at := 0
	for _, q := range c.quoted {
		b = append(append(b, c.text[at:q.start]...), c.text[q.start+1:q.end-1]...)
		at = q.end
	}
	return append(b, c.text[at:]...)
}

// next returns the offset of the next token.
func (c *checker) next() int {
	start := int(c.dec.InputOffset())
	return start + len(c.text[start:]) - len(bytes.TrimLeft(c.text[start:], " \t\r\n,:"))
}

// errorf returns an error about the setting at a path, which is empty for the whole file, and at an
// offset. Columns count characters, from 1.
func (c *checker) errorf(offset int, path, format string, args ...any) error {
	before := c.text[:min(offset, len(c.text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len([]rune(string(before[bytes.LastIndexByte(before, '\n')+1:]))) + 1
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// token reads a token.
func (c *checker) token() (json.Token, int, error) {
	start := c.next()
	token, err := c.dec.Token()
	return token, start, err
}

// syntax says where the text is no JSON.
func (c *checker) syntax(err error) error {
	var syntax *json.SyntaxError
	end := len(bytes.TrimRight(c.text, " \t\r\n"))
	switch {
	case !errors.As(err, &syntax):
		return err
	case syntax.Error() == "unexpected end of JSON input": // its offset may be that of another fault
		return c.errorf(end, "", "the JSON text ends too early: a bracket, a brace or a quotation mark is not closed")
	}
	return c.errorf(int(syntax.Offset)-1, "", "the text is no valid JSON: %w", syntax)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks the next value against a type.
func (c *checker) value(t reflect.Type, path string) error {
	if t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler) || t.Kind() == reflect.Interface {
		return c.custom(t, path)
	}
	if t.Kind() == reflect.Pointer {
		return c.value(t.Elem(), path)
	}
	token, start, err := c.token()
	if err != nil {
		return err
	}
	if token == nil && path != "" { // null stands for a setting that is left out
		return nil
	}
	if wanted := describeType(t); wanted == number || wanted == wholeNumber {
		return c.number(t, token, start, path)
	} else if found := describe(token); found != wanted {
		return c.errorf(start, path, "want %s, found %s", wanted, found)
	}
	if token, ok := token.(json.Delim); ok {
		if token == '[' {
			return c.list(t, path)
		}
		return c.object(t, path)
	}
	return nil
}

// number checks a number, which may be given as a string. No setting is negative.
func (c *checker) number(t reflect.Type, token json.Token, start int, path string) error {
	wanted, end := describeType(t), int(c.dec.InputOffset())
	var text string
	switch token := token.(type) {
	case json.Number:
		text = token.String()
	case string:
		text = token
		if string(c.text[start+1:end-1]) != text { // it has escape sequences
			return c.errorf(start, path, "want %s, found %q", wanted, text)
		}
		c.quoted = append(c.quoted, span{start, end})
	default:
		return c.errorf(start, path, "want %s, found %s", wanted, describe(token))
	}
	if err := json.Unmarshal([]byte(text), reflect.New(t).Interface()); err != nil || text == "null" {
		return c.errorf(start, path, "want %s, found %s", wanted, c.text[start:end])
	}
	if strings.HasPrefix(text, "-") {
		return c.errorf(start, path, "want %s that is not negative, found %s", wanted, c.text[start:end])
	}
	return nil
}

// custom checks a value by the UnmarshalJSON of its type.
func (c *checker) custom(t reflect.Type, path string) error {
	start := c.next()
	var raw json.RawMessage
	if err := c.dec.Decode(&raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
		return c.errorf(start, path, "%w", err)
	}
	return nil
}

// list checks the elements of a list after its opening bracket.
func (c *checker) list(t reflect.Type, path string) error {
	for i := 0; c.dec.More(); i++ {
		if err := c.value(t.Elem(), path+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	_, _, err := c.token()
	return err
}

// object checks the members of an object after its opening brace.
func (c *checker) object(t reflect.Type, path string) error {
	given := map[string]bool{}
	for c.dec.More() {
		token, start, err := c.token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		member := strings.TrimPrefix(path+"."+name, ".")
		var of reflect.Type
		if t.Kind() == reflect.Map {
			of = t.Elem()
		} else {
			names, fields := fieldsOf(t)
			i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
			if i < 0 {
				return c.errorf(start, member, "unknown setting: want %s", strings.Join(names, ", "))
			}
			of, name = fields[names[i]], names[i]
		}
		if given[name] {
			return c.errorf(start, member, "the setting is given twice")
		}
		given[name] = true
		if err := c.value(of, member); err != nil {
			return err
		}
	}
	_, _, err := c.token()
	return err
}

// fieldsOf returns the fields of a struct by their JSON names, in the order of their declaration.
// An outer field hides that of an embedded struct.
func fieldsOf(t reflect.Type) (names []string, fields map[string]reflect.Type) {
	fields = map[string]reflect.Type{}
	add := func(name string, of reflect.Type) {
		if _, hidden := fields[name]; !hidden {
			names, fields[name] = append(names, name), of
		}
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || !f.IsExported() || name == "-" {
			continue
		}
		add(cmp.Or(name, f.Name), f.Type)
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Tag.Get("json") == "" && f.Type.Kind() == reflect.Struct {
			inner, types := fieldsOf(f.Type)
			for _, name := range inner {
				add(name, types[name])
			}
		}
	}
	return names, fields
}

// The descriptions of numbers.
const (
	number      = "a number"
	wholeNumber = "a whole number"
)

// describeType names the JSON values of a type.
func describeType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return number
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return wholeNumber
}

// describe names the kind of a token that begins a value.
func describe(token json.Token) string {
	switch token := token.(type) {
	case string:
		return "a text"
	case bool:
		return "true or false"
	case json.Number:
		return number
	case json.Delim:
		if token == '[' {
			return "a list"
		}
		return "an object"
	}
	return "null"
}
