package controldb

import (
	"database/sql"
	"time"
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
	with := *s
	with.observer = o
	return &with
}

// observe tells the observer, if any, about a call that began at started.
func (s *Store) observe(name string, started time.Time, err error) {
	if s.observer != nil {
		s.observer.Called(name, time.Since(started), err)
	}
}

// PoolStats returns the statistics of the store's connections.
func (s *Store) PoolStats() sql.DBStats { return s.db.Stats() }
