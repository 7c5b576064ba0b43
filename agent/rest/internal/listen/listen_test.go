package listen

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/testenv/mitm"
)

var full = flag.Bool("rest.full", false, "run the tests of the front at full size")

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg   Config
		fault string // empty: valid
	}{
		{cfg: Config{Address: "127.0.0.1:0"}},
		{cfg: Config{Address: "localhost:8443"}},
		{cfg: Config{Address: ":8443", Certificate: "c", Key: "k", ClientCA: "a"}},
		{cfg: Config{Address: ":8443"}, fault: "want tls, or a loopback address"},
		{cfg: Config{Address: "8443"}, fault: "invalid listen"},
		{cfg: Config{Address: "127.0.0.1:0", Certificate: "c"}, fault: "want both certificate and key"},
		{cfg: Config{Address: "127.0.0.1:0", ClientCA: "c"}, fault: "client_ca needs a certificate"},
	} {
		if err := c.cfg.Check(); c.fault == "" {
			require.NoError(t, err, "%+v", c.cfg)
		} else {
			require.ErrorContains(t, err, c.fault, "%+v", c.cfg)
		}
	}
	_, err := Open(t.Context(), Config{Address: "127.0.0.1:0", Certificate: "/nonexistent", Key: "/nonexistent"})
	require.ErrorContains(t, err, "certificate")
}

// serve serves a handler until the test ends.
func serve(t *testing.T, cfg Config, handler http.HandlerFunc) *Listener {
	t.Helper()
	cfg.Address = "127.0.0.1:0"
	if cfg.Connections == 0 {
		cfg.Connections = 100
	}
	if cfg.StopTime == 0 {
		cfg.StopTime = 10 * time.Second
	}
	l, err := Open(t.Context(), cfg)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, handler, zap.NewNop()) }() // ends with ctx
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	return l
}

// A certificate that is renewed in its files is used without a restart; a broken file is not.
func TestCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := &files{protocols: []string{"http/1.1"}}
	var err error
	f.certificate, f.key, err = mitm.WriteSelfSigned(dir)
	require.NoError(t, err)
	first, err := f.config(nil)
	require.NoError(t, err)
	require.EqualValues(t, tls.VersionTLS12, first.MinVersion)
	_, _, err = mitm.WriteSelfSigned(dir)
	require.NoError(t, err)
	require.NoError(t, os.Chtimes(f.certificate, time.Time{}, time.Now().Add(time.Minute)))
	same, err := f.config(nil)
	require.NoError(t, err)
	require.Same(t, first, same, "the files were looked at a moment ago")
	f.looked = time.Now().Add(-filesAge)
	renewed, err := f.config(nil)
	require.NoError(t, err)
	require.NotEqual(t, first.Certificates[0].Certificate, renewed.Certificates[0].Certificate)
	require.NoError(t, os.WriteFile(f.certificate, []byte("broken"), 0o600))
	f.looked = time.Now().Add(-filesAge)
	kept, err := f.config(nil)
	require.NoError(t, err)
	require.Same(t, renewed, kept)
}

// Client certificates are verified, and not required. Old versions of TLS are refused.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	certificate, key, err := mitm.WriteSelfSigned(t.TempDir())
	require.NoError(t, err)
	otherCertificate, otherKey, err := mitm.WriteSelfSigned(t.TempDir())
	require.NoError(t, err)
	l := serve(t, Config{Certificate: certificate, Key: key, ClientCA: certificate, HTTP2: true}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%d %d", r.ProtoMajor, len(r.TLS.VerifiedChains))
	})
	get := func(cfg *tls.Config) (string, error) {
		cfg.InsecureSkipVerify = true // the test's own certificate
		transport := &http.Transport{TLSClientConfig: cfg, ForceAttemptHTTP2: true}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Get(l.URL())
		if err != nil {
			return "", err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		return string(text), err
	}
	text, err := get(&tls.Config{})
	require.NoError(t, err)
	require.Equal(t, "2 0", text)
	pair, err := tls.LoadX509KeyPair(certificate, key)
	require.NoError(t, err)
	text, err = get(&tls.Config{Certificates: []tls.Certificate{pair}})
	require.NoError(t, err)
	require.Equal(t, "2 1", text)
	pair, err = tls.LoadX509KeyPair(otherCertificate, otherKey)
	require.NoError(t, err)
	_, err = get(&tls.Config{GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }})
	require.Error(t, err, "another authority")
	_, err = get(&tls.Config{MaxVersion: tls.VersionTLS11})
	require.Error(t, err)
}

