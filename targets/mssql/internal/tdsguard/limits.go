package tdsguard

import (
	"fmt"
	"strings"
)

// Limits bound what a server may send. In the zero value only the protocol's bounds hold.
type Limits struct {
	// ValueBytes bounds a kept value by its length on the network; a character of nvarchar has 2
	// bytes.
	ValueBytes int64
	// RowBytes bounds a kept row.
	RowBytes int64
	// OutputBytes bounds the sum of all kept rows of a connection.
	OutputBytes int64
	// MessageBytes bounds the text of one message or error.
	MessageBytes int64
	// Messages bounds the number of messages, errors and row counts of a connection.
	Messages int64
	// ResultSets bounds the number of result sets of a connection.
	ResultSets int64
	// AnswerBytes bounds all data of a connection.
	AnswerBytes int64
}

// Violation means that the server's data violate the protocol. The stream cannot be followed any
// further.
type Violation struct {
	// What names the token and the fault.
	What string
}

// Error implements error.
func (v *Violation) Error() string { return "the server violates the protocol: " + v.What }

// Exceeded means that the server exceeded a limit. The stream can still be followed: see
// [Guard.Drain].
type Exceeded struct {
	// Limit is the name of the field in the configuration, such as value_bytes.
	Limit string
	// Max is the value of the limit.
	Max int64
	// What describes the excess; empty if the name of the limit does.
	What string
}

// Error implements error.
func (e *Exceeded) Error() string {
	if e.What != "" {
		return fmt.Sprintf("limits.%s (%s) is exceeded: %s", e.Limit, e.size(), e.What)
	}
	return fmt.Sprintf("limits.%s (%s) is exceeded", e.Limit, e.size())
}

// size returns the limit in the configuration's form.
func (e *Exceeded) size() string {
	if !strings.HasSuffix(e.Limit, "_bytes") {
		return fmt.Sprint(e.Max)
	}
	for i, unit := range []string{"GB", "MB", "KB"} {
		if one := int64(1) << (30 - 10*i); e.Max >= one && e.Max%one == 0 {
			return fmt.Sprintf("%d%s", e.Max/one, unit)
		}
	}
	return fmt.Sprintf("%d bytes", e.Max)
}
