package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/suggest"
)

// Fault is one thing that is wrong in a file.
type Fault struct {
	Place
	// Path is the place in the document, such as steps[2].command; empty for the whole document.
	Path    string
	Message string
}

// String returns file:line:column: path: message.
func (f Fault) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
		}
		b.WriteString(": ")
	}
	if f.Path != "" {
		b.WriteString(f.Path + ": ")
	}
	return b.String() + f.Message
}

// Faults is the error for files with faults; it has all of them.
type Faults []Fault

// Error returns the first fault, and the number of the others.
func (f Faults) Error() string {
	if len(f) == 1 {
		return f[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", f[0], len(f)-1)
}

// rules are the restrictions of a field: see the comment of the models.
type rules struct {
	name, doc           string
	required, always    bool
	visible             bool
	hasDefault, bounded bool
	def, one            string
	min, max            float64
	enum                []string
	index               []int // as in [reflect.StructField]
}

// fields returns the fields of a model with those that it embeds, in their order.
func fields(t reflect.Type) []rules {
	list := make([]rules, 0, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous {
			continue
		}
		r := rules{name: f.Tag.Get("json"), doc: f.Tag.Get("doc"), index: f.Index}
		for part := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
			key, value, _ := strings.Cut(part, "=")
			switch key {
			case "required":
				r.required = true
			case "visible":
				r.visible = true
			case "always":
				r.always = true
			case "default":
				r.hasDefault, r.def = true, value
			case "one":
				r.one = value
			case "min":
				r.min, _ = strconv.ParseFloat(value, 64)
				r.bounded = true
			case "max":
				r.max, _ = strconv.ParseFloat(value, 64)
			case "enum":
				r.enum = strings.Split(value, "|")
			}
		}
		list = append(list, r)
	}
	return list
}

// setDefaults sets the fields of a model that have defaults.
func setDefaults(v reflect.Value) {
	for _, r := range fields(v.Type()) {
		if r.hasDefault {
			setDefault(v.FieldByIndex(r.index), r)
		}
	}
}

func setDefault(f reflect.Value, r rules) {
	switch f.Kind() {
	case reflect.String:
		f.SetString(r.def)
	case reflect.Bool:
		f.SetBool(r.def == "true")
	case reflect.Int:
		n, _ := strconv.ParseInt(r.def, 10, 64)
		f.SetInt(n)
	case reflect.Float64:
		n, _ := strconv.ParseFloat(r.def, 64)
		f.SetFloat(n)
	}
}

// decoder decodes one document.
type decoder struct {
	file   string
	faults Faults
	nodes  int
	text   int
}

// fail adds a fault. After maxFaults of them, it adds no more.
func (d *decoder) fail(n *node, path, format string, args ...any) {
	switch {
	case len(d.faults) > maxFaults:
		return
	case len(d.faults) == maxFaults:
		path, format, args = "", "there are more faults: only the first %d are shown", []any{maxFaults}
	}
	d.faults = append(d.faults, Fault{Place: Place{d.file, n.line, n.col}, Path: path, Message: fmt.Sprintf(format, args...)})
}

// visit counts a value. It returns false when the document has too many: aliases can repeat values
// without end.
func (d *decoder) visit(n *node, path string) bool {
	d.nodes++
	d.text += len(n.text)
	if d.nodes == maxNodes+1 || d.text > maxText && d.nodes <= maxNodes {
		d.nodes = maxNodes + 1
		d.fail(n, path, "the document is too large: at most %d values and %d MB of text, those that aliases repeat included",
			maxNodes, maxText>>20)
	}
	return d.nodes <= maxNodes
}

// document decodes an object. Its Value is nil if the kind is unknown.
func (d *decoder) document(n *node) Object {
	o := Object{Source: Place{d.file, n.line, n.col}, node: n}
	if n.kind != kindMap {
		d.fail(n, "", "want an object with apiVersion, kind and name, got %s", n.what())
		return o
	}
	switch version := n.get("apiVersion"); {
	case version == nil:
		d.fail(n, "", "missing apiVersion: want %s", APIVersion)
	case version.text != APIVersion:
		d.fail(version, "apiVersion", "unknown version %s: want %s", version.what(), APIVersion)
	}
	kind := n.get("kind")
	if kind == nil {
		d.fail(n, "", "missing kind: want %s", list(kindNames()))
		return o
	}
	model, ok := models[Kind(kind.text)]
	if !ok {
		d.fail(kind, "kind", "unknown kind %s: want %s%s", kind.what(), list(kindNames()), suggest.DidYouMean(kind.text, kindNames()))
		return o
	}
	o.Kind, o.Value = Kind(kind.text), model()
	d.model(n, reflect.ValueOf(o.Value).Elem(), "", []string{"apiVersion", "kind"})
	return o
}

func kindNames() []string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, string(k))
	}
	return names
}

