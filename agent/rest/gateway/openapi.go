package gateway

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
)

// object is a JSON object.
type object = map[string]any

// Document returns the OpenAPI 3.0 document of a surface, from its operations and the Go types of
// their bodies. Types may describe themselves by a method OpenAPISchema() map[string]any, and the
// types of members by a method OpenAPIMembers() map[string]reflect.Type. A member has the tags
// enum, with the words that it may have, separated by spaces, and format.
func Document(m *rest.Mount, publicURL string) ([]byte, error) {
	s := &schemas{components: object{}, headers: object{}, names: map[reflect.Type]string{}}
	paths := object{}
	for _, op := range m.Surface.Operations() {
		path, ok := paths[op.Path].(object)
		if !ok {
			path = object{}
			paths[op.Path] = path
		}
		path[strings.ToLower(op.Method)] = s.operation(m, op)
	}
	document := object{
		"openapi": "3.0.3",
		"info":    object{"title": "jobagent: " + m.Surface.Name(), "version": "1"},
		"servers": []object{{"url": publicURL}},
		"paths":   paths,
		"components": object{
			"schemas":         s.components,
			"headers":         s.headers,
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
		},
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the OpenAPI document of %s: %w", m.Surface.Name(), err)
	}
	return text, nil
}

// pathParameter finds the parameters in the template of a path.
var pathParameter = regexp.MustCompile(`\{([^}]+)\}`)

