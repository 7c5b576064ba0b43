package listen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClientBehindProxies(t *testing.T) {
	t.Parallel()
	proxies, err := parseProxies([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48", "::ffff:192.0.2.2"})
	require.NoError(t, err)
	const proxy, own = "10.0.0.1:4000", "10.0.0.1:4000"
	for _, c := range []struct {
		peer           string
		forwardedFor   []string
		forwarded      []string
		client, reason string
	}{
		{peer: "198.51.100.1:4000", forwardedFor: []string{"203.0.113.9"}, client: "198.51.100.1:4000", reason: "no proxy"},
		{peer: proxy, client: own, reason: "no header"},
		{peer: proxy, forwardedFor: []string{"203.0.113.9"}, client: "203.0.113.9:0"},
		{peer: "[::ffff:10.0.0.1]:4000", forwardedFor: []string{"203.0.113.9"}, client: "203.0.113.9:0", reason: "mapped"},
		{peer: "192.0.2.1:1", forwardedFor: []string{"203.0.113.9:55", "10.1.1.1"}, client: "203.0.113.9:0", reason: "two proxies, two lines"},
		{peer: proxy, forwardedFor: []string{"203.0.113.1, 203.0.113.9, 10.1.1.1"}, client: "203.0.113.9:0", reason: "the first one is the client's word"},
		{peer: proxy, forwardedFor: []string{"10.1.1.9, 10.1.1.1"}, client: "10.1.1.9:0", reason: "a client in the network of the proxies"},
		{peer: proxy, forwardedFor: []string{"[2001:db8:2::1]:443"}, client: "[2001:db8:2::1]:0"},
		{peer: proxy, forwardedFor: []string{"2001:db8:2::1, 2001:db8:1::7"}, client: "[2001:db8:2::1]:0"},
		{peer: proxy, forwardedFor: []string{"203.0.113.9, unknown"}, client: own, reason: "hidden"},
		{peer: proxy, forwardedFor: []string{"203.0.113.9,"}, client: own, reason: "broken"},
		{peer: proxy, forwarded: []string{`for=203.0.113.1, for="[2001:db8:2::1]:47";proto=https;by=10.0.0.1`}, client: "[2001:db8:2::1]:0"},
		{peer: proxy, forwarded: []string{`proto=http; For = "203.0.113.9"`}, client: "203.0.113.9:0"},
		{peer: proxy, forwarded: []string{`for=203.0.113.9;for=203.0.113.8`}, client: own, reason: "twice"},
		{peer: proxy, forwarded: []string{`for=_hidden`}, client: own},
		{peer: proxy, forwardedFor: []string{"203.0.113.9"}, forwarded: []string{"for=203.0.113.9"}, client: "203.0.113.9:0"},
		{peer: proxy, forwardedFor: []string{"203.0.113.9"}, forwarded: []string{"for=203.0.113.8"}, client: own, reason: "one of them is the client's word"},
		{peer: "broken", forwardedFor: []string{"203.0.113.9"}, client: "broken"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwardedFor, "Forwarded": c.forwarded}}
		require.Equal(t, c.client, client(proxies, r), "%+v", c)
	}
}

func TestTrustedProxiesAreChecked(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "10.0.0.0/33", "proxy.example.com", "0.0.0.0/0", "::/0", "10.0.0.1:443"} {
		require.ErrorContains(t, Config{Address: "127.0.0.1:0", TrustedProxies: []string{text}}.Check(), fmt.Sprintf("invalid trusted_proxies %q", text))
	}
	require.NoError(t, Config{Address: "127.0.0.1:0", TrustedProxies: []string{"10.0.0.0/8", "::1"}}.Check())
}

// A listener tells its handler the client of a trusted proxy, and nothing else that a client says.
func TestListenerBehindProxy(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, Network(r.RemoteAddr)) }
	for want, proxies := range map[string][]string{"203.0.113.9/32": {"127.0.0.0/8"}, "127.0.0.1/32": nil} {
		l := serve(t, Config{TrustedProxies: proxies}, answer)
		r := httptest.NewRequest(http.MethodGet, l.URL(), nil)
		r.RequestURI = ""
		r.Header.Set("X-Forwarded-For", "203.0.113.9")
		transport := &http.Transport{}
		response, err := transport.RoundTrip(r)
		require.NoError(t, err)
		text := make([]byte, 100)
		n, _ := response.Body.Read(text) // the whole answer, with or without io.EOF
		require.NoError(t, response.Body.Close())
		transport.CloseIdleConnections()
		require.Equal(t, want, string(text[:n]))
	}
}
