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

	"github.com/jobagent/jobagent/targets/mssql/kerberos/acceptor"
	"github.com/jobagent/jobagent/testenv/tsqld/exec"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// pipeHost is the host name of the in-memory connections, and the server's name.
const pipeHost = "tsqld"

// Config configures a server. The zero value is a server with a temporary directory, an empty
// password for sa and the process's clock.
type Config struct {
	// Dir is the directory of the databases. "" is a temporary one, in memory where possible, which
	// Close removes.
	Dir        string
	SAPassword string           // password of the login sa
	Now        func() time.Time // clock of the T-SQL functions; nil is time.Now
	Hosts      []string         // further host names and addresses in the certificate
	// Certificate is the server's certificate. If it is nil, the server makes a self-signed one
	// when it first needs one.
	Certificate *tls.Certificate
	// Keytab is the path of a keytab. Logins with integrated authentication are verified with its
	// keys (Kerberos), and need a login FROM WINDOWS. "" refuses them with error 18452.
	Keytab string
	// MaxConnections limits the logged-in connections; 0 means 1,000, and the limit is never above
	// 32,767. Connections that have not logged in have a limit of their own, 256.
	MaxConnections int
	// RequireTLS refuses clients that do not encrypt the whole connection. A client that omits
	// PRELOGIN has already sent its password when the server refuses it.
	RequireTLS bool
	// MaxMemory limits the memory, in bytes, for values, rows, messages and texts whose size
	// clients decide. All sessions share the limit, and one session may use half of it. A request
	// that needs more fails with error 701. 0 means [meter.DefaultLimit].
	MaxMemory int64

	// OnPanic is called after a panic inside a connection, with the stack. The client gets an error
	// of severity 20 and its connection ends; the server continues.
	OnPanic func(value any, stack []byte)
	// OnEnd is called when a connection has ended, with the reason; err is nil when the client
	// closed the connection in order. The error never contains a password or the text of a
	// statement.
	OnEnd func(remote net.Addr, err error)
	// OnLoginFailed is called for refused logins: for at most 20 at once and 12 a minute after
	// that. Further failures are only counted, see [LoginFailure]. Calls never overlap.
	OnLoginFailed func(LoginFailure)
	// OnAcceptError is called when a connection cannot be accepted. The server tries again.
	OnAcceptError func(err error)
	// OnWait is called when a statement has waited for some seconds for another session; the
	// argument names both.
	OnWait func(Wait)
	// OnError is called for errors whose cause clients do not see: a defect, a damaged file, a full
	// disk at login. The error may hold the beginning of a statement in SQLite's dialect, which
	// contains no values.
	OnError func(err error)
	// OwnSessionsOnly and ProgramName make system views show sessions as some other servers do, for
	// tests of clients that look for a session: a session sees nothing but itself, although
	// permission functions say that it may see all, and program_name has this many bytes (0: all).
	OwnSessionsOnly bool
	ProgramName     int
	// Fault is called at every [Point] and decides whether a fault happens there. Several
	// connections may call it at once.
	Fault func(Point) error
	// Record is called with every packet, header included, as it is without TLS. id names the
	// connection, and fromClient tells the direction. The payload of a login is zeroed. Packets of
	// a session with MARS have the session's number (SID) plus 1 in the upper 16 bits of id.
	// Record must not keep the slice.
	Record func(id uint64, fromClient bool, packet []byte)
}

