// Package endpoint has HTTP endpoints in memory, which actions call in virtual time.
package endpoint

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	actionhttp "github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

// Request is a request that an endpoint has received.
type Request struct {
	At     time.Time
	Host   string
	Method string
	Path   string // with the query
	Header http.Header
	Body   string
	// Concurrent is the number of requests under way, with this one.
	Concurrent int
}

// Endpoint answers the requests of all hosts.
type Endpoint struct {
	handler http.HandlerFunc
	server  *http.Server
	conns   chan net.Conn
	closed  chan struct{}

	mu       sync.Mutex
	requests []Request
	running  int
	most     int
}

// New starts an endpoint with a handler, which runs after the request was recorded. It is closed
// when the test ends. Call New in the synctest bubble that uses the endpoint.
func New(t testing.TB, handler http.HandlerFunc) *Endpoint {
	t.Helper()
	e := &Endpoint{handler: handler, conns: make(chan net.Conn), closed: make(chan struct{})}
	e.server = &http.Server{Handler: http.HandlerFunc(e.serve)}
	ended := make(chan error, 1)
	go func() { ended <- e.server.Serve(listener{e}) }() // ends with Close
	t.Cleanup(func() {
		require.NoError(t, e.server.Close())
		require.ErrorIs(t, <-ended, http.ErrServerClosed)
	})
	return e
}

// serve records a request and answers it.
func (e *Endpoint) serve(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	e.mu.Lock()
	e.running++
	e.most = max(e.most, e.running)
	e.requests = append(e.requests, Request{
		At: at, Host: r.Host, Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header, Body: string(body), Concurrent: e.running,
	})
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.running--
	}()
	e.handler(w, r)
}

// Requests returns the requests that have arrived.
func (e *Endpoint) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]Request(nil), e.requests...)
}

// Most returns the largest number of requests that were under way at a time.
func (e *Endpoint) Most() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.most
}

// Dial connects to the endpoint.
func (e *Endpoint) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case e.conns <- server:
		return client, nil
	case <-e.closed:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Config returns an outbound configuration whose hosts are all the endpoint, at a public address.
func (e *Endpoint) Config() outbound.Config {
	return outbound.Config{Dialer: e.Dial, Resolver: resolver{}}
}

// Runners returns the runners of an agent whose HTTP requests go to the endpoint.
func (e *Endpoint) Runners(t testing.TB) map[action.Type]targets.ActionRunner {
	t.Helper()
	return e.RunnersWith(t, e.Dial)
}

// RunnersWith is Runners with another dialer.
func (e *Endpoint) RunnersWith(
	t testing.TB, dial func(ctx context.Context, network, address string) (net.Conn, error),
) map[action.Type]targets.ActionRunner {
	t.Helper()
	cfg := e.Config()
	cfg.Dialer = dial
	network, err := outbound.New(cfg)
	require.NoError(t, err)
	return map[action.Type]targets.ActionRunner{action.TypeHTTP: actionhttp.NewRunner(network, actionhttp.Config{Version: "test"})}
}

// resolver resolves every host to one public address.
type resolver struct{}

// LookupNetIP implements outbound.Resolver.
func (resolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
}

// listener accepts the connections of Dial.
type listener struct{ e *Endpoint }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.e.conns:
		return c, nil
	case <-l.e.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. http.Server closes a listener once.
func (l listener) Close() error {
	close(l.e.closed)
	return nil
}

// Addr implements net.Listener.
func (l listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(93, 184, 215, 14), Port: 80} }
