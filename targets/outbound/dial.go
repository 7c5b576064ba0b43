package outbound

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/secretref"
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

// connKey is the key of connOptions in a context.
type connKey struct{}

// connOptions are what the dialing functions of a Transport need to know of a request.
type connOptions struct {
	// ctx is the request's context. A Transport dials in a context that does not end with it.
	ctx   context.Context
	fence *Fence
	auth  *Auth
	// proxied is the host:port of a request for plain http that a proxy receives in place of the
	// host.
	proxied string
}

// WithFence returns a context in which the connections of Network.Transport, Dial and DialTLS
// belong to the fence. auth, which may be nil, presents a client certificate.
func WithFence(ctx context.Context, fence *Fence, auth *Auth) context.Context {
	return context.WithValue(ctx, connKey{}, connOptions{fence: fence, auth: auth})
}

// optionsOf returns the options of a context.
func optionsOf(ctx context.Context) connOptions {
	o, _ := ctx.Value(connKey{}).(connOptions)
	return o
}

// Dial connects to host:port by TCP, through the proxy if there is one. The address is checked
// after the name service has answered. A refused address is a *targets.ConfigError, any other error
// a *PhaseError. The connection belongs to the fence of WithFence.
func (n *Network) Dial(ctx context.Context, address string) (conn *Conn, err error) {
	defer n.observe(time.Now(), &err)
	c, err := n.reach(ctx, address, false)
	if err != nil {
		return nil, err
	}
	return newConn(c, optionsOf(ctx).fence)
}

// DialTLS is Dial with TLS 1.2 or later on top. The fence counts the bytes above TLS.
func (n *Network) DialTLS(ctx context.Context, address string) (conn *Conn, err error) {
	defer n.observe(time.Now(), &err)
	c, err := n.reach(ctx, address, true)
	if err != nil {
		return nil, err
	}
	o := optionsOf(ctx)
	secured, err := n.handshake(ctx, c, address, o.auth)
	if err != nil {
		return nil, err
	}
	return newConn(secured, o.fence)
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

// handshake makes the TLS handshake, and closes c if it fails.
func (n *Network) handshake(ctx context.Context, c net.Conn, address string, auth *Auth) (net.Conn, error) {
	host, port, _ := splitAddress(address)
	config := n.tlsConfig(host, port)
	if auth != nil {
		auth.presentCertificate(config)
	}
	secured := tls.Client(c, config)
	_, err := phase(ctx, "TLS handshake", HandshakeTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, secured.HandshakeContext(ctx)
	})
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return secured, nil
}

// TLSConfig returns the TLS configuration for host:port of a protocol that begins TLS by itself, as
// SMTP does with STARTTLS.
func (n *Network) TLSConfig(address string) (*tls.Config, error) {
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("address %q", address), Err: err}
	}
	return n.tlsConfig(host, port), nil
}

// tlsConfig returns the TLS configuration of a connection.
func (n *Network) tlsConfig(host string, port uint16) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host, RootCAs: n.roots}
	for _, s := range n.servers {
		if !s.match.covers(host, port) {
			continue
		}
		if len(s.pins) > 0 {
			config.InsecureSkipVerify = true // the pins verify
			config.VerifyConnection = s.verifyPins
		} else if s.insecure {
			config.InsecureSkipVerify = true
		}
		break
	}
	return config
}

// PinError means that no certificate of the server matches a pin.
type PinError struct{}

// Error implements error.
func (PinError) Error() string { return "no certificate of the server matches certificate_sha256" }

// verifyPins compares the server's own certificate with the pins.
func (s serverTLS) verifyPins(state tls.ConnectionState) error {
	if len(state.PeerCertificates) == 0 {
		return PinError{}
	}
	leaf := state.PeerCertificates[0]
	for _, der := range [][]byte{leaf.Raw, leaf.RawSubjectPublicKeyInfo} {
		sum := sha256.Sum256(der)
		text := []byte(hex.EncodeToString(sum[:]))
		for _, pin := range s.pins {
			if subtle.ConstantTimeCompare(text, []byte(pin)) == 1 {
				return nil
			}
		}
	}
	return PinError{}
}

