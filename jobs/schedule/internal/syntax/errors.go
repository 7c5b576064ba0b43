package syntax

import (
	"cmp"
	"strings"
)

// Fault is one thing that is wrong with a schedule.
type Fault struct {
	// Path is the element at fault, as its system names it; empty: the text as a whole.
	Path string
	// Value is the value of the element, as JSON text.
	Value string
	// Allowed says which values are valid.
	Allowed string
	// Nearest is the valid spelling that is nearest to the value; empty when none is near.
	Nearest string
}

// String returns the fault as one message.
func (f Fault) String() string {
	if f.Value == "null" && f.Path != "" {
		return "missing " + f.Path + ": " + f.want()
	}
	return "invalid " + cmp.Or(f.Path, "text") + " " + f.Value + ": " + f.want()
}

// want is the part of the message that says what would be valid.
func (f Fault) want() string {
	text := "want " + f.Allowed
	if f.Nearest != "" {
		text += "; try " + f.Nearest
	}
	return text
}

// Error holds all faults of a schedule.
type Error struct {
	// Faults are in the order of the schedule's elements; at least one.
	Faults []Fault
}

// Error implements error.
func (e *Error) Error() string {
	texts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}
