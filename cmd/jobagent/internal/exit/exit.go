// Package exit maps errors to exit codes and prints them.
package exit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/doctor"
)

// Exit codes. Scripts depend on them, so a number never changes its meaning.
const (
	CodeOK          = 0
	CodeFailure     = 1   // the operation failed for a reason that has no code of its own
	CodeUsage       = 2   // invalid command line, configuration or input; nothing was changed
	CodeNotFound    = 3   // a named object does not exist
	CodeConnection  = 4   // the server is unreachable or refuses the login, or the login has no role
	CodeSchema      = 5   // the control database is not installed, or its schema has another version
	CodeConflict    = 6   // the object's state forbids the operation: it exists already, is in use, or runs
	CodeRunFailed   = 7   // --wait: the run did not succeed, or no target ran; doctor: a warning or an error; import --strict: something was lost; query, drift check: a database failed or differs
	CodeWaitTimeout = 124 // --wait-timeout has passed; the run goes on (as timeout(1) of coreutils)
	CodeInterrupted = 130 // a signal ended the command (128 + SIGINT, as in shells)
)

// UsageError is an error in the command line or in the input.
type UsageError struct{ err error }

// Error implements error.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *UsageError) Unwrap() error { return e.err }

// ListenCode returns the exit code of an error of listening on an address: a conflict if another
// program has the address, else an error of the command line or the configuration.
func ListenCode(err error) int {
	if errors.Is(err, syscall.EADDRINUSE) {
		return CodeConflict
	}
	return CodeUsage
}

// Usage marks err as an error in the command line or in the input.
func Usage(err error) error { return &UsageError{err} }

// Usagef is [Usage] with a formatted error.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Error is an error with an exit code of its own. A nil err prints nothing, since the command has
// printed all there is to print.
type Error struct {
	code int
	err  error
}

// Error implements error.
func (e *Error) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// Unwrap returns the cause, for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.err }

// With returns err with an exit code of its own. A nil err prints nothing.
func With(code int, err error) error { return &Error{code, err} }

// Code returns the exit code of an error.
func Code(err error) int {
	var exit *Error
	var usage *UsageError
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return CodeUsage
	case errors.Is(err, context.Canceled):
		return CodeInterrupted
	case errors.Is(err, dberror.ErrUnreachable), errors.Is(err, dberror.ErrLoginFailed), errors.Is(err, dberror.ErrNoRole):
		return CodeConnection
	case errors.Is(err, dberror.ErrNotInstalled), errors.Is(err, dberror.ErrSchemaVersion):
		return CodeSchema
	case errors.Is(err, doctor.ErrUnfit), errors.Is(err, deploy.ErrInUse), errors.Is(err, deploy.ErrLocked):
		return CodeConflict
	}
	switch dberror.KindOf(err) {
	case dberror.KindNotFound:
		return CodeNotFound
	case dberror.KindInvalid:
		return CodeUsage
	case dberror.KindConflict:
		return CodeConflict
	}
	return CodeFailure
}

// Report prints err on one line and returns its exit code.
func Report(stderr io.Writer, err error) int {
	var exit *Error
	if err != nil && !(errors.As(err, &exit) && exit.err == nil) {
		fmt.Fprintf(stderr, "error: %s\n", output.OneLine(err.Error()))
	}
	return Code(err)
}
