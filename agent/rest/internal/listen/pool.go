package listen

import (
	"container/list"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// pool accepts at most max connections at a time. When they are all open, it closes the connection
// that has been idle for the longest time, unless that was shorter than grace; else it waits. So
// idle clients cannot keep others out, and a client that has just connected can send its request.
type pool struct {
	net.Listener
	max   int
	grace time.Duration

	mu     sync.Mutex
	freed  *sync.Cond // a connection was closed or became idle, or the pool was closed
	open   int
	idle   list.List // of *conn, the one that has been idle longest first
	closed bool
}

func newPool(l net.Listener, connections int, grace time.Duration) *pool {
	p := &pool{Listener: l, max: connections, grace: grace}
	p.freed = sync.NewCond(&p.mu)
	return p
}

// Accept implements net.Listener.
func (p *pool) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.open >= p.max && !p.closed {
		oldest := p.idle.Front()
		if oldest == nil {
			p.freed.Wait()
			continue
		}
		victim := oldest.Value.(*conn)
		if left := p.grace - time.Since(victim.since); left > 0 {
			again := time.AfterFunc(left, p.freed.Broadcast)
			p.freed.Wait()
			again.Stop()
			continue
		}
		p.leave(victim)
		_ = victim.Conn.Close() // net/http sees an error and ends its goroutine
	}
	if p.closed {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	p.open++
	one := &conn{Conn: c, pool: p, counted: true}
	one.at, one.since = p.idle.PushBack(one), time.Now()
	return one, nil
}

// Close implements net.Listener.
func (p *pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.freed.Broadcast()
	p.mu.Unlock()
	return p.Listener.Close()
}

// state implements http.Server.ConnState. A connection that is receiving the header of a request
// counts as idle, since it has nothing to lose but the request.
func (p *pool) state(c net.Conn, s http.ConnState) {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	one, ok := c.(*conn)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s {
	case http.StateActive:
		if one.at != nil {
			p.idle.Remove(one.at)
			one.at = nil
		}
	case http.StateIdle:
		if one.at == nil && one.counted {
			one.at, one.since = p.idle.PushBack(one), time.Now()
			p.freed.Signal()
		}
	}
}

// leave takes a connection out of the count. p.mu must be held.
func (p *pool) leave(c *conn) {
	if !c.counted {
		return
	}
	c.counted = false
	p.open--
	if c.at != nil {
		p.idle.Remove(c.at)
		c.at = nil
	}
	p.freed.Signal()
}

// conn is a connection of a pool.
type conn struct {
	net.Conn
	pool *pool

	// The pool's lock guards the fields below.
	counted bool
	at      *list.Element // in pool.idle; nil while a request is under way
	since   time.Time     // when it became idle
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.pool.mu.Lock()
	c.pool.leave(c)
	c.pool.mu.Unlock()
	return c.Conn.Close()
}
