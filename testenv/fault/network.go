package fault

import (
	"context"
	"net"
	"sync"
	"syscall"

	mssqldb "github.com/microsoft/go-mssqldb"
)

// Network is a mssql.HostDialer whose connections fail as told. It is safe for concurrent use.
type Network struct {
	inner mssqldb.HostDialer
	// plan decides on each request; nil: all are carried out.
	plan func(Call) Kind

	mu    sync.Mutex
	calls int
	down  bool
	conns map[*conn]struct{}
	// held is open while the network is silent; nil while it is not. It is closed when messages move again.
	held chan struct{}
}

// NewNetwork wraps a dialer. plan is asked once for each request, before its first byte is sent, by one goroutine at a time;
// nil carries all of them out.
func NewNetwork(inner mssqldb.HostDialer, plan func(Call) Kind) *Network {
	return &Network{inner: inner, plan: plan, conns: map[*conn]struct{}{}}
}

// HostName implements mssql.HostDialer.
func (n *Network) HostName() string { return n.inner.HostName() }

// DialContext opens a connection. It is refused while the network is down, and waits while it is silent.
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

// Calls is how many requests there have been.
func (n *Network) Calls() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.calls
}

// Cut breaks every connection, and refuses new ones until Heal: the server is gone. It ends a Silence.
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

// Silence holds everything back, in both directions, until Heal: nothing arrives, and nothing breaks.
func (n *Network) Silence() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.held == nil {
		n.held = make(chan struct{})
	}
}

// Heal ends Cut and Silence. What was held back arrives now, late, unless its connection has been given up meanwhile.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down = false
	if n.held != nil {
		close(n.held)
		n.held = nil
	}
}

// decide counts a request and asks the plan.
func (n *Network) decide(name string) Kind {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if n.plan == nil {
		return None
	}
	return n.plan(Call{N: n.calls, Name: name})
}

// forget drops a connection that its user has closed.
func (n *Network) forget(c *conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// silent is the channel that is closed when messages move again; nil: they do.
func (n *Network) silent() chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.held
}
