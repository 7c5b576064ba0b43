package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/internal/yamltext"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Limits of what is read. They are far above what people write, and bound the memory of hostile
// files.
const (
	// MaxFile is the size of a file, in bytes. YAML has a lower limit (yamltext.MaxText).
	MaxFile = bounded.MaxFile
	// maxNodes is the number of values in a document, those that aliases repeat included.
	maxNodes = 250_000
	// maxDocuments is the number of documents of a file.
	maxDocuments = 5_000
	// maxFaults is the number of faults of a file that are reported.
	maxFaults = 1_000
	// maxText is the length of the texts in a document, those that aliases repeat included.
	maxText = 64 << 20
	// maxDepth is how deep values may be in each other.
	maxDepth = 200
)

// nodeKind is the kind of a node.
type nodeKind int

const (
	kindNull  nodeKind = iota
	kindText           // a quoted or block scalar
	kindPlain          // a scalar without quotes: its meaning depends on what is wanted
	kindMap
	kindSeq
)

// node is a value of a document. Aliases share nodes.
type node struct {
	kind      nodeKind
	line, col int
	text      string // of scalars; the source of plain ones
	keys      []*node
	values    []*node // of maps by key, and of sequences
}

// get returns the value of a key; nil if there is none.
func (n *node) get(key string) *node {
	if n == nil || n.kind != kindMap {
		return nil
	}
	for i, k := range n.keys {
		if k.text == key {
			return n.values[i]
		}
	}
	return nil
}

// what names the kind of a node in messages.
func (n *node) what() string {
	switch n.kind {
	case kindNull:
		return "nothing"
	case kindMap:
		return "a mapping"
	case kindSeq:
		return "a list"
	default:
		return quoteShort(n.text)
	}
}

func quoteShort(s string) string {
	return fmt.Sprintf("%q", wording.Clip(s, 40, wording.Characters))
}

// positionError is an error with a place in the file.
type positionError struct {
	line, col int
	message   string
}

// Error implements error.
func (e *positionError) Error() string { return fmt.Sprintf("%d:%d: %s", e.line, e.col, e.message) }

func failAt(line, col int, format string, args ...any) error {
	return &positionError{line, col, fmt.Sprintf(format, args...)}
}

// parseYAML reads the documents of a YAML text. Empty documents are left out.
func parseYAML(text string) (docs []*node, err error) {
	defer func() { // the parser is not ours
		if r := recover(); r != nil {
			docs, err = nil, failAt(1, 1, "invalid YAML")
		}
	}()
	file, err := yamltext.Parse(text)
	if err != nil {
		var at *yamltext.Error
		if errors.As(err, &at) {
			err = failAt(at.Line, at.Col, "%s", at.Message)
		}
		return nil, err
	}
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		b := builder{anchors: map[string]*node{}}
		n, err := b.build(doc.Body, 0)
		if err != nil {
			return nil, err
		}
		if n.kind != kindNull {
			docs = append(docs, n)
		}
	}
	return docs, nil
}

// builder makes nodes of the parser's tree.
type builder struct {
	anchors map[string]*node
	merged  int // keys that << has copied
}

func (b *builder) build(a ast.Node, depth int) (*node, error) {
	line, col := yamltext.Place(a.GetToken())
	if depth > maxDepth {
		return nil, failAt(line, col, "values are nested too deep: at most %d levels", maxDepth)
	}
	n := &node{line: line, col: col}
	switch a := a.(type) {
	case *ast.NullNode:
		return n, nil
	case *ast.StringNode:
		n.kind, n.text = kindText, a.Value
		if a.Token.Type == token.StringType {
			n.kind = kindPlain
		}
	case *ast.LiteralNode:
		n.kind, n.text = kindText, a.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		n.kind, n.text = kindPlain, a.GetToken().Value
	case *ast.SequenceNode:
		n.kind = kindSeq
		for _, v := range a.Values {
			item, err := b.build(v, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, item)
		}
	case *ast.MappingNode:
		n.kind = kindMap
		if !a.IsFlowStyle && len(a.Values) > 0 { // the token of the others is the first colon
			n.line, n.col = yamltext.Place(a.Values[0].Key.GetToken())
		}
		return n, b.pairs(n, a.Values, depth)
	case *ast.MappingValueNode:
		n.kind = kindMap
		n.line, n.col = yamltext.Place(a.Key.GetToken())
		return n, b.pairs(n, []*ast.MappingValueNode{a}, depth)
	case *ast.AnchorNode:
		v, err := b.build(a.Value, depth)
		if err != nil {
			return nil, err
		}
		b.anchors[a.Name.GetToken().Value] = v
		return v, nil
	case *ast.AliasNode:
		name := a.Value.GetToken().Value
		v, ok := b.anchors[name]
		if !ok {
			return nil, failAt(line, col, "unknown anchor %q: it must be defined before, in the same document", name)
		}
		return v, nil
	case *ast.TagNode:
		if tag := a.Start.Value; tag != "!!str" {
			return nil, failAt(line, col, "unknown tag %q: only !!str is allowed", tag)
		}
		v, err := b.build(a.Value, depth)
		if err != nil || v.kind == kindMap || v.kind == kindSeq {
			return v, err
		}
		return &node{kind: kindText, line: line, col: col, text: v.text}, nil
	default:
		return nil, failAt(line, col, "unknown construct of YAML (%s)", a.Type())
	}
	return n, nil
}

