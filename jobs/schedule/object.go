package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// value is one JSON value of a specification, with the path by which faults name it.
type value struct {
	path string
	// raw is the value as JSON text.
	raw string
	// kind is '{', '[', '"', '0' (a number), 't' (a boolean) or 'n' (null).
	kind    byte
	text    string // of a string
	members []member
	items   []*value
}

// member is a name and its value in an object, in the order of the text.
type member struct {
	name  string
	value *value
	used  bool
}

// readValue reads one JSON text. The error is a *Error.
func readValue(text []byte) (*value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, "", 0)
	if errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	if err == nil {
		if _, extra := d.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("there is more text after the value")
		}
	}
	if err != nil {
		const shown = 60
		excerpt := strings.TrimSpace(string(text))
		if len(excerpt) > shown {
			excerpt = strings.ToValidUTF8(excerpt[:shown], "") + "…"
		}
		return nil, &Error{Faults: []Fault{{Value: quote(excerpt), Allowed: "JSON text (" + err.Error() + ")"}}}
	}
	return v, nil
}

// maxDepth of nested JSON values; schedules need five.
const maxDepth = 32

func decodeValue(d *json.Decoder, path string, depth int) (*value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", maxDepth)
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &value{path: path}
	switch t := token.(type) {
	case json.Delim:
		v.kind = byte(t)
		var parts []string
		for d.More() {
			if t == '[' {
				item, err := decodeValue(d, fmt.Sprintf("%s[%d]", path, len(v.items)), depth+1)
				if err != nil {
					return nil, err
				}
				v.items = append(v.items, item)
				parts = append(parts, item.raw)
				continue
			}
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			item, err := decodeValue(d, join(path, key), depth+1)
			if err != nil {
				return nil, err
			}
			v.members = append(v.members, member{name: key, value: item})
			parts = append(parts, quote(key)+":"+item.raw)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if t == '[' {
			v.raw = "[" + strings.Join(parts, ",") + "]"
		} else {
			v.raw = "{" + strings.Join(parts, ",") + "}"
		}
	case string:
		v.kind, v.text, v.raw = '"', t, quote(t)
	case json.Number:
		v.kind, v.raw = '0', t.String()
	case bool:
		v.kind, v.raw = 't', strconv.FormatBool(t)
	default:
		v.kind, v.raw = 'n', "null"
	}
	return v, nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// quote is text as a JSON string.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// reader takes members out of an object and notes what is wrong with them.
type reader struct {
	object *value
	faults *faults
}

// take is the member of a name, marked as known; nil when it is absent or null. A second member of the
// name is a fault.
func (r reader) take(names ...string) *value {
	var found *value
	for i := range r.object.members {
		m := &r.object.members[i]
		for _, name := range names {
			if m.name != name {
				continue
			}
			if m.used = true; found != nil {
				r.faults.add(m.value.path, m.value.raw, "one element of this name", "")
				continue
			}
			found = m.value
		}
	}
	if found != nil && found.kind == 'n' {
		return nil
	}
	return found
}

// has says whether there is a member of a name.
func (r reader) has(name string) bool {
	return slices.ContainsFunc(r.object.members, func(m member) bool { return m.name == name })
}

// rest notes every member that nobody took; the nearest of the known names is proposed.
func (r reader) refuseOthers(known []string, synonyms map[string]string) {
	for _, m := range r.object.members {
		if m.used {
			continue
		}
		propose := synonyms[strings.ToLower(m.name)]
		if propose == "" {
			propose = nearest(m.name, known)
		}
		r.faults.add(m.value.path, m.value.raw, "no element of this name; known are "+strings.Join(known, ", "), propose)
	}
}

// text reads a JSON string.
func (r reader) text(v *value, allowed string) (string, bool) {
	if v.kind != '"' {
		r.faults.add(v.path, v.raw, allowed, "")
		return "", false
	}
	return v.text, true
}

// integer is a whole number from low to high; the nearest proposed is the limit that it exceeds.
func (r reader) integer(v *value, low, high int64, allowed string) (int64, bool) {
	if allowed == "" {
		allowed = fmt.Sprintf("a whole number from %d to %d", low, high)
	}
	text := v.raw
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case v.kind == '"':
		// A number in quotes is not a number; say which one it would be.
		r.faults.add(v.path, v.raw, allowed, clamp(strings.TrimSpace(v.text), int(low), int(high)))
		return 0, false
	case v.kind != '0' || err != nil:
		r.faults.add(v.path, v.raw, allowed, clamp(v.raw, int(low), int(high)))
		return 0, false
	case n < low:
		r.faults.add(v.path, v.raw, allowed, strconv.FormatInt(low, 10))
		return 0, false
	case n > high:
		r.faults.add(v.path, v.raw, allowed, strconv.FormatInt(high, 10))
		return 0, false
	}
	return n, true
}
