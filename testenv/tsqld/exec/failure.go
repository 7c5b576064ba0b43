package exec

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// failure is an error of a statement on its way to its handler: a CATCH block, the end of a scope,
// or the end of the request.
type failure struct {
	err    *mserr.Error
	before *mserr.Error // sent before err, and dropped if err is caught; may be nil
	from   origin
	frame  *frame // frame in which the error occurred; nil until settled

	settled bool
	pending bool   // a TRY block will catch the error; nothing was sent
	reach   effect // if not pending: the scope that ends; the client got the error
}

// Error returns the text of the message.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the message.
func (f *failure) Unwrap() error { return f.err }

// compileFailure marks an error as found while a statement was compiled.
func compileFailure(err error) error { return originated(err, atCompile) }

// originated adds an origin to an error. It returns errors without an *mserr.Error unchanged.
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

// isNotSupported reports whether an error says that this server does not support a feature. SQL
// Server would have executed the statement, so no later statement may run as if it had been
// executed: the error therefore ends the same scope as an error of compilation.
func isNotSupported(e *mserr.Error) bool { return e.Number == 40517 || e.Number == 40510 }

// message returns the message that the client gets for an error. It returns nil for errors that end
// the request without a message: the client has disconnected, the context has ended, or the failure
// was sent before. Details for the operator only, such as texts of SQLite, go to Config.OnError.
func (r *run) message(err error) *mserr.Error {
	var e *mserr.Error
	if errors.As(err, &e) {
		c := *e // caches may share the result of a constructor
		return &c
	}
	var sinkErr *sinkError
	if errors.As(err, &sinkErr) || r.ctx.Err() != nil {
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
			return mserr.New(824, 24,
				"tsqld: a database file of the embedded server is damaged. See the log of the embedded server.")
		}
		if e := limitMessage(se); e != nil {
			return e
		}
	}
	r.s.inst.report(err)
	return mserr.Internal()
}

// report passes an error to Config.OnError.
func (i *server) report(err error) {
	if i.cfg.OnError != nil {
		i.cfg.OnError(err)
	}
}

// limits maps SQLite's messages about queries that exceed its limits to the messages of SQL Server
// for queries that exceed the limits of SQL Server. The numbers are those of this build of SQLite
// (https://www.sqlite.org/limits.html).
var limits = []struct {
	text string
	is   func() *mserr.Error
}{
	{"tables in a join", func() *mserr.Error { return mserr.TooManyTables(compile.MaxTables) }},
	{"too many FROM clause terms", func() *mserr.Error { return mserr.TooManyTables(compile.MaxTables) }},
	{"too many columns in result set", func() *mserr.Error { return mserr.TooManyElements(compile.MaxElements) }},
	{"Expression tree is too large", mserr.TooDeep},
	{"nested too deep", mserr.TooDeep}, // as are many subqueries side by side
	{"parser stack overflow", mserr.TooDeep},
	{"Recursion limit", mserr.TooDeep},
	{"too many ", mserr.InternalResources}, // terms in ORDER BY and GROUP BY, columns, arguments, variables
}

// limitMessage returns the message for a query that exceeds a limit of SQLite, or nil for other
// errors.
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

// sinkError wraps an error of the Sink. It means that the client has disconnected.
type sinkError struct{ err error }

// Error returns the text of the Sink's error.
func (e *sinkError) Error() string { return e.err.Error() }

// Unwrap returns the Sink's error.
func (e *sinkError) Unwrap() error { return e.err }

// sinkFailure wraps an error of the Sink, so that the error ends the request. A [refusal] ends the
// procedure only.
func sinkFailure(err error) error {
	if err == nil {
		return nil
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		return compileFailure(refused.err)
	}
	return &sinkError{err}
}

// asFailure returns the failure that an error wraps, if any.
func asFailure(err error) (*failure, bool) {
	var f *failure
	ok := errors.As(err, &f)
	return f, ok
}
