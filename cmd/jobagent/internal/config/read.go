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
	"strings"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/jobs/jsontree"
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
	c := checker{text: string(text)}
	whole, err := jsontree.Parse(c.text)
	if err != nil {
		return c.syntax(err)
	}
	if err := c.value(whole, reflect.TypeFor[File]()); err != nil {
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
	text string
	// quoted has the numbers that are given as strings, in the order of the text.
	quoted []*jsontree.Value
}

// numbers returns the text with its quoted numbers as JSON numbers.
func (c *checker) numbers() []byte {
	var b []byte
	at := 0
	for _, q := range c.quoted {
		b = append(append(b, c.text[at:q.At]...), q.Text...)
		at = q.At + len(q.Raw)
	}
	return append(b, c.text[at:]...)
}

// errorf returns an error about the setting at a path, which is empty for the whole file, and at an
// offset. Columns count characters, from 1.
func (c *checker) errorf(offset int, path, format string, args ...any) error {
	line, column := jsontree.Place(c.text, offset)
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}

// wrong is errorf for a value.
func (c *checker) wrong(v *jsontree.Value, format string, args ...any) error {
	return c.errorf(v.At, v.Path(), format, args...)
}

// syntax returns the error about the place where the text stops being JSON.
func (c *checker) syntax(err error) error {
	var syntax *json.SyntaxError
	end := len(strings.TrimRight(c.text, " \t\r\n"))
	switch {
	case !errors.As(err, &syntax):
		return err
	case syntax.Error() == "unexpected end of JSON input": // its offset may be that of another fault
		return c.errorf(end, "", "the JSON text ends too early: a bracket, a brace or a quotation mark is not closed")
	}
	return c.errorf(int(syntax.Offset)-1, "", "the text is not valid JSON: %w", syntax)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks a value against a type.
func (c *checker) value(v *jsontree.Value, t reflect.Type) error {
	if t.Implements(unmarshaler) || reflect.PointerTo(t).Implements(unmarshaler) || t.Kind() == reflect.Interface {
		if err := json.Unmarshal([]byte(v.Raw), reflect.New(t).Interface()); err != nil {
			return c.wrong(v, "%w", err)
		}
		return nil
	}
	if t.Kind() == reflect.Pointer {
		return c.value(v, t.Elem())
	}
	if v.Kind == 'n' && v.Path() != "" { // null stands for a setting that is left out
		return nil
	}
	if wanted := describeType(t); wanted == number || wanted == wholeNumber {
		return c.number(v, t)
	} else if found := describe(v); found != wanted {
		return c.wrong(v, "want %s, found %s", wanted, found)
	}
	for _, item := range v.Items {
		if err := c.value(item, t.Elem()); err != nil {
			return err
		}
	}
	return c.members(v, t)
}

// number checks a number, which may be given as a string. No setting is negative.
func (c *checker) number(v *jsontree.Value, t reflect.Type) error {
	wanted, text := describeType(t), v.Raw
	switch v.Kind {
	case '0':
	case '"':
		text = v.Text
		if v.Raw != `"`+text+`"` { // it has escape sequences
			return c.wrong(v, "want %s, found %q", wanted, text)
		}
		c.quoted = append(c.quoted, v)
	default:
		return c.wrong(v, "want %s, found %s", wanted, describe(v))
	}
	if err := json.Unmarshal([]byte(text), reflect.New(t).Interface()); err != nil || text == "null" {
		return c.wrong(v, "want %s, found %s", wanted, v.Raw)
	}
	if strings.HasPrefix(text, "-") {
		return c.wrong(v, "want %s that is not negative, found %s", wanted, v.Raw)
	}
	return nil
}

// members checks the members of an object.
func (c *checker) members(v *jsontree.Value, t reflect.Type) error {
	given := map[string]bool{}
	for _, m := range v.Members {
		name := m.Name
		var of reflect.Type
		if t.Kind() == reflect.Map {
			of = t.Elem()
		} else {
			names, fields := fieldsOf(t)
			i := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
			if i < 0 {
				return c.errorf(m.NameAt, m.Path(), "unknown setting: want %s", strings.Join(names, ", "))
			}
			of, name = fields[names[i]], names[i]
		}
		if given[name] {
			return c.errorf(m.NameAt, m.Path(), "the setting is given twice")
		}
		given[name] = true
		if err := c.value(m, of); err != nil {
			return err
		}
	}
	return nil
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

// describe names the kind of a value.
func describe(v *jsontree.Value) string {
	switch v.Kind {
	case '"':
		return "a text"
	case 't':
		return "true or false"
	case '0':
		return number
	case '[':
		return "a list"
	case '{':
		return "an object"
	}
	return "null"
}
