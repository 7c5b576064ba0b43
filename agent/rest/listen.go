package rest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/internal/listen"
)

const (
	// defaultConnections bounds the open connections of a listener.
	defaultConnections = 4000
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 64 << 10
	// stopTime bounds the wait for requests under way when a listener stops.
	stopTime = 15 * time.Second
)

// ListenConfig configures a [Listener].
type ListenConfig struct {
	// Address is host:port.
	Address string
	// Certificate and Key are PEM files, which are read again when they change. ClientCA is a PEM
	// file of the authorities of client certificates; empty means that none is asked for.
	Certificate, Key, ClientCA string
	// TrustedProxies are CIDR prefixes and addresses of reverse proxies, whose headers
	// X-Forwarded-For and Forwarded name the client of a request.
	TrustedProxies []string
	// InsecureHTTP permits plain HTTP, on a loopback address only.
	InsecureHTTP bool
	// Connections bounds the open connections; 0 means 4,000.
	Connections int
	// RequestTime bounds the time of a request; 0 means 30 s.
	RequestTime time.Duration
}

// Check returns all faults of a configuration. A certificate may be missing on a loopback address:
// the caller may provide one later.
func (c ListenConfig) Check() error {
	err := c.listener().Check()
	if host, _, addressErr := net.SplitHostPort(c.Address); c.InsecureHTTP && addressErr == nil && !listen.Loopback(host) {
		err = errors.Join(err, fmt.Errorf("invalid insecure_http: %q is not a loopback address", c.Address))
	}
	if c.InsecureHTTP && c.Certificate != "" {
		err = errors.Join(err, errors.New("invalid insecure_http: tls is configured"))
	}
	return err
}

// CheckFiles returns an error if a PEM file cannot be read, or the key is of another certificate.
func (c ListenConfig) CheckFiles() error { return c.listener().CheckFiles() }

// listener returns the configuration of the network side.
func (c ListenConfig) listener() listen.Config {
	request := cmp.Or(c.RequestTime, requestTime)
	return listen.Config{
		Address: c.Address, Certificate: c.Certificate, Key: c.Key, ClientCA: c.ClientCA,
		TrustedProxies: c.TrustedProxies, Connections: cmp.Or(c.Connections, defaultConnections), MaxHeader: maxHeader,
		// The body has to arrive in time for the request, and the answer to be read after it.
		HeaderTime: 10 * time.Second, ReadTime: request, WriteTime: 2 * request, IdleTime: 2 * time.Minute,
		StopTime: stopTime, HTTP2: true,
	}
}

// CheckPublicURL returns an error if a public URL is invalid.
func CheckPublicURL(text string) error { return listen.CheckPublicURL(text) }

// Loopback reports whether a host is this machine. Names other than localhost are not resolved.
func Loopback(host string) bool { return listen.Loopback(host) }

// Listener is an open address of a front.
type Listener struct {
	open *listen.Listener
	log  *zap.Logger
}

// Listen opens an address. The caller calls Serve, which closes it, or Close.
func Listen(ctx context.Context, cfg ListenConfig, log *zap.Logger) (*Listener, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if cfg.Certificate == "" && !cfg.InsecureHTTP {
		return nil, errors.New("invalid tls: want certificate and key, or insecure_http on a loopback address")
	}
	l, err := listen.Open(ctx, cfg.listener())
	if err != nil {
		return nil, err
	}
	return &Listener{open: l, log: log}, nil
}

// Address returns host:port; the port is the actual one.
func (l *Listener) Address() string { return l.open.Address() }

// URL returns the address with its scheme, as seen from this machine.
func (l *Listener) URL() string { return l.open.URL() }

// Connections returns the number of open connections.
func (l *Listener) Connections() int { return l.open.Connections() }

// Close closes a listener whose Serve was not called.
func (l *Listener) Close() error { return l.open.Close() }

// Serve answers requests until ctx is done. Then it lets the requests under way end.
func (l *Listener) Serve(ctx context.Context, s *Server) error {
	if err := l.open.Serve(ctx, s, l.log); err != nil {
		return fmt.Errorf("serve REST: %w", err)
	}
	return nil
}
