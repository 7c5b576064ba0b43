package outbound

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Direct describes a client for an endpoint that the administrator of this process has named, such
// as an issuer of tokens: what a step may dial, and the credentials of steps, do not apply. The
// client makes a connection for each request, and follows no redirect.
type Direct struct {
	// TLS is the configuration of TLS; nil: the authorities of the system.
	TLS *tls.Config
	// Environment uses the proxies of HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Environment bool
	// Timeout bounds an exchange, and each of its parts.
	Timeout time.Duration
	// MaxBody bounds the body of an answer, in bytes; 0: no bound.
	MaxBody int64
	// Transport replaces the network in tests; nil: nothing does.
	Transport http.RoundTripper
}

// Client returns the client.
func (d Direct) Client() *http.Client {
	transport := d.Transport
	if transport == nil {
		t := &http.Transport{
			TLSClientConfig: d.TLS, ForceAttemptHTTP2: true, DisableKeepAlives: true, MaxResponseHeaderBytes: MaxHeaderBytes,
			DialContext: (&net.Dialer{Timeout: d.Timeout}).DialContext, TLSHandshakeTimeout: d.Timeout, ResponseHeaderTimeout: d.Timeout,
		}
		if d.Environment {
			t.Proxy = http.ProxyFromEnvironment
		}
		transport = t
	}
	return &http.Client{
		Timeout: d.Timeout,
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			answer, err := transport.RoundTrip(r)
			if err == nil && d.MaxBody > 0 {
				answer.Body = http.MaxBytesReader(nil, answer.Body, d.MaxBody)
			}
			return answer, err
		}),
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("it redirects to %s, which is not followed", r.URL.Host)
		},
	}
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(r *http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