// Server is an embedded SQL Server. It is safe for concurrent use.
type Server struct {
	cfg         Config
	engine      engine
	certificate func() (tls.Certificate, error) // made once, at its first use
	ids         atomic.Uint64                   // the last connection's id
	tickets     *acceptor.Verifier              // nil without a keytab
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

// New opens the databases of cfg.Dir, creates missing system databases, and returns a server that
// is ready for connections. The caller must close the server.
func New(cfg Config) (*Server, error) {
	var tickets *acceptor.Verifier
	if cfg.Keytab != "" {
		var err error
		if tickets, err = acceptor.Load(cfg.Keytab); err != nil {
			return nil, err
		}
	}
	engineConfig := session.Config{
		Dir:        cfg.Dir,
		SAPassword: cfg.SAPassword,
		Now:        cfg.Now,
		OnWait:     cfg.OnWait,
		OnError:    cfg.OnError,
		MaxMemory:  cfg.MaxMemory,

		OwnSessionsOnly: cfg.OwnSessionsOnly,
		ProgramName:     cfg.ProgramName,
	}
	if cfg.Fault != nil {
		engineConfig.CommitFault = func() error { return cfg.Fault(Point{Kind: BeforeCommit, Context: context.Background()}) }
	}
	in, err := exec.New(engineConfig)
	if err != nil {
		return nil, fmt.Errorf("open databases: %w", err)
	}
	s := newServer(cfg, instance{in})
	s.tickets = tickets
	return s, nil
}

// newServer makes a server over an engine. The server owns the engine and closes it.
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

// loginFailed passes a failed login to Config.OnLoginFailed.
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

// track adds a goroutine to s.wg. It returns false if the server is closed.
func (s *Server) track() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.wg.Add(1)
	return true
}

// acceptWait and maxAcceptWait are the first and the longest delay before the next attempt after an
// error of Accept.
const (
	acceptWait    = 5 * time.Millisecond
	maxAcceptWait = time.Second
)

// Serve accepts connections until the server is closed, and then returns [ErrServerClosed]. It
// closes the listener. After an error of Accept, such as too few file descriptors, it tries again,
// as net/http does. It returns the error only if the listener was closed by other code.
func (s *Server) Serve(l net.Listener) error {
	defer l.Close()
	if !s.track() {
		return ErrServerClosed
	}
	defer s.wg.Done()
	s.mu.Lock()
	s.listeners[l] = struct{}{}
	closed := s.closed // Close may have run before the listener was added, and has not closed it then.
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
// session is closed. The end of ctx aborts the connection. ServeConn waits while there are too many
// connections that have not logged in.
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

// serve runs an admitted connection. A panic in the server or in a function of Config ends this
// connection and no other.
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

// panicked reports a panic to Config.OnPanic. The deferred function that recovers must call it.
func (s *Server) panicked(v any) {
	if s.cfg.OnPanic == nil {
		return
	}
	stack := debug.Stack()
	if p, ok := v.(*store.Panic); ok {
		v, stack = p.Value, p.Stack
	}
	defer func() { _ = recover() }() // A panic of OnPanic itself cannot be reported.
	s.cfg.OnPanic(v, stack)
}

// Close stops accepting connections, ends idle connections, lets running requests finish until ctx
// ends, and cancels the rest. It returns when every goroutine has ended and the databases are
// closed; the error is that of closing the databases. Later calls return nil at once.
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

// Dialer opens in-memory connections to a server. It can be the Dialer of go-mssqldb's Connector,
// with any host in the DSN: the driver does not resolve the host, because Dialer has a host name.
type Dialer struct{ s *Server }

// Dialer returns a dialer for the server. It is safe for concurrent use.
func (s *Server) Dialer() Dialer { return Dialer{s} }

// HostName returns the server's host name, as go-mssqldb's HostDialer.
func (d Dialer) HostName() string { return pipeHost }

// DialContext opens a connection; it ignores network and address. The connection outlives ctx.
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

// report passes an error whose cause clients do not see to Config.OnError.
func (s *Server) report(err error) {
	if s.cfg.OnError != nil {
		s.cfg.OnError(err)
	}
}

// ignoreOrderlyEnd returns nil for the error of a connection that the client closed between two
// messages.
func ignoreOrderlyEnd(err error) error {
	if errors.Is(err, ErrClientGone) && errors.Is(err, errEOF) {
		return nil
	}
	return err
}
