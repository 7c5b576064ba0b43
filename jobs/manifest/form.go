package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forms: a person fills in the fields of a model, or of a part of one such as a step. What was
// typed becomes a document, which is decoded and checked as one of a file.

// FieldKind is the kind of a field of a form.
type FieldKind string

// The kinds of fields.
const (
	FieldText   FieldKind = "text"
	FieldChoice FieldKind = "choice" // one of Choices
	FieldFlag   FieldKind = "flag"   // "true", or empty for false
	FieldNumber FieldKind = "number"
	FieldTime   FieldKind = "time"
	FieldScript FieldKind = "script"
	FieldJSON   FieldKind = "json"
	// FieldLines is a list of texts, each on a line. The line [] alone is an empty list.
	FieldLines FieldKind = "lines"
	// FieldOneOf is a choice of a field, and that field's text at NAME.text.
	FieldOneOf FieldKind = "oneof"
	// FieldPart is a part that may be absent: "true" at NAME, and its fields at NAME.FIELD.
	FieldPart FieldKind = "part"
	// FieldRows is a list of parts: their fields are at NAME[N].FIELD.
	FieldRows FieldKind = "rows"
)

// Field describes a field of a form. It is made from the declaration of the models.
type Field struct {
	Name, Doc, Default string
	Kind               FieldKind
	Required           bool
	Choices            []string
	// Max is the length of a text in UTF-16 code units; 0 means no limit.
	Max int
	// Fields are those of a part or a row.
	Fields []Field
	one    []Field // the fields of which FieldOneOf is one
	typed  reflect.Type
	rule   rules
}

// FormFields returns the fields of a model such as Job{}, or of a part such as Step{}.
func FormFields(model any) []Field { return formFields(reflect.TypeOf(model)) }

func formFields(t reflect.Type) []Field {
	var list []Field
	for _, r := range fields(t) {
		f := formField(t.FieldByIndex(r.index).Type, r)
		if r.one == "" {
			list = append(list, f)
			continue
		}
		at := slices.IndexFunc(list, func(g Field) bool { return g.Kind == FieldOneOf && g.Name == r.one })
		if at < 0 {
			at = len(list)
			list = append(list, Field{Name: r.one, Kind: FieldOneOf, Required: true})
		}
		list[at].Choices, list[at].one = append(list[at].Choices, r.name), append(list[at].one, f)
		list[at].Doc = strings.TrimSpace(list[at].Doc + " " + r.name + ": " + f.Doc)
	}
	return list
}

func formField(t reflect.Type, r rules) Field {
	f := Field{Name: r.name, Doc: r.doc, Default: r.def, Required: r.required, Choices: r.enum, Kind: FieldText, typed: t, rule: r}
	switch t {
	case timeType:
		f.Kind = FieldTime
		return f
	case jsonType:
		f.Kind = FieldJSON
		return f
	case scriptType:
		f.Kind = FieldScript
		return f
	case scalarType:
		return f
	}
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		f.Kind, f.Fields = FieldPart, formFields(t.Elem())
		return f
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice:
		if item := t.Elem(); item.Kind() == reflect.Struct || item.Kind() == reflect.Pointer {
			f.Kind = FieldRows
			if item.Kind() == reflect.Pointer {
				item = item.Elem()
			}
			f.Fields = formFields(item)
			return f
		}
		f.Kind = FieldLines
	case reflect.Bool:
		f.Kind = FieldFlag
	case reflect.Int, reflect.Float64:
		f.Kind = FieldNumber
		if n, err := strconv.ParseFloat(r.def, 64); err == nil && r.bounded && n < r.min {
			f.Default = "" // none
		}
	case reflect.String:
		if len(r.enum) > 0 {
			f.Kind = FieldChoice
		} else {
			f.Max = int(r.max)
		}
	}
	return f
}

// Values are what is typed into the fields of a form, by their names.
type Values map[string]string

// FormValues returns the values of a model or a part, which is a pointer.
func FormValues(model any) Values {
	v := Values{}
	v.model(reflect.ValueOf(model).Elem(), "")
	return v
}

// NewObject returns an object of a kind without a name.
func NewObject(kind Kind) Object { return Object{Kind: kind, Value: models[kind]()} }

// FormDefaults returns the values of a new model, such as Step{}.
func FormDefaults(model any) Values {
	m := reflect.New(reflect.TypeOf(model))
	setDefaults(m.Elem())
	return FormValues(m.Interface())
}

