package yamltext

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deep values may be in each other.
const maxDepth = 200

// Document is one document of a text, with the line at which it begins.
type Document struct {
	Line  int
	Value any
}

// Decode returns the documents of a text as JSON values: map[string]any, []any, string,
// [json.Number], bool and nil. Empty documents are left out. Aliases share values. The error is
// an *Error.
func Decode(text string) (docs []Document, err error) {
	file, err := Parse(text)
	if err != nil {
		return nil, err
	}
	defer func() { // the parser is not ours
		if r := recover(); r != nil {
			docs, err = nil, failAt(1, 1, "invalid YAML")
		}
	}()
	left := room{maxValues, maxTexts}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		d := decoder{anchors: map[string]any{}}
		v, err := d.value(doc.Body, 0)
		if err != nil {
			return nil, err
		}
		if v != nil {
			line, col := Place(doc.Body.GetToken())
			if !left.take(v) {
				return nil, limitAt(line, col, "too many values: at most %d, and %d MB of texts, with those that aliases repeat", maxValues, maxTexts>>20)
			}
			docs = append(docs, Document{line, v})
		}
	}
	return docs, nil
}

// decoder makes values of the syntax tree of one document.
type decoder struct {
	anchors map[string]any
	merged  int // keys that << has copied
}

func (d *decoder) value(a ast.Node, depth int) (any, error) {
	line, col := Place(a.GetToken())
	if depth > maxDepth {
		return nil, limitAt(line, col, "values are nested too deep: at most %d levels", maxDepth)
	}
	switch a := a.(type) {
	case *ast.NullNode:
		return nil, nil
	case *ast.StringNode:
		if a.Token.Type == token.StringType {
			return plain(a.Value), nil
		}
		return a.Value, nil
	case *ast.LiteralNode:
		return a.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return plain(a.GetToken().Value), nil
	case *ast.SequenceNode:
		list := make([]any, 0, len(a.Values))
		for _, item := range a.Values {
			v, err := d.value(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case *ast.MappingNode:
		return d.pairs(a.Values, depth)
	case *ast.MappingValueNode:
		return d.pairs([]*ast.MappingValueNode{a}, depth)
	case *ast.AnchorNode:
		v, err := d.value(a.Value, depth+1)
		if err != nil {
			return nil, err
		}
		d.anchors[a.Name.GetToken().Value] = v
		return v, nil
	case *ast.AliasNode:
		v, known := d.anchors[a.Value.GetToken().Value]
		if !known {
			return nil, failAt(line, col, "unknown anchor: it must be defined before, in the same document")
		}
		return v, nil
	case *ast.TagNode:
		v, err := d.value(a.Value, depth+1)
		if number, ok := v.(json.Number); ok && a.Start.Value == "!!str" {
			return number.String(), err
		}
		return v, err
	}
	return nil, failAt(line, col, "unknown construct of YAML")
}

// room is how much more Decode may return. Aliases share values, and what reads them does not: a
// list of a thousand aliases of a list of a thousand is a million values.
type room struct{ values, texts int }

// take takes the room of a value; false if there is too little.
func (r *room) take(v any) bool {
	r.values--
	switch v := v.(type) {
	case string:
		r.texts -= len(v)
	case json.Number:
		r.texts -= len(v)
	case []any:
		for _, one := range v {
			if !r.take(one) {
				return false
			}
		}
	case map[string]any:
		for name, one := range v {
			r.values--
			if r.texts -= len(name); !r.take(one) {
				return false
			}
		}
	}
	return r.values >= 0 && r.texts >= 0
}

// number matches the numbers of JSON.
var number = regexp.MustCompile(`^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$`)

// plain returns a scalar without quotes, by the rules of YAML 1.2's core schema that JSON shares.
func plain(text string) any {
	switch {
	case slices.Contains([]string{"", "~", "null", "Null", "NULL"}, text):
		return nil
	case slices.Contains([]string{"true", "True", "TRUE"}, text):
		return true
	case slices.Contains([]string{"false", "False", "FALSE"}, text):
		return false
	case number.MatchString(text):
		return json.Number(text)
	}
	return text
}

// pairs returns a mapping. A merged mapping (<<) does not replace keys that are there.
func (d *decoder) pairs(pairs []*ast.MappingValueNode, depth int) (any, error) {
	m := make(map[string]any, len(pairs))
	var merged []any
	for _, pair := range pairs {
		line, col := Place(pair.Key.GetToken())
		v, err := d.value(pair.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if pair.Key.IsMergeKey() {
			if list, ok := v.([]any); ok {
				merged = append(merged, list...)
			} else {
				merged = append(merged, v)
			}
			continue
		}
		key, err := d.value(pair.Key, depth+1)
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			if name = pair.Key.GetToken().Value; key == nil || isCollection(key) {
				return nil, failAt(line, col, "a key must be a text")
			}
		}
		if _, twice := m[name]; twice {
			return nil, failAt(line, col, "a key is there twice")
		}
		m[name] = v
	}
	for _, from := range merged {
		mapping, ok := from.(map[string]any)
		if !ok {
			line, col := 1, 1
			if len(pairs) > 0 {
				line, col = Place(pairs[0].GetToken())
			}
			return nil, failAt(line, col, "<< needs an alias of a mapping")
		}
		if d.merged += len(mapping); d.merged > MaxMerged {
			line, col := Place(pairs[0].GetToken())
			return nil, limitAt(line, col, "too many merged keys: << may copy at most %d in a document", MaxMerged)
		}
		for name, v := range mapping {
			if _, there := m[name]; !there {
				m[name] = v
			}
		}
	}
	return m, nil
}

func isCollection(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
