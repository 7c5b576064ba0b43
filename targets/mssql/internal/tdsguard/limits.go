package tdsguard

import (
	"fmt"
	"strings"
)

// Limits bound what a server may send. The zero value of a field means no limit but the protocol's own.
type Limits struct {
	// ValueBytes bounds one value that is kept, as it is on the wire; 2 bytes a character of nvarchar.
	ValueBytes int64
	// RowBytes bounds one row that is kept.
	RowBytes int64
	// OutputBytes bounds all rows together that are kept of one connection.
	OutputBytes int64
	// MessageBytes bounds the text of one message or error.
	MessageBytes int64
	// Messages bounds how many messages, errors and row counts there are on one connection.
	Messages int64
	// ResultSets bounds how many result sets there are on one connection.
	ResultSets int64
	// AnswerBytes bounds all that the server sends on one connection.
	AnswerBytes int64
}

// Violation says that a server sent what no SQL Server sends. The stream cannot be followed any further.
type Violation struct {
	// What names the token and its fault.
	What string
}

func (v *Violation) Error() string { return "the server does not keep to the protocol: " + v.What }

// Exceeded says that a server sent more than a limit allows. The stream can still be followed: see [Guard.Drain].
type Exceeded struct {
	// Limit is the field's name in the configuration, such as value_bytes.
	Limit string
	// Max is the limit.
	Max int64
	// What was too large; empty: what the limit's name says.
	What string
}

func (e *Exceeded) Error() string {
	if e.What != "" {
		return fmt.Sprintf("limits.%s (%s) is exceeded: %s", e.Limit, e.size(), e.What)
	}
	return fmt.Sprintf("limits.%s (%s) is exceeded", e.Limit, e.size())
}

// size writes the limit as the configuration does.
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