// dial connects to a listener.
func dial(t *testing.T, l *Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Address())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// exchange sends a request and returns the status line of the answer.
func exchange(t *testing.T, c net.Conn, request string) string {
	t.Helper()
	if request != "" {
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
	}
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// Idle connections give way to new ones, the longest idle first. 10,000 of them are many more than
// the listener keeps open, and block nobody.
func TestIdleConnectionsBlockNobody(t *testing.T) {
	t.Parallel()
	connections, clients := 50, 300
	if *full {
		connections, clients = 4000, 10_000 // both ends are in this process: some 14,000 descriptors
	}
	l := serve(t, Config{Connections: connections, Grace: time.Millisecond, IdleTime: time.Minute, HeaderTime: time.Minute}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
	var all []net.Conn
	for i := range clients {
		c := dial(t, l)
		switch i % 3 {
		case 0: // says nothing
		case 1: // is idle after a request
			require.Equal(t, "HTTP/1.1 204 No Content", exchange(t, c, request))
		case 2: // has begun a request
			_, err := io.WriteString(c, request[:20])
			require.NoError(t, err)
		}
		all = append(all, c)
	}
	require.Equal(t, "HTTP/1.1 204 No Content", exchange(t, dial(t, l), request), "a new client is served")
	first := all[1]
	require.NoError(t, first.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := io.Copy(io.Discard, first)
	require.NoError(t, err, "the connection that was idle longest was closed")
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	require.LessOrEqual(t, l.pool.open, connections)
}

// When all connections have a request under way, a new one waits.
func TestBusyConnectionsAreKept(t *testing.T) {
	t.Parallel()
	release, entered := make(chan struct{}), make(chan struct{}, 2)
	l := serve(t, Config{Connections: 1, Grace: time.Minute}, func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		w.WriteHeader(http.StatusNoContent)
	})
	const request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	first, second := dial(t, l), dial(t, l)
	for _, c := range []net.Conn{first, second} {
		_, err := io.WriteString(c, request)
		require.NoError(t, err)
	}
	<-entered
	require.Empty(t, entered, "the second waits")
	close(release)
	for _, c := range []net.Conn{first, second} {
		require.Equal(t, "HTTP/1.1 204 No Content", exchange(t, c, ""))
	}
}

// Clients that send half a request, or very slowly, are cut off; headers are bounded.
func TestSlowClients(t *testing.T) {
	t.Parallel()
	l := serve(t, Config{HeaderTime: 200 * time.Millisecond, ReadTime: 300 * time.Millisecond, MaxHeader: 8 << 10}, func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	for name, text := range map[string]string{
		"no request": "", "half a header": "GET / HTTP/1.1\r\nHost:", "half a body": "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, l)
			_, err := io.WriteString(c, text)
			require.NoError(t, err)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
			answer, err := io.ReadAll(c)
			require.NoError(t, err, "the server closes the connection")
			if name == "half a body" {
				require.Contains(t, string(answer), "400 Bad Request")
			}
		})
	}
	t.Run("long header", func(t *testing.T) {
		t.Parallel()
		line := exchange(t, dial(t, l), "GET / HTTP/1.1\r\nHost: x\r\nA: "+strings.Repeat("a", 20<<10)+"\r\n\r\n")
		require.Contains(t, line, "431")
	})
}

// A stop lets requests under way end, and then cuts off those that do not.
func TestStop(t *testing.T) {
	t.Parallel()
	l, err := Open(t.Context(), Config{Address: "127.0.0.1:0", Connections: 10, StopTime: 50 * time.Millisecond})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	entered, release := make(chan struct{}), make(chan struct{})
	go func() {
		ended <- l.Serve(ctx, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			entered <- struct{}{}
			<-release
		}), zap.NewNop())
	}()
	c := dial(t, l)
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	<-entered
	cancel()
	require.NoError(t, <-ended)
	close(release)
	_, err = net.Dial("tcp", l.Address())
	require.Error(t, err)
}
