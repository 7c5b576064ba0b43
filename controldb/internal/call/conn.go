package call

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/jobagent/jobagent/controldb/dberror"
)

// Conn is the connections to a control database, and what is done around each call. A copy with
// other exported fields uses the same connections. It is safe for concurrent use.
type Conn struct {
	// Limit bounds each call of a procedure or view; 0 means that only the context does.
	Limit time.Duration
	// OnDeadlock is called before a call is repeated after a deadlock; nil means that none is.
	OnDeadlock func(op string, wait time.Duration)
	// OnSlow is called on another goroutine when a call has not ended after SlowAfter, unless it is
	// nil.
	OnSlow    func(op string)
	SlowAfter time.Duration
	// Observer is told about the calls, unless it is nil.
	Observer interface {
		Called(name string, elapsed time.Duration, err error)
		Retried()
	}
	db       *sqlx.DB
	recorded *[]*Call // the calls are collected here and not made; nil: they are made
	retire   func()   // ends the pool's sessions at their next use; nil: it cannot
}

// NewConn returns the connections of a pool. retire lets the pool replace its sessions; it may be
// nil.
func NewConn(db *sqlx.DB, retire func()) *Conn { return &Conn{db: db, retire: retire} }

// Record returns the calls of fn, which are not made: fn gets a Conn that only collects them.
func Record(fn func(*Conn) error) ([]*Call, error) {
	var calls []*Call
	if err := fn(&Conn{recorded: &calls}); err != nil {
		return nil, err
	}
	return calls, nil
}

// Records reports whether calls are collected, and not made.
func (conn *Conn) Records() bool { return conn.recorded != nil }

// DB returns the pool, for statements that are no call of a procedure or view. It is no method, so
// that only packages below controldb can use it.
func DB(conn *Conn) *sqlx.DB { return conn.db }

// deadlockRetries is how often a call is repeated after a deadlock.
const deadlockRetries = 4

// deadlockWait is the maximum backoff before the first retry. It doubles with each retry. The
// actual wait is random between 0 and the maximum, so that the same calls do not collide again.
const deadlockWait = 100 * time.Millisecond

// retireAfter lets the pool replace its sessions when an error of a call says that the server that
// they lead to has gone, is silent or is no longer the primary: the other sessions lead there, too,
// and each would fail one more call. A server that is too busy keeps its sessions.
func (conn *Conn) retireAfter(err error) {
	if conn.retire == nil || err == nil {
		return
	}
	number := dberror.NumberOf(err)
	if number == dberror.NumReadOnly || number == 0 && (errors.Is(err, dberror.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded)) {
		conn.retire()
	}
}

// Bounded returns ctx with the limit of a call.
func (conn *Conn) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if conn.Limit <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, conn.Limit, dberror.ErrCallLimit)
}

// Retry repeats do after a deadlock if the store retries deadlocks and do reports that it may be
// repeated.
func (conn *Conn) Retry(ctx context.Context, op string, do func() (again bool, err error)) error {
	for n := 0; ; n++ {
		again, err := do()
		conn.retireAfter(err)
		if conn.OnDeadlock == nil || !again || n == deadlockRetries || !dberror.IsDeadlock(err) {
			return err
		}
		wait := rand.N(deadlockWait << n)
		conn.OnDeadlock(op, wait)
		if conn.Observer != nil {
			conn.Observer.Retried()
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

// tellSlow calls onSlow unless the function that it returns is called in time.
func (conn *Conn) tellSlow(op string) (answered func()) {
	if conn.OnSlow == nil {
		return func() {}
	}
	timer := time.AfterFunc(conn.SlowAfter, func() { conn.OnSlow(op) })
	return func() { timer.Stop() }
}

// observe tells the observer, if any, about a call that began at started.
func (conn *Conn) observe(name string, started time.Time, err error) {
	if conn.Observer != nil {
		conn.Observer.Called(name, time.Since(started), err)
	}
}
