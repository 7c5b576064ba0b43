package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// failure is an error of a statement on its way to whoever handles it: a CATCH block, the end of a
// scope, or the end of the request.
type failure struct {
	err    *mserr.Error
	before *mserr.Error // sent before err, and lost when err is caught; nil for none
	from   origin
	frame  *frame // in which it occurred; nil until settled

	settled bool
	pending bool   // a TRY block will catch it; nothing was sent
	reach   effect // when not pending: the client was told, and this much ends
}

// Error returns the message's text.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the message.
func (f *failure) Unwrap() error { return f.err }

// compileFailure marks an error that was found while a statement was compiled.
func compileFailure(err error) error { return originated(err, atCompile) }

// originated marks where an error came from. Errors that are no messages pass unchanged.
func originated(err error, from origin) error {
	var f *failure
	if errors.As(err, &f) {
		return err
	}
	var e *mserr.Error
	if !errors.As(err, &e) {
		return err
	}
	return &failure{err: e, from: from}
}

// isRefusal reports errors that say that this server does not do what a statement asks. SQL Server would have done it,
// so that no statement after it may run as if it had been: a refusal reaches as far as an error of compilation.
func isRefusal(e *mserr.Error) bool { return e.Number == 40517 || e.Number == 40510 }

// message turns an error into what the client is told; nil for errors that end the request without a
// message: the client is gone, the context has ended, or a failure that was told already.
func message(ctx context.Context, err error) *mserr.Error {
	var e *mserr.Error
	if errors.As(err, &e) {
		c := *e // constructors' results may be shared by caches
		return &c
	}
	var gone *sinkError
	if errors.As(err, &gone) || ctx.Err() != nil {
		return nil
	}
	var se *store.Error
	if errors.As(err, &se) {
		switch {
		case errors.Is(err, store.ErrFull):
			return mserr.New(1105, 17, "Could not allocate space because the disk or memory of the embedded server is full.")
		case errors.Is(err, store.ErrBusy):
			return mserr.LockTimeout()
		case errors.Is(err, store.ErrTooBig):
			return mserr.New(7119, 16, "Attempting to grow LOB beyond maximum allowed size of 1000000000 bytes.")
		case errors.Is(err, store.ErrCorrupt):
			return mserr.New(824, 24, "tsqld: SQLite found a damaged database file: %s", se.Message)
		}
	}
	return mserr.New(8630, 17, "tsqld: internal error: %s", err)
}

// sinkError is an error of the Sink: the client is gone.
type sinkError struct{ err error }

// Error returns the text of the Sink's error.
func (e *sinkError) Error() string { return e.err.Error() }

// Unwrap returns the Sink's error.
func (e *sinkError) Unwrap() error { return e.err }

// gone wraps an error of the Sink, so that it ends the request.
func gone(err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{err}
}

// asFailure finds the failure in an error.
func asFailure(err error) (*failure, bool) {
	var f *failure
	ok := errors.As(err, &f)
	return f, ok
}
