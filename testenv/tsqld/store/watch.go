package store

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	lib "modernc.org/sqlite/lib"
)

// watch interrupts a connection when a context ends. One is kept over all statements that run under the
// same context, which is cheaper than one for each.
type watch struct {
	conn     *Conn
	ctx      context.Context
	done     <-chan struct{}
	stop     func() bool
	canceled atomic.Bool
	quit     chan struct{} // closed to end cancel
	finished chan struct{} // closed by cancel

	mu             sync.Mutex
	running        bool // a statement is being stepped
	deferInterrupt bool // it writes in a transaction: SQLite would roll all of that back
}

const (
	// retryInterrupt is how long to wait before interrupting again a statement that was just about to start.
	retryInterrupt = time.Millisecond
	// gentleTime is how long a statement that writes in a transaction is given to end by itself: most of them do, or
	// call a function that ends them and nothing else.
	interruptDelay = 100 * time.Millisecond
)

// follow makes c watch ctx; it answers the cause if ctx is done already.
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

// unwatch ends the watch; no interrupt comes from it afterwards, and its goroutine is gone.
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

// cancel interrupts the running statement until it has ended: SQLite forgets an interrupt that comes just before the start.
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

// interrupt does so if a statement is running, or waits for one that is to end gently unless force is set. It reports whether one was
// running.
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

// enter marks the start of a step; gently says that it writes in a transaction that goes on after it. leave must be called at its end.
// It answers the cause when the context has ended since follow looked at it: then the interrupt has come, and gone, before the step.
func (c *Conn) beginStep(deferInterrupt bool) error {
	c.cause = nil
	c.watch.run(true, deferInterrupt)
	if w := c.watch; w != nil && w.canceled.Load() {
		return context.Cause(w.ctx)
	}
	return nil
}

// leave marks the end of a step.
func (c *Conn) endStep() { c.watch.run(false, false) }

// run says whether a statement is being stepped.
func (w *watch) run(running, deferInterrupt bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.running, w.deferInterrupt = running, deferInterrupt
	w.mu.Unlock()
}
