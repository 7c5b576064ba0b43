package fault

import (
	"context"
	"net"
	"sync"
	"syscall"

	mssqldb "github.com/microsoft/go-mssqldb"
)

// Network is a mssqldb.HostDialer with faults. It is safe for concurrent use.
type Network struct {
	inner mssqldb.HostDialer
	// plan returns the fault of each request. It may be nil.
	plan func(Call) Kind

	mu    sync.Mutex
	calls int
	down  bool
	conns map[*conn]struct{}
	// held is not nil while the network is silent. It is closed when the silence ends.
	held chan struct{}
}

// NewNetwork wraps a dialer. plan is called once for each request, before the first byte is sent,
// by one goroutine at a time. Without plan, all requests succeed.
func NewNetwork(inner mssqldb.HostDialer, plan func(Call) Kind) *Network {
	return &Network{inner: inner, plan: plan, conns: map[*conn]struct{}{}}
}

// HostName implements mssqldb.HostDialer.
func (n *Network) HostName() string { return n.inner.HostName() }

// DialContext opens a connection. It fails while the network is down, and blocks while the network
// is silent.
func (n *Network) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	n.mu.Lock()
	held := n.held
	n.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: ctx.Err()}
		}
	}
	n.mu.Lock()
	down := n.down
	n.mu.Unlock()
	if down {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	inner, err := n.inner.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := newConn(n, inner)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		_ = inner.Close()
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	n.conns[c] = struct{}{}
	return c, nil
}

// Calls returns the number of requests.
func (n *Network) Calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// Cut breaks every connection and refuses new ones until Heal, as if the server had stopped. It
// ends a silence.
func (n *Network) Cut() {
	n.mu.Lock()
	n.down = true
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
	broken := make([]*conn, 0, len(n.conns))
	for c := range n.conns {
		broken = append(broken, c)
	}
	n.mu.Unlock()
	for _, c := range broken {
		c.reset()
	}
}

// Silence delays all bytes in both directions until Heal. Connections stay open.
func (n *Network) Silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held == nil {
		n.held = make(chan struct{})
	}
}

// Heal ends Cut and Silence. Delayed bytes arrive now, unless their connection was closed.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
}

// decide counts a request and returns its fault.
func (n *Network) decide(name string) Kind {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.plan == nil {
		return None
	}
	return n.plan(Call{N: n.calls, Name: name})
}

// forget removes a closed connection.
func (n *Network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// silent returns the channel that is closed when the silence ends, or nil if the network is not
// silent.
func (n *Network) silent() chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}
