package callbacks

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/internal/listen"
	"github.com/jobagent/jobagent/controldb"
)

const (
	// maxConnections bounds the open connections of a receiver.
	maxConnections = 1000
	// maxHeader bounds the header of a request, in bytes.
	maxHeader = 16 << 10
	// stopTime bounds the wait for requests under way when the receiver stops.
	stopTime = 15 * time.Second
)

// Config configures a [Receiver].
type Config struct {
	// Listen is the address host:port on which the receiver listens.
	Listen string
	// PublicURL is the address of the receiver as seen from outside. Its path is the prefix of the
	// receiver's paths. Empty means the address of a listener on a loopback address.
	PublicURL string
	// Certificate and Key are PEM files; they are read again when they change. Both are empty for
	// plain HTTP, which only a loopback address may serve.
	Certificate, Key string
	// TrustedProxies are CIDR prefixes and addresses of reverse proxies, whose headers
	// X-Forwarded-For and Forwarded name the sender of a report.
	TrustedProxies []string
}

// Check returns an error if the configuration is invalid.
func (c Config) Check() error {
	err := c.listener().Check()
	host, _, addressErr := net.SplitHostPort(c.Listen)
	if c.PublicURL != "" || addressErr == nil && !listen.Loopback(host) {
		err = errors.Join(CheckPublicURL(c.PublicURL), err)
	}
	return err
}

// listener returns the configuration of the listener.
func (c Config) listener() listen.Config {
	return listen.Config{
		Address: c.Listen, Certificate: c.Certificate, Key: c.Key, TrustedProxies: c.TrustedProxies, Connections: maxConnections, MaxHeader: maxHeader,
		HeaderTime: 5 * time.Second, ReadTime: 15 * time.Second, WriteTime: 30 * time.Second, IdleTime: time.Minute,
		StopTime: stopTime,
	}
}

// CheckPublicURL returns an error if a public URL is invalid.
func CheckPublicURL(text string) error { return listen.CheckPublicURL(text) }

// Receiver receives reports and hands them to the control database.
type Receiver struct {
	listener  *listen.Listener
	publicURL string
	handler   *handler
	log       *zap.Logger
}

// Listen opens a receiver, which answers once Serve is called. A report goes to the control
// database that knows its token. The caller calls Serve, which closes the receiver, or Close.
func Listen(ctx context.Context, cfg Config, stores []*controldb.Store, log *zap.Logger) (*Receiver, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	l, err := listen.Open(ctx, cfg.listener())
	if err != nil {
		return nil, fmt.Errorf("receive callbacks: %w", err)
	}
	publicURL := cfg.PublicURL
	if publicURL == "" {
		publicURL = "http://" + l.Address()
	}
	return on(l, publicURL, stores, log), nil
}

// On returns a receiver that answers on a listener of the caller's, which Serve closes. publicURL
// is valid (CheckPublicURL).
func On(l net.Listener, publicURL string, store *controldb.Store, log *zap.Logger) *Receiver {
	return on(listen.On(Config{}.listener(), l), publicURL, []*controldb.Store{store}, log)
}

func on(l *listen.Listener, publicURL string, stores []*controldb.Store, log *zap.Logger) *Receiver {
	path := ""
	if u, err := url.Parse(publicURL); err == nil {
		path = u.Path
	}
	log = log.With(zap.String("service", "callbacks"))
	return &Receiver{listener: l, publicURL: publicURL, handler: newHandler(stores, path, log), log: log}
}

// PublicURL returns the address of the receiver as seen from outside.
func (r *Receiver) PublicURL() string { return r.publicURL }

// Close closes a receiver whose Serve was not called.
func (r *Receiver) Close() error { return r.listener.Close() }

// Serve answers requests until ctx is done. Then it lets the requests under way end.
func (r *Receiver) Serve(ctx context.Context) error {
	r.log.Info("callbacks are received", zap.String("listen", r.listener.Address()), zap.String("public_url", r.publicURL))
	if err := r.listener.Serve(ctx, r.handler, r.log); err != nil {
		return fmt.Errorf("receive callbacks: %w", err)
	}
	return nil
}
