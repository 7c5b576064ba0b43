package body

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/jobagent/jobagent/agent/rest"
)

// Field is a property of which null and absence are kept apart.
type Field[T any] struct {
	// Set is true if the property is in the body, null or not.
	Set bool
	// Null is true if the property is null.
	Null bool
	// Value is the value, or the zero value.
	Value T
}

// Some returns a field with a value.
func Some[T any](v T) Field[T] { return Field[T]{Set: true, Value: v} }

// Get returns the value, and whether there is one.
func (f Field[T]) Get() (T, bool) { return f.Value, f.Set && !f.Null }

// IsZero lets encoding/json leave out an absent field (omitzero).
func (f Field[T]) IsZero() bool { return !f.Set }

// MarshalJSON implements json.Marshaler.
func (f Field[T]) MarshalJSON() ([]byte, error) {
	if !f.Set || f.Null {
		return []byte("null"), nil
	}
	return json.Marshal(f.Value)
}

// FieldType returns the type of the value, for descriptions of the type.
func (f Field[T]) FieldType() reflect.Type { return reflect.TypeFor[T]() }

// decodeField implements field.
func (f *Field[T]) decodeField(d *decoder, v value) {
	f.Set = true
	if v.kind == kindNull {
		f.Null = true
		return
	}
	d.decode(v, reflect.ValueOf(&f.Value).Elem())
}

// field is implemented by pointers to a Field.
type field interface {
	decodeField(d *decoder, v value)
}

// Options change how a body is read.
type Options struct {
	// FoldCase matches the names of properties without regard to case, as the services of Azure do.
	FoldCase bool
	// AllowEmpty reads an empty body as an empty object.
	AllowEmpty bool
}

// Decode reads a body into the value to which dst points. The error is a *rest.Error with all
// faults; dst then has the parts that are valid.
func Decode(data []byte, dst any, opts Options) error {
	f := &faults{}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		if opts.AllowEmpty {
			data = []byte("{}")
		} else {
			f.add(nil, CodeSyntax, "The body is missing.")
			return f.err()
		}
	}
	p := &parser{data: data, fold: opts.FoldCase, faults: f}
	v, err := p.parse()
	if err != nil {
		// The faults before the error may be wrong, but help.
		f.list = append([]rest.Detail{{Code: CodeSyntax, Message: sentence(err.Error()), Target: p.path.String()}}, f.list...)
		return f.err()
	}
	if v.kind == kindNull {
		f.add(nil, CodeType, "The body is null: want an object.")
		return f.err()
	}
	d := &decoder{faults: f, fold: opts.FoldCase}
	d.decode(v, reflect.ValueOf(dst).Elem())
	return f.err()
}

// sentence makes a sentence of an error's text.
func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] + "." }

// folded returns a name for a comparison without regard to case.
func folded(name string) string { return strings.ToLower(name) }

// decoder moves values to Go types.
type decoder struct {
	path   path
	faults *faults
	fold   bool
}

func (d *decoder) fault(code, format string, args ...any) {
	d.faults.add(d.path, code, fmt.Sprintf(format, args...))
}

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// decode moves a value to dst, which can be set.
func (d *decoder) decode(v value, dst reflect.Value) {
	t := dst.Type()
	if t == rawType {
		dst.SetBytes(bytes.Clone(v.raw))
		return
	}
	if f, ok := dst.Addr().Interface().(field); ok {
		f.decodeField(d, v)
		return
	}
	if v.kind == kindNull {
		return // as if it were absent
	}
	switch {
	case t.Kind() == reflect.Pointer:
		one := reflect.New(t.Elem())
		d.decode(v, one.Elem())
		dst.Set(one)
	case reflect.PointerTo(t).Implements(unmarshaler):
		if err := dst.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(v.raw); err != nil {
			d.fault(CodeValue, "%s", sentence(err.Error()))
		}
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		if d.want(v, kindString) {
			if err := dst.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(v.text)); err != nil {
				d.fault(CodeValue, "%s", sentence(err.Error()))
			}
		}
	default:
		d.decodeKind(v, dst)
	}
}

// want reports whether a value is of a kind, and adds a fault if not.
func (d *decoder) want(v value, k kind) bool {
	if v.kind != k {
		d.fault(CodeType, "Invalid type: want %s, not %s.", k, v.kind)
		return false
	}
	return true
}

