package parameters

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Type is the type of a declared parameter.
type Type string

// The types. Dates and times are JSON strings; the other types are the JSON values of their names.
const (
	TypeText    Type = "text"
	TypeInteger Type = "integer" // a number without fraction and exponent, of 64 bits
	TypeNumber  Type = "number"
	TypeBoolean Type = "boolean"
	TypeDate    Type = "date"     // 2026-01-31
	TypeTime    Type = "datetime" // 2026-01-31T22:00:00, without a zone
)

// Types returns the types in the order of the documents.
func Types() []Type {
	return []Type{TypeText, TypeInteger, TypeNumber, TypeBoolean, TypeDate, TypeTime}
}

// The limits of declarations (jobs_internal.check_declarations). Lengths are UTF-16 code units.
const (
	maxDeclarations = 100
	maxChoices      = 100
	maxName         = model.MaxName
	maxDescription  = model.MaxDescription
	maxText         = 102_400
)

// Declaration is a parameter that a job declares (jobs.sp_set_job_parameters).
type Declaration struct {
	// Name is compared exactly: letters, digits, _ and -.
	Name string
	Type Type
	// Required: it must be given when a run is started. It has no default then.
	Required bool
	// Default is the value that it has if it is not given; null means none.
	Default Value
	// Choices are the only values that it may have; empty means any of its type.
	Choices     []Value
	Description string
}

// JSON returns a value as JSON.
func (v Value) JSON() string {
	switch v.Kind {
	case Null:
		return "null"
	case String:
		return jsontree.Quote(v.Text)
	}
	return v.Text
}

// ParseDeclarations reads declarations: the JSON array of jobs.sp_set_job_parameters, by the same
// rules. Empty text means none.
func ParseDeclarations(text string) ([]Declaration, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if units := len(utf16.Encode([]rune(text))); units > maxText {
		return nil, fmt.Errorf("invalid declarations: %d characters, want at most %d", units, maxText)
	}
	p, err := Parse(`{"list":` + text + `}`)
	if err != nil || len(p.root.names) != 1 {
		return nil, errors.Join(errors.New("invalid declarations: want a JSON array of objects"), err)
	}
	items, ok := p.root.values["list"].([]any)
	if !ok {
		return nil, errors.New("invalid declarations: want a JSON array of objects")
	}
	if len(items) > maxDeclarations {
		return nil, fmt.Errorf("invalid declarations: a job declares at most %d parameters", maxDeclarations)
	}
	list := make([]Declaration, 0, len(items))
	for i, item := range items {
		o, ok := item.(*object)
		if !ok {
			return nil, errors.New("invalid declarations: want a JSON array of objects")
		}
		d, err := newDeclaration(o)
		if err == nil && slices.ContainsFunc(list, func(e Declaration) bool { return strings.EqualFold(e.Name, d.Name) }) {
			err = errors.New("it is declared twice; names must differ in more than case")
		}
		if err != nil {
			name := fmt.Sprintf("%.128q", d.Name)
			if d.Name == "" {
				name = fmt.Sprintf("element %d", i+1)
			}
			return nil, fmt.Errorf("invalid declarations: %s: %w", name, err)
		}
		list = append(list, d)
	}
	return list, nil
}

// newDeclaration reads one element of the array.
func newDeclaration(o *object) (Declaration, error) {
	d := Declaration{Type: TypeText}
	if name, ok := o.values["name"].(string); ok {
		d.Name = name
	}
	for _, member := range o.names {
		value := o.values[member]
		wrong := func(want string) error {
			return fmt.Errorf("the member %q has a value of a wrong kind: want %s", member, want)
		}
		var ok bool
		switch member {
		case "name":
			if _, ok = value.(string); !ok {
				return d, wrong("a text")
			}
		case "type":
			var name string
			if name, ok = value.(string); !ok && value != nil {
				return d, wrong("a text")
			} else if ok {
				d.Type = Type(name)
			}
		case "description":
			if d.Description, ok = value.(string); !ok && value != nil {
				return d, wrong("a text")
			}
		case "required":
			if d.Required, ok = value.(bool); !ok && value != nil {
				return d, wrong("true or false")
			}
		case "default":
			d.Default = newValue(value)
		case "choices":
			items, ok := value.([]any)
			if !ok && value != nil {
				return d, wrong("an array")
			}
			if ok && (len(items) == 0 || len(items) > maxChoices) {
				return d, errChoices
			}
			for _, item := range items {
				d.Choices = append(d.Choices, newValue(item))
			}
		default:
			return d, fmt.Errorf("unknown member %.100q: want name, type, required, default, choices or description", member)
		}
	}
	return d, d.check()
}

