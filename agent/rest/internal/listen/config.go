package listen

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

// Config configures a [Listener].
type Config struct {
	// Address is host:port.
	Address string
	// Certificate and Key are PEM files. Both are empty for plain HTTP, which only a loopback
	// address may serve.
	Certificate, Key string
	// InsecureHTTP permits plain HTTP on any address.
	InsecureHTTP bool
	// ClientCA is a PEM file of the authorities whose client certificates are verified. Clients
	// need not present one. Empty means that none is asked for.
	ClientCA string
	// TrustedProxies are CIDR prefixes and addresses of reverse proxies. A request from one of them
	// is counted, logged and audited for the client that the proxy names in X-Forwarded-For or
	// Forwarded.
	TrustedProxies []string
	// Connections bounds the open connections. When they are all open, a new one replaces the one
	// that has been idle longest.
	Connections int
	// Grace is how long a connection is kept idle at least. Default: 0.5 s.
	Grace time.Duration
	// MaxHeader bounds the header of a request, in bytes.
	MaxHeader int
	// HeaderTime bounds the time to receive a request's header, from its first byte or from the
	// connection's start; ReadTime bounds the time for the whole request, WriteTime that for the
	// answer, and IdleTime how long a connection waits for the next request.
	HeaderTime, ReadTime, WriteTime, IdleTime time.Duration
	// StopTime bounds the wait for requests under way at the end.
	StopTime time.Duration
	// HTTP2 offers HTTP/2 to clients over TLS.
	HTTP2 bool
}

// Check returns all faults of the address and the files' names.
func (c Config) Check() error {
	var errs []error
	host, _, err := net.SplitHostPort(c.Address)
	if err != nil {
		errs = append(errs, fmt.Errorf("invalid listen %q: want host:port: %w", c.Address, err))
	}
	switch {
	case (c.Certificate == "") != (c.Key == ""):
		errs = append(errs, errors.New("invalid tls: want both certificate and key, or neither"))
	case c.Certificate == "" && c.ClientCA != "":
		errs = append(errs, errors.New("invalid tls: client_ca needs a certificate and a key"))
	case c.Certificate == "" && err == nil && !c.InsecureHTTP && !Loopback(host): // an empty host means all addresses
		errs = append(errs, fmt.Errorf("invalid listen %q: want tls, or a loopback address behind a reverse proxy", c.Address))
	}
	_, err = parseProxies(c.TrustedProxies)
	return errors.Join(append(errs, err)...)
}

// CheckPublicURL returns an error if a public URL is invalid.
func CheckPublicURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("invalid public_url %q: want http(s)://HOST/PATH", text)
	case u.Scheme == "http" && !Loopback(u.Hostname()):
		return fmt.Errorf("invalid public_url %q: want https, because requests hold secrets (http only for a loopback address)", text)
	}
	return nil
}

// Loopback reports whether a host is this machine. Names other than localhost are not resolved.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
