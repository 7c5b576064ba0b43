package exec

import (
	"errors"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/compile"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// message returns the message that the client gets for an error. It returns nil for errors that end
// the request without a message: the client has disconnected, the context has ended, or the failure
// was sent before. Details for the operator only, such as texts of SQLite, go to Config.OnError.
func (r *run) message(err error) *mserr.Error {
	var e *mserr.Error
	if errors.As(err, &e) {
		c := *e // caches may share the result of a constructor
		return &c
	}
	if answer.Disconnected(err) || r.ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, store.ErrManyDatabases) {
		return mserr.NotSupported("more than %d databases in one statement or transaction", store.MaxAttached)
	}
	var se *store.Error
	if errors.As(err, &se) {
		switch {
		case errors.Is(err, store.ErrFull):
			return mserr.Of(1105)
		case errors.Is(err, store.ErrMemory):
			return mserr.OutOfMemory()
		case errors.Is(err, store.ErrBusy):
			return mserr.LockTimeout()
		case errors.Is(err, store.ErrTooBig):
			return mserr.Of(7119)
		case errors.Is(err, store.ErrCorrupt):
			r.s.inst.Report(err)
			return mserr.New(824, 24,
				"tsqld: a database file of the embedded server is damaged. See the log of the embedded server.")
		}
		if e := limitMessage(se); e != nil {
			return e
		}
	}
	r.s.inst.Report(err)
	return mserr.Internal()
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
	if se.Code&0xff != session.SQLiteError {
		return nil
	}
	for _, l := range limits {
		if strings.Contains(se.Message, l.text) {
			return l.is()
		}
	}
	return nil
}
