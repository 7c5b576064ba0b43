package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jobagent/jobagent/targets"
)

// MaxHeaderBytes bounds the headers of a response, those of informational responses included.
const MaxHeaderBytes = 64 << 10

// ErrEarlyAnswer means that the server sent an answer before it could have read a byte of the
// request. What it says is not about the request.
var ErrEarlyAnswer = errors.New("the server answered before the request was sent")

// RoundTrip sends a request on a connection of its own, by HTTP/1.1, and returns the answer. It
// follows no redirect and keeps no cookie. An answer that came before the fence permitted the
// request is ErrEarlyAnswer. The caller must close the body of the answer.
func (d *Dialer) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	proxy, err := d.network.httpProxy(r.URL)
	if err != nil {
		return nil, err
	}
	resp, err := d.transport(ctx, r.URL, proxy).RoundTrip(r)
	if err != nil || d.fence == nil {
		return resp, err
	}
	sent, err := d.fence.awaitFirstWrite(ctx)
	if err == nil && !sent {
		err = ErrEarlyAnswer
	}
	if err != nil {
		_ = resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// transport returns the transport of one request. A transport that reuses connections repeats some
// requests by itself when a reused connection breaks. It dials in ctx, the request's: the context
// of its own dials does not end with the request. proxy receives a request for plain http in place
// of the host; nil: none does.
func (d *Dialer) transport(ctx context.Context, target, proxy *url.URL) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	dial := func(dial func(ctx context.Context, address string) (*Conn, error)) func(context.Context, string, string) (net.Conn, error) {
		return func(_ context.Context, _, address string) (net.Conn, error) {
			if d.fence != nil {
				if err := d.fence.enter(); err != nil {
					return nil, err
				}
				defer d.fence.leave(false)
			}
			c, err := dial(ctx, address)
			if err != nil {
				return nil, err // a nil *Conn in a net.Conn is not nil
			}
			return c, nil
		}
	}
	t := &http.Transport{
		DisableKeepAlives:      true,
		Protocols:              protocols,
		MaxResponseHeaderBytes: MaxHeaderBytes,
		WriteBufferSize:        4 << 10,
		ReadBufferSize:         4 << 10,
		DialContext:            dial(d.Dial),
		DialTLSContext:         dial(d.DialTLS),
	}
	if proxy != nil {
		toProxy := dial(func(ctx context.Context, _ string) (*Conn, error) { return d.dialProxyFor(ctx, target, proxy) })
		t.Proxy, t.DialContext, t.DialTLSContext = http.ProxyURL(proxy), toProxy, toProxy
	}
	return t
}

// httpProxy returns the proxy that receives a request for plain http itself; nil for none. It makes
// a tunnel for other requests.
func (n *Network) httpProxy(target *url.URL) (*url.URL, error) {
	if target.Scheme != "http" || n.proxy == nil && n.cfg.Proxy != proxyEnvironment {
		return nil, nil
	}
	proxy, err := n.proxyFor(target)
	if err != nil || proxy == nil || proxy.Scheme != "http" && proxy.Scheme != "https" {
		return nil, err
	}
	return proxy, nil
}

// dialProxyFor connects to the proxy that receives a request for plain http.
func (d *Dialer) dialProxyFor(ctx context.Context, target, proxy *url.URL) (conn *Conn, err error) {
	n := d.network
	defer n.observe(time.Now(), &err)
	address := net.JoinHostPort(target.Hostname(), cmp.Or(target.Port(), "80"))
	host, port, err := splitAddress(address)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("address %q", address), Err: err}
	}
	if err := n.guard.checkPort(host, port); err != nil {
		return nil, err
	}
	if err := n.checkProxied(ctx, host); err != nil {
		return nil, err
	}
	c, err := phase(ctx, "connect to the proxy", ConnectTimeout, func(ctx context.Context) (net.Conn, error) {
		return n.dialProxy(ctx, proxy)
	})
	if err != nil {
		return nil, err
	}
	return newConn(c, d.fence)
}

// maxRetryAfter bounds the wait that an answer asks for.
const maxRetryAfter = 366 * 24 * time.Hour

// RetryAfter returns the wait that an answer with status 429 or 503 asks for (RFC 9110, 10.2.3):
// seconds, or a date that is compared with the server's own clock if the answer tells it. A value
// that is past or unreadable is ignored.
func RetryAfter(status int, h http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if server, err := http.ParseTime(h.Get("Date")); err == nil {
		now = server
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