// decodeKind is decode for types without methods of their own.
func (d *decoder) decodeKind(v value, dst reflect.Value) {
	switch dst.Kind() {
	case reflect.String:
		if d.want(v, kindString) {
			dst.SetString(v.text)
		}
	case reflect.Bool:
		if d.want(v, kindBool) {
			dst.SetBool(v.text == "true")
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		d.integer(v, dst)
	case reflect.Float32, reflect.Float64:
		d.float(v, dst)
	case reflect.Slice:
		if d.want(v, kindArray) {
			list := reflect.MakeSlice(dst.Type(), len(v.items), len(v.items))
			for i, item := range v.items {
				d.path = d.path.index(i)
				d.decode(item, list.Index(i))
				d.path = d.path.parent()
			}
			dst.Set(list)
		}
	case reflect.Map:
		if d.want(v, kindObject) {
			d.object(v, dst)
		}
	case reflect.Struct:
		if d.want(v, kindObject) {
			d.structure(v, dst)
		}
	case reflect.Interface:
		var one any
		if err := json.Unmarshal(v.raw, &one); err == nil { // the text is valid JSON
			dst.Set(reflect.ValueOf(one))
		}
	default:
		panic("body: cannot decode into " + dst.Type().String())
	}
}

// integer reads a whole number. A fraction of zero is allowed, as in 1.0.
func (d *decoder) integer(v value, dst reflect.Value) {
	if !d.want(v, kindNumber) {
		return
	}
	n, err := strconv.ParseInt(v.text, 10, 64)
	if err != nil {
		f, floatErr := strconv.ParseFloat(v.text, 64)
		const exact = 1 << 53 // floats beyond are not exact
		if floatErr == nil && f != math.Trunc(f) {
			d.fault(CodeType, "Invalid number: want a whole number.")
			return
		}
		if floatErr != nil || f > exact || f < -exact {
			d.fault(CodeValue, "Invalid number: out of range.")
			return
		}
		n = int64(f)
	}
	if dst.OverflowInt(n) {
		d.fault(CodeValue, "Invalid number: out of range.")
		return
	}
	dst.SetInt(n)
}

// float reads a number.
func (d *decoder) float(v value, dst reflect.Value) {
	if !d.want(v, kindNumber) {
		return
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || dst.OverflowFloat(f) {
		d.fault(CodeValue, "Invalid number: out of range.")
		return
	}
	dst.SetFloat(f)
}

// object reads a map.
func (d *decoder) object(v value, dst reflect.Value) {
	m := reflect.MakeMapWithSize(dst.Type(), len(v.members))
	for _, one := range v.members {
		d.path = d.path.property(one.name)
		e := reflect.New(dst.Type().Elem()).Elem()
		d.decode(one.value, e)
		m.SetMapIndex(reflect.ValueOf(one.name).Convert(dst.Type().Key()), e)
		d.path = d.path.parent()
	}
	dst.Set(m)
}

// structure reads a struct.
func (d *decoder) structure(v value, dst reflect.Value) {
	shape := shapeOf(dst.Type())
	seen := make([]bool, len(shape.fields))
	for _, one := range v.members {
		i, known := shape.find(one.name, d.fold)
		d.path = d.path.property(one.name)
		switch {
		case known:
			seen[i] = one.value.kind != kindNull || !shape.fields[i].required
			d.decode(one.value, dst.FieldByIndex(shape.fields[i].index))
		case shape.closed:
			d.fault(CodeUnknown, "The property is not known.")
		}
		d.path = d.path.parent()
	}
	for i, f := range shape.fields {
		if f.required && !seen[i] {
			d.path = d.path.property(f.name)
			d.fault(CodeRequired, "The property is required.")
			d.path = d.path.parent()
		}
	}
}

// shape is what decode knows of a struct type.
type shape struct {
	fields []fieldShape
	exact  map[string]int
	folded map[string]int
	closed bool
}

// fieldShape is a field that a property fills.
type fieldShape struct {
	name     string
	index    []int
	required bool
}

// find returns the field of a property.
func (s *shape) find(name string, fold bool) (int, bool) {
	i, ok := s.exact[name]
	if !ok && fold {
		i, ok = s.folded[folded(name)]
	}
	return i, ok
}

// shapes caches the shapes of types.
var shapes sync.Map

// shapeOf returns the shape of a struct type.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{exact: map[string]int{}, folded: map[string]int{}}
	s.add(t, nil)
	for i, f := range s.fields {
		s.exact[f.name], s.folded[folded(f.name)] = i, i
	}
	shapes.Store(t, s)
	return s
}

// add adds the fields of a struct type, and of those that are embedded in it.
func (s *shape) add(t reflect.Type, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		options := strings.Split(f.Tag.Get("body"), ",")
		if f.Name == "_" && options[0] == "closed" {
			s.closed = true
		}
		at := append(append([]int(nil), index...), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.add(f.Type, at)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			s.fields = append(s.fields, fieldShape{name: name, index: at, required: options[0] == "required"})
		}
	}
}
