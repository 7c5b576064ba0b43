package tds

import (
	"errors"
	"fmt"
)

// ErrVersion is returned by [ReadLogin] for a client that asks for a protocol older than TDS 7.1.
var ErrVersion = errors.New("unsupported tds version")

// FormatError is a message that violates MS-TDS. The connection cannot continue, because the
// position in the stream is lost.
type FormatError struct {
	What string // the structure and the violation; never contains values
}

// Error returns the structure and the violation.
func (e *FormatError) Error() string { return "malformed tds message: " + e.What }

// formatErrorf makes a [*FormatError]. The arguments must not be values of parameters or passwords.
func formatErrorf(format string, args ...any) error {
	return &FormatError{What: fmt.Sprintf(format, args...)}
}

// ValueError is a value that does not fit its declared type. In an answer it is a defect of the
// server.
type ValueError struct {
	Type string // the type's name, as in "nvarchar(10)"
	Why  string // the mismatch; does not contain the value
}

// Error returns the type and the mismatch.
func (e *ValueError) Error() string { return fmt.Sprintf("value does not fit %s: %s", e.Type, e.Why) }

// LengthError is a value with a length that its TYPE_INFO does not allow. The caller knows which
// value it is and turns it into error 8016, 8037 or 4815.
type LengthError struct {
	Token byte // token of the type
}

// Error returns the type's token.
func (e *LengthError) Error() string {
	return fmt.Sprintf("data type %#02X has an invalid data length", e.Token)
}

// valueErrorf makes a [*ValueError] about a value of a type. The arguments must not be the value.
func valueErrorf(ti typeInfo, format string, args ...any) error {
	return &ValueError{Type: ti.String(), Why: fmt.Sprintf(format, args...)}
}