// list returns names in a sentence.
func list(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// model decodes a mapping into a struct. Others are names that the caller has read.
func (d *decoder) model(n *node, v reflect.Value, path string, others []string) {
	setDefaults(v)
	if n.kind != kindMap {
		d.fail(n, path, "want a mapping, got %s", n.what())
		return
	}
	all := fields(v.Type())
	names := slices.Clone(others)
	given := map[string][]string{} // by group of which exactly one is wanted
	groups := map[string][]string{}
	for _, r := range all {
		names = append(names, r.name)
		if r.one != "" {
			groups[r.one] = append(groups[r.one], r.name)
		}
	}
	for i, key := range n.keys {
		if slices.Contains(others, key.text) {
			continue
		}
		at := slices.IndexFunc(all, func(r rules) bool { return r.name == key.text })
		if at < 0 {
			if slices.Contains(groups["schedule"], "cron5") && isForm(key.text) {
				d.fail(key, path, "%s", untranslated(key.text, n.values[i], n.get("zone")))
				given["schedule"] = append(given["schedule"], key.text)
				continue
			}
			d.fail(key, path, "unknown field %s%s", quoteShort(key.text), suggest.DidYouMean(key.text, names))
			continue
		}
		r := all[at]
		if n.values[i].kind == kindNull {
			if r.required || r.one != "" {
				d.fail(n.values[i], jsontree.Join(path, r.name), "a value is missing")
			}
			continue
		}
		d.value(n.values[i], v.FieldByIndex(r.index), jsontree.Join(path, r.name), r)
		if r.one != "" {
			given[r.one] = append(given[r.one], r.name)
		}
	}
	for _, r := range all {
		if r.required && n.get(r.name) == nil {
			d.fail(n, path, "missing field %q", r.name)
		}
	}
	for group, names := range groups {
		switch g := given[group]; {
		case len(g) == 0 && !slices.ContainsFunc(names, func(name string) bool { return n.get(name) != nil }):
			d.fail(n, path, "missing %s: want one of %s", group, list(names))
		case len(g) > 1:
			d.fail(n, path, "%s are both given: want one of %s", strings.Join(g[:2], " and "), list(names))
		}
	}
}

var (
	timeType   = reflect.TypeFor[time.Time]()
	jsonType   = reflect.TypeFor[JSON]()
	scriptType = reflect.TypeFor[Script]()
	scalarType = reflect.TypeFor[Scalar]()
)

// value decodes a value into a field.
func (d *decoder) value(n *node, v reflect.Value, path string, r rules) {
	if !d.visit(n, path) {
		return
	}
	switch v.Type() {
	case timeType:
		d.time(n, v, path)
		return
	case jsonType:
		d.json(n, v, path, r)
		return
	case scriptType:
		d.script(n, v, path)
		return
	case scalarType:
		var b bytes.Buffer
		if n.kind == kindMap || n.kind == kindSeq {
			d.fail(n, path, "want a text, a number, true or false, got %s", n.what())
		} else if d.writeJSON(&b, n, path) {
			v.SetString(b.String())
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path, r)
	case reflect.Struct:
		d.model(n, v, path, nil)
	case reflect.Slice:
		d.list(n, v, path)
	case reflect.String:
		d.string(n, v, path, r)
	case reflect.Bool:
		switch {
		case n.kind == kindPlain && slices.Contains([]string{"true", "True", "TRUE"}, n.text):
			v.SetBool(true)
		case n.kind == kindPlain && slices.Contains([]string{"false", "False", "FALSE"}, n.text):
			v.SetBool(false)
		default:
			d.fail(n, path, "want true or false, got %s", n.what())
		}
	case reflect.Int:
		number, err := strconv.ParseInt(n.text, 10, 64)
		if n.kind != kindPlain || !decimal.MatchString(n.text) || err != nil {
			d.fail(n, path, "want a whole number, got %s", n.what())
			return
		}
		if d.inRange(n, float64(number), path, r) {
			v.SetInt(number)
		}
	case reflect.Float64:
		number, err := strconv.ParseFloat(n.text, 64)
		if n.kind != kindPlain || !jsonNumber.MatchString(n.text) || err != nil {
			d.fail(n, path, "want a number, got %s", n.what())
			return
		}
		if d.inRange(n, number, path, r) {
			v.SetFloat(number)
		}
	}
}

var (
	decimal    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
)

func (d *decoder) inRange(n *node, number float64, path string, r rules) bool {
	if r.bounded && number < r.min || r.max > 0 && number > r.max {
		d.fail(n, path, "want %s to %s, got %s", formatNumber(r.min), formatNumber(r.max), n.text)
		return false
	}
	return true
}

func formatNumber(f float64) string {
	if f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// string decodes a text. A scalar without quotes is the text that is written, whatever YAML takes
// it for: no, 010 and 2026-01-31 stay as they are.
func (d *decoder) string(n *node, v reflect.Value, path string, r rules) {
	if n.kind != kindPlain && n.kind != kindText {
		d.fail(n, path, "want a text, got %s", n.what())
		return
	}
	switch {
	case (r.required || r.visible) && strings.TrimSpace(n.text) == "":
		d.fail(n, path, "a text is missing")
		return
	case r.max > 0 && float64(Length(n.text)) > r.max:
		d.fail(n, path, "the text has %d characters: at most %s are allowed", Length(n.text), formatNumber(r.max))
		return
	case strings.IndexByte(n.text, 0) >= 0:
		d.fail(n, path, "the text contains a NUL")
		return
	case len(r.enum) > 0 && !slices.Contains(r.enum, n.text):
		d.fail(n, path, "want %s, got %s%s", list(r.enum), n.what(), suggest.DidYouMean(n.text, r.enum))
		return
	}
	v.SetString(n.text)
}

// Length returns the number of characters of a text as SQL Server counts them: UTF-16 units.
func Length(s string) int {
	n := 0
	for _, r := range s {
		n += max(1, utf16.RuneLen(r))
	}
	return n
}

func (d *decoder) list(n *node, v reflect.Value, path string) {
	if n.kind != kindSeq {
		d.fail(n, path, "want a list, got %s", n.what())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.values), len(n.values)))
	for i, item := range n.values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if item.kind == kindNull {
			d.fail(item, at, "a value is missing")
			continue
		}
		d.value(item, v.Index(i), at, rules{required: true, max: 512})
	}
}

