package callbacks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

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
}

// Check returns an error if the configuration is invalid.
func (c Config) Check() error {
	var errs []error
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		errs = append(errs, fmt.Errorf("invalid listen %q: want host:port: %w", c.Listen, err))
	}
	if c.PublicURL != "" || err == nil && !loopback(host) {
		errs = append(errs, CheckPublicURL(c.PublicURL))
	}
	switch {
	case (c.Certificate == "") != (c.Key == ""):
		errs = append(errs, errors.New("invalid tls: want both certificate and key, or neither"))
	case c.Certificate == "" && err == nil && !loopback(host): // an empty host means all addresses
		errs = append(errs, fmt.Errorf("invalid listen %q: want tls, or a loopback address behind a reverse proxy", c.Listen))
	}
	return errors.Join(errs...)
}

// CheckPublicURL returns an error if a public URL is invalid.
func CheckPublicURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("invalid public_url %q: want http(s)://HOST/PATH", text)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return fmt.Errorf("invalid public_url %q: want https, because callback URLs hold a secret (http only for a loopback address)",
			text)
	}
	return nil
}

// loopback reports whether a host is this machine. Names other than localhost are not resolved.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Receiver receives reports and hands them to the control database.
type Receiver struct {
	listener  net.Listener
	publicURL string
	handler   *handler
	log       *zap.Logger
}

// Listen opens a receiver, which answers once Serve is called. The caller calls Serve, which closes
// it, or Close.
func Listen(ctx context.Context, cfg Config, store *controldb.Store, log *zap.Logger) (*Receiver, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	var certificate *fileCertificate
	if cfg.Certificate != "" {
		certificate = &fileCertificate{certificate: cfg.Certificate, key: cfg.Key}
		if _, err := certificate.get(nil); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen for callbacks on %s: %w", cfg.Listen, err)
	}
	publicURL := cfg.PublicURL
	if publicURL == "" {
		publicURL = "http://" + l.Addr().String()
	}
	l = newLimitListener(l, maxConnections)
	if certificate != nil {
		l = tls.NewListener(l, &tls.Config{
			MinVersion: tls.VersionTLS12, GetCertificate: certificate.get, NextProtos: []string{"http/1.1"},
		})
	}
	return On(l, publicURL, store, log), nil
}

// On returns a receiver that answers on a listener of the caller's, which Serve closes. publicURL
// is valid (CheckPublicURL).
func On(l net.Listener, publicURL string, store *controldb.Store, log *zap.Logger) *Receiver {
	path := ""
	if u, err := url.Parse(publicURL); err == nil {
		path = u.Path
	}
	log = log.With(zap.String("service", "callbacks"))
	return &Receiver{listener: l, publicURL: publicURL, handler: newHandler(store, path, log), log: log}
}

// PublicURL returns the address of the receiver as seen from outside.
func (r *Receiver) PublicURL() string { return r.publicURL }

// Close closes a receiver whose Serve was not called.
func (r *Receiver) Close() error { return r.listener.Close() }

// Serve answers requests until ctx is done. Then it lets the requests under way end.
func (r *Receiver) Serve(ctx context.Context) error {
	// Clients cause these entries: broken handshakes, for example.
	errorLog, err := zap.NewStdLogAt(r.log, zap.DebugLevel)
	if err != nil {
		return errors.Join(fmt.Errorf("receive callbacks: %w", err), r.Close())
	}
	server := &http.Server{
		Handler: r.handler, MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: errorLog,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(r.listener) }() // ends with Shutdown
	r.log.Info("callbacks are received", zap.Stringer("listen", r.listener.Addr()), zap.String("public_url", r.publicURL))
	select {
	case err := <-ended:
		return fmt.Errorf("receive callbacks: %w", err)
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close() // closes the connections that are left
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("receive callbacks: %w", err)
	}
	return nil
}

// fileCertificate is a certificate in files that may be renewed. It is safe for concurrent use.
type fileCertificate struct {
	certificate, key string

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed time.Time // of the certificate's file
	looked  time.Time // when the file was last looked at
}

// certificateAge is how long a certificate is used before its file is looked at again.
const certificateAge = 10 * time.Second

// get returns the certificate. A renewed file that cannot be read is used at the next look.
func (f *fileCertificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.loaded != nil && time.Since(f.looked) < certificateAge {
		return f.loaded, nil
	}
	f.looked = time.Now()
	info, err := os.Stat(f.certificate)
	if err == nil && f.loaded != nil && info.ModTime().Equal(f.changed) {
		return f.loaded, nil
	}
	var pair tls.Certificate
	if err == nil {
		pair, err = tls.LoadX509KeyPair(f.certificate, f.key)
	}
	switch {
	case err == nil:
		f.loaded, f.changed = &pair, info.ModTime()
	case f.loaded == nil:
		return nil, fmt.Errorf("read the certificate for callbacks: %w", err)
	}
	return f.loaded, nil
}
