package output

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
)

// Shape is the JSON that a command prints: one value of Value's type. A slice stands for an array.
type Shape struct {
	// Words are what the command line has behind the command's name, such as --wait; empty for all
	// else.
	Words string
	Value any
}

// TypeName is the type of the JSON in the text of jobagent help output.
func (s Shape) TypeName() string {
	t := reflect.TypeOf(s.Value)
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "any"
	case t == reflect.TypeFor[[]json.RawMessage]():
		return "array of any"
	case t.Kind() == reflect.Slice:
		return "array of " + t.Elem().Name()
	}
	return t.Name()
}

// Declare declares the JSON that a command prints. A second declaration for the same words replaces
// the first one.
func (p *Printer) Declare(command any, s Shape) {
	if p.shapes == nil {
		p.shapes = map[any][]Shape{}
	}
	others := slices.DeleteFunc(p.shapes[command], func(o Shape) bool { return o.Words == s.Words })
	p.shapes[command] = append(others, s)
}

// Shapes returns what was declared of a command.
func (p *Printer) Shapes(command any) []Shape { return p.shapes[command] }

// ShapesText describes the formats, and the objects of which JSON consists. TestShapesText of
// package cli generates it from the types and the comments in their source.
//
//go:embed shapes.txt
var ShapesText string
