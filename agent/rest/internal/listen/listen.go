package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"go.uber.org/zap"
)

// defaultGrace is enough for a handshake and the start of a request over a long way.
const defaultGrace = 500 * time.Millisecond

// Listener is an open address.
type Listener struct {
	cfg  Config
	pool *pool
	over net.Listener // the pool, or TLS over it
}

// Open opens the address of a configuration. The caller calls Serve, which closes it, or Close.
func Open(ctx context.Context, cfg Config) (*Listener, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	secured, err := cfg.secured()
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", cfg.Address, err)
	}
	return on(cfg, l, secured), nil
}

// CheckFiles returns an error if the certificate, its key or the client CA cannot be read.
func (c Config) CheckFiles() error {
	_, err := c.secured()
	return err
}

// secured reads the files, and returns the configuration of TLS; nil for plain HTTP.
func (c Config) secured() (*tls.Config, error) {
	if c.Certificate == "" {
		return nil, nil
	}
	protocols := []string{"http/1.1"}
	if c.HTTP2 {
		protocols = []string{"h2", "http/1.1"}
	}
	f := &files{certificate: c.Certificate, key: c.Key, clientCA: c.ClientCA, protocols: protocols}
	if _, err := f.config(nil); err != nil {
		return nil, err
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetConfigForClient: f.config}, nil
}

// On returns a listener over one of the caller's, which Serve closes. cfg has no address and no
// files.
func On(cfg Config, l net.Listener) *Listener { return on(cfg, l, nil) }

func on(cfg Config, l net.Listener, secured *tls.Config) *Listener {
	p := newPool(l, cfg.Connections, cmp.Or(cfg.Grace, defaultGrace))
	if secured == nil {
		return &Listener{cfg: cfg, pool: p, over: p}
	}
	return &Listener{cfg: cfg, pool: p, over: tls.NewListener(p, secured)}
}

// Address returns host:port; the port is the actual one.
func (l *Listener) Address() string { return l.pool.Addr().String() }

// Connections returns the number of open connections.
func (l *Listener) Connections() int {
	l.pool.mu.Lock()
	defer l.pool.mu.Unlock()
	return l.pool.open
}

// URL returns the address with its scheme, as seen from this machine.
func (l *Listener) URL() string {
	if l.cfg.Certificate != "" {
		return "https://" + l.Address()
	}
	return "http://" + l.Address()
}

// Close closes a listener whose Serve was not called.
func (l *Listener) Close() error { return l.pool.Close() }

// Serve answers requests until ctx is done. Then it accepts no more connections, lets the requests
// under way end, and closes the rest.
func (l *Listener) Serve(ctx context.Context, handler http.Handler, log *zap.Logger) error {
	// Clients cause these entries: broken handshakes, for example.
	errorLog, err := zap.NewStdLogAt(log, zap.DebugLevel)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	proxies, err := parseProxies(l.cfg.TrustedProxies)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	server := &http.Server{
		Handler: forwarded(proxies, handler), MaxHeaderBytes: l.cfg.MaxHeader, ConnState: l.pool.state, ErrorLog: errorLog,
		ReadHeaderTimeout: l.cfg.HeaderTime, ReadTimeout: l.cfg.ReadTime, WriteTimeout: l.cfg.WriteTime, IdleTimeout: l.cfg.IdleTime,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l.over) }() // ends with Shutdown
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.cfg.StopTime)
	defer cancel()
	if err := server.Shutdown(stopping); err != nil {
		_ = server.Close() // closes the connections that are left
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Network returns the network that a sender, host:port, is counted for: an IPv4 address, or the 64
// bits of an IPv6 network, whose hosts choose their addresses themselves. Anything else is counted
// as one network.
func Network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	addr = addr.Unmap().WithZone("")
	bits := addr.BitLen()
	if addr.Is6() {
		bits = 64
	}
	prefix, err := addr.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix
}
