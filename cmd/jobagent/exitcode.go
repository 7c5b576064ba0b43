package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jobagent/jobagent/controldb"
)

// Exit codes. They are part of the interface: scripts branch on them, so a number never changes its meaning.
const (
	exitOK          = 0
	exitFailure     = 1   // the operation did not succeed, for a reason that has no code of its own
	exitUsage       = 2   // the command line, the configuration or the input is wrong; nothing was done
	exitNotFound    = 3   // what was named does not exist
	exitConnection  = 4   // the server cannot be reached, or refuses the login
	exitSchema      = 5   // the control database is not installed, or of another version
	exitConflict    = 6   // the state does not allow it: exists already, is in use, is running
	exitRunFailed   = 7   // with --wait: the run ended, and not in success; doctor: a finding is a warning or an error
	exitInterrupted = 130 // a signal ended the command (128 + SIGINT, as shells count)
)

// usageError is a mistake in the command line or in the input.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// usage marks err as a mistake in the command line or in the input.
func usage(err error) error { return &usageError{err} }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exitError ends the command with a code of its own. A nil err prints nothing: the command has said what there is to say.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}
func (e *exitError) Unwrap() error { return e.err }

// exitWith ends the command with a code of its own. A nil err prints nothing.
func exitWith(code int, err error) error { return &exitError{code, err} }

// exitCode maps an error to the exit code that a user's script sees.
func exitCode(err error) int {
	var exit *exitError
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, controldb.ErrUnreachable), errors.Is(err, controldb.ErrLoginFailed):
		return exitConnection
	case errors.Is(err, controldb.ErrNotInstalled), errors.Is(err, controldb.ErrSchemaVersion):
		return exitSchema
	case errors.Is(err, controldb.ErrUnfit):
		return exitConflict
	}
	switch controldb.KindOf(err) {
	case controldb.KindNotFound:
		return exitNotFound
	case controldb.KindInvalid:
		return exitUsage
	case controldb.KindConflict:
		return exitConflict
	}
	return exitFailure
}

// report prints err as one line and returns its exit code.
func report(stderr io.Writer, err error) int {
	var exit *exitError
	if err != nil && !(errors.As(err, &exit) && exit.err == nil) {
		fmt.Fprintf(stderr, "error: %s\n", oneLine(err.Error()))
	}
	return exitCode(err)
}

// oneLine folds a text's line breaks, so that an error stays one line in a log.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " | ")
}
