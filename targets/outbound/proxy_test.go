package outbound_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/outbound"
)

// proxied returns a network behind a proxy that serve plays, and the addresses that were dialed.
func proxied(t *testing.T, proxy string, serve func(c net.Conn)) (*outbound.Network, *[]string, *sync.WaitGroup) {
	t.Helper()
	var dialed []string
	var served sync.WaitGroup
	return network(t, outbound.Config{
		Proxy: proxy, TrustProxyACL: true, ProxyCredential: secretFile(t, "u:p"),
		Resolver: names{"h.example": {"8.8.8.8"}, "private.example": {"10.0.0.1"}},
		Dialer: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			near, far := net.Pipe()
			served.Go(func() {
				defer far.Close()
				serve(far)
			})
			return near, nil
		},
	}), &dialed, &served
}

// A tunnel of an HTTP proxy. Its bytes do not count as the request's.
func TestProxyTunnel(t *testing.T) {
	t.Parallel()
	var connect *http.Request
	n, dialed, served := proxied(t, "http://proxy:3128", func(c net.Conn) {
		var err error
		connect, err = http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nA: b\r\n\r\nwelcome")
		_, _ = io.Copy(io.Discard, c)
	})
	fence := outbound.NewFence(t.Context(), nil)
	c, err := n.For(fence, nil).Dial(t.Context(), "h.example:8080")
	require.NoError(t, err)
	text := make([]byte, 7)
	_, err = io.ReadFull(c, text)
	require.NoError(t, err)
	require.Equal(t, "welcome", string(text), "the proxy's answer is read exactly")
	require.False(t, fence.Sent())
	fence.Close()
	served.Wait()
	require.Equal(t, []string{"proxy:3128"}, *dialed)
	require.Equal(t, "CONNECT h.example:8080", connect.Method+" "+connect.RequestURI)
	require.Equal(t, "Basic "+base64.StdEncoding.EncodeToString([]byte("u:p")), connect.Header.Get("Proxy-Authorization"))

	for _, address := range []string{"private.example:443", "127.0.0.1:443", "h.example:22"} {
		_, err = n.For(nil, nil).Dial(t.Context(), address)
		var refused *outbound.RefusedError
		require.ErrorAs(t, err, &refused, address)
	}
	require.Len(t, *dialed, 1, "a refused host is not asked for")
}

func TestProxyRefuses(t *testing.T) {
	t.Parallel()
	for answer, text := range map[string]string{
		"HTTP/1.1 403 Forbidden\r\n\r\n":          "status 403",
		"HTTP/1.1 2":                              "read the proxy's answer",
		"garbage\r\n\r\n":                         "malformed",
		strings.Repeat("a", 20<<10):               "too long",
		"HTTP/1.1 407 Auth\r\nX: hunter2\r\n\r\n": "status 407",
	} {
		n, _, served := proxied(t, "http://proxy:3128", func(c net.Conn) {
			_, _ = http.ReadRequest(bufio.NewReader(c))
			_, _ = io.WriteString(c, answer)
		})
		_, err := n.For(nil, nil).Dial(t.Context(), "unknown.example:443")
		var phase *outbound.PhaseError
		require.ErrorAs(t, err, &phase)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "hunter2")
		served.Wait()
	}
	synctest.Test(t, func(t *testing.T) {
		n, _, served := proxied(t, "socks5://proxy", func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
		started := time.Now()
		_, err := n.For(nil, nil).Dial(t.Context(), "h.example:443")
		var phase *outbound.PhaseError
		require.ErrorAs(t, err, &phase)
		require.True(t, phase.TimedOut)
		require.Equal(t, outbound.ConnectTimeout, time.Since(started))
		served.Wait()
	})
}