func (v Values) model(m reflect.Value, prefix string) {
	for _, r := range fields(m.Type()) {
		f := m.FieldByIndex(r.index)
		if r.one != "" {
			if !f.IsZero() {
				v[prefix+r.one] = r.name
				v.value(f, prefix+r.one+".text", r)
			}
			continue
		}
		v.value(f, prefix+r.name, r)
	}
}

func (v Values) value(f reflect.Value, name string, r rules) {
	switch x := f.Interface().(type) {
	case time.Time:
		if !x.IsZero() {
			v[name] = x.UTC().Format("2006-01-02T15:04:05.9999999Z")
		}
		return
	case Script:
		v[name] = x.Text
		return
	case JSON:
		v[name] = string(x)
		var b bytes.Buffer
		if isObject(string(x)) && json.Indent(&b, []byte(x), "", "  ") == nil {
			v[name] = b.String()
		}
		return
	case Scalar:
		v[name] = string(x)
		var text string
		if json.Unmarshal([]byte(x), &text) == nil {
			v[name] = text
		}
		return
	}
	switch f.Kind() {
	case reflect.Pointer:
		if f.IsNil() {
			if part := f.Type().Elem(); part.Kind() == reflect.Struct { // what it has once it is wanted
				absent := reflect.New(part).Elem()
				setDefaults(absent)
				v.model(absent, name+".")
			}
			return
		}
		if f.Elem().Kind() == reflect.Struct {
			v[name] = "true"
			v.model(f.Elem(), name+".")
			return
		}
		v.value(f.Elem(), name, r)
		if f.Elem().Kind() == reflect.Slice && f.Elem().Len() == 0 {
			v[name] = "[]"
		}
	case reflect.Slice:
		var lines []string
		for i := range f.Len() {
			item := f.Index(i)
			if item.Kind() == reflect.Pointer {
				item = item.Elem()
			}
			switch {
			case item.Kind() == reflect.Struct:
				v.model(item, fmt.Sprintf("%s[%d].", name, i))
			case item.Type() == scalarType:
				one := Values{}
				one.value(item, "", r)
				lines = append(lines, one[""])
			default:
				lines = append(lines, item.String())
			}
		}
		if len(lines) > 0 {
			v[name] = strings.Join(lines, "\n")
		}
	case reflect.Bool:
		if f.Bool() {
			v[name] = "true"
		}
	case reflect.Int:
		if n := f.Int(); !r.bounded || float64(n) >= r.min {
			v[name] = strconv.FormatInt(n, 10)
		}
	case reflect.Float64:
		v[name] = strconv.FormatFloat(f.Float(), 'f', -1, 64)
	default:
		v[name] = f.String()
	}
}

// maxFormRows bounds the rows of a list in a form.
const maxFormRows = 1000

// Rows returns how many rows of a list the values have.
func (v Values) Rows(name string) int {
	n := 0
	for key := range v {
		rest, ok := strings.CutPrefix(key, name+"[")
		if number, _, found := strings.Cut(rest, "]."); ok && found {
			if i, err := strconv.Atoi(number); err == nil && i >= n && i < maxFormRows {
				n = i + 1
			}
		}
	}
	return n
}

// FillIn returns base with what was typed into some of its fields, as if a file had it. at is the
// part whose fields they are, such as steps[2], which may be the one behind the last; empty for the
// object itself. The paths of faults are names of fields, or empty.
func FillIn(base Object, at string, list []Field, typed Values) (Object, Faults) {
	doc, form := canonical(base), formNode(list, typed, "")
	part, index := doc, 0
	if at != "" {
		name, number, _ := strings.Cut(strings.TrimSuffix(at, "]"), "[")
		items := doc.get(name)
		if items == nil {
			items = &node{kind: kindSeq}
			doc.add(name, items)
		}
		index, _ = strconv.Atoi(number)
		part = &node{kind: kindMap}
		if index < len(items.values) {
			items.values[index] = part
		} else {
			items.values = append(items.values, part)
		}
	}
	for _, f := range list {
		names := []string{f.Name}
		if f.Kind == FieldOneOf {
			names = f.Choices
		}
		for _, name := range names {
			if i := slices.IndexFunc(part.keys, func(k *node) bool { return k.text == name }); i >= 0 {
				part.keys, part.values = slices.Delete(part.keys, i, i+1), slices.Delete(part.values, i, i+1)
			}
		}
	}
	part.keys, part.values = append(part.keys, form.keys...), append(part.values, form.values...)
	d := decoder{}
	o := d.document(doc)
	faults := d.faults
	if len(faults) == 0 {
		normalize(o)
		faults = check(&Set{Objects: []Object{o}})
	}
	for i, f := range faults {
		field, rest := fieldOf(list, f, at)
		if rest = strings.TrimPrefix(rest, "."); rest != "" {
			if n, err := strconv.Atoi(strings.Trim(rest, "[]")); err == nil {
				rest = fmt.Sprintf("line %d", n+1)
			}
			f.Message = rest + ": " + f.Message
		}
		faults[i] = Fault{Path: field, Message: f.Message}
	}
	return o, faults
}

