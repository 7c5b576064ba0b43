package tsqld

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// pipeHost is the host name of the in-memory connections, and the server's name.
const pipeHost = "tsqld"

// Config is what a server is made from. The zero value is a server with a temporary directory, an empty
// password for sa and the process's clock.
type Config struct {
	Dir        string           // directory of the databases; "" is a temporary one (in memory where possible), removed by Close
	SAPassword string           // of the login sa
	Now        func() time.Time // clock of the T-SQL functions; nil is time.Now
	Hosts      []string         // further host names and addresses for the certificate
	// Certificate is what clients are shown; nil: a self-signed one is made when it is first needed.
	Certificate *tls.Certificate
	// MaxConnections bounds the connections that have logged in; 0 means 1,000, and there are never more than 32,767. Those
	// that have not logged in are bounded apart, to 256.
	MaxConnections int
	// RequireTLS turns away clients that do not encrypt the whole connection. A client that leaves PRELOGIN out has sent
	// its password by then.
	RequireTLS bool
	// MaxMemory bounds what all sessions together take for what clients decide the size of, in bytes: values, rows, messages, texts.
	// One session may have half of it. What needs more is answered by error 701. 0 means [meter.DefaultLimit].
	MaxMemory int64

	// OnPanic is told of a panic inside a connection, with its stack. The client gets an error of
	// severity 20 and the connection ends; the server goes on.
	OnPanic func(value any, stack []byte)
	// OnEnd is told that a connection ended, and why; nil when the client closed it in order. The error
	// never contains a password or a statement's text.
	OnEnd func(remote net.Addr, err error)
	// OnLoginFailed is told of logins that were refused: of no more than 20 at once and 12 a minute after that,
	// and of how many others there were. It is never called twice at the same time.
	OnLoginFailed func(LoginFailure)
	// OnAcceptError is told that a connection could not be accepted. The server tries again.
	OnAcceptError func(err error)
	// OnWait is told of a statement that has waited some seconds for another session, and for whom.
	OnWait func(Wait)
	// OnError is told of an error of which a client is told no more than that there was one: a defect, a
	// damaged file, a full disk at login. It may hold the beginning of a statement as SQLite was given it,
	// which has no values.
	OnError func(err error)
	// Fault is asked at every [Point] whether something goes wrong there. It may be called by several
	// connections at once.
	Fault func(Point) error
	// Record is given every packet as it would be without TLS, header included; fromClient tells the
	// direction and id the connection. The payload of a login is zeroed. It must not keep the slice.
	Record func(id uint64, fromClient bool, packet []byte)
}

// Server is an embedded SQL Server. It is safe for concurrent use.
type Server struct {
	cfg         Config
	engine      engine
	certificate func() (tls.Certificate, error) // made once, when first needed
	ids         atomic.Uint64                   // of connections
	lockout     *lockout
	admission   *admission
	failures    *failureReporter
	closing     chan struct{}  // closed when Close begins
	wg          sync.WaitGroup // one per connection and per Serve

	mu        sync.Mutex
	closed    bool
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
}

// New opens the databases of cfg.Dir, creating the system databases where they are missing, and
// returns a server that is ready for connections. The caller closes it.
func New(cfg Config) (*Server, error) {
	engineConfig := exec.Config{Dir: cfg.Dir, SAPassword: cfg.SAPassword, Now: cfg.Now, OnWait: cfg.OnWait, OnError: cfg.OnError, MaxMemory: cfg.MaxMemory}
	if cfg.Fault != nil {
		engineConfig.CommitFault = func() error { return cfg.Fault(Point{Kind: BeforeCommit, Context: context.Background()}) }
	}
	in, err := exec.New(engineConfig)
	if err != nil {
		return nil, fmt.Errorf("open databases: %w", err)
	}
	return newServer(cfg, instance{in}), nil
}

// newServer makes a server over an engine, which it owns from then on.
func newServer(cfg Config, e engine) *Server {
	s := &Server{
		cfg:    cfg,
		engine: e,
		certificate: sync.OnceValues(func() (tls.Certificate, error) {
			if cfg.Certificate != nil {
				return *cfg.Certificate, nil
			}
			return NewCertificate(cfg.Hosts)
		}),
		lockout:   newLockout(),
		admission: newAdmission(cfg.MaxConnections),
		closing:   make(chan struct{}),
		listeners: make(map[net.Listener]struct{}),
		conns:     make(map[*conn]struct{}),
	}
	s.failures = &failureReporter{tell: s.loginFailed}
	return s
}

// loginFailed tells the server's owner of a failed login.
func (s *Server) loginFailed(f LoginFailure) {
	if s.cfg.OnLoginFailed == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
		}
	}()
	s.cfg.OnLoginFailed(f)
}

