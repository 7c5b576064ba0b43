// Package scrape serves metrics: as an operation of the front, and on an address of its own, with
// probes, for processes without a front.
package scrape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/internal/listen"
)

// Paths of a [Server]. The probes need no token, and say nothing about the installation.
const (
	Path      = "/metrics"
	PathAlive = "/healthz" // 200: the process answers
	PathReady = "/readyz"  // 200: an agent of the process holds a term; else 503
)

// surfaceName is the name of the surface.
const surfaceName = "metrics"

// Surface is the front's operation that answers Prometheus. It implements rest.Surface.
type Surface struct{ operations []rest.Operation }

// NewSurface returns a surface over a handler of metrics. Callers need the role reader everywhere,
// unless anonymous is true.
func NewSurface(metrics http.Handler, anonymous bool) *Surface {
	role := rest.RoleReader
	if anonymous {
		role = rest.RoleNone
	}
	return &Surface{operations: []rest.Operation{{
		ID: "Metrics_Get", Method: http.MethodGet, Path: Path, Role: role, Summary: "Metrics in the formats of Prometheus.",
		Handle: func(_ context.Context, r *rest.Request) (*rest.Response, error) {
			var kept answer
			metrics.ServeHTTP(&kept, r.HTTP)
			return &rest.Response{Status: kept.status, Header: kept.header, Body: kept.body.Bytes()}, nil
		},
	}}}
}

// Name implements rest.Surface.
func (*Surface) Name() string { return surfaceName }

// Operations implements rest.Surface.
func (s *Surface) Operations() []rest.Operation { return s.operations }

// Check implements rest.Surface.
func (*Surface) Check(*rest.Request) error { return nil }

// Failure implements rest.Surface.
func (*Surface) Failure(_ *rest.Request, err error) *rest.Response { return rest.ARMFailure(err) }

// answer keeps the answer of a handler. It implements http.ResponseWriter.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// Config configures a [Server].
type Config struct {
	// Listen is host:port.
	Listen string
	// Certificate and Key are PEM files, which are read again when they change. Both are empty for
	// plain HTTP.
	Certificate, Key string
	// InsecureHTTP permits plain HTTP beyond loopback addresses.
	InsecureHTTP bool
	// Token is the bearer token that a request must have; empty means that none is needed.
	Token string
}

// Check returns all faults of a configuration.
func (c Config) Check() error {
	err := c.listener().Check()
	if c.InsecureHTTP && c.Certificate != "" {
		err = errors.Join(err, errors.New("invalid insecure_http: tls is configured"))
	}
	return err
}

// listener returns the configuration of the network side.
func (c Config) listener() listen.Config {
	return listen.Config{
		Address: c.Listen, Certificate: c.Certificate, Key: c.Key, InsecureHTTP: c.InsecureHTTP,
		Connections: 32, MaxHeader: 16 << 10,
		HeaderTime: 5 * time.Second, ReadTime: 10 * time.Second, WriteTime: 30 * time.Second, IdleTime: 2 * time.Minute,
		StopTime: 5 * time.Second,
	}
}

// Server serves metrics on an address of its own.
type Server struct {
	open    *listen.Listener
	handler http.Handler
	log     *zap.Logger
}

// Source is what a [Server] tells: the metrics of a process, and whether its agents work.
type Source interface {
	Handler() http.Handler
	// Ready reports whether an agent works, and else why none does.
	Ready() (ready bool, why string)
}

// Open opens an address. The caller calls Serve, which closes it, or Close.
func Open(ctx context.Context, cfg Config, source Source, log *zap.Logger) (*Server, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	l, err := listen.Open(ctx, cfg.listener())
	if err != nil {
		return nil, fmt.Errorf("serve metrics: %w", err)
	}
	log = log.With(zap.String("service", "metrics"))
	mux := http.NewServeMux()
	var handler http.Handler = mux
	switch host, _, err := net.SplitHostPort(cfg.Listen); {
	case err != nil || cfg.Token != "":
	case listen.Loopback(host):
		handler = localNames(mux)
	default:
		log.Warn("anybody who reaches the address may read the metrics (set metrics.token)", zap.String("listen", cfg.Listen))
	}
	mux.Handle("GET "+Path, authorized(cfg.Token, source.Handler()))
	mux.HandleFunc("GET "+PathAlive, func(w http.ResponseWriter, _ *http.Request) { probe(w, true, "ok", "") })
	mux.HandleFunc("GET "+PathReady, func(w http.ResponseWriter, _ *http.Request) {
		ready, why := source.Ready()
		probe(w, ready, "ready", "not ready: "+why)
	})
	return &Server{open: l, handler: handler, log: log}, nil
}

// probe answers a probe with a line of text.
func probe(w http.ResponseWriter, ok bool, yes, no string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		yes = no
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = fmt.Fprintln(w, yes) // the client is gone if it fails
}

// localNames refuses requests for other names than this machine's own. A page whose name resolves
// to a loopback address (DNS rebinding) could have a browser read what the address answers.
func localNames(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]") // without a port
		}
		if !listen.Loopback(host) {
			http.Error(w, "This address answers for localhost only. Set metrics.token for other names.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// authorized lets requests with the token pass.
func authorized(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(text)) // hashed, so that the time does not depend on the length
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", `Bearer realm="metrics"`)
			http.Error(w, "The header Authorization must have the bearer token of the metrics.", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// URL returns the address of the metrics, as seen from this machine.
func (s *Server) URL() string { return s.open.URL() + Path }

// Close closes a server whose Serve was not called.
func (s *Server) Close() error { return s.open.Close() }

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	s.log.Info("metrics are served", zap.String("url", s.URL()))
	if err := s.open.Serve(ctx, s.handler, s.log); err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
