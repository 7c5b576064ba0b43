package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
	"github.com/jobagent/jobagent/testenv/tsqld/change"
	"github.com/jobagent/jobagent/testenv/tsqld/failure"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Session executes the requests of one connection. Except for Kill and OnKill, its methods are for
// one goroutine at a time and must not be called after Close.
type Session struct {
	*session.Session
	inst          *Instance
	cursors       map[string]*boundCursor // global cursors
	handles       map[int64]*prepared
	nextHandle    int64
	batchIdentity types.Value // SCOPE_IDENTITY() of batches
	caught        *mserr.Error
	bulk          *change.Bulk
	running       *run   // current request
	top           *frame // innermost activation
	depth         int    // number of active frames
	functionDepth int
}

// Batch executes a batch. Errors of statements go to the Sink. A returned error ends the
// connection: the client has disconnected, the request was canceled, or an error of severity 20 was
// sent.
func (s *Session) Batch(ctx context.Context, text string, sink answer.Sink) error {
	return s.serveText(ctx, sink, "BATCH", text, func(r *run) error {
		u, err := s.inst.units.Batch(s.Meter(), text, s.Options.QuotedIdentifier)
		if err != nil {
			return r.reject(err)
		}
		return calls{r}.batch(u)
	})
}

// serve executes a request without text.
func (s *Session) serve(ctx context.Context, sink answer.Sink, command string, do func(r *run) error) error {
	return s.serveText(ctx, sink, command, "", do)
}

// serveText executes one request: it creates the run and its context, and cleans up the session at
// the end.
func (s *Session) serveText(ctx context.Context, sink answer.Sink, command, text string, do func(r *run) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if err := s.BeginRequest(ctx, cancel, command, text); err != nil {
		return err
	}
	r := newRun(ctx, s, sink)
	s.running = r
	err := s.Parking.Resume(ctx)
	switch {
	case err == nil:
		err = do(r)
	case ctx.Err() == nil:
		err = errors.Join(r.reject(err), s.rollback(r))
	}
	err = s.finish(r, err)
	if err == nil {
		err = s.DropOrphans(ctx)
	}
	s.running, s.top, s.depth, s.functionDepth = nil, nil, 0, 0
	s.EndRequest() // other sessions may park the transaction from here on
	return err
}

// finish turns the error of a request into the error for the caller of the Session.
func (s *Session) finish(r *run, err error) error {
	var f *failure.Error
	var end error
	switch {
	case err == nil:
	case errors.As(err, &f):
		if f.Reach == failure.EndConnection {
			end = f.Err
		}
	case r.ctx.Err() != nil:
		// An attention leaves the transaction open, with three exceptions: XACT_ABORT is on, the
		// transaction has to end with the request, or SQLite was interrupted during a write, which
		// rolls the whole transaction back. After KILL or a lost connection Close rolls back.
		end = err
		if s.Tran.Open() && (s.Options.XactAbort || s.Tran.EndsWithRequest() || s.Tran.Begun() && !s.Conn.InTransaction() && !s.Tran.Parked()) {
			end = errors.Join(end, s.rollback(r))
		}
	default:
		end = err
	}
	s.caught = nil
	if end == nil && s.Tran.Doomed() {
		m := mserr.UncommittableAtEnd()
		m.Line = 1
		s.LastError = m.Number
		end = errors.Join(r.out.Message(m), s.rollback(r), r.out.Done(answer.Done{Error: true, Command: answer.CommandBatch}))
	}
	if end == nil {
		end = s.endBatchScope(r)
	}
	return end
}

// reject reports a text that could not be parsed. None of its statements ran.
func (r *run) reject(err error) error {
	m := r.message(err)
	if m == nil {
		return err
	}
	r.s.LastError = m.Number
	return errors.Join(r.out.Message(m), r.out.Done(answer.Done{Error: true, Command: answer.CommandBatch}))
}

// Reset restores the state after login, between requests. With keepTransaction an open transaction
// stays open. A session under EXECUTE AS is not reset: the error ends the connection.
func (s *Session) Reset(ctx context.Context, sink answer.Sink, keepTransaction bool) error {
	if s.IsKilled() {
		return session.ErrKilled
	}
	s.Parking.Wake()
	r := newRun(ctx, s, sink)
	if !keepTransaction && s.Tran.Open() {
		if err := s.rollback(r); err != nil {
			return err
		}
	}
	if s.Impersonating() {
		return mserr.ResetWhileImpersonating()
	}
	for _, c := range s.cursors {
		s.dropCursor(c)
	}
	for _, p := range s.handles {
		s.Meter().Drop(p.size())
	}
	s.cursors, s.handles, s.bulk, s.caught, s.batchIdentity = nil, nil, nil, nil, nil
	if err := s.RestoreDefaults(ctx); err != nil {
		return err
	}
	return sink.EnvChange(answer.EnvChange{Kind: answer.EnvResetAck})
}
