package syntax

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Faults collects the faults of a specification in the order of their discovery (D-E5).
type Faults struct{ List []Fault }

// Add records one fault. value is JSON text, so that a string is quoted and a number is not.
func (f *Faults) Add(path, value, allowed, nearest string) {
	f.List = append(f.List, Fault{Path: path, Value: value, Allowed: allowed, Nearest: nearest})
}

// Merge adds the faults of an *Error. It records any other error as one fault at path.
func (f *Faults) Merge(path string, err error) {
	var all *Error
	if errors.As(err, &all) {
		f.List = append(f.List, all.Faults...)
	} else if err != nil {
		f.Add(path, "null", err.Error(), "")
	}
}

// Err returns all faults as a *Error, or nil if there are none.
func (f *Faults) Err() error {
	if len(f.List) == 0 {
		return nil
	}
	return &Error{Faults: f.List}
}

// MarshalJSON returns the form in which the command line and the database show a fault: path, value
// (the JSON value itself if it is valid) and a message of one sentence.
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
