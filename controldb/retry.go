package controldb

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
)

// errnumDeadlock is SQL Server's error for the victim of a deadlock. The victim's transaction was rolled back, so the call did nothing.
const errnumDeadlock = 1205

// deadlockRetries is how often a call is tried again that was the victim of a deadlock.
const deadlockRetries = 4

// deadlockWait is the longest wait before the first retry. It doubles with each; the wait is random below that, so that those who
// met in a deadlock do not meet again.
const deadlockWait = 100 * time.Millisecond

// WithDeadlockRetries returns a store on the same connections that calls procedures again, a few times, when they were the victim of
// a deadlock (error 1205): all of them run in one transaction, so that nothing was done. notify is told of each retry: what was
// tried, and how long it waits. Agents do without: their loops repeat calls anyway.
func (s *Store) WithDeadlockRetries(notify func(op string, wait time.Duration)) *Store {
	with := *s
	with.onDeadlock = notify
	return &with
}

// retry calls do again while it is the victim of a deadlock, if the store does that and do says that it may be.
func (s *Store) retry(ctx context.Context, op string, do func() (again bool, err error)) error {
	for n := 0; ; n++ {
		again, err := do()
		if s.onDeadlock == nil || !again || n == deadlockRetries || !isDeadlock(err) {
			return err
		}
		wait := rand.N(deadlockWait << n)
		s.onDeadlock(op, wait)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// isDeadlock reports an error of the victim of a deadlock.
func isDeadlock(err error) bool {
	var e mssqldb.Error
	return errors.As(err, &e) && e.Number == errnumDeadlock
}
