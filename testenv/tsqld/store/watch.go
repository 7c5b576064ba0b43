package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"
)

// watch interrupts a connection when a context ends. One watch serves all statements that run under
// the same context, which is cheaper than one for each.
type watch struct {
	conn     *Conn
	ctx      context.Context
	done     <-chan struct{}
	stop     func() bool
	canceled atomic.Bool
	quit     chan struct{} // closed to stop cancel
	finished chan struct{} // closed by cancel

	mu             sync.Mutex
	running        bool // a statement is being stepped
	deferInterrupt bool // the statement writes in a transaction: an interrupt would roll back all of it
}

const (
	// retryInterrupt is the time between two interrupts. The first one is lost if the statement was
	// about to start.
	retryInterrupt = time.Millisecond
	// interruptDelay is how long a statement that writes in a transaction may continue before it is
	// interrupted. Most of them end within that time, or call a function, which ends only the
	// statement.
	interruptDelay = 100 * time.Millisecond
)

// follow makes c watch ctx. It returns the cause if ctx is done.
func (c *Conn) follow(ctx context.Context) error {
	done := ctx.Done()
	if done == nil {
		c.unwatch()
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.watch != nil && c.watch.done == done {
		return nil
	}
	c.unwatch()
	w := &watch{conn: c, ctx: ctx, done: done, quit: make(chan struct{}), finished: make(chan struct{})}
	w.stop = context.AfterFunc(ctx, w.cancel)
	c.watch = w
	return nil
}

// unwatch ends the watch. Afterwards it interrupts nothing, and its goroutine has ended.
func (c *Conn) unwatch() {
	w := c.watch
	if w == nil {
		return
	}
	c.watch = nil
	if !w.stop() {
		close(w.quit)
		<-w.finished
	}
}

// cancel interrupts the running statement until it has ended: SQLite ignores an interrupt that
// comes just before the start.
func (w *watch) cancel() {
	defer close(w.finished)
	w.canceled.Store(true)
	begun := time.Now()
	for w.interrupt(time.Since(begun) >= interruptDelay) {
		select {
		case <-time.After(retryInterrupt):
		case <-w.quit:
			return
		}
	}
}

// isCanceled reports whether the context has ended. A nil watch has none.
func (w *watch) isCanceled() bool { return w != nil && w.canceled.Load() }

// interrupt interrupts a running statement. Without force it spares a statement whose interrupt is
// delayed. It reports whether a statement was running.
func (w *watch) interrupt(force bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.running {
		return false
	}
	if w.deferInterrupt && !force {
		return true
	}
	lib.Xsqlite3_interrupt(nil, w.conn.db)
	return true
}

// beginStep marks the start of a step, and endStep its end. deferInterrupt is set for a statement
// that writes in a transaction that continues after it. beginStep returns the cause if the context
// has ended since follow: the interrupt came before the step and was lost.
func (c *Conn) beginStep(deferInterrupt bool) error {
	c.calls.cause = nil
	c.watch.run(true, deferInterrupt)
	if w := c.watch; w.isCanceled() {
		return context.Cause(w.ctx)
	}
	return nil
}

// endStep marks the end of a step.
func (c *Conn) endStep() { c.watch.run(false, false) }

// run records whether a statement is being stepped.
func (w *watch) run(running, deferInterrupt bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.running, w.deferInterrupt = running, deferInterrupt
	w.mu.Unlock()
}
