package tsqld

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/smp"
)

// group is a connection with MARS after its login. Each of its SMP sessions is a conn of its own,
// with a reading and an executing goroutine; all use one session of the interpreter, by turns. A
// nil group is that of a connection without MARS, for which its methods do nothing.
type group struct {
	c    *conn // the connection
	mux  *smp.Mux
	turn turn

	opened chan *smp.Session // from the reading goroutine
	ended  chan error        // results of the sessions
	wg     sync.WaitGroup    // sessions

	mu       sync.Mutex
	requests map[*conn]*activity // the newest request of each session
}

// activity is a request of a group that has begun.
type activity struct {
	descriptor uint64 // of the transaction when the request began; 0 for none
	orphaned   bool   // another request has ended that transaction
	executed   bool   // the answer is complete; a part of it may be in the spool
}

// serveSessions serves a connection with MARS after its login, until it ends.
func (c *conn) serveSessions() (err error) {
	ctx, cancel := context.WithCancelCause(c.ctx)
	g := &group{c: c, mux: smp.NewMux(c.dst), opened: make(chan *smp.Session), ended: make(chan error), requests: map[*conn]*activity{}}
	g.mux.Wanted = g.turn.wanted
	go func() {
		defer close(c.readerDone)
		c.cancel(fmt.Errorf("%w: %w", ErrClientGone, g.readRecovered(ctx)))
	}()
	defer func() {
		cancel(err)
		if errors.Is(err, errFatal) { // the client gets the rest of the answer, but a stalled one no time
			_ = c.nc.SetWriteDeadline(time.Now().Add(lingerTime)) // fails only on a closed connection
		} else {
			c.cancel(err)
		}
		g.mux.Close()
		g.wg.Wait()
	}()
	closing, killed := c.srv.closing, c.killed
	for active := 0; ; {
		if active == 0 {
			select {
			case <-closing:
				return ErrServerClosed
			default:
			}
		}
		idle := closing
		if active > 0 { // the sessions end themselves: an idle one at once, another one after its request
			idle = nil
		}
		select {
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		case <-idle:
		case <-killed:
			if killed = nil; active == 0 {
				return session.ErrKilled // idle: there is no answer that could carry an error
			}
		case s := <-g.opened:
			active++
			g.start(ctx, s)
		case err := <-g.ended:
			active--
			if err != nil && !errors.Is(err, ErrServerClosed) {
				return err
			}
		}
	}
}

// readRecovered reads packets until the connection ends, and returns why it ended. A panic becomes
// an error.
func (g *group) readRecovered(ctx context.Context) (err error) {
	defer g.c.recoverTo(&err)
	return g.mux.Serve(g.c.src, func(s *smp.Session) {
		select {
		case g.opened <- s:
		case <-ctx.Done():
		}
	})
}

// start serves a session until it ends.
func (g *group) start(ctx context.Context, s *smp.Session) {
	c := g.session(ctx, s)
	g.wg.Go(func() {
		err := c.serveSession()
		select {
		case g.ended <- err:
		case <-ctx.Done():
		}
	})
}

// session makes the conn of a session.
func (g *group) session(ctx context.Context, s *smp.Session) *conn {
	p := g.c
	c := &conn{
		srv: p.srv, id: p.id | uint64(s.ID()+1)<<48, nc: p.nc, src: s, dst: s, version: p.version, login: p.login,
		session: p.session, meter: p.meter, states: p.states, group: g, stream: s,
		requests: make(chan *message, 1), attentions: attentions{arrived: make(chan struct{}, 1)}, readerDone: make(chan struct{}), killed: p.killed,
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.out = c.newWriter(s, p.login.PacketSize)
	if i, ok := c.session.(identified); ok {
		c.out.SetSPID(uint16(i.SPID()))
	}
	return c
}

// serveSession serves a session with MARS until it ends. The error is nil if the client has closed
// the session; other errors end the connection.
func (c *conn) serveSession() (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = c.panicked(v)
		}
		c.cancel(err)
		c.group.forget(c)
		if errors.Is(err, ErrClientGone) && errors.Is(err, io.EOF) {
			err = nil
		}
		if err == nil {
			_ = c.stream.Close() // after an error, the connection's reading goroutine notices its end
		} else {
			c.stream.Abort()
		}
		<-c.readerDone
	}()
	c.startReading()
	return c.serveRequests()
}

// enter waits until the request of a session may use the interpreter's session.
func (g *group) enter(ctx context.Context, c *conn) error {
	if g == nil {
		return nil
	}
	return g.turn.acquire(ctx, c.killed)
}

// leave ends the use of the interpreter's session by a request, and waits until its answer is sent.
func (g *group) leave(c *conn) error {
	if g == nil {
		return nil
	}
	if s, ok := c.session.(accounted); ok {
		s.ReleaseMemory()
	}
	g.mu.Lock()
	if a := g.requests[c]; a != nil {
		a.executed = true
	}
	g.mu.Unlock()
	g.turn.release()
	err := c.sent()
	g.forget(c)
	return err
}

// sent waits until the spool is empty.
func (c *conn) sent() error {
	for {
		spooled, changed := c.stream.Spooled()
		if !spooled {
			return nil
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return context.Cause(c.ctx)
		}
	}
}

// begin registers a request of a session.
func (g *group) begin(c *conn) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests[c] = &activity{descriptor: c.session.Descriptor()}
}

// forget removes the request of a session.
func (g *group) forget(c *conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.requests, c)
}

// any reports whether a request of another session has a property.
func (g *group) any(c *conn, has func(a *activity) bool) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, a := range g.requests {
		spooled, _ := other.stream.Spooled()
		if other != c && has(a) && (!a.executed || spooled) { // a part of the answer may be in the spool
			return true
		}
	}
	return false
}

// othersPending reports whether another request has begun and is not sent to its end.
func (g *group) othersPending(c *conn) bool {
	return g.any(c, func(*activity) bool { return true })
}

// othersIn reports whether another such request has begun in a transaction.
func (g *group) othersIn(c *conn, descriptor uint64) bool {
	return g.any(c, func(a *activity) bool { return a.descriptor == descriptor })
}

// orphans reports whether there is such a request whose transaction another request has ended. SQL
// Server then starts no request until that one has ended (3989; SqlServerSimulator reports so of
// SQL Server 2025).
func (g *group) orphans(c *conn) bool {
	return g.any(c, func(a *activity) bool { return a.orphaned })
}

// endedTransaction notes that the request of a session has ended a transaction.
func (g *group) endedTransaction(c *conn, descriptor uint64) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, a := range g.requests {
		if other != c && a.descriptor == descriptor {
			a.orphaned = true
		}
	}
}
