package fault

import (
	"context"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

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
	// refuses is the answer to logins, or to all requests; nil: the server answers.
	refuses *Refusal
	// hangs says that new connections are silent, and half that every second one is reset.
	hangs, half bool
	dials       []time.Time
}

// Refusal is an error that a server answers with in place of doing anything.
type Refusal struct {
	Number       int32
	State, Class uint8
	Text         string
	// Logins says that only logins are refused.
	Logins bool
	// Ends says that the connection breaks after the answer, as for a class of 20 or more.
	Ends bool
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
	held, to, hangs, reset := n.held, n.inner, n.hangs, n.half && len(n.dials)%2 == 0
	n.dials = append(n.dials, time.Now())
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
	inner, err := to.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	c := newConn(n, inner)
	c.lost.Store(hangs)
	if reset {
		c.reset()
		return c, nil
	}
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

// Lead leads new connections to another server, as a name in the DNS that moves. The others stay.
func (n *Network) Lead(to mssqldb.HostDialer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inner = to
}

// Lose silences the present connections for ever, as the loss of a server without a word does. New
// ones are not concerned.
func (n *Network) Lose() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		c.lost.Store(true)
	}
}

// Hang lets new connections be accepted and never answered, until Heal.
func (n *Network) Hang() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hangs = true
}

// ResetHalf resets every second new connection, until Heal.
func (n *Network) ResetHalf() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.half = true
}

// Refuse lets the server answer with an error, until Heal.
func (n *Network) Refuse(r Refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses = &r
}

// refusal returns the error of Refuse; [transient] if it has ended meanwhile.
func (n *Network) refusal() Refusal {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.refuses == nil {
		return transient
	}
	return *n.refuses
}

// Dials returns when connections were asked for.
func (n *Network) Dials() []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.dials)
}

// Heal ends Cut, Silence, Hang, ResetHalf, Refuse and FailOver. Delayed bytes arrive now, unless
// their connection was closed or lost.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.down, n.hangs, n.half, n.refuses = false, false, false, nil
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
	if r := n.refuses; r != nil && (!r.Logins || name == loginName) {
		return refused
	}
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