// enter counts a goroutine of the server, unless the server is closed.
func (s *Server) track() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// acceptWait and acceptWaitMost are the first and the longest wait before a connection is accepted again after an error.
const (
	acceptWait    = 5 * time.Millisecond
	maxAcceptWait = time.Second
)

// Serve accepts connections until the server is closed, and then returns [ErrServerClosed]. It closes
// the listener. When a connection cannot be accepted, for want of file descriptors for example, it tries
// again, as net/http does; only a listener that somebody else has closed ends it.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.track() {
		return ErrServerClosed
	}
	defer s.wg.Done()
	s.mu.Lock()
	s.listeners[l] = struct{}{}
	closed := s.closed // Close may have come in between, and not have seen the listener
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
	}()
	retry := acceptWait
	for !closed {
		nc, err := l.Accept()
		if err != nil {
			select {
			case <-s.closing:
				return ErrServerClosed
			default:
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accept: %w", err)
			}
			if s.cfg.OnAcceptError != nil {
				s.cfg.OnAcceptError(err)
			}
			timer := time.NewTimer(retry)
			select {
			case <-timer.C:
			case <-s.closing:
			}
			timer.Stop()
			retry = min(2*retry, maxAcceptWait)
			continue
		}
		retry = acceptWait
		c := newConn(context.Background(), s, nc)
		if !c.admit() {
			return ErrServerClosed
		}
		if !s.track() {
			c.release()
			nc.Close()
			return ErrServerClosed
		}
		go func() {
			defer s.wg.Done()
			s.serve(c)
		}()
	}
	return ErrServerClosed
}

// ServeConn serves one connection and closes it. It returns when the connection has ended and its
// session is freed. A context that ends breaks the connection off. While there are too many connections that have
// not logged in, it waits.
func (s *Server) ServeConn(ctx context.Context, nc net.Conn) {
	if !s.track() {
		nc.Close()
		return
	}
	defer s.wg.Done()
	if c := newConn(ctx, s, nc); c.admit() {
		s.serve(c)
	}
}

// serve runs a connection that has entered. Whatever panics here, in the server or in a function of the
// configuration, ends this connection and no other.
func (s *Server) serve(c *conn) {
	defer func() {
		if v := recover(); v != nil {
			s.panicked(v)
		}
	}()
	defer c.release()
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	err := c.serve()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	if s.cfg.OnEnd != nil {
		s.cfg.OnEnd(c.nc.RemoteAddr(), err)
	}
}

// panicked tells the server's owner of a panic. It must be called by the deferred function that recovers.
func (s *Server) panicked(v any) {
	if s.cfg.OnPanic == nil {
		return
	}
	stack := debug.Stack()
	if p, ok := v.(*store.Panic); ok {
		v, stack = p.Value, p.Stack
	}
	defer func() { _ = recover() }() // of the owner's function: there is nobody left to tell
	s.cfg.OnPanic(v, stack)
}

// Close stops accepting, ends idle connections, lets running requests finish until ctx ends, and
// cancels the rest. It returns when every goroutine has ended and the databases are closed; the error is
// that of closing them. Later calls return nil at once.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.closing)
	for l := range s.listeners {
		l.Close()
	}
	s.mu.Unlock()

	done := make(chan struct{})
	go func() {
		defer close(done)
		s.wg.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		s.mu.Lock()
		for c := range s.conns {
			c.cancel(ErrServerClosed)
		}
		s.mu.Unlock()
		<-done
	}
	s.failures.close()
	if err := s.engine.close(); err != nil {
		return fmt.Errorf("close databases: %w", err)
	}
	return nil
}

// Dialer opens in-memory connections to a server. It can be go-mssqldb's Connector.Dialer, with any
// host in the DSN: as it has a host name, the driver does not resolve one.
type Dialer struct{ s *Server }

// Dialer returns a dialer for the server. It is safe for concurrent use.
func (s *Server) Dialer() Dialer { return Dialer{s} }

// HostName returns the name that clients use for the server.
func (d Dialer) HostName() string { return pipeHost }

// DialContext opens a connection; network and address do not matter. The connection outlives ctx.
func (d Dialer) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !d.s.track() {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: pipeAddr(pipeHost), Err: ErrServerClosed}
	}
	client, server := newPipe("client", pipeHost)
	go func() {
		defer d.s.wg.Done()
		if c := newConn(context.WithoutCancel(ctx), d.s, server); c.admit() {
			d.s.serve(c)
		}
	}()
	return client, nil
}

// report tells the server's owner of an error that clients are not told the cause of.
func (s *Server) report(err error) {
	if s.cfg.OnError != nil {
		s.cfg.OnError(err)
	}
}

// orderly turns the ways in which a connection ends as it should into nil.
func ignoreOrderlyEnd(err error) error {
	if errors.Is(err, ErrClientGone) && errors.Is(err, errEOF) {
		return nil
	}
	return err
}
