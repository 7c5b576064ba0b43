package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// SchemaFile is the usual name of the file of the JSON Schema, for editors: the output of
// `jobagent validate --schema`.
const SchemaFile = "jobagent.schema.json"

// canonical returns the canonical tree of an object: its fields in their order, without defaults.
func canonical(o Object) *node {
	n := &node{kind: kindMap}
	n.add("apiVersion", text(APIVersion))
	n.add("kind", text(string(o.Kind)))
	encodeModel(n, reflect.ValueOf(o.Value).Elem())
	return n
}

func text(s string) *node  { return &node{kind: kindText, text: s} }
func plain(s string) *node { return &node{kind: kindPlain, text: s} }

func (n *node) add(key string, v *node) {
	n.keys, n.values = append(n.keys, text(key)), append(n.values, v)
}

// encodeModel adds the fields of a model to n.
func encodeModel(n *node, v reflect.Value) {
	for _, r := range fields(v.Type()) {
		f := v.FieldByIndex(r.index)
		if r.hasDefault && !r.always {
			def := reflect.New(f.Type()).Elem()
			setDefault(def, r)
			if f.Equal(def) {
				continue
			}
		}
		if (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) && !r.hasDefault {
			continue
		}
		n.add(r.name, encodeValue(f))
	}
}

func encodeValue(v reflect.Value) *node {
	switch x := v.Interface().(type) {
	case time.Time:
		return plain(x.UTC().Format("2006-01-02T15:04:05.9999999Z"))
	case JSON:
		if isObject(string(x)) {
			if docs, err := parseJSON(string(x)); err == nil && len(docs) == 1 {
				return docs[0]
			}
		}
		return text(string(x))
	case Scalar:
		if docs, err := parseJSON(string(x)); err == nil && len(docs) == 1 {
			return docs[0]
		}
		return text(string(x))
	case Script:
		if x.File != "" {
			n := &node{kind: kindMap}
			n.add("file", text(x.File))
			return n
		}
		return text(x.Text)
	}
	switch v.Kind() {
	case reflect.Pointer:
		return encodeValue(v.Elem())
	case reflect.Struct:
		n := &node{kind: kindMap}
		encodeModel(n, v)
		return n
	case reflect.Slice:
		n := &node{kind: kindSeq}
		for i := range v.Len() {
			n.values = append(n.values, encodeValue(v.Index(i)))
		}
		return n
	case reflect.Bool:
		return plain(strconv.FormatBool(v.Bool()))
	case reflect.Int:
		return plain(strconv.FormatInt(v.Int(), 10))
	case reflect.Float64:
		return plain(strconv.FormatFloat(v.Float(), 'f', -1, 64))
	default:
		return text(v.String())
	}
}

// YAML returns an object as a canonical YAML document.
func YAML(o Object) string {
	var b strings.Builder
	writeMap(&b, canonical(o), "")
	return b.String()
}

// JSONDocument returns an object as canonical JSON.
func JSONDocument(o Object) json.RawMessage {
	var b bytes.Buffer
	writeNode(&b, canonical(o))
	return b.Bytes()
}

// writeNode writes a canonical tree as JSON.
func writeNode(b *bytes.Buffer, n *node) {
	switch n.kind {
	case kindNull:
		b.WriteString("null")
	case kindText:
		b.Write(jsonText(n.text))
	case kindPlain:
		if jsonNumber.MatchString(n.text) || n.text == "true" || n.text == "false" {
			b.WriteString(n.text)
		} else {
			b.Write(jsonText(n.text))
		}
	case kindSeq:
		b.WriteByte('[')
		for i, v := range n.values {
			if i > 0 {
				b.WriteByte(',')
			}
			writeNode(b, v)
		}
		b.WriteByte(']')
	case kindMap:
		b.WriteByte('{')
		for i, v := range n.values {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonText(n.keys[i].text))
			b.WriteByte(':')
			writeNode(b, v)
		}
		b.WriteByte('}')
	}
}

// writeMap writes the pairs of a mapping, each on a line of its own.
func writeMap(b *strings.Builder, n *node, indent string) {
	for i, v := range n.values {
		if i > 0 {
			b.WriteString(indent)
		}
		b.WriteString(scalar(n.keys[i].text))
		b.WriteByte(':')
		writeValue(b, v, indent, indent+"  ")
	}
}