// A request for plain http is sent to an HTTP proxy itself.
func TestProxyForPlainHTTP(t *testing.T) {
	t.Parallel()
	var got *http.Request
	n, dialed, served := proxied(t, "http://proxy:3128", func(c net.Conn) {
		var err error
		if got, err = http.ReadRequest(bufio.NewReader(c)); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	fence := outbound.NewFence(t.Context(), nil)
	request := func(address string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		return n.For(fence, nil).RoundTrip(r)
	}
	resp, err := request("http://h.example/x")
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 204, resp.StatusCode)
	served.Wait()
	require.Equal(t, "http://h.example/x", got.RequestURI)
	require.NotEmpty(t, got.Header.Get("Proxy-Authorization"))
	require.Equal(t, []string{"proxy:3128"}, *dialed)
	_, err = request("http://private.example/x")
	var refused *outbound.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Len(t, *dialed, 1)
	fence.Close()
	require.True(t, fence.Sent())
}

func TestSOCKS5(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"h.example:443":        "\x03\x09h.example\x01\xbb",
		"8.8.8.8:80":           "\x01\x08\x08\x08\x08\x00\x50",
		"[2606:4700::1]:1024":  "\x04\x26\x06\x47\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x04\x00",
		"unknown.example:8080": "\x03\x0funknown.example\x1f\x90",
	} {
		n, dialed, served := proxied(t, "socks5://proxy", func(c net.Conn) {
			expect := func(text string) {
				b := make([]byte, len(text))
				_, err := io.ReadFull(c, b)
				if err != nil || string(b) != text {
					t.Errorf("%s: got %q, %v", address, b, err)
				}
			}
			expect("\x05\x01\x02")
			_, _ = io.WriteString(c, "\x05\x02")
			expect("\x01\x01u\x01p")
			_, _ = io.WriteString(c, "\x01\x00")
			expect("\x05\x01\x00" + want)
			_, _ = io.WriteString(c, "\x05\x00\x00\x01\x01\x02\x03\x04\x00\x50welcome")
		})
		c, err := n.For(nil, nil).Dial(t.Context(), address)
		require.NoError(t, err)
		text, err := io.ReadAll(c)
		require.NoError(t, err)
		require.Equal(t, "welcome", string(text))
		require.NoError(t, c.Close())
		served.Wait()
		require.Equal(t, []string{"proxy:1080"}, *dialed)
	}
}

// FuzzSOCKS5 sends any answer of a proxy: the client ends, with a connection or an error.
func FuzzSOCKS5(f *testing.F) {
	f.Add([]byte("\x05\x02\x01\x00\x05\x00\x00\x01\x01\x02\x03\x04\x00\x50"))
	f.Add([]byte("\x05\x02\x01\x00\x05\x00\x00\x03\x01a\x00\x50"))
	f.Add([]byte("\x05\x02\x01\x00\x05\x09\x00\x03"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, scheme := range []string{"socks5", "http"} {
			n, _, served := proxied(t, scheme+"://proxy", func(c net.Conn) {
				go func() { _, _ = io.Copy(io.Discard, c) }()
				_, _ = c.Write(answer)
			})
			if c, err := n.For(nil, nil).Dial(t.Context(), "h.example:443"); err == nil {
				_ = c.Close()
			}
			served.Wait()
		}
	})
}

// envProxyTest makes a process of this test run TestProxyOfTheEnvironment itself.
const envProxyTest = "JOBAGENT_TEST_PROXY"

// net/http reads the variables once, so that the test needs a process of its own.
func TestProxyOfTheEnvironment(t *testing.T) {
	if os.Getenv(envProxyTest) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProxyOfTheEnvironment$")
		cmd.Env = append(os.Environ(), envProxyTest+"=1", "HTTP_PROXY=http://plain:1", "HTTPS_PROXY=http://secure:2", "NO_PROXY=direct.example")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return
	}
	var dialed []string
	cfg := recorder(&dialed, names{"h.example": {"8.8.8.8"}, "direct.example": {"8.8.4.4"}})
	dial := func(proxy string) {
		cfg.Proxy, cfg.TrustProxyACL = proxy, true
		n := network(t, cfg)
		_, err := n.For(nil, nil).DialTLS(t.Context(), "h.example:443")
		require.ErrorIs(t, err, errDialed)
		_, err = n.For(nil, nil).Dial(t.Context(), "h.example:80")
		require.ErrorIs(t, err, errDialed)
		_, err = n.For(nil, nil).Dial(t.Context(), "direct.example:80")
		require.ErrorIs(t, err, errDialed)
	}
	dial("env")
	dial("")
	require.Equal(t, []string{"secure:2", "plain:1", "8.8.4.4:80", "8.8.8.8:443", "8.8.8.8:80", "8.8.4.4:80"}, dialed)
}
