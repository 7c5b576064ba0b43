package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Faults collects the faults of a specification, in the order in which they are found (D-E5).
type Faults struct{ List []Fault }

// Add notes one fault; value is JSON text, so that a text stands in quotes and a number does not.
func (f *Faults) Add(path, value, allowed, nearest string) {
	f.List = append(f.List, Fault{Path: path, Value: value, Allowed: allowed, Nearest: nearest})
}

// Merge takes over the faults of an error that has some, and notes any other as it is.
func (f *Faults) Merge(path string, err error) {
	var all *Error
	if errors.As(err, &all) {
		f.List = append(f.List, all.Faults...)
	} else if err != nil {
		f.Add(path, "null", err.Error(), "")
	}
}

// Err is all of them as a *Error, or nil.
func (f *Faults) Err() error {
	if len(f.List) == 0 {
		return nil
	}
	return &Error{Faults: f.List}
}

// MarshalJSON is the form in which the command line and the database show a fault: path, value (the
// JSON value itself where there is one) and a message of one sentence.
func (f Fault) MarshalJSON() ([]byte, error) {
	value := json.RawMessage(f.Value)
	if !json.Valid(value) {
		value = json.RawMessage(Quote(f.Value))
	}
	b, err := json.Marshal(struct {
		Path    string          `json:"path"`
		Value   json.RawMessage `json:"value"`
		Message string          `json:"message"`
	}{f.Path, value, f.want()})
	if err != nil {
		return nil, fmt.Errorf("fault of %s: %w", f.Path, err)
	}
	return b, nil
}
