package body

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Codes of faults, which Details of the error carry.
const (
	CodeSyntax    = "InvalidJSON"
	CodeType      = "InvalidType"
	CodeValue     = "InvalidValue"
	CodeDuplicate = "DuplicateProperty"
	CodeRequired  = "MissingProperty"
	CodeUnknown   = "UnknownProperty"
)

// maxFaults bounds the faults of one body.
const maxFaults = 100

// path is a JSON path: a chain from the last element to the root, whose path is nil.
type path []element

// element is a step of a path: a property, or an index if name is empty and property is false.
type element struct {
	name     string
	at       int
	property bool
}

func (p path) property(name string) path { return append(p, element{name: name, property: true}) }
func (p path) index(i int) path          { return append(p, element{at: i}) }
func (p path) parent() path              { return p[:len(p)-1] }

// String returns the path as in "$.properties.members[0].type".
func (p path) String() string {
	var b strings.Builder
	b.WriteByte('$')
	for _, e := range p {
		switch {
		case !e.property:
			fmt.Fprintf(&b, "[%d]", e.at)
		case plain(e.name):
			b.WriteByte('.')
			b.WriteString(e.name)
		default:
			b.WriteString("[" + strconv.Quote(wording.Clip(e.name, 100, wording.Bytes)) + "]")
		}
	}
	return b.String()
}

// plain reports whether a name needs no quotes in a path.
func plain(name string) bool {
	for i, r := range name {
		letter := r == '_' || r == '$' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != "" && len(name) <= 100
}

// faults collects what is wrong.
type faults struct{ list []rest.Detail }

func (f *faults) add(p path, code, message string) {
	if len(f.list) < maxFaults {
		f.list = append(f.list, rest.Detail{Code: code, Message: message, Target: p.String()})
	}
}

// err returns the faults as an error; nil means none.
func (f *faults) err() error {
	if len(f.list) == 0 {
		return nil
	}
	return NewError(f.list)
}

// NewError returns the error about a body with faults, in the form that Decode gives it. Surfaces
// use it for faults that they find themselves. There is at least one.
func NewError(list []rest.Detail) *rest.Error {
	first := list[0]
	message := fmt.Sprintf("The body of the request is invalid: %s: %s", first.Target, first.Message)
	if more := len(list) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more, see details)", more)
	}
	return &rest.Error{
		Status: http.StatusBadRequest, Code: rest.CodeInvalidBody, Message: message, Target: first.Target, Details: list,
	}
}
