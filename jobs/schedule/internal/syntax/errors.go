package syntax

import (
	"cmp"
	"fmt"
	"strings"
)

// Fault is one error in a schedule.
type Fault struct {
	// Path is the invalid element under the name that its system uses. An empty Path means the
	// whole text.
	Path string
	// Value is the value of the element, as JSON text.
	Value string
	// Allowed describes the valid values.
	Allowed string
	// Nearest is the valid spelling nearest to the value, or empty.
	Nearest string
	// OfName means that the name of the element is wrong, not its value; Nearest is then a name.
	OfName bool
	// OfNumber means that the value has to be a JSON number; Nearest is then one.
	OfNumber bool
	// More is the number of faults that are not listed. Only the last fault of an error has it, and
	// then nothing else.
	More int
}

// String returns the fault as one message.
func (f Fault) String() string {
	if f.More > 0 {
		return f.want()
	}
	if f.Value == "null" && f.Path != "" {
		return "missing " + f.Path + ": " + f.want()
	}
	return "invalid " + cmp.Or(f.Path, "text") + " " + f.Value + ": " + f.want()
}

// want returns the part of the message that describes the valid values.
func (f Fault) want() string {
	if f.More > 0 {
		return fmt.Sprintf("and %d more", f.More)
	}
	text := "want " + f.Allowed
	if f.Nearest != "" {
		text += "; try " + f.Nearest
	}
	return text
}

// Error holds all faults of a schedule.
type Error struct {
	// Faults holds at least one fault, in the order of the schedule's elements.
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
