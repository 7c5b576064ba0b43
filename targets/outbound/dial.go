package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/jobagent/jobagent/targets"
)

// Time-outs of one connection. The context of an attempt bounds all of them together.
const (
	ConnectTimeout   = 5 * time.Second // name service, TCP, and a proxy's answer
	HandshakeTimeout = 5 * time.Second // TLS
)

// PhaseError means that a phase of making a connection failed. Nothing of the request was sent.
type PhaseError struct {
	// Phase is what the agent did: "connect", "connect to the proxy" or "TLS handshake".
	Phase string
	// TimedOut says that the phase's own time-out ended it.
	TimedOut bool
	Err      error
}

// Error implements error.
func (e *PhaseError) Error() string {
	if e.TimedOut {
		return e.Phase + ": no answer in time"
	}
	return e.Phase + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *PhaseError) Unwrap() error { return e.Err }

// Timeout and Temporary make a PhaseError a net.Error.
func (e *PhaseError) Timeout() bool {
	var network net.Error
	return e.TimedOut || errors.As(e.Err, &network) && network.Timeout()
}

// Temporary implements net.Error.
func (e *PhaseError) Temporary() bool { return e.Timeout() }

// errPhaseTimeout is the cause of a phase's own time-out.
var errPhaseTimeout = errors.New("no answer in time")

// phase runs fn with a time-out of its own. A *targets.ConfigError is returned as it is.
func phase[T any](ctx context.Context, name string, limit time.Duration, fn func(ctx context.Context) (T, error)) (T, error) {
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errPhaseTimeout)
	defer cancel()
	value, err := fn(bounded)
	var config *targets.ConfigError
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &config):
		return value, config
	case ctx.Err() != nil:
		return value, &PhaseError{Phase: name, Err: context.Cause(ctx)}
	default:
		return value, &PhaseError{Phase: name, TimedOut: bounded.Err() != nil, Err: err}
	}
}

// Dialer connects for the requests of one attempt. Its connections belong to a fence, and present
// the client certificate of the attempt's authentication.
type Dialer struct {
	network *Network
	fence   *Fence // nil: none
	auth    *Auth  // nil: none
}

// For returns the dialer of an attempt. fence and auth may be nil.
func (n *Network) For(fence *Fence, auth *Auth) *Dialer { return &Dialer{n, fence, auth} }

// Dial connects to host:port by TCP, through the proxy if there is one. The address is checked
// after the name service has answered. A refused address is a *targets.ConfigError, any other error
// a *PhaseError.
func (d *Dialer) Dial(ctx context.Context, address string) (conn *Conn, err error) {
	defer d.network.observe(time.Now(), &err)
	c, err := d.network.reach(ctx, address, false)
	if err != nil {
		return nil, err
	}
	return newConn(c, d.fence)
}

// DialTLS is Dial with TLS 1.2 or later on top. The fence counts the bytes above TLS.
func (d *Dialer) DialTLS(ctx context.Context, address string) (conn *Conn, err error) {
	defer d.network.observe(time.Now(), &err)
	c, err := d.network.reach(ctx, address, true)
	if err != nil {
		return nil, err
	}
	secured, err := d.network.handshake(ctx, c, address, d.auth)
	if err != nil {
		return nil, err
	}
	return newConn(secured, d.fence)
}

// observe tells OnConnect about a connection that was begun at started, and whether it failed.
func (n *Network) observe(started time.Time, err *error) {
	if n.cfg.OnConnect == nil {
		return
	}
	var class targets.Class
	if *err != nil {
		known, ok := targets.ClassifyCause(*err)
		if !ok {
			known = targets.ClassifyNetwork(*err)
		}
		class = known.Class
	}
	n.cfg.OnConnect(time.Since(started), class)
}

// reach connects to host:port without TLS, through the proxy if there is one.
func (n *Network) reach(ctx context.Context, address string, https bool) (net.Conn, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("address %q", address), Err: err}
	}
	if err := n.guard.checkPort(host, port); err != nil {
		return nil, err
	}
	scheme := "http"
	if https {
		scheme = "https"
	}
	proxy, err := n.proxyFor(&url.URL{Scheme: scheme, Host: address})
	if err != nil {
		return nil, err
	}
	if proxy == nil {
		return phase(ctx, "connect", ConnectTimeout, func(ctx context.Context) (net.Conn, error) {
			return n.dialChecked(ctx, host, port)
		})
	}
	if err := n.checkProxied(ctx, host); err != nil {
		return nil, err
	}
	return phase(ctx, "connect to the proxy", ConnectTimeout, func(ctx context.Context) (net.Conn, error) {
		return n.tunnel(ctx, proxy, host, port)
	})
}

// dialChecked connects to a host. Each address is checked after the name service has answered.
func (n *Network) dialChecked(ctx context.Context, host string, port uint16) (net.Conn, error) {
	if n.cfg.Dialer != nil {
		return n.dialReplaced(ctx, host, port)
	}
	dialer := net.Dialer{
		KeepAlive: -1,
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			// The address is the one that is dialed, after the name service.
			dialed, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("invalid address %q: %w", address, err)
			}
			return n.guard.checkAddress(host, dialed.Addr())
		},
	}
	return dialer.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
}

// dialReplaced is dialChecked with the Resolver and the Dialer of the configuration.
func (n *Network) dialReplaced(ctx context.Context, host string, port uint16) (net.Conn, error) {
	addresses, err := n.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var firstErr error
	for _, addr := range addresses {
		err := n.guard.checkAddress(host, addr)
		if err == nil {
			var c net.Conn
			c, err = n.cfg.Dialer(ctx, "tcp", netip.AddrPortFrom(addr.Unmap(), port).String())
			if err == nil {
				return c, nil
			}
		}
		firstErr = cmp.Or(firstErr, err)
	}
	return nil, firstErr
}

// resolve returns the addresses of a host; there is at least one.
func (n *Network) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	var resolver Resolver = net.DefaultResolver
	if n.cfg.Resolver != nil {
		resolver = n.cfg.Resolver
	}
	addresses, err := resolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(addresses) == 0 {
		err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return addresses, err
}
