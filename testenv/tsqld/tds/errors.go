package tds

import (
	"errors"
	"fmt"
)

// ErrVersion is returned by [ReadLogin] for a client that asks for a protocol older than TDS 7.1.
var ErrVersion = errors.New("unsupported tds version")

// FormatError is a message that does not follow MS-TDS. The connection cannot go on after it, as the
// position in the stream is lost.
type FormatError struct {
	What string // the structure being read, and what is wrong with it; never contains values
}

// Error returns what was wrong.
func (e *FormatError) Error() string { return "malformed tds message: " + e.What }

// formatErrorf makes a [*FormatError]. The arguments must not be values of parameters or passwords.
func formatErrorf(format string, args ...any) error {
	return &FormatError{What: fmt.Sprintf(format, args...)}
}

// ValueError is a value that does not fit the type that it was said to have: a defect of whoever made
// the row, not of the client.
type ValueError struct {
	Type string // the type's name, as in "nvarchar(10)"
	Why  string // what is wrong; does not contain the value
}

// Error names the type and the mismatch.
func (e *ValueError) Error() string { return fmt.Sprintf("value does not fit %s: %s", e.Type, e.Why) }

// LengthError is a value whose length its TYPE_INFO does not allow. Whoever reads the message says which value it is:
// errors 8016, 8037 and 4815.
type LengthError struct {
	Token byte // of the type
}

// Error names the type's token.
func (e *LengthError) Error() string {
	return fmt.Sprintf("data type %#02X has an invalid data length", e.Token)
}

// valueErrorf makes a [*ValueError] about a value of a type. The arguments must not be the value.
func valueErrorf(ti typeInfo, format string, args ...any) error {
	return &ValueError{Type: ti.String(), Why: fmt.Sprintf(format, args...)}
}