// fieldOf returns the field of a form that a fault is about, and the rest of its path; the field is
// empty if it is about none.
func fieldOf(list []Field, f Fault, at string) (field, rest string) {
	path, absent := f.Path, false
	if at != "" {
		inside, ok := strings.CutPrefix(path, at)
		if !ok {
			return "", path
		}
		path = strings.TrimPrefix(inside, ".")
	}
	if path == "" { // such as: missing target_group: …
		after, ok := strings.CutPrefix(f.Message, "missing ")
		if !ok {
			return "", ""
		}
		path, _, absent = strings.Cut(after, ":")
	}
	for _, one := range list {
		names := []string{one.Name}
		if one.Kind == FieldOneOf {
			names = one.Choices
			if absent && path == one.Name { // none of them is given
				return path, ""
			}
		}
		for _, name := range names {
			rest, ok := strings.CutPrefix(path, name)
			if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' && rest[0] != ' ' {
				continue
			}
			switch one.Kind {
			case FieldOneOf:
				return one.Name + ".text", rest
			case FieldPart:
				if inner, rest := fieldOf(one.Fields, Fault{Path: strings.TrimPrefix(rest, ".")}, ""); inner != "" {
					return name + "." + inner, rest
				}
			case FieldRows:
				number, inside, found := strings.Cut(rest, "].")
				if inner, rest := fieldOf(one.Fields, Fault{Path: inside}, ""); found && inner != "" {
					return name + number + "]." + inner, rest
				}
			}
			return name, rest
		}
	}
	return "", path
}

// formNode returns the mapping that a form makes.
func formNode(list []Field, typed Values, prefix string) *node {
	n := &node{kind: kindMap}
	for _, f := range list {
		name := prefix + f.Name
		given := typed[name]
		switch f.Kind {
		case FieldOneOf:
			at := slices.Index(f.Choices, given)
			if at >= 0 {
				n.add(given, fieldNode(f.one[at], typed[name+".text"], typed, prefix))
			}
		case FieldPart:
			if given != "" {
				n.add(f.Name, formNode(f.Fields, typed, name+"."))
			}
		case FieldRows:
			rows := &node{kind: kindSeq}
			for i := range typed.Rows(name) {
				rows.values = append(rows.values, formNode(f.Fields, typed, fmt.Sprintf("%s[%d].", name, i)))
			}
			if len(rows.values) > 0 {
				n.add(f.Name, rows)
			}
		case FieldFlag:
			n.add(f.Name, plain(strconv.FormatBool(given != "")))
		default:
			if given != "" || f.Required {
				n.add(f.Name, fieldNode(f, given, typed, prefix))
			}
		}
	}
	return n
}

// fieldNode returns the node of a field's text.
func fieldNode(f Field, given string, typed Values, prefix string) *node {
	switch f.Kind {
	case FieldNumber, FieldTime:
		return plain(strings.TrimSpace(given))
	case FieldJSON:
		if isObject(given) {
			if docs, err := parseJSON(given); err == nil && len(docs) == 1 {
				return docs[0]
			}
		}
	case FieldLines:
		n := &node{kind: kindSeq}
		if strings.TrimSpace(given) == "[]" {
			return n
		}
		for line := range strings.SplitSeq(given, "\n") {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			if f.typed.Kind() == reflect.Slice && f.typed.Elem() == scalarType {
				n.values = append(n.values, scalarNode(line, typed[prefix+"type"]))
			} else {
				n.values = append(n.values, text(line))
			}
		}
		return n
	case FieldText:
		if f.typed == scalarType {
			return scalarNode(given, typed[prefix+"type"])
		}
	}
	return text(given)
}

// scalarNode returns a value of a parameter: a text, unless its type is another one.
func scalarNode(given, kind string) *node {
	switch kind {
	case "integer", "number", "boolean":
		return plain(strings.TrimSpace(given))
	}
	return text(given)
}