// operation describes an operation.
func (s *schemas) operation(m *rest.Mount, op rest.Operation) object {
	var parameters []object
	for _, match := range pathParameter.FindAllStringSubmatch(op.Path, -1) {
		parameters = append(parameters, object{"name": match[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	if m.ARM {
		parameters = append(parameters, object{"name": "api-version", "in": "query", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range op.Query {
		one := object{"name": p.Name, "in": "query", "schema": described(object{"type": p.Type}, p.Words, "")}
		if p.Description != "" {
			one["description"] = p.Description
		}
		if p.Required {
			one["required"] = true
		}
		parameters = append(parameters, one)
	}
	parameters = append(parameters, requestHeaders(m, op)...)
	answers := object{"default": s.failure(m, op)}
	for _, status := range slices.Sorted(maps.Keys(op.Answers)) {
		answer := object{"description": http.StatusText(status)}
		if t := op.Answers[status]; t != nil {
			answer["content"] = object{"application/json": object{"schema": s.of(t)}}
		}
		answer["headers"] = s.headersOf(answerHeaders(m, op))
		answers[strconv.Itoa(status)] = answer
	}
	if op.Method == http.MethodGet && slices.Contains(op.Headers, "ETag") {
		answers[strconv.Itoa(http.StatusNotModified)] = object{
			"description": "The client has the answer already.", "headers": s.headersOf(answerHeaders(m, op)),
		}
	}
	description := object{"operationId": op.ID, "responses": answers}
	if op.Summary != "" {
		description["summary"] = op.Summary
	}
	if len(parameters) > 0 {
		description["parameters"] = parameters
	}
	if op.Body != nil {
		description["requestBody"] = object{"content": object{"application/json": object{"schema": s.of(op.Body)}}}
	}
	if op.Role != rest.RoleNone || op.Authenticated {
		description["security"] = []object{{"token": []string{}}}
		description["x-role"] = op.Role.String()
	}
	return description
}

// failure describes the answers about failures.
func (s *schemas) failure(m *rest.Mount, op rest.Operation) object {
	schema := object{}
	switch {
	case op.Failure != nil:
		schema = s.of(op.Failure)
	case m.ARM:
		schema = s.of(rest.ARMFailureBody())
	}
	return object{
		"description": "The request failed.", "content": object{"application/json": object{"schema": schema}},
		"headers": s.headersOf(failureHeaders(m, op)),
	}
}

// schemas describes Go types.
type schemas struct {
	components, headers object
	names               map[reflect.Type]string
}

// describesItself is implemented by types that describe themselves.
type describesItself interface{ OpenAPISchema() map[string]any }

// describesMembers is implemented by types that describe the types of members.
type describesMembers interface {
	OpenAPIMembers() map[string]reflect.Type
}

// describesAnyOf is implemented by rest.Either.
type describesAnyOf interface{ OpenAPIAnyOf() []reflect.Type }

// described returns the schema of a string, or of a list of them, with its words and its format.
func described(schema object, words, format string) object {
	if words == "" && format == "" {
		return schema
	}
	schema = maps.Clone(schema)
	if items, list := schema["items"].(object); list {
		schema["items"] = described(items, words, format)
		return schema
	}
	if words != "" {
		var list []any
		for _, one := range strings.Fields(words) {
			list = append(list, one)
		}
		if schema["nullable"] == true {
			list = append(list, nil)
		}
		schema["enum"] = list
	}
	if format != "" {
		schema["format"] = format
	}
	return schema
}

// fieldType is implemented by body.Field.
type fieldType interface{ FieldType() reflect.Type }

var (
	timeType      = reflect.TypeFor[time.Time]()
	guidType      = reflect.TypeFor[uuid.UUID]()
	rawType       = reflect.TypeFor[json.RawMessage]()
	describedType = reflect.TypeFor[describesItself]()
	anyOfType     = reflect.TypeFor[describesAnyOf]()
	fieldOf       = reflect.TypeFor[fieldType]()
	marshalsText  = reflect.TypeFor[encoding.TextMarshaler]()
	marshalsJSON  = reflect.TypeFor[json.Marshaler]()
)

func (s *schemas) of(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case t.Implements(describedType):
		return reflect.Zero(t).Interface().(describesItself).OpenAPISchema()
	case t.Implements(anyOfType):
		var list []object
		for _, one := range reflect.Zero(t).Interface().(describesAnyOf).OpenAPIAnyOf() {
			list = append(list, s.of(one))
		}
		return object{"anyOf": list}
	case t.Implements(fieldOf):
		return nullable(s.of(reflect.Zero(t).Interface().(fieldType).FieldType()))
	case t == timeType:
		return object{"type": "string", "format": "date-time"}
	case t == guidType:
		return object{"type": "string", "format": "uuid"}
	case t == rawType:
		return anyValue()
	case t.Implements(marshalsText):
		return object{"type": "string"}
	case t.Implements(marshalsJSON):
		return object{}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int64:
		return object{"type": "integer", "format": "int64"}
	case reflect.Int, reflect.Int32: // an int is an INT of the control database
		return object{"type": "integer", "format": "int32"}
	case reflect.Int8, reflect.Int16, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Slice, reflect.Array:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.structure(t)
	default:
		return object{}
	}
}

// anyValue returns the schema of any value, null included: readers of OpenAPI 3.0 do not agree that
// an empty schema allows null.
func anyValue() object {
	return object{"anyOf": []object{
		{"type": "object", "nullable": true}, {"type": "array", "items": object{}}, {"type": "string"}, {"type": "number"}, {"type": "boolean"},
	}}
}

// nullable returns a schema that allows null. A reference allows nothing beside it, so it is
// wrapped. nullable has an effect beside a type only (OpenAPI 3.0.3); structures are objects.
func nullable(schema object) object {
	if _, ref := schema["$ref"]; ref {
		return object{"type": "object", "nullable": true, "allOf": []object{schema}}
	}
	if _, typed := schema["type"]; !typed {
		return schema
	}
	schema = maps.Clone(schema)
	schema["nullable"] = true
	return schema
}

// structure returns a reference to the schema of a struct type, or the schema itself if the type
// has no name.
func (s *schemas) structure(t reflect.Type) object {
	if t.Name() == "" {
		return s.members(t)
	}
	name, known := s.names[t]
	if !known {
		name = s.name(t)
		s.names[t] = name // before the members: a type may contain itself
		s.components[name] = object{}
		s.components[name] = s.members(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

func (s *schemas) name(t reflect.Type) string {
	base := regexp.MustCompile(`[^\[\],]*[./]`).ReplaceAllString(t.Name(), "") // the packages of type arguments
	base = strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_.-]+`).ReplaceAllString(base, "_"), "_")
	base = strings.ToUpper(base[:1]) + base[1:]
	name := base
	for i := 2; s.components[name] != nil; i++ {
		name = base + strconv.Itoa(i)
	}
	return name
}

func (s *schemas) members(t reflect.Type) object {
	schema := object{"type": "object"}
	properties, required := object{}, []string(nil)
	s.addMembers(t, properties, &required, schema)
	if len(properties) > 0 {
		schema["properties"] = properties
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return schema
}

// addMembers adds the fields of a struct type, and of those that are embedded in it.
func (s *schemas) addMembers(t reflect.Type, properties object, required *[]string, schema object) {
	var types map[string]reflect.Type
	if m, ok := reflect.Zero(t).Interface().(describesMembers); ok {
		types = m.OpenAPIMembers()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		mark := f.Tag.Get("body")
		switch {
		case f.Name == "_" && mark == "closed":
			schema["additionalProperties"] = false
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			s.addMembers(f.Type, properties, required, schema)
		case f.IsExported():
			if name == "" {
				name = f.Name
			}
			of := f.Type
			if other, ok := types[name]; ok {
				of = other
			}
			properties[name] = described(s.of(of), f.Tag.Get("enum"), f.Tag.Get("format"))
			if mark == "required" {
				*required = append(*required, name)
			}
		}
	}
}