var timeForms = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"}

func (d *decoder) time(n *node, v reflect.Value, path string) {
	if n.kind == kindPlain || n.kind == kindText {
		for _, form := range timeForms {
			if t, err := time.Parse(form, n.text); err == nil {
				v.Set(reflect.ValueOf(t.UTC().Truncate(100 * time.Nanosecond)))
				return
			}
		}
	}
	d.fail(n, path, "want a time such as 2026-01-31T22:00:00Z, got %s", n.what())
}

func (d *decoder) script(n *node, v reflect.Value, path string) {
	var s Script
	switch n.kind {
	case kindText, kindPlain:
		s.Text = n.text
		if strings.TrimSpace(s.Text) == "" {
			d.fail(n, path, "the command is empty")
		}
		if strings.IndexByte(s.Text, 0) >= 0 {
			d.fail(n, path, "the text contains a NUL")
		}
	case kindMap:
		var from struct {
			File string `json:"file" rule:"required,max=1024"`
		}
		d.model(n, reflect.ValueOf(&from).Elem(), path, nil)
		s.File = from.File
	default:
		d.fail(n, path, "want a script or {file: PATH}, got %s", n.what())
	}
	v.Set(reflect.ValueOf(s))
}

// json decodes a definition: a mapping becomes JSON, a text stays.
func (d *decoder) json(n *node, v reflect.Value, path string, r rules) {
	switch n.kind {
	case kindMap:
		var b bytes.Buffer
		if d.writeJSON(&b, n, path) {
			v.SetString(b.String())
		}
	case kindText, kindPlain:
		if strings.TrimSpace(n.text) == "" {
			d.fail(n, path, "a value is missing")
		} else if strings.IndexByte(n.text, 0) >= 0 {
			d.fail(n, path, "the text contains a NUL")
		} else if r.one != "schedule" && !isObject(n.text) {
			d.fail(n, path, "want a mapping, or the text of a JSON object, got %s", n.what())
		} else {
			v.SetString(n.text)
		}
	default:
		d.fail(n, path, "want a mapping or a text, got %s", n.what())
	}
}

