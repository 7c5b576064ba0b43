package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// schemaID is the identifier of the JSON Schema.
const schemaID = "https://jobagent.dev/schema/v1/jobagent.schema.json"

// object is a JSON object whose members keep their order.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

func (o *object) set(name string, value any) *object {
	o.members = append(o.members, member{name, value})
	return o
}

// MarshalJSON implements json.Marshaler.
func (o *object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(jsonText(m.name))
		b.WriteByte(':')
		var v bytes.Buffer
		e := json.NewEncoder(&v)
		e.SetEscapeHTML(false)
		if err := e.Encode(m.value); err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSpace(v.Bytes()))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Schema returns the JSON Schema (draft 2020-12) of a document. It is made from the models, and
// accepts at most what the decoder accepts.
func Schema() []byte {
	defs, kinds := &object{}, []any{}
	for _, kind := range Kinds() {
		t := reflect.TypeOf(models[kind]()).Elem()
		s := structSchema(t, kind)
		defs.set(string(kind), s)
		kinds = append(kinds, new(object).set("$ref", "#/$defs/"+string(kind)))
	}
	root := new(object).set("$schema", "https://json-schema.org/draft/2020-12/schema").set("$id", schemaID).
		set("title", "jobagent").set("description", "An object of jobagent, as jobagent apply reads it.").
		set("type", "object").set("required", []string{"apiVersion", "kind"}).
		set("properties", new(object).
			set("apiVersion", new(object).set("const", APIVersion)).
			set("kind", new(object).set("enum", kindNames()))).
		set("oneOf", kinds).set("$defs", defs)
	raw, err := json.Marshal(root)
	if err != nil {
		panic(err) // of constant declarations
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}

// structSchema returns the schema of a model; kind is empty for a part of one.
func structSchema(t reflect.Type, kind Kind) *object {
	properties, required := &object{}, []string{}
	if kind != "" {
		properties.set("apiVersion", new(object).set("const", APIVersion)).set("kind", new(object).set("const", string(kind)))
		required = append(required, "apiVersion", "kind")
	}
	groups := map[string][]any{}
	for _, r := range fields(t) {
		s := valueSchema(t.FieldByIndex(r.index).Type, r)
		s.set("description", r.doc)
		if r.hasDefault && !(r.name == "max_parallelism") {
			s.set("default", defaultValue(t.FieldByIndex(r.index).Type, r))
		}
		properties.set(r.name, s)
		if r.required {
			required = append(required, r.name)
		}
		if r.one != "" {
			groups[r.one] = append(groups[r.one], new(object).set("required", []string{r.name}))
		}
	}
	s := new(object).set("type", "object").set("properties", properties).set("required", required).set("additionalProperties", false)
	for _, list := range groups { // there is at most one
		s.set("oneOf", list)
	}
	return s
}

func defaultValue(t reflect.Type, r rules) any {
	v := reflect.New(t).Elem()
	setDefault(v, r)
	return v.Interface()
}

// notBlank is the pattern of a text with a character that is not blank.
const notBlank = `\S`

func valueSchema(t reflect.Type, r rules) *object {
	switch t {
	case timeType:
		return new(object).set("type", "string").set("pattern", `^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?|T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2}))?$`)
	case scriptType:
		file := new(object).set("type", "object").set("properties", new(object).set("file", new(object).set("type", "string").
			set("maxLength", 1024).set("pattern", notBlank).set("description", "Path of the script, relative to the document."))).
			set("required", []string{"file"}).set("additionalProperties", false)
		return new(object).set("anyOf", []any{new(object).set("type", "string").set("pattern", notBlank), file})
	case scalarType:
		return new(object).set("type", []string{"string", "number", "boolean"})
	case jsonType:
		text := new(object).set("type", "string").set("pattern", notBlank)
		if r.one != "schedule" {
			text = new(object).set("type", "string").set("pattern", `^\s*\{`)
		}
		return new(object).set("anyOf", []any{text, new(object).set("type", "object")})
	}
	switch t.Kind() {
	case reflect.Pointer:
		return valueSchema(t.Elem(), r)
	case reflect.Struct:
		return structSchema(t, "")
	case reflect.Slice:
		return new(object).set("type", "array").set("items", valueSchema(t.Elem(), rules{required: true, max: 512}))
	case reflect.Bool:
		return new(object).set("type", "boolean")
	case reflect.Int, reflect.Float64:
		s := new(object).set("type", map[bool]string{true: "integer", false: "number"}[t.Kind() == reflect.Int])
		if r.bounded {
			s.set("minimum", json.Number(formatNumber(r.min)))
		}
		if r.max > 0 {
			s.set("maximum", json.Number(strconv.FormatFloat(r.max, 'f', -1, 64)))
		}
		return s
	}
	s := new(object).set("type", "string")
	if len(r.enum) > 0 {
		return s.set("enum", r.enum)
	}
	if r.max > 0 {
		s.set("maxLength", int(r.max))
	}
	if r.required || r.visible {
		s.set("pattern", notBlank)
	}
	return s
}
