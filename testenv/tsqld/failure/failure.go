package failure

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// Error is an error of a statement on its way to its handler: a CATCH block, the end of a scope,
// or the end of the request.
type Error struct {
	Err    *mserr.Error
	Before *mserr.Error // sent before Err, and dropped if Err is caught; may be nil
	From   Origin
	Frame  any // activation in which the error occurred, in any type; nil until settled

	Settled bool
	Pending bool   // a TRY block will catch the error; nothing was sent
	Reach   Effect // if not pending: the scope that ends; the client got the error
}

// Error returns the text of the message.
func (f *Error) Error() string { return f.Err.Error() }

// Unwrap returns the message.
func (f *Error) Unwrap() error { return f.Err }

// As returns the failure that an error wraps, if any.
func As(err error) (*Error, bool) {
	var f *Error
	ok := errors.As(err, &f)
	return f, ok
}

// Compile marks an error as found while a statement was compiled.
func Compile(err error) error { return Originated(err, AtCompile) }

// Originated adds an origin to an error. It returns errors without an *mserr.Error unchanged.
func Originated(err error, from Origin) error {
	var f *Error
	if errors.As(err, &f) {
		return err
	}
	var e *mserr.Error
	if !errors.As(err, &e) {
		return err
	}
	return &Error{Err: e, From: from}
}

// Preceded returns an error of two messages, such as 1776 and 1750. CATCH sees only the last one.
func Preceded(first, last *mserr.Error) error {
	return &Error{Err: last, Before: first}
}

// NotSupported reports whether an error says that this server does not support a feature. SQL
// Server would have executed the statement, so no later statement may run as if it had been
// executed: the error therefore ends the same scope as an error of compilation.
func NotSupported(e *mserr.Error) bool { return e.Number == 40517 || e.Number == 40510 }

// WithMessage returns an error with a changed copy of the message in err. An error without a
// message, such as the cancellation of the request, is returned as it is.
func WithMessage(err error, change func(*mserr.Error) error) error {
	var e *mserr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	return change(&c)
}

// ErrorAt sets the line of the message in an error to the line of a node.
func ErrorAt(err error, n syntax.Node) error {
	return WithMessage(err, func(e *mserr.Error) error { return At(e, n) })
}

// At sets the line of an error to the line of a node.
func At(e *mserr.Error, n syntax.Node) *mserr.Error {
	e.Line = n.Pos().Line
	return e
}
