package exit

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
)

// Exit codes. They are part of the interface: scripts branch on them, so a number never changes its meaning.
const (
	CodeOK          = 0
	CodeFailure     = 1   // the operation did not succeed, for a reason that has no code of its own
	CodeUsage       = 2   // the command line, the configuration or the input is wrong; nothing was done
	CodeNotFound    = 3   // what was named does not exist
	CodeConnection  = 4   // the server cannot be reached, or refuses the login
	CodeSchema      = 5   // the control database is not installed, or of another version
	CodeConflict    = 6   // the state does not allow it: exists already, is in use, is running
	CodeRunFailed   = 7   // with --wait: the run ended, and not in success; doctor: a finding is a warning or an error
	CodeInterrupted = 130 // a signal ended the command (128 + SIGINT, as shells count)
)

// UsageError is a mistake in the command line or in the input.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return e.err }

// Usage marks err as a mistake in the command line or in the input.
func Usage(err error) error { return &UsageError{err} }

// Usagef makes a usageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// Error ends the command with a code of its own. A nil err prints nothing: the command has said what there is to say.
type Error struct {
	code int
	err  error
}

func (e *Error) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *Error) Unwrap() error { return e.err }

// With ends the command with a code of its own. A nil err prints nothing.
func With(code int, err error) error { return &Error{code, err} }

// Code maps an error to the exit code that a user's script sees.
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
	case errors.Is(err, controldb.ErrUnreachable), errors.Is(err, controldb.ErrLoginFailed):
		return CodeConnection
	case errors.Is(err, controldb.ErrNotInstalled), errors.Is(err, controldb.ErrSchemaVersion):
		return CodeSchema
	case errors.Is(err, controldb.ErrUnfit):
		return CodeConflict
	}
	switch controldb.KindOf(err) {
	case controldb.KindNotFound:
		return CodeNotFound
	case controldb.KindInvalid:
		return CodeUsage
	case controldb.KindConflict:
		return CodeConflict
	}
	return CodeFailure
}

// Report prints err as one line and returns its exit code.
func Report(stderr io.Writer, err error) int {
	var exit *Error
	if err != nil && !(errors.As(err, &exit) && exit.err == nil) {
		fmt.Fprintf(stderr, "error: %s\n", output.OneLine(err.Error()))
	}
	return Code(err)
}