// readRoots returns the system's authorities and those of a file; nil for the system's alone.
func readRoots(reference string) (*x509.CertPool, error) {
	if reference == "" {
		return nil, nil
	}
	path, ok := secretref.File(reference)
	if !ok {
		return nil, fmt.Errorf("invalid reference %q: want file:PATH", reference)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("the file %s holds no PEM certificate", path)
	}
	return pool, nil
}

// parseProxy parses the proxy of the configuration.
func (n *Network) parseProxy() error {
	text := n.cfg.Proxy
	if text == "" {
		if n.cfg.ProxyCredential != "" {
			return errors.New("proxy_credential needs a proxy")
		}
		return nil
	}
	if !n.cfg.TrustProxyACL {
		return errors.New("a proxy decides which addresses are dialed: set trust_proxy_acl to true if its rules suffice")
	}
	if text == proxyEnvironment {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "":
		return errors.New("invalid URL: want http://, https:// or socks5:// with a host, or env")
	case u.User != nil:
		return errors.New("invalid URL: give user and password by proxy_credential")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return fmt.Errorf("invalid scheme %q: want http, https or socks5", u.Scheme)
	}
	n.proxy = u
	return nil
}

// proxyFor returns the proxy for a URL, with user and password; nil for none.
func (n *Network) proxyFor(target *url.URL) (*url.URL, error) {
	proxy := n.proxy
	if n.cfg.Proxy == proxyEnvironment {
		u, err := http.ProxyFromEnvironment(&http.Request{URL: target})
		if err != nil {
			return nil, configError("proxy", errors.New("the environment names an invalid proxy"))
		}
		proxy = u
	}
	if proxy == nil || n.cfg.ProxyCredential == "" {
		return proxy, nil
	}
	text, err := secretref.Read(n.cfg.ProxyCredential)
	if err != nil {
		return nil, configError("proxy_credential", err)
	}
	user, password, _ := strings.Cut(text, ":")
	with := *proxy
	with.User = url.UserPassword(user, password)
	return &with, nil
}

// checkProxied checks the host of a request that goes through a proxy. A name that does not resolve
// here is left to the proxy.
func (n *Network) checkProxied(ctx context.Context, host string) error {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	addresses, err := n.resolve(ctx, host)
	if err != nil {
		return nil
	}
	for _, addr := range addresses {
		if err := n.guard.checkAddress(host, addr); err != nil {
			return err
		}
	}
	return nil
}

// dialProxy connects to a proxy itself. The configuration names it, so that no rule checks it.
func (n *Network) dialProxy(ctx context.Context, proxy *url.URL) (net.Conn, error) {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[proxy.Scheme]
	}
	address := net.JoinHostPort(proxy.Hostname(), port)
	var c net.Conn
	var err error
	if n.cfg.Dialer != nil {
		c, err = n.cfg.Dialer(ctx, "tcp", address)
	} else {
		dialer := net.Dialer{KeepAlive: -1}
		c, err = dialer.DialContext(ctx, "tcp", address)
	}
	if err != nil || proxy.Scheme != "https" {
		return c, err
	}
	return n.handshake(ctx, c, address, nil)
}

// tunnel connects to a host through a proxy.
func (n *Network) tunnel(ctx context.Context, proxy *url.URL, host string, port uint16) (net.Conn, error) {
	c, err := n.dialProxy(ctx, proxy)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	switch proxy.Scheme {
	case "socks5", "socks5h":
		err = socks5(c, proxy.User, host, port)
	default:
		err = connectTunnel(c, proxy.User, net.JoinHostPort(host, strconv.Itoa(int(port))))
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// maxProxyAnswer bounds the header of a proxy's answer.
const maxProxyAnswer = 16 << 10

// connectTunnel asks an HTTP proxy for a tunnel. The proxy's answer is read byte by byte, because
// the bytes that follow it belong to the tunnel.
func connectTunnel(c net.Conn, user *url.Userinfo, address string) error {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if user != nil {
		password, _ := user.Password()
		request += "Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)) + "\r\n"
	}
	if _, err := c.Write([]byte(request + "\r\n")); err != nil {
		return err
	}
	var answer []byte
	for b := make([]byte, 1); !strings.HasSuffix(string(answer[max(0, len(answer)-4):]), "\r\n\r\n"); {
		if len(answer) == maxProxyAnswer {
			return errors.New("the proxy's answer is too long")
		}
		if _, err := c.Read(b); err != nil {
			return fmt.Errorf("read the proxy's answer: %w", err)
		}
		answer = append(answer, b[0])
	}
	resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(answer))), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return errors.New("the proxy's answer is malformed")
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy refused the connection with status %d", resp.StatusCode)
	}
	return nil
}