// isObject reports whether a text is a JSON object.
func isObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}

// writeJSON writes a value as JSON. A scalar without quotes is null, true, false or a decimal
// number; everything else is a text.
func (d *decoder) writeJSON(b *bytes.Buffer, n *node, path string) bool {
	if !d.visit(n, path) {
		return false
	}
	switch n.kind {
	case kindNull:
		b.WriteString("null")
	case kindText:
		b.Write(jsonText(n.text))
	case kindPlain:
		value, ok := plainJSON(n.text)
		if !ok {
			d.fail(n, path, "is %s a number or a text? Write it in decimal form, or in quotes", n.text)
			return false
		}
		b.WriteString(value)
	case kindSeq:
		b.WriteByte('[')
		for i, v := range n.values {
			if i > 0 {
				b.WriteByte(',')
			}
			if !d.writeJSON(b, v, fmt.Sprintf("%s[%d]", path, i)) {
				return false
			}
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
			if !d.writeJSON(b, v, jsontree.Join(path, n.keys[i].text)) {
				return false
			}
		}
		b.WriteByte('}')
	}
	return true
}

// ambiguous are the scalars that some versions of YAML take for numbers, and JSON does not.
var ambiguous = regexp.MustCompile(`^[-+]?(0[0-9_]+|0[xX][0-9a-fA-F_]+|0[oObB][0-9_]+|[0-9][0-9_]*_[0-9_]*|[0-9]+(:[0-5]?[0-9])+|\.[0-9]+|[0-9]+\.|\.(inf|Inf|INF)|\+[0-9.]+)$|^\.(nan|NaN|NAN)$|^\+[0-9]`)

// plainJSON returns the JSON of a scalar without quotes.
func plainJSON(text string) (value string, ok bool) {
	switch text {
	case "null", "Null", "NULL", "~":
		return "null", true
	case "true", "True", "TRUE":
		return "true", true
	case "false", "False", "FALSE":
		return "false", true
	}
	switch {
	case jsonNumber.MatchString(text):
		return text, true
	case ambiguous.MatchString(text) && !strings.Contains(text, ":"):
		return "", false
	}
	return string(jsonText(text)), true
}

// jsonText returns a text as JSON; <, > and & stay as they are.
func jsonText(s string) []byte { return []byte(jsontree.Quote(s)) }
