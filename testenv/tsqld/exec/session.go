package exec

import (
	"context"
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/types"
)

// Session executes the requests of one connection. Except for Kill and OnKill, its methods are for
// one goroutine at a time and must not be called after Close.
type Session struct {
	*core
	inst          *Instance
	tempProcs     map[string]*tempProcedure // by folded name
	cursors       map[string]*cursor        // global cursors
	handles       map[int64]*prepared
	nextHandle    int64
	batchIdentity types.Value // SCOPE_IDENTITY() of batches
	caught        *mserr.Error
	bulk          *bulkTarget
	running       *run   // current request
	top           *frame // innermost activation
	depth         int    // number of active frames
	functionDepth int
}

// Batch executes a batch. Errors of statements go to the Sink. A returned error ends the
// connection: the client has disconnected, the request was canceled, or an error of severity 20 was
// sent.
func (s *Session) Batch(ctx context.Context, text string, sink Sink) error {
	return s.serveText(ctx, sink, "BATCH", text, func(r *run) error {
		u, err := s.inst.units.batch(s.meter, text, s.opts.quotedIdentifier)
		if err != nil {
			return r.reject(err)
		}
		return r.batch(u)
	})
}

// serve executes a request without text.
func (s *Session) serve(ctx context.Context, sink Sink, command string, do func(r *run) error) error {
	return s.serveText(ctx, sink, command, "", do)
}

// serveText executes one request: it creates the run and its context, and cleans up the session at
// the end.
func (s *Session) serveText(ctx context.Context, sink Sink, command, text string, do func(r *run) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.mu.Lock()
	if s.killed {
		s.mu.Unlock()
		return ErrKilled
	}
	s.cancel = cancel
	s.request = requestInfo{active: true, command: command, text: text, started: s.inst.now(), state: s.state()}
	s.mu.Unlock()
	r := &run{s: s, ctx: ctx, out: sink}
	s.running = r
	s.meter.Begin(ctx)
	err := s.finish(r, do(r))
	if err == nil && s.inst.orphans.Load() {
		err = s.dropGlobals(ctx, false)
	}
	s.muchUsed = s.meter.End() > s.inst.pool.Limit()/freeMemoryDivisor
	s.running, s.top, s.depth, s.functionDepth = nil, nil, 0, 0
	s.mu.Lock()
	s.cancel = nil
	s.request.active, s.request.text, s.request.ended, s.request.state = false, "", s.inst.now(), s.state()
	s.mu.Unlock()
	return err
}

// finish turns the error of a request into the error for the caller of the Session.
func (s *Session) finish(r *run, err error) error {
	var f *failure
	var end error
	switch {
	case err == nil:
	case errors.As(err, &f):
		if f.reach == endConnection {
			end = f.err
		}
	case r.ctx.Err() != nil:
		// An attention leaves the transaction open, with three exceptions: XACT_ABORT is on, the
		// transaction has to end with the request, or SQLite was interrupted during a write, which
		// rolls the whole transaction back. After KILL or a lost connection Close rolls back.
		end = err
		if s.tran.level > 0 && (s.opts.xactAbort || s.tran.batch || s.tran.begun && !s.conn.InTransaction()) {
			end = errors.Join(end, s.rollback(r))
		}
	default:
		end = err
	}
	s.caught = nil
	if end == nil && s.tran.level > 0 && s.tran.doomed {
		m := mserr.UncommittableAtEnd()
		m.Line = 1
		s.lastError = m.Number
		end = errors.Join(sinkFailure(r.out.Message(m)), s.rollback(r), sinkFailure(r.out.Done(Done{Error: true})))
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
	r.s.lastError = m.Number
	return errors.Join(sinkFailure(r.out.Message(m)), sinkFailure(r.out.Done(Done{Error: true})))
}

// Reset restores the state after login, between requests. With keepTransaction an open transaction
// stays open. A session under EXECUTE AS is not reset: the error ends the connection.
func (s *Session) Reset(ctx context.Context, sink Sink, keepTransaction bool) error {
	if s.isKilled() {
		return ErrKilled
	}
	r := &run{s: s, ctx: ctx, out: sink}
	if !keepTransaction && s.tran.level > 0 {
		if err := s.rollback(r); err != nil {
			return err
		}
	}
	if len(s.impersonations) > 0 {
		return mserr.ResetWhileImpersonating()
	}
	isolation := s.opts.isolation
	s.opts = s.base
	s.opts.isolation = isolation // sp_reset_connection keeps the isolation level (KB 3025845)
	s.inst.locks.ReleaseAll(s.owner)
	s.inst.locks.SetPriority(s.locks, 0)
	for _, c := range s.cursors {
		s.dropCursor(c)
	}
	for _, p := range s.handles {
		s.meter.Drop(p.size())
	}
	s.cursors, s.handles, s.contextKeys, s.contextSize, s.bulk, s.tempProcs = nil, nil, nil, 0, nil, nil
	s.rowCount, s.lastError, s.fetchStatus, s.caught = 0, 0, 0, nil
	s.lastIdentity, s.batchIdentity = nil, nil
	s.dbID = s.homeDB
	if s.databaseByID(s.dbID) == nil {
		s.dbID = catalog.DatabaseMaster
	}
	if err := s.enter(s.dbID); err != nil {
		return err
	}
	if s.tran.level == 0 {
		if err := s.dropTemps(ctx, nil); err != nil {
			return err
		}
		if err := s.endGlobals(ctx); err != nil {
			return err
		}
	}
	return sink.EnvChange(EnvChange{Kind: EnvResetAck})
}

// Close rolls back the open transaction and releases the resources of the session. It must be
// called once. A panic in one step does not prevent the other steps.
func (s *core) Close() error {
	defer s.ReleaseMemory() // last: KILL and disconnected clients do not wait for it
	defer close(s.ended)
	defer func() {
		s.inst.mu.Lock()
		defer s.inst.mu.Unlock()
		delete(s.inst.sessions, s.id)
		s.inst.signalLeave()
	}()
	defer func() {
		s.muchUsed = s.muchUsed || s.meter.Used() > s.inst.pool.Limit()/freeMemoryDivisor
		s.meter.Close()
	}()
	defer s.inst.store.Release(s.conn)
	defer s.inst.locks.Close(s.locks)
	if err := s.rollbackOpen(); err != nil {
		return err
	}
	return s.endGlobals(context.Background())
}
