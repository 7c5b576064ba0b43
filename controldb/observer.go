package controldb

import (
	"database/sql"
	"time"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Observer is told about the calls of a store. It is called by many goroutines at once, and must
// not block.
type Observer interface {
	// Called is called after each try of a call. name is the procedure, or what a read of a view
	// does, such as "list jobs"; it never depends on the arguments.
	Called(name string, elapsed time.Duration, err error)
	// Retried is called before a call is repeated after a deadlock.
	Retried()
}

// WithObserver returns a store on the same connections whose calls of procedures and views are
// observed. Deployments and the doctor are not.
func (s *Store) WithObserver(o Observer) *Store {
	return s.with(func(c *call.Conn) { c.Observer = o })
}

// PoolStats returns the statistics of the store's connections.
func (s *Store) PoolStats() sql.DBStats { return call.DB(s.conn).Stats() }

// WithDeadlockRetries returns a store on the same connections that repeats a procedure call a few
// times when it was a deadlock victim (error 1205). Each procedure is one transaction, so the
// victim had no effect. notify is called before each retry with the operation and the wait. Agents
// do not use it, because their loops repeat calls anyway.
func (s *Store) WithDeadlockRetries(notify func(op string, wait time.Duration)) *Store {
	return s.with(func(c *call.Conn) { c.OnDeadlock = notify })
}

// WithSlowCalls returns a store on the same connections that calls notify, on another goroutine,
// when a procedure has not answered within a time. A lock of another session is the usual reason:
// SQL Server waits for it without a limit and without a word.
func (s *Store) WithSlowCalls(after time.Duration, notify func(op string)) *Store {
	return s.with(func(c *call.Conn) { c.OnSlow, c.SlowAfter = notify, after })
}
