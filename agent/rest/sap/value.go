package sap

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/wording"
)

// value is a JSON value. It keeps the bytes of the original, so that data reach their application
// as they were sent (S-9).
type value struct {
	// path names the value in faults, as in schedules[0].cron; it is empty for the whole body.
	path string
	// kind is {, [, ", t (also false), n (null) or 0 (a number).
	kind byte
	raw  []byte
	// text is the value of a string.
	text    string
	members []member
	items   []value
}

type member struct {
	name  string
	value value
}

// get returns a member, or nil if it is absent or null.
func (v *value) get(name string) *value {
	for i := range v.members {
		if m := &v.members[i]; m.name == name && m.value.kind != 'n' {
			return &m.value
		}
	}
	return nil
}

// has reports whether there is a member, which may be null.
func (v *value) has(name string) bool {
	for i := range v.members {
		if v.members[i].name == name {
			return true
		}
	}
	return false
}

// compact returns the JSON text without white space, and otherwise as it was sent: no characters
// are escaped, and numbers and the order of members stay.
func (v *value) compact() string {
	var b bytes.Buffer
	_ = json.Compact(&b, v.raw) // raw is valid JSON
	return b.String()
}

// maxDepth bounds the nesting of a body.
const maxDepth = 100

// maxPath is the length of a value's path, in characters. Each value below a name repeats the name.
const maxPath = 300

// readValue parses a body. It returns all faults of its form: text that is not JSON, or names that
// occur twice in an object.
func readValue(body []byte) (*value, []fault) {
	if !utf8.Valid(body) {
		return nil, []fault{{text: "Request body is not text in UTF-8"}}
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, []fault{{text: "Request body is missing"}}
	}
	var syntax json.RawMessage
	if err := json.Unmarshal(body, &syntax); err != nil {
		text := "Request body is not valid JSON"
		if e, ok := err.(*json.SyntaxError); ok { //nolint:errorlint // Unmarshal returns it without wrapping
			text += fmt.Sprintf(": %v at byte %d", e, e.Offset)
		}
		return nil, []fault{{text: text}}
	}
	if err := (bounded.JSON{Depth: maxDepth}).CheckBytes(body); err != nil {
		return nil, []fault{{text: fmt.Sprintf("Request body is nested deeper than %d levels", maxDepth)}}
	}
	r := &valueReader{decoder: json.NewDecoder(bytes.NewReader(body)), body: body}
	r.decoder.UseNumber()
	v := r.read("")
	return &v, r.faults
}

// readObject parses a body that must be an object.
func readObject(body []byte) (*value, []fault) {
	v, faults := readValue(body)
	if v != nil && v.kind != '{' {
		return nil, []fault{{text: "Request body must be a JSON object"}}
	}
	return v, faults
}

// valueReader builds values from the tokens of a valid text.
type valueReader struct {
	decoder *json.Decoder
	body    []byte
	faults  []fault
}

// start returns the offset at which the next value or name begins.
func (r *valueReader) start() int {
	at := int(r.decoder.InputOffset())
	for at < len(r.body) && bytes.IndexByte([]byte(" \t\r\n,:"), r.body[at]) >= 0 {
		at++
	}
	return at
}

// read reads the next value.
func (r *valueReader) read(path string) value {
	path = wording.Clip(path, maxPath, wording.Characters)
	v := value{path: path}
	from := r.start()
	token, err := r.decoder.Token()
	if err != nil { // not for a valid text
		r.faults = append(r.faults, fault{text: "Request body is not valid JSON"})
		return value{kind: 'n', raw: []byte("null")}
	}
	switch t := token.(type) {
	case json.Delim:
		v.kind = byte(t)
		r.readInner(&v, path)
	case string:
		v.kind, v.text = '"', t
	case bool:
		v.kind = 't'
	case nil:
		v.kind = 'n'
	default:
		v.kind = '0'
	}
	v.raw = r.body[from:r.decoder.InputOffset()]
	return v
}

// readInner reads the members or items of a value, and its end.
func (r *valueReader) readInner(v *value, path string) {
	names := map[string]bool{}
	for r.decoder.More() {
		if v.kind == '[' {
			item := r.read(fmt.Sprintf("%s[%d]", path, len(v.items)))
			v.items = append(v.items, item)
			continue
		}
		token, err := r.decoder.Token()
		if err != nil {
			return // not for a valid text
		}
		name, _ := token.(string)
		at := name
		if path != "" {
			at = path + "." + name
		}
		if names[name] {
			r.faults = append(r.faults, fault{text: "'" + wording.Clip(at, maxPath, wording.Characters) + "' is specified more than once"})
		}
		names[name] = true
		v.members = append(v.members, member{name: name, value: r.read(at)})
	}
	_, _ = r.decoder.Token() // the end
}
