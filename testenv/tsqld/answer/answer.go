package answer

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Answer sends the answer to a request to a [Sink]. Errors of the Sink are wrapped so that they end
// the request.
type Answer struct {
	sink   Sink
	open   bool  // a result set has started and not ended
	sent   int64 // rows of the open result set, as far as they are counted
	done   int   // statements whose end was sent
	sets   int   // result sets that have started
	failed bool  // an error was sent without a DONE with the error bit after it
}

// New returns an answer without output.
func New(sink Sink) Answer { return Answer{sink: sink} }

// Collect calls do and collects its result sets. Messages and changes of the session still go to
// the client. The rows are on the account m. The error is that of do, or 701.
func (a *Answer) Collect(m *meter.Meter, do func() error) ([]ResultSet, error) {
	c := &collector{sink: a.sink, meter: m}
	a.sink = c
	err := do()
	a.sink = c.sink
	return c.sets, err
}

// IsOpen reports whether a result set has started and not ended.
func (a *Answer) IsOpen() bool { return a.open }

// Drop forgets the open result set.
func (a *Answer) Drop() { a.open = false }

// Rows returns the number of rows that CountedRow has sent in the current result set.
func (a *Answer) Rows() int64 { return a.sent }

// ResultSets returns the number of result sets that have started.
func (a *Answer) ResultSets() int { return a.sets }

// Statements returns the number of statements whose end was sent.
func (a *Answer) Statements() int { return a.done }

// Failed reports whether an error was sent without a DONE with the error bit after it.
func (a *Answer) Failed() bool { return a.failed }

// Columns starts a result set.
func (a *Answer) Columns(cols []types.Column) error {
	a.open, a.sent = true, 0
	a.sets++
	return sinkFailure(a.sink.Columns(cols))
}

// Row sends a row of the open result set.
func (a *Answer) Row(vals []types.Value) error { return sinkFailure(a.sink.Row(vals)) }

// CountedRow is Row for a result set whose rows are counted in case it fails.
func (a *Answer) CountedRow(vals []types.Value) error {
	a.sent++
	return a.Row(vals)
}

// Done sends a DONE that does not end a statement of the batch.
func (a *Answer) Done(d Done) error {
	a.failed = a.failed && !d.Error
	return sinkFailure(a.sink.Done(d))
}

// End sends the end of a statement.
func (a *Answer) End(d Done) error {
	a.open = false
	a.done++
	return a.Done(d)
}

// EndProc sends the end of a procedure, with the error bit if it is due.
func (a *Answer) EndProc() error {
	return a.Done(Done{EndProc: true, Error: a.failed, Command: CommandExecute})
}

// Message sends an error or an informational message.
func (a *Answer) Message(m *mserr.Error) error {
	a.failed = a.failed || m.Class > 10
	return sinkFailure(a.sink.Message(m))
}

// ReturnStatus sends the return code of a procedure.
func (a *Answer) ReturnStatus(code int32) error { return sinkFailure(a.sink.ReturnStatus(code)) }

// ReturnValue sends the value of an OUTPUT parameter; see [Sink].
func (a *Answer) ReturnValue(ordinal int, name string, t types.Type, v types.Value) error {
	return sinkFailure(a.sink.ReturnValue(ordinal, name, t, v))
}

// EnvChange reports a change of the session.
func (a *Answer) EnvChange(c EnvChange) error { return sinkFailure(a.sink.EnvChange(c)) }

// flusher is a Sink with a buffer.
type flusher interface{ Flush() error }

// Flush sends the buffered output of the Sink.
func (a *Answer) Flush() error {
	if f, ok := a.sink.(flusher); ok {
		return sinkFailure(f.Flush())
	}
	return nil
}

// Companion returns the Sink as a [Companion], if it is one.
func (a *Answer) Companion() (c Companion, ok bool) {
	c, ok = a.sink.(Companion)
	return c, ok
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
		return failure.Compile(refused.err)
	}
	return &sinkError{err}
}

// Disconnected reports whether an error is one of the Sink: the client has disconnected.
func Disconnected(err error) bool {
	var e *sinkError
	return errors.As(err, &e)
}

// Companion is a Sink of a session whose client may have several requests at once (MARS,
// Login.Multiple). The requests take turns, and share everything that belongs to the session; so a
// request can find that another one stands in its way.
type Companion interface {
	// OthersInTransaction reports whether the answer to another request, which has begun in the
	// transaction with a descriptor, has not been read to its end.
	OthersInTransaction(descriptor uint64) bool
}