// transports holds the transport that all requests share.
type transports struct{ http *http.Transport }

// MaxHeaderBytes bounds the headers of a response, those of informational responses included.
const MaxHeaderBytes = 64 << 10

// init makes the transport. It opens a connection for each request: a transport that reuses
// connections repeats some requests by itself when a reused connection breaks.
func (t *transports) init(n *Network) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	t.http = &http.Transport{
		DisableKeepAlives:      true,
		Protocols:              protocols,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         4 << 10,
		Proxy: func(r *http.Request) (*url.URL, error) {
			if optionsOf(r.Context()).proxied == "" {
				return nil, nil
			}
			return n.proxyFor(r.URL)
		},
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return n.dialRequest(ctx, address, false)
		},
		DialTLSContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return n.dialRequest(ctx, address, true)
		},
	}
}

// dialRequest connects for a request of the transport.
func (n *Network) dialRequest(ctx context.Context, address string, https bool) (net.Conn, error) {
	o := optionsOf(ctx)
	if o.fence != nil {
		if err := o.fence.enter(); err != nil {
			return nil, err
		}
		defer o.fence.leave(false)
	}
	if o.ctx != nil {
		ctx = o.ctx
	}
	var c *Conn
	var err error
	switch {
	case o.proxied != "":
		c, err = n.dialForProxied(ctx, o)
	case https:
		c, err = n.DialTLS(ctx, address)
	default:
		c, err = n.Dial(ctx, address)
	}
	if err != nil {
		return nil, err // a nil *Conn in a net.Conn is not nil
	}
	return c, nil
}

// dialForProxied connects to the proxy that receives a request for plain http.
func (n *Network) dialForProxied(ctx context.Context, o connOptions) (conn *Conn, err error) {
	defer n.observe(time.Now(), &err)
	host, port, err := splitAddress(o.proxied)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("address %q", o.proxied), Err: err}
	}
	if err := n.guard.checkPort(host, port); err != nil {
		return nil, err
	}
	if err := n.checkProxied(ctx, host); err != nil {
		return nil, err
	}
	proxy, err := n.proxyFor(&url.URL{Scheme: "http", Host: o.proxied})
	if err != nil {
		return nil, err
	}
	c, err := phase(ctx, "connect to the proxy", ConnectTimeout, func(ctx context.Context) (net.Conn, error) {
		return n.dialProxy(ctx, proxy)
	})
	if err != nil {
		return nil, err
	}
	return newConn(c, o.fence)
}

// ErrEarlyAnswer means that the server sent an answer before it could have read a byte of the
// request. What it says is not about the request.
var ErrEarlyAnswer = errors.New("the server answered before the request was sent")

// RoundTrip sends a request on a connection of its own, by HTTP/1.1, and returns the answer. It
// follows no redirect and keeps no cookie. The connection belongs to the fence of WithFence. An
// answer that came before the fence permitted the request is ErrEarlyAnswer. The caller must close
// the body of the answer.
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	o := optionsOf(ctx)
	o.ctx = ctx
	if r.URL.Scheme == "http" && (n.proxy != nil || n.cfg.Proxy == proxyEnvironment) {
		proxy, err := n.proxyFor(r.URL)
		if err != nil {
			return nil, err
		}
		if proxy != nil && (proxy.Scheme == "http" || proxy.Scheme == "https") {
			o.proxied = net.JoinHostPort(r.URL.Hostname(), cmp.Or(r.URL.Port(), "80"))
		}
	}
	resp, err := n.shared.http.RoundTrip(r.WithContext(context.WithValue(ctx, connKey{}, o)))
	if err != nil || o.fence == nil {
		return resp, err
	}
	sent, err := o.fence.awaitFirstWrite(ctx)
	if err == nil && !sent {
		err = ErrEarlyAnswer
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}
