package jsontree

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Value is a JSON value.
type Value struct {
	// Kind is '{', '[', '"', '0' (a number), 't' (true or false) or 'n' (null).
	Kind byte
	// Name is the name of a member of an object.
	Name string
	// Text is the text of a string.
	Text string
	// Raw is the value as it was written.
	Raw string
	// NameAt and At are the offsets of the name and of the value, in bytes from 0.
	NameAt, At int
	// Members are those of an object, in the order of the text.
	Members []*Value
	// Items are those of a list.
	Items []*Value
	// Taken is for readers that refuse the members that they do not know.
	Taken bool

	parent *Value
	index  int // in the Items of the parent
}

// Object returns an object that has v as its only member.
func Object(name string, v *Value) *Value {
	o := &Value{Kind: '{', Members: []*Value{v}}
	v.Name, v.parent = name, o
	return o
}

// Get returns the first member with a name, or nil if it is absent or null.
func (v *Value) Get(name string) *Value {
	for _, m := range v.Members {
		if m.Name == name && m.Kind != 'n' {
			return m
		}
	}
	return nil
}

// Has reports whether there is a member with a name. The member may be null.
func (v *Value) Has(name string) bool {
	for _, m := range v.Members {
		if m.Name == name {
			return true
		}
	}
	return false
}

// Path returns the path of the value, as in schedules[0].cron; it is empty for the whole text.
func (v *Value) Path() string { return v.PathFrom("", Join) }

// PathFrom returns the path from the name of the whole text. join makes the path of a member from
// that of its object.
func (v *Value) PathFrom(root string, join func(path, name string) string) string {
	switch {
	case v.parent == nil:
		return root
	case v.parent.Kind == '[':
		return v.parent.PathFrom(root, join) + "[" + strconv.Itoa(v.index) + "]"
	}
	return join(v.parent.PathFrom(root, join), v.Name)
}

// Join returns the path of the member name of the object at path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Twice returns the members, at any depth, whose object has the same name before, in the order of
// the text.
func (v *Value) Twice() iter.Seq[*Value] {
	return func(yield func(*Value) bool) { v.twice(yield) }
}

func (v *Value) twice(yield func(*Value) bool) bool {
	for _, item := range v.Items {
		if !item.twice(yield) {
			return false
		}
	}
	seen := make(map[string]bool, len(v.Members))
	for _, m := range v.Members {
		if seen[m.Name] && !yield(m) || !m.twice(yield) {
			return false
		}
		seen[m.Name] = true
	}
	return true
}

// Compact returns the value as it was written, without white space.
func (v *Value) Compact() string {
	var b bytes.Buffer
	_ = json.Compact(&b, []byte(v.Raw)) // valid JSON
	return b.String()
}

// JSON returns the value without white space, and its strings as [Quote] spells them.
func (v *Value) JSON() string {
	switch v.Kind {
	case '{', '[':
		var b strings.Builder
		v.write(&b)
		return b.String()
	case '"':
		return Quote(v.Text)
	}
	return v.Raw
}

func (v *Value) write(b *strings.Builder) {
	switch v.Kind {
	case '{':
		b.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(Quote(m.Name) + ":")
			m.write(b)
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.write(b)
		}
		b.WriteByte(']')
	default:
		b.WriteString(v.JSON())
	}
}

// Quote returns s as a JSON string. It escapes no more than JSON needs.
func Quote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// Place returns the line and the column of an offset, from 1. Columns count characters.
func Place(text string, offset int) (line, column int) {
	before := text[:min(max(offset, 0), len(text))]
	begin := strings.LastIndexByte(before, '\n') + 1
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[begin:])
}