var errChoices = fmt.Errorf("want 1 to %d choices, each of them once, for a type other than boolean", maxChoices)

// check checks a declaration by itself.
func (d Declaration) check() error {
	switch {
	case d.Name == "" || len(d.Name) > maxName || strings.ContainsFunc(d.Name, func(r rune) bool { return !isNameRune(r) }):
		return fmt.Errorf("invalid name: want 1 to %d letters, digits, _ or -", maxName)
	case !slices.Contains(Types(), d.Type):
		return fmt.Errorf("unknown type %.100q: want text, integer, number, boolean, date or datetime%s", d.Type, suggest.DidYouMean(string(d.Type), typeNames()))
	case d.Required && d.Default.Kind != Null:
		return errors.New("a required parameter has no default: omit one of them")
	case d.Type == TypeBoolean && len(d.Choices) > 0:
		return errChoices
	case len(utf16.Encode([]rune(d.Description))) > maxDescription:
		return fmt.Errorf("the description has more than %d characters", maxDescription)
	}
	for i, c := range d.Choices {
		if err := d.checkType(c); err != nil {
			return fmt.Errorf("a choice does not have the type: %w", err)
		}
		if slices.Contains(d.Choices[:i], c) {
			return errChoices
		}
	}
	if d.Default.Kind == Null {
		return nil
	}
	if err := d.checkType(d.Default); err != nil {
		return fmt.Errorf("the default does not have the type: %w", err)
	}
	if len(d.Choices) > 0 && !slices.Contains(d.Choices, d.Default) {
		return errors.New("the default is not one of the choices")
	}
	return nil
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

func typeNames() (names []string) {
	for _, t := range Types() {
		names = append(names, string(t))
	}
	return names
}

// checkType checks a value against the type (jobs_internal.check_values).
func (d Declaration) checkType(v Value) error {
	ok, want := false, ""
	switch d.Type {
	case TypeText:
		ok, want = v.Kind == String, "a text"
	case TypeInteger:
		_, err := strconv.ParseInt(v.Text, 10, 64)
		ok, want = v.Kind == Number && err == nil, "an integer from -9223372036854775808 to 9223372036854775807"
	case TypeNumber:
		ok, want = v.Kind == Number, "a number"
	case TypeBoolean:
		ok, want = v.Kind == Bool, "true or false"
	case TypeDate:
		at, err := time.Parse(time.DateOnly, v.Text)
		ok, want = v.Kind == String && err == nil && at.Year() > 0, "a date such as 2026-01-31"
	case TypeTime:
		ok, want = v.Kind == String && isTime(v.Text), "a time such as 2026-01-31T22:00:00, without a zone"
	}
	if ok {
		return nil
	}
	return fmt.Errorf("want %s, not %s", want, v.short())
}

// isTime reports whether a text is a time without a zone, with at most seven fractional digits.
func isTime(text string) bool {
	const form = "2006-01-02T15:04:05"
	if len(text) < len(form) || len(text) == len(form)+1 || len(text) > len(form)+8 {
		return false
	}
	at, err := time.Parse(form, text[:len(form)])
	fraction := strings.TrimPrefix(text[len(form):], ".")
	return err == nil && at.Year() > 0 && (len(text) == len(form) || text[len(form)] == '.') &&
		!strings.ContainsFunc(fraction, func(r rune) bool { return r < '0' || r > '9' })
}

// short describes a value that is refused.
func (v Value) short() string {
	switch v.Kind {
	case Null:
		return "null"
	case String:
		return fmt.Sprintf("the text %.100q", v.Text)
	case JSON:
		return "an object or array"
	}
	return fmt.Sprintf("%.100s", v.Text)
}

// Check checks a value that is given for the parameter.
func (d Declaration) Check(v Value) error {
	if v.Kind == Null && !d.Required && d.Default.Kind == Null {
		return nil // as if it were not given
	}
	if err := d.checkType(v); err != nil {
		return err
	}
	if len(d.Choices) > 0 && !slices.Contains(d.Choices, v) {
		return fmt.Errorf("want one of %s, not %s", d.ChoiceList(), v.short())
	}
	return nil
}

// ChoiceList returns the choices in one line.
func (d Declaration) ChoiceList() string {
	texts := make([]string, 0, len(d.Choices))
	for _, c := range d.Choices {
		texts = append(texts, c.Text)
	}
	return strings.Join(texts, ", ")
}

// Read returns the value of the parameter's type that a text means, as people type it into a flag
// or a form.
func (d Declaration) Read(text string) (Value, error) {
	v := Value{String, text}
	switch d.Type {
	case TypeInteger, TypeNumber, TypeBoolean:
		p, err := Parse(`{"v":` + text + `}`)
		if err == nil && len(p.root.names) == 1 {
			if read, _ := p.Member("v"); read.Kind == Number || read.Kind == Bool {
				v = read
			}
		}
	}
	return v, d.Check(v)
}

// EncodeDeclarations returns declarations as the control database stores them; empty for none.
func EncodeDeclarations(list []Declaration) string {
	if len(list) == 0 {
		return ""
	}
	var b bytes.Buffer
	b.WriteByte('[')
	for i, d := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":` + jsontree.Quote(d.Name) + `,"type":` + jsontree.Quote(string(d.Type)))
		if d.Required {
			b.WriteString(`,"required":true`)
		}
		if d.Default.Kind != Null {
			b.WriteString(`,"default":` + d.Default.JSON())
		}
		for i, c := range d.Choices {
			b.WriteString(map[bool]string{true: `,"choices":[`, false: ","}[i == 0] + c.JSON())
		}
		if len(d.Choices) > 0 {
			b.WriteByte(']')
		}
		if d.Description != "" {
			b.WriteString(`,"description":` + jsontree.Quote(d.Description))
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	return b.String()
}

// Complete checks the parameters of a run against declarations, and adds the default, or null, of
// those that are not given (jobs_internal.complete_parameters). Without declarations, any are
// permitted. The error names all that is missing, or the first that is wrong.
func Complete(declared []Declaration, given *Parameters) (*Parameters, error) {
	if len(declared) == 0 {
		return given, nil
	}
	names := make([]string, 0, len(declared))
	for _, d := range declared {
		names = append(names, d.Name)
	}
	complete := &object{values: map[string]any{}}
	for _, name := range given.Names() {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("the job declares no parameter %q%s (its parameters: %s)", name, suggest.DidYouMean(name, names), strings.Join(names, ", "))
		}
		complete.names, complete.values[name] = append(complete.names, name), given.root.values[name]
	}
	var missing []string
	for _, d := range declared {
		v, ok := given.Member(d.Name)
		switch {
		case !ok && d.Required:
			missing = append(missing, d.Name)
		case !ok:
			complete.names, complete.values[d.Name] = append(complete.names, d.Name), d.Default.decoded()
		default:
			if err := d.Check(v); err != nil {
				return nil, fmt.Errorf("invalid parameter %s: %w", d.Name, err)
			}
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{Names: missing}
	}
	var b bytes.Buffer
	write(&b, complete)
	return &Parameters{text: b.String(), root: complete}, nil
}

// decoded returns a scalar as the decoder does.
func (v Value) decoded() any {
	switch v.Kind {
	case String:
		return v.Text
	case Null:
		return nil
	}
	p, err := Parse(`{"v":` + v.Text + `}`)
	if err != nil {
		return nil // not for values of declarations, which are JSON
	}
	return p.root.values["v"]
}

// MissingError means that a run would lack parameters.
type MissingError struct {
	// Names are the parameters, without param.
	Names []string
}

// Error names the parameters.
func (e *MissingError) Error() string {
	return "missing parameters: " + strings.Join(e.Names, ", ")
}

// Unset returns which of the names that scripts and actions use, such as param.tenant, have no
// value in the parameters of a run, each once and without its first part.
func Unset(used []string, given *Parameters) (names []string) {
	for _, name := range used {
		_, path, _ := strings.Cut(name, ".")
		if _, ok := given.Lookup(name); IsName(name) && !ok && !slices.Contains(names, path) {
			names = append(names, path)
		}
	}
	return names
}

// With returns parameters in which some members have other values. Names that are no members yet
// are added in the order of their names.
func (p *Parameters) With(values map[string]Value) *Parameters {
	if len(values) == 0 {
		return p
	}
	out := &object{values: map[string]any{}}
	for _, name := range p.Names() {
		out.names, out.values[name] = append(out.names, name), p.root.values[name]
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := out.values[name]; !ok {
			out.names = append(out.names, name)
		}
		out.values[name] = values[name].decoded()
	}
	var b bytes.Buffer
	write(&b, out)
	return &Parameters{text: b.String(), root: out}
}
