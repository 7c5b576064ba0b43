package action

import (
	"fmt"
	"strings"
)

// Fault is one fault in a definition.
type Fault struct {
	// Path is a path in the form of SQL Server: $ is the definition, $.headers[2].name a member,
	// and names that are not plain are in double quotes.
	Path string `json:"path"`
	// Message quotes no part of the definition that may be a secret.
	Message string `json:"message"`
}

// String returns the path and the message.
func (f Fault) String() string { return f.Path + ": " + f.Message }

// Faults is the error for a definition with faults. It holds all of them, at most one for a path.
type Faults struct{ List []Fault }

// Error returns all faults in one line.
func (f *Faults) Error() string {
	texts := make([]string, len(f.List))
	for i, fault := range f.List {
		texts[i] = fault.String()
	}
	return "invalid definition of an action: " + strings.Join(texts, "; ")
}

// maxFaults is the number of faults that are listed.
const maxFaults = 100

// full reports whether no more faults are listed.
func (f *Faults) full() bool { return len(f.List) >= maxFaults }

// add adds a fault, unless the path has one already.
func (f *Faults) add(path, format string, args ...any) {
	if f.full() || f.has(path) {
		return
	}
	f.List = append(f.List, Fault{Path: path, Message: fmt.Sprintf(format, args...)})
}

// has reports whether there is a fault at a path.
func (f *Faults) has(path string) bool {
	for _, fault := range f.List {
		if fault.Path == path {
			return true
		}
	}
	return false
}

// err returns nil if there is no fault.
func (f *Faults) err() error {
	if len(f.List) == 0 {
		return nil
	}
	return f
}