// writeValue writes the value after a colon.
func writeValue(b *strings.Builder, n *node, parent, indent string) {
	switch {
	case n.kind == kindMap && len(n.values) > 0:
		b.WriteString("\n" + indent)
		writeMap(b, n, indent)
	case n.kind == kindSeq && len(n.values) > 0 && !isFlow(n):
		b.WriteByte('\n')
		for _, item := range n.values {
			b.WriteString(indent + "-")
			writeItem(b, item, indent)
		}
	case n.kind == kindText && isBlock(n.text):
		writeBlock(b, n.text, parent)
	default:
		b.WriteString(" " + flow(n) + "\n")
	}
}

// writeItem writes the value after the hyphen of a list.
func writeItem(b *strings.Builder, n *node, indent string) {
	switch {
	case n.kind == kindMap && len(n.values) > 0:
		b.WriteByte(' ')
		writeMap(b, n, indent+"  ")
	case n.kind == kindText && isBlock(n.text):
		writeBlock(b, n.text, indent)
	default: // also a list in a list, which is rare
		b.WriteString(" " + flow(n) + "\n")
	}
}

// isFlow reports whether a list of scalars fits on a line.
func isFlow(n *node) bool {
	size := 0
	for _, v := range n.values {
		if v.kind == kindMap || v.kind == kindSeq || v.kind == kindText && strings.Contains(v.text, "\n") {
			return false
		}
		size += len(v.text) + 2
	}
	return size <= 80
}

// flow returns a value on one line.
func flow(n *node) string {
	switch n.kind {
	case kindNull:
		return "null"
	case kindPlain:
		return n.text
	case kindText:
		return scalar(n.text)
	}
	var parts []string
	for i, v := range n.values {
		part := flow(v)
		if v.kind == kindText && strings.ContainsAny(part, ",[]{}") && !strings.HasPrefix(part, `"`) {
			part = quoted(v.text)
		}
		if n.kind == kindMap {
			k := scalar(n.keys[i].text)
			// go-yaml ends a key without quotes at its first colon here.
			if strings.ContainsAny(k, ",[]{}:") && !strings.HasPrefix(k, `"`) {
				k = quoted(n.keys[i].text)
			}
			part = k + ": " + part
		}
		parts = append(parts, part)
	}
	if n.kind == kindSeq {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// safe are the texts that need no quotes in any version of YAML, apart from the words below.
var safe = regexp.MustCompile(`^[A-Za-z_$/][A-Za-z0-9_./@$()=;+*%&?!:-]*( [A-Za-z0-9_./@$()=;+%?:-][A-Za-z0-9_./@$()=;+*%&?!:-]*)*$`)

// words are texts that some version of YAML takes for something else.
var words = regexp.MustCompile(`^(?i:y|n|yes|no|on|off|true|false|null|nan|inf)$`)

// scalar returns a text in one line, in quotes if it needs them.
func scalar(s string) string {
	if len(s) < 500 && safe.MatchString(s) && !words.MatchString(s) && !strings.Contains(s, ": ") && !strings.HasSuffix(s, ":") && !strings.Contains(s, " :") {
		return s
	}
	return quoted(s)
}

// quoted returns a text in double quotes.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r <= 0xFF && !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xFFFF && (!unicode.IsPrint(r) || r == 0xFEFF):
			fmt.Fprintf(&b, `\u%04x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isBlock reports whether a text is written as a literal block: it has several lines, and a block
// keeps each of its characters.
func isBlock(s string) bool {
	body := strings.TrimSuffix(s, "\n")
	if !strings.Contains(s, "\n") || body == "" || strings.HasSuffix(body, "\n") || strings.HasPrefix(s, "\n") ||
		strings.HasPrefix(s, " ") || strings.HasPrefix(s, "\t") {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" && strings.TrimSpace(line) == "" || strings.HasSuffix(line, " ") || strings.HasSuffix(line, "\t") {
			return false
		}
	}
	for _, r := range s {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// writeBlock writes a literal block.
func writeBlock(b *strings.Builder, s, parent string) {
	mark := " |\n"
	if !strings.HasSuffix(s, "\n") {
		mark = " |-\n"
	}
	b.WriteString(mark)
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		if line != "" {
			b.WriteString(parent + "  " + line)
		}
		b.WriteByte('\n')
	}
}

// part returns the canonical tree of a part of an object.
func part(v any) *node { return encodeValue(reflect.ValueOf(v)) }
