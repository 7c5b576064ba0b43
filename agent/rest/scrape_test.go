package rest_test

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/scrape"
)

// numbers is a handler of metrics.
var numbers = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = io.WriteString(w, "up 1\n")
})

// process is a process with metrics, whose agent holds a term or none.
type process bool

// Handler implements scrape.Source.
func (process) Handler() http.Handler { return numbers }

// Ready implements scrape.Source.
func (p process) Ready() (bool, string) { return bool(p), "no reason" }

// The probes answer without the token.
func TestProbes(t *testing.T) {
	t.Parallel()
	for ready, want := range map[process]int{true: 200, false: 503} {
		server, err := scrape.Open(t.Context(), scrape.Config{Listen: "127.0.0.1:0", Token: "open sesame"}, ready, zap.NewNop())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx) }() // ends with stop
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		for path, want := range map[string]int{scrape.PathAlive: 200, scrape.PathReady: want, scrape.Path: 401} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(server.URL(), scrape.Path)+path, nil)
			require.NoError(t, err)
			answer, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			require.Equal(t, want, answer.StatusCode, "%s", path)
		}
		stop()
		require.NoError(t, <-ended)
	}
}

func TestServer(t *testing.T) {
	t.Parallel()
	server, err := scrape.Open(t.Context(), scrape.Config{Listen: "127.0.0.1:0", Token: "open sesame"}, process(true), zap.NewNop())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx) }() // ends with stop
	client := &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second}
	for _, c := range []struct {
		method, path, authorization string
		status                      int
	}{
		{"GET", "", "Bearer open sesame", 200}, {"GET", "", "bearer open sesame", 200}, {"HEAD", "", "Bearer open sesame", 200},
		{"GET", "", "", 401}, {"GET", "", "Bearer open", 401}, {"GET", "", "Basic open sesame", 401}, {"GET", "", "Bearer", 401},
		{"POST", "", "Bearer open sesame", 405}, {"GET", "/more", "Bearer open sesame", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), c.method, server.URL()+c.path, nil)
		require.NoError(t, err)
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, c.status, answer.StatusCode, "%v: %s", c, body)
		require.NotContains(t, string(body), "sesame")
		if c.status == http.StatusOK && c.method == http.MethodGet {
			require.Equal(t, "up 1\n", string(body))
		}
	}
	client.CloseIdleConnections()
	stop()
	require.NoError(t, <-ended)
}

// Beyond loopback, TLS or an explicit setting is needed; and a warning says that nobody is asked
// for a token.
// Without a token, an address on loopback answers for no other name: a page could have it resolved
// to the address.
func TestReboundNames(t *testing.T) {
	t.Parallel()
	for token, foreign := range map[string]int{"": 421, "open sesame": 200} {
		server, err := scrape.Open(t.Context(), scrape.Config{Listen: "127.0.0.1:0", Token: token}, process(true), zap.NewNop())
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- server.Serve(ctx) }() // ends with stop
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		for host, want := range map[string]int{
			"127.0.0.1": 200, "127.9.9.9:80": 200, "localhost:9464": 200, "[::1]:9464": 200, "[::1]": 200, "evil.example": foreign,
			"evil.example:9464": foreign, "127.0.0.1.evil.example": foreign, "192.0.2.1": foreign, "localhost.evil.example:80": foreign,
		} {
			for _, path := range []string{"", "/../healthz", "/../readyz"} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL()+path, nil)
				require.NoError(t, err)
				r.URL.Path = strings.TrimPrefix(r.URL.Path, "/metrics/..")
				r.Host = host
				r.Header.Set("Authorization", "Bearer open sesame")
				answer, err := client.Do(r)
				require.NoError(t, err)
				require.NoError(t, answer.Body.Close())
				require.Equal(t, want, answer.StatusCode, "%s %s", host, path)
			}
		}
		stop()
		require.NoError(t, <-ended)
	}
}

func TestBeyondLoopback(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]scrape.Config{
		"want tls":              {Listen: "0.0.0.0:0"},
		"want host:port":        {Listen: "9464"},
		"both certificate":      {Listen: "127.0.0.1:0", Certificate: "c.pem"},
		"invalid insecure_http": {Listen: "127.0.0.1:0", Certificate: "c.pem", Key: "k.pem", InsecureHTTP: true},
	} {
		require.ErrorContains(t, cfg.Check(), want)
		_, err := scrape.Open(t.Context(), cfg, process(true), zap.NewNop())
		require.ErrorContains(t, err, want)
	}
	core, logs := observer.New(zap.WarnLevel)
	server, err := scrape.Open(t.Context(), scrape.Config{Listen: "0.0.0.0:0", InsecureHTTP: true}, process(true), zap.New(core))
	require.NoError(t, err)
	require.NoError(t, server.Close())
	require.Equal(t, 1, logs.Len())
	_, err = scrape.Open(t.Context(), scrape.Config{
		Listen: "0.0.0.0:0", Certificate: filepath.Join(t.TempDir(), "c"), Key: filepath.Join(t.TempDir(), "k"),
	}, process(true), zap.NewNop())
	require.ErrorContains(t, err, "no such file")
}

// The front's operation hands the answer on, with its status.
func TestSurface(t *testing.T) {
	t.Parallel()
	for anonymous, role := range map[bool]rest.Role{true: rest.RoleNone, false: rest.RoleReader} {
		operations := scrape.NewSurface(numbers, anonymous).Operations()
		require.Len(t, operations, 1)
		require.Equal(t, role, operations[0].Role)
	}
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
	require.NoError(t, err)
	for status, handler := range map[int]http.Handler{200: numbers, 503: busy} {
		answer, err := scrape.NewSurface(handler, true).Operations()[0].Handle(t.Context(), &rest.Request{HTTP: r})
		require.NoError(t, err)
		require.Equal(t, status, answer.Status)
		require.NotEmpty(t, answer.Body)
		require.NotEmpty(t, answer.Header.Get("Content-Type"))
	}
}
