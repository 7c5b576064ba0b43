package http_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	nethttp "net/http"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/http"
	"github.com/jobagent/jobagent/targets/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// everyName is a name service that resolves every name to one public address, except names that
// begin with "missing".
type everyName struct{}

// LookupNetIP implements outbound.Resolver.
func (everyName) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if strings.HasPrefix(host, "missing") {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
}

// handler serves one connection. The connection is closed afterwards.
type handler func(c net.Conn)

// site is a server over pipes or TCP, with the network that reaches it.
type site struct {
	network *outbound.Network
	// origin is the beginning of its URLs.
	origin string
	served sync.WaitGroup

	mu    sync.Mutex
	conns int
}

// connections returns the number of connections that were made.
func (s *site) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns
}

// serve serves a connection.
func (s *site) serve(c net.Conn, h handler) {
	s.mu.Lock()
	s.conns++
	s.mu.Unlock()
	s.served.Go(func() {
		defer c.Close()
		h(c)
	})
}

// pipeSite returns a site over pipes.
func pipeSite(t testing.TB, cfg outbound.Config, h handler) *site {
	t.Helper()
	s := &site{origin: "http://h.example"}
	cfg.Resolver = everyName{}
	cfg.Dialer = func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		s.serve(far, h)
		return near, nil
	}
	var err error
	s.network, err = outbound.New(cfg)
	require.NoError(t, err)
	return s
}

// tcpSite returns a site over TCP.
func tcpSite(t testing.TB, cfg outbound.Config, h handler) *site {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &site{origin: "http://" + listener.Addr().String()}
	s.served.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			s.serve(c, h)
		}
	})
	t.Cleanup(func() {
		require.NoError(t, listener.Close())
		s.served.Wait()
	})
	cfg.Allow = append(cfg.Allow, outbound.LoopbackAllowed()...)
	s.network, err = outbound.New(cfg)
	require.NoError(t, err)
	return s
}

// overBoth runs a test over pipes, where time is virtual, and over TCP.
func overBoth(t *testing.T, h handler, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			s := pipeSite(t, outbound.Config{}, h)
			test(t, s)
			s.served.Wait()
		})
	})
	t.Run("tcp", func(t *testing.T) {
		t.Parallel()
		test(t, tcpSite(t, outbound.Config{}, h))
	})
}

// readRequest reads a request with its body.
func readRequest(c net.Conn) (*nethttp.Request, string, error) {
	r, err := nethttp.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(r.Body)
	return r, string(body), err
}

// answer returns a handler that reads a request and writes a text.
func answer(text string) handler {
	return func(c net.Conn) {
		if _, _, err := readRequest(c); err == nil {
			_, _ = io.WriteString(c, text)
		}
	}
}

// status returns the text of an answer with a body.
func status(code int, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\n", code, nethttp.StatusText(code), len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n" + body
}

// post returns an action that posts to a URL.
func post(url string) *action.Definition {
	return &action.Definition{Type: action.TypeHTTP, HTTP: &action.HTTP{
		Method: "POST", URL: url, Body: []byte(`{"a": 1}`), BodyJSON: true, AllowHTTP: true,
		ResponseTimeout: 30 * time.Second,
	}}
}

// key is the idempotency key of tests, runID the run's id.
var (
	key   = uuid.MustParse("5f0c1f5e-3a55-4c6e-9a3b-8a1f0d2b7c11")
	runID = uuid.MustParse("0b4f3f0a-91cf-4f5e-8b2a-50a5b2a7c001")
)

// traceParent is the header traceparent of tests.
const traceParent = "00-0b4f3f0a91cf4f5e8b2a50a5b2a7c001-9f864fb625cfd51a-01"

// attemptOf returns an attempt of an action.
func attemptOf(d *action.Definition) targets.ActionAttempt {
	return targets.ActionAttempt{
		Action: d, Key: key, Number: 1, JobName: "nightly", JobExecutionID: runID, TraceParent: traceParent,
		DueAt: time.Date(2020, 8, 3, 18, 6, 17, 0, time.UTC), SchedulerHost: "https://front.example",
	}
}

// try makes one attempt, and checks what holds for all results.
func try(t *testing.T, s *site, a targets.ActionAttempt) targets.Result {
	t.Helper()
	return tryIn(t, t.Context(), s, a)
}

// tryIn is try in a context.
func tryIn(t *testing.T, ctx context.Context, s *site, a targets.ActionAttempt) targets.Result {
	t.Helper()
	result := http.NewRunner(s.network, http.Config{Version: "1.2.3"}).Run(ctx, a)
	switch result.Outcome {
	case targets.Succeeded, targets.Accepted:
		require.NoError(t, result.Err)
	default:
		require.Error(t, result.Err)
		require.NotEmpty(t, result.Summary)
		require.NotEmpty(t, result.Error.Class)
		require.NotEmpty(t, result.Error.Text)
	}
	if result.Outcome == targets.NotSent {
		require.False(t, result.Sent)
	}
	if result.Outcome == targets.Unknown || result.Outcome == targets.NoAnswer {
		require.True(t, result.Sent)
	}
	return result
}

// texts returns the messages of a kind.
func texts(r targets.Result, kind targets.MessageKind) (list []string) {
	for _, m := range r.Messages {
		if m.Kind == kind {
			list = append(list, m.Text)
		}
	}
	return list
}

var errBegin = errors.New("the term has ended")
