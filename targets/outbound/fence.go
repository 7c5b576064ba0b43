package outbound

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// FenceError means that an attempt was not permitted to send.
type FenceError struct{ Err error }

// Error implements error.
func (e *FenceError) Error() string { return "the attempt may not send: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FenceError) Unwrap() error { return e.Err }

// Reasons of a FenceError beside the errors of begin.
var (
	ErrLeaseEnded   = errors.New("the agent's lease on the attempt has ended")
	ErrAttemptEnded = errors.New("the attempt has ended")
)

// Fence keeps an attempt from sending a byte before begin has recorded in the control database that
// it will send, and after the instant that begin returned. So an agent that was frozen does not
// send once its task was given to another agent. Safe for concurrent use.
type Fence struct {
	ctx   context.Context
	begin func(ctx context.Context) (before time.Time, err error)

	mu       sync.Mutex
	begun    bool
	before   time.Time
	beginErr error
	closed   bool
	conns    map[*Conn]struct{}
	idle     *sync.Cond // signaled when busy becomes 0
	busy     int        // dials and writes under way
	sent     bool
	refusal  *FenceError // of a write, while the attempt went on

	started atomic.Bool   // a write was permitted; not under mu, which Begin holds for long
	wrote   chan struct{} // closed when the first permitted write has ended
	once    sync.Once     // closes wrote
}

// NewFence returns the fence of one attempt. begin is called at most once, with ctx; it is
// ActionAttempt.Begin. nil permits everything. The caller must call Close.
func NewFence(ctx context.Context, begin func(ctx context.Context) (time.Time, error)) *Fence {
	f := &Fence{ctx: ctx, begin: begin, conns: make(map[*Conn]struct{}, 1), wrote: make(chan struct{})}
	f.idle = sync.NewCond(&f.mu)
	return f
}

// Begin permits sending, or returns a *FenceError. The first call calls begin. A connection of the
// fence calls Begin before each write. Protocols that exchange bytes before they send the request
// itself use a connection without a fence, and call Begin themselves.
func (f *Fence) Begin() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.beginLocked()
}

// beginLocked is Begin; f.mu must be held.
func (f *Fence) beginLocked() error {
	if f.closed {
		return &FenceError{ErrAttemptEnded}
	}
	if !f.begun {
		f.begun = true
		if f.begin != nil {
			f.before, f.beginErr = f.begin(f.ctx)
		}
	}
	switch {
	case f.beginErr != nil:
		return &FenceError{f.beginErr}
	case f.ctx.Err() != nil:
		return &FenceError{context.Cause(f.ctx)}
	case !f.before.IsZero() && !time.Now().Before(f.before):
		return &FenceError{ErrLeaseEnded}
	default:
		return nil
	}
}

// enter counts a dial that begins.
func (f *Fence) enter() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return &FenceError{ErrAttemptEnded}
	}
	f.busy++
	return nil
}

// leave counts a dial or a write that ended. sent says whether a byte left.
func (f *Fence) leave(sent bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = f.sent || sent
	if f.busy--; f.busy == 0 {
		f.idle.Broadcast()
	}
}

// Sent reports whether any application byte left through a connection of the fence. Close must have
// returned: before, a write may be under way.
func (f *Fence) Sent() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sent
}

// awaitFirstWrite waits for the end of the first permitted write, and reports whether a byte left.
// An answer may arrive while the write is under way.
func (f *Fence) awaitFirstWrite(ctx context.Context) (sent bool, err error) {
	if !f.started.Load() {
		return false, nil
	}
	select {
	case <-f.wrote:
		return f.Sent(), nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Refusal returns the refusal of a write by begin or by the lease, or nil. A Transport may return
// the error of a read in its place, if the connection broke at the same time. Close must have
// returned.
func (f *Fence) Refusal() *FenceError {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refusal
}

// MarkSent records that a byte of the request left through a connection without a fence.
func (f *Fence) MarkSent() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = true
}

// Close closes the connections of the fence, and returns when no dial and no write is under way. No
// byte leaves afterwards. The context of dials must have ended.
func (f *Fence) Close() {
	f.mu.Lock()
	f.closed = true
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	for c := range conns {
		_ = c.Conn.Close()
	}
	f.mu.Lock()
	for f.busy > 0 {
		f.idle.Wait()
	}
	f.mu.Unlock()
}

// Conn is a connection that notices the application's bytes: it is above TLS. A write through a
// connection with a fence needs the fence's permission.
type Conn struct {
	net.Conn
	fence *Fence // nil permits everything
}

// newConn returns a connection of a fence, which may be nil.
func newConn(c net.Conn, f *Fence) (*Conn, error) {
	conn := &Conn{Conn: c, fence: f}
	if f == nil {
		return conn, nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		_ = c.Close()
		return nil, &FenceError{ErrAttemptEnded}
	}
	f.conns[conn] = struct{}{}
	return conn, nil
}

// Write implements net.Conn.
func (c *Conn) Write(p []byte) (int, error) {
	f := c.fence
	if f != nil {
		f.mu.Lock()
		if err := f.beginLocked(); err != nil {
			if !f.closed && f.ctx.Err() == nil {
				errors.As(err, &f.refusal)
			}
			f.mu.Unlock()
			return 0, err
		}
		f.busy++
		f.started.Store(true)
		f.mu.Unlock()
	}
	n, err := c.Conn.Write(p)
	if f != nil {
		f.leave(n > 0)
		f.once.Do(func() { close(f.wrote) })
	}
	if err != nil {
		return n, fmt.Errorf("write: %w", err)
	}
	return n, nil
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if f := c.fence; f != nil {
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
	}
	return c.Conn.Close()
}
