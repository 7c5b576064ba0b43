package schedule

import (
	"encoding/json"
	"fmt"
)

// faults collects what is wrong with a specification, in the order in which it is found (D-E5).
type faults struct{ list []Fault }

// add notes one fault; value is JSON text, so that a text stands in quotes and a number does not.
func (f *faults) add(path, value, allowed, nearest string) {
	f.list = append(f.list, Fault{Path: path, Value: value, Allowed: allowed, Nearest: nearest})
}

// merge takes over the faults of an error that has some, and notes any other as it is.
func (f *faults) merge(path string, err error) {
	if all, ok := err.(*Error); ok {
		f.list = append(f.list, all.Faults...)
	} else if err != nil {
		f.add(path, "null", err.Error(), "")
	}
}

// err is all of them as a *Error, or nil.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return &Error{Faults: f.list}
}

// MarshalJSON is the form in which the command line and the database show a fault: path, value (the
// JSON value itself where there is one) and a message of one sentence.
func (f Fault) MarshalJSON() ([]byte, error) {
	value := json.RawMessage(f.Value)
	if !json.Valid(value) {
		value = json.RawMessage(quote(f.Value))
	}
	message := "allowed is " + f.Allowed
	if f.Nearest != "" {
		message += "; try " + f.Nearest
	}
	b, err := json.Marshal(struct {
		Path    string          `json:"path"`
		Value   json.RawMessage `json:"value"`
		Message string          `json:"message"`
	}{f.Path, value, message})
	if err != nil {
		return nil, fmt.Errorf("fault of %s: %w", f.Path, err)
	}
	return b, nil
}
