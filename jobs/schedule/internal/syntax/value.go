package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Value is one JSON value of a specification. It holds the path that faults use for the value.
type Value struct {
	Path string
	// Raw is the value as JSON text.
	Raw string
	// Kind is '{', '[', '"', '0' (a number), 't' (a boolean) or 'n' (null).
	Kind    byte
	Text    string // of a string
	Members []member
	Items   []*Value
}

// member is a name and its value in an object. Members keep the order of the text.
type member struct {
	Name  string
	Value *Value
	used  bool
}

// ReadValue parses one JSON text. The error is a *Error.
func ReadValue(text []byte) (*Value, error) {
	var v *Value
	var err error
	if json.Valid(text) {
		v, err = (&scanner{text: string(text)}).value("", 0)
	} else {
		v, err = decodeText(text) // an error in almost every case, with a reason
	}
	if err != nil {
		const shown = 60
		excerpt := strings.TrimSpace(string(text))
		return nil, &Error{Faults: []Fault{{Value: Quote(wording.Clip(excerpt, shown, wording.Bytes)), Allowed: "JSON text (" + err.Error() + ")"}}}
	}
	return v, nil
}

// decodeText is ReadValue by json.Decoder, whose errors give the reason. It is slower.
func decodeText(text []byte) (*Value, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, "", 0)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the text ends too early")
	}
	if err == nil {
		if _, extra := d.Token(); !errors.Is(extra, io.EOF) {
			err = errors.New("more text follows the value")
		}
	}
	return v, err
}

func decodeValue(d *json.Decoder, path string, depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	v := &Value{Path: path}
	switch t := token.(type) {
	case json.Delim:
		v.Kind = byte(t)
		var parts []string
		for d.More() {
			if t == '[' {
				item, err := decodeValue(d, path+"["+strconv.Itoa(len(v.Items))+"]", depth+1)
				if err != nil {
					return nil, err
				}
				v.Items = append(v.Items, item)
				parts = append(parts, item.Raw)
				continue
			}
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, _ := name.(string)
			item, err := decodeValue(d, Join(path, key), depth+1)
			if err != nil {
				return nil, err
			}
			v.Members = append(v.Members, member{Name: key, Value: item})
			parts = append(parts, Quote(key)+":"+item.Raw)
		}
		if _, err := d.Token(); err != nil {
			return nil, err
		}
		if t == '[' {
			v.Raw = "[" + strings.Join(parts, ",") + "]"
		} else {
			v.Raw = "{" + strings.Join(parts, ",") + "}"
		}
	case string:
		v.Kind, v.Text, v.Raw = '"', t, Quote(t)
	case json.Number:
		v.Kind, v.Raw = '0', t.String()
	case bool:
		v.Kind, v.Raw = 't', strconv.FormatBool(t)
	default:
		v.Kind, v.Raw = 'n', "null"
	}
	return v, nil
}

// Join returns the path of the member name of the object at path.
func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Quote returns s as a JSON string.
func Quote(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Reader takes members from an object and records their faults.
type Reader struct {
	Object *Value
	Faults *Faults
}

// Take returns the first member with one of the names and marks it as known. It returns nil if the
// member is absent or null. A second member with the same name is a fault.
func (r Reader) Take(names ...string) *Value {
	var found *Value
	for i := range r.Object.Members {
		m := &r.Object.Members[i]
		for _, name := range names {
			if m.Name != name {
				continue
			}
			if m.used = true; found != nil {
				r.Faults.Add(m.Value.Path, m.Value.Raw, "no second element of this name", "")
				continue
			}
			found = m.Value
		}
	}
	if found != nil && found.Kind == 'n' {
		return nil
	}
	return found
}

// Has reports whether the object has a member with the name.
func (r Reader) Has(name string) bool {
	return slices.ContainsFunc(r.Object.Members, func(m member) bool { return m.Name == name })
}

// RefuseOthers adds a fault for each member that was not taken. The fault proposes the nearest
// known name.
func (r Reader) RefuseOthers(known []string, synonyms map[string]string) {
	for _, m := range r.Object.Members {
		if m.used || r.Faults.Skip() {
			continue
		}
		propose := synonyms[strings.ToLower(m.Name)]
		if propose == "" {
			propose = suggest.Nearest(m.Name, known)
		}
		allowed := "one of the elements " + strings.Join(known, ", ")
		if propose != "" && !slices.Contains(known, propose) {
			allowed, propose = allowed+"; see "+propose, "" // elsewhere in the text
		}
		r.Faults.add(Fault{Path: m.Value.Path, Value: m.Value.Raw, Allowed: allowed, Nearest: propose, OfName: true})
	}
}

// Text returns the text of a JSON string.
func (r Reader) Text(v *Value, allowed string) (string, bool) {
	if v.Kind != '"' {
		r.Faults.Add(v.Path, v.Raw, allowed, "")
		return "", false
	}
	return v.Text, true
}

// Integer returns a whole number from low to high. A fault proposes another spelling of the same
// number ("5" in quotes is 5), and never another number.
func (r Reader) Integer(v *Value, low, high int64, allowed string) (int64, bool) {
	if allowed == "" {
		allowed = fmt.Sprintf("a whole number from %d to %d", low, high)
	}
	n, err := strconv.ParseInt(v.Raw, 10, 64)
	if v.Kind == '0' && err == nil && n >= low && n <= high {
		return n, true
	}
	if r.Faults.Skip() {
		return 0, false
	}
	text := v.Raw
	if v.Kind == '"' {
		text = v.Text
	}
	propose := suggest.Number(text, int(low), int(high))
	r.Faults.add(Fault{Path: v.Path, Value: v.Raw, Allowed: allowed, Nearest: propose, OfNumber: true})
	return 0, false
}