// pairs adds the pairs of a mapping to n.
func (b *builder) pairs(n *node, pairs []*ast.MappingValueNode, depth int) error {
	seen := make(map[string]bool, len(pairs))
	var merged []*node
	for _, pair := range pairs {
		line, col := yamltext.Place(pair.Key.GetToken())
		value, err := b.build(pair.Value, depth+1)
		if err != nil {
			return err
		}
		if pair.Key.IsMergeKey() {
			merged = append(merged, value)
			continue
		}
		key, err := b.build(pair.Key, depth+1)
		if err != nil {
			return err
		}
		if key.kind != kindPlain && key.kind != kindText {
			return failAt(line, col, "a key must be a text")
		}
		if seen[key.text] {
			return failAt(line, col, "the key %q is there twice", key.text)
		}
		seen[key.text] = true
		n.keys, n.values = append(n.keys, key), append(n.values, value)
	}
	for _, m := range merged {
		list := []*node{m}
		if m.kind == kindSeq {
			list = m.values
		}
		for _, from := range list {
			if from.kind != kindMap {
				return failAt(from.line, from.col, "<< needs an alias of a mapping")
			}
			if b.merged += len(from.keys); b.merged > yamltext.MaxMerged {
				return failAt(n.line, n.col, "too many merged keys: << may copy at most %d in a document", yamltext.MaxMerged)
			}
			for i, k := range from.keys {
				if !seen[k.text] {
					seen[k.text] = true
					n.keys, n.values = append(n.keys, k), append(n.values, from.values[i])
				}
			}
		}
	}
	return nil
}

// parseJSON reads the JSON values of a text, one after the other.
func parseJSON(text string) ([]*node, error) {
	if err := bounded.File.Check(text); err != nil {
		line, col := 1, 1
		var at *bounded.Error
		if errors.As(err, &at) {
			line, col = jsontree.Place(text, at.Offset)
		}
		return nil, failAt(line, col, "%s", err)
	}
	r := jsonReader{text: text, dec: json.NewDecoder(strings.NewReader(text))}
	r.dec.UseNumber()
	var docs []*node
	for {
		t, err := r.dec.Token()
		if errors.Is(err, io.EOF) {
			return docs, nil
		}
		if err != nil {
			return nil, r.fail(err)
		}
		n, err := r.value(t, 0)
		if err != nil {
			return nil, err
		}
		docs = append(docs, n)
	}
}

// jsonReader reads nodes from JSON.
type jsonReader struct {
	text          string
	dec           *json.Decoder
	at, line, col int // of the latest place: offset, line, and characters of the line before it
}

// place returns where the latest token ends. It looks at each byte once: a file may be one line.
func (r *jsonReader) place() (line, col int) {
	if r.line == 0 {
		r.line = 1
	}
	to := min(int(r.dec.InputOffset()), len(r.text))
	for ; r.at < to; r.at++ {
		switch c := r.text[r.at]; {
		case c == '\n':
			r.line, r.col = r.line+1, 0
		case utf8.RuneStart(c):
			r.col++
		}
	}
	return r.line, max(1, r.col)
}

func (r *jsonReader) fail(err error) error {
	line, col := r.place()
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("the text ends too early")
	}
	return failAt(line, col, "invalid JSON: %s", strings.TrimPrefix(err.Error(), "json: "))
}

func (r *jsonReader) value(t json.Token, depth int) (*node, error) {
	line, col := r.place()
	if depth > maxDepth {
		return nil, failAt(line, col, "values are nested too deep: at most %d levels", maxDepth)
	}
	n := &node{line: line, col: col}
	switch t := t.(type) {
	case nil:
	case bool:
		n.kind, n.text = kindPlain, fmt.Sprint(t)
	case json.Number:
		n.kind, n.text = kindPlain, t.String()
	case string:
		n.kind, n.text = kindText, t
	case json.Delim:
		n.kind = map[json.Delim]nodeKind{'{': kindMap, '[': kindSeq}[t]
		seen := map[string]bool{}
		for r.dec.More() {
			t, err := r.dec.Token()
			if err != nil {
				return nil, r.fail(err)
			}
			if n.kind == kindMap {
				line, col := r.place()
				key, _ := t.(string)
				if seen[key] {
					return nil, failAt(line, col, "the key %q is there twice", key)
				}
				seen[key] = true
				n.keys = append(n.keys, &node{kind: kindText, line: line, col: col, text: key})
				if t, err = r.dec.Token(); err != nil {
					return nil, r.fail(err)
				}
			}
			v, err := r.value(t, depth+1)
			if err != nil {
				return nil, err
			}
			n.values = append(n.values, v)
		}
		if _, err := r.dec.Token(); err != nil { // the closing bracket
			return nil, r.fail(err)
		}
	}
	return n, nil
}
