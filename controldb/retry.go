package controldb

import (
	"context"
	"github.com/jobagent/jobagent/controldb/dberror"
	"math/rand/v2"
	"time"
)

// deadlockRetries is how often a call is repeated after a deadlock.
const deadlockRetries = 4

// deadlockWait is the maximum backoff before the first retry. It doubles with each retry. The
// actual wait is random between 0 and the maximum, so that the same calls do not collide again.
const deadlockWait = 100 * time.Millisecond

// WithDeadlockRetries returns a store on the same connections that repeats a procedure call a few
// times when it was a deadlock victim (error 1205). Each procedure is one transaction, so the
// victim had no effect. notify is called before each retry with the operation and the wait. Agents
// do not use it, because their loops repeat calls anyway.
func (s *Store) WithDeadlockRetries(notify func(op string, wait time.Duration)) *Store {
	with := *s
	with.onDeadlock = notify
	return &with
}

// retry repeats do after a deadlock if the store retries deadlocks and do reports that it may be
// repeated.
func (s *Store) retry(ctx context.Context, op string, do func() (again bool, err error)) error {
	for n := 0; ; n++ {
		again, err := do()
		s.retireAfter(err)
		if s.onDeadlock == nil || !again || n == deadlockRetries || !dberror.IsDeadlock(err) {
			return err
		}
		wait := rand.N(deadlockWait << n)
		s.onDeadlock(op, wait)
		if s.observer != nil {
			s.observer.Retried()
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// WithSlowCalls returns a store on the same connections that calls notify, on another goroutine,
// when a procedure has not answered within a time. A lock of another session is the usual reason:
// SQL Server waits for it without a limit and without a word.
func (s *Store) WithSlowCalls(after time.Duration, notify func(op string)) *Store {
	with := *s
	with.onSlow, with.slowAfter = notify, after
	return &with
}

// tellSlow calls onSlow unless the function that it returns is called in time.
func (s *Store) tellSlow(op string) (answered func()) {
	if s.onSlow == nil {
		return func() {}
	}
	timer := time.AfterFunc(s.slowAfter, func() { s.onSlow(op) })
	return func() { timer.Stop() }
}
