package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/jobs/jsontree"
	"github.com/jobagent/jobagent/jobs/suggest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Value is one JSON value of a specification.
type Value = jsontree.Value

// limits are those of a specification. Schedules need five levels.
var limits = bounded.JSON{Depth: 32}

// ReadValue parses one JSON text. The error is a *Error.
func ReadValue(text []byte) (*Value, error) {
	v, err := readTree(string(text))
	if err != nil {
		const shown = 60
		excerpt := strings.TrimSpace(string(text))
		return nil, &Error{Faults: []Fault{{Value: Quote(wording.Clip(excerpt, shown, wording.Bytes)), Allowed: "JSON text (" + err.Error() + ")"}}}
	}
	return v, nil
}

// readTree returns the first of the faults of a text that cannot be read.
func readTree(text string) (*Value, error) {
	v, err := jsontree.Parse(text)
	var wrong *json.SyntaxError
	var deep *bounded.Error
	if errors.As(limits.Check(text), &deep) && (!errors.As(err, &wrong) || deep.Offset < int(wrong.Offset)) {
		return nil, fmt.Errorf("values are nested more than %d deep", limits.Depth)
	}
	if err == nil {
		return v, nil
	}
	return nil, reason(text)
}

// reason says in the words of json.Decoder why a text is not one JSON value. They differ from those
// of json.Unmarshal where a text ends in a value, and at the first name of an object.
func reason(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	for depth := 0; ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return errors.New("the text ends too early")
		}
		if err != nil {
			return err //nolint:wrapcheck // a part of a sentence
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return errors.New("more text follows the value")
		}
	}
}

// Join returns the path of the member name of the object at path.
func Join(path, name string) string { return jsontree.Join(path, name) }

// Quote returns s as a JSON string.
func Quote(s string) string { return jsontree.Quote(s) }

// Reader takes members from an object and records their faults.
type Reader struct {
	Object *Value
	Faults *Faults
}

// Take returns the first member with one of the names and marks it as known. It returns nil if the
// member is absent or null. A second member with the same name is a fault.
func (r Reader) Take(names ...string) *Value {
	var found *Value
	for _, m := range r.Object.Members {
		for _, name := range names {
			if m.Name != name {
				continue
			}
			if m.Taken = true; found != nil {
				r.Faults.Add(m.Path(), m.JSON(), "no second element of this name", "")
				continue
			}
			found = m
		}
	}
	if found != nil && found.Kind == 'n' {
		return nil
	}
	return found
}

// Has reports whether the object has a member with the name.
func (r Reader) Has(name string) bool {
	return r.Object.Has(name)
}

// RefuseOthers adds a fault for each member that was not taken. The fault proposes the nearest
// known name.
func (r Reader) RefuseOthers(known []string, synonyms map[string]string) {
	for _, m := range r.Object.Members {
		if m.Taken || r.Faults.Skip() {
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
		r.Faults.add(Fault{Path: m.Path(), Value: m.JSON(), Allowed: allowed, Nearest: propose, OfName: true})
	}
}

// Text returns the text of a JSON string.
func (r Reader) Text(v *Value, allowed string) (string, bool) {
	if v.Kind != '"' {
		r.Faults.Add(v.Path(), v.JSON(), allowed, "")
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
	text := v.JSON()
	if v.Kind == '"' {
		text = v.Text
	}
	propose := suggest.Number(text, int(low), int(high))
	r.Faults.add(Fault{Path: v.Path(), Value: v.JSON(), Allowed: allowed, Nearest: propose, OfNumber: true})
	return 0, false
}
