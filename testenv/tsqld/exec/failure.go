package exec

import (
	"errors"
	"strings"

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
// message: the client is gone, the context has ended, or a failure that was told already. What only the
// server's owner is to know, such as SQLite's own words, goes to Config.OnError.
func (r *run) message(err error) *mserr.Error {
	var e *mserr.Error
	if errors.As(err, &e) {
		c := *e // constructors' results may be shared by caches
		return &c
	}
	var gone *sinkError
	if errors.As(err, &gone) || r.ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, store.ErrManyDatabases) {
		return mserr.NotSupported("more than %d databases in one statement or transaction", store.MaxAttached)
	}
	var se *store.Error
	if errors.As(err, &se) {
		switch {
		case errors.Is(err, store.ErrFull):
			return mserr.New(1105, 17, "Could not allocate space because the disk of the embedded server is full.")
		case errors.Is(err, store.ErrMemory):
			return mserr.OutOfMemory()
		case errors.Is(err, store.ErrBusy):
			return mserr.LockTimeout()
		case errors.Is(err, store.ErrTooBig):
			return mserr.New(7119, 16, "Attempting to grow LOB beyond maximum allowed size of 1000000000 bytes.")
		case errors.Is(err, store.ErrCorrupt):
			r.s.inst.report(err)
			return mserr.New(824, 24, "tsqld: a database file of the embedded server is damaged. The log of the embedded server says more.")
		}
		if e := limitMessage(se); e != nil {
			return e
		}
	}
	r.s.inst.report(err)
	return mserr.Internal()
}

// report tells the server's owner of an error that clients are not told the cause of.
func (i *Instance) report(err error) {
	if i.cfg.OnError != nil {
		i.cfg.OnError(err)
	}
}

// limits are SQLite's texts about queries that are too big for it, and what SQL Server says of those that are too big for
// SQL Server. The numbers are those of SQLite as it is built here (https://www.sqlite.org/limits.html).
var limits = []struct {
	text string
	is   func() *mserr.Error
}{
	{"tables in a join", func() *mserr.Error { return mserr.TooManyTables(mostTables) }},
	{"too many FROM clause terms", func() *mserr.Error { return mserr.TooManyTables(mostTables) }},
	{"too many columns in result set", func() *mserr.Error { return mserr.TooManyElements(mostElements) }},
	{"Expression tree is too large", mserr.TooDeep},
	{"parser stack overflow", mserr.TooDeep},
	{"Recursion limit", mserr.TooDeep},
	{"too many ", mserr.InternalResources}, // terms in ORDER BY and GROUP BY, columns, arguments, variables
}

// Limits of SQLite: tables in one FROM, and columns of one select list.
const (
	mostTables   = 64
	mostElements = 2000
)

// limitMessage is the message for a query that is too big for SQLite; nil for other errors.
func limitMessage(se *store.Error) *mserr.Error {
	if se.Code&0xff != sqliteError {
		return nil
	}
	for _, l := range limits {
		if strings.Contains(se.Message, l.text) {
			return l.is()
		}
	}
	return nil
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
