package mserr

import "fmt"

// Error is a message to a client: an error (Class 11 and up) or an informational message (Class 10
// and below). See MS-TDS 2.2.7.10 and 2.2.7.13.
type Error struct {
	Number  int32  // message number; 50000 for RAISERROR with a text, the caller's for THROW
	State   uint8  // 1 unless the statement sets it
	Class   uint8  // severity, 0 to 25
	Message string // text with its parameters
	Proc    string // procedure of the error; "" for a batch
	Line    int32  // line in the batch or procedure, from 1; 0 until package exec sets it
}

// Error returns the message in sqlcmd's form, on one line.
func (e *Error) Error() string {
	if e.Proc != "" {
		return fmt.Sprintf("Msg %d, Level %d, State %d, Procedure %s, Line %d: %s", e.Number, e.Class, e.State, e.Proc, e.Line, e.Message)
	}
	return fmt.Sprintf("Msg %d, Level %d, State %d, Line %d: %s", e.Number, e.Class, e.State, e.Line, e.Message)
}

// New makes an error with a number, severity and text; state 1.
func New(number int32, class uint8, format string, args ...any) *Error {
	return &Error{Number: number, State: 1, Class: class, Message: fmt.Sprintf(format, args...)}
}

// NotSupported is error 40517 (Azure's "keyword or statement option is not supported"), with
// "tsqld:" in the text: the embedded server recognises the construct but does not support it.
// format and args name the construct.
func NotSupported(format string, args ...any) *Error {
	return New(40517, 16, "tsqld: %s is not supported in this version of the embedded server.", fmt.Sprintf(format, args...))
}

// WithState sets the state of a fresh error and returns it, for messages whose state is not 1.
func (e *Error) WithState(n uint8) *Error {
	e.State = n
	return e
}

// stateIf sets the state of a fresh error if a condition holds.
func (e *Error) stateIf(condition bool, n uint8) *Error {
	if condition {
		e.State = n
	}
	return e
}

// Is reports whether target is an *Error with the same number. So errors.Is(err, mserr.Deadlock(0,
// "")) compares numbers, not identities.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Number == e.Number
}
