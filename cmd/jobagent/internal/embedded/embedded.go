// Package embedded starts an embedded server with a control database and a login for targets.
package embedded

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// ControlDatabase is the name of the control database on the embedded server.
const ControlDatabase = "jobagent"

// shutdownTime is how long the embedded server waits for statements when it closes.
const shutdownTime = 10 * time.Second

// Server is an embedded server that listens on TCP, with a control database installed on it.
type Server struct {
	server   *tsqld.Server
	Listener net.Listener
	serving  chan struct{}      // closed when Serve has ended
	serveErr error              // why; once serving is closed
	Address  string             // host:port
	Password string             // of sa
	encrypt  string             // as in a connection string
	dialer   mssqldb.HostDialer // how the control database is reached; nil: TCP
	Store    *controldb.Store

	Certificate     *x509.Certificate
	CertificateFile string       // that holds it, for clients; empty: none
	Reach           mssql.Config // encryption of targets on other servers
	TargetPassword  string       // of targetLogin
}

// Option changes how an embedded server is made.
type Option func(*Config)

// Config is what embedded options change.
type Config struct {
	tsqld.Config
	// inProcess makes the control database be reached without TCP, so that guesses at the password of sa on loopback, which lock sa out
	// there, leave the agent alone.
	InProcess bool
	// certificateFile is the file of the server's certificate, for clients.
	CertificateFile string
	// targetPassword is that of targetLogin, of letters, digits and hyphens.
	TargetPassword string
}

// beyondLoopback reports whether other machines may reach a listener.
func beyondLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// logLoginFailure returns what writes refused logins to the log, never with a password.
func logLoginFailure(log *zap.Logger) func(tsqld.LoginFailure) {
	return func(f tsqld.LoginFailure) {
		fields := []zap.Field{zap.String("reason", f.Reason)}
		if f.Address != nil {
			fields = append(fields, zap.String("login", f.Login), zap.Stringer("address", f.Address))
		}
		if f.Locked > 0 {
			fields = append(fields, zap.Duration("locked_out", f.Locked))
		}
		if f.Suppressed > 0 {
			fields = append(fields, zap.Int("not_logged", f.Suppressed))
		}
		log.Warn("login refused", fields...)
	}
}

// Start starts a server over the databases in dir ("" keeps nothing), and installs the control database. Unless an option says
// otherwise, clients must use TLS when other machines may reach the server.
func Start(ctx context.Context, dir, listen, password, encrypt string, log *zap.Logger, options ...Option) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, exit.With(exit.CodeConnection, fmt.Errorf("listen on %s (choose another address with --listen): %w", listen, err))
	}
	cfg := Config{Config: tsqld.Config{
		Dir: dir, SAPassword: password, RequireTLS: beyondLoopback(listener.Addr()),
		OnLoginFailed: logLoginFailure(log),
		OnPanic: func(value any, stack []byte) {
			log.Error("embedded server panicked", zap.Any("error", value), zap.ByteString("stack", stack))
		},
		OnError:       func(err error) { log.Error("embedded server failed internally", zap.Error(err)) },
		OnAcceptError: func(err error) { log.Warn("cannot accept a connection", zap.Error(err)) },
		OnWait: func(w tsqld.Wait) {
			fields := []zap.Field{
				zap.Int("session", w.SPID), zap.String("program", w.Program), zap.String("host", w.Host), zap.String("database", w.Database),
				zap.String("application_lock", w.Application), zap.Duration("waited", w.Waited),
				zap.Int("holder", w.Blocker), zap.String("holder_program", w.BlockerProgram), zap.String("holder_host", w.BlockerHost),
			}
			if !w.BlockerIdleSince.IsZero() {
				fields = append(fields, zap.Time("holder_idle_since", w.BlockerIdleSince))
			}
			log.Warn("statement waits for another session", fields...)
		},
	}, TargetPassword: RandomPassword()}
	for _, option := range options {
		option(&cfg)
	}
	if beyondLoopback(listener.Addr()) && !cfg.RequireTLS {
		log.Warn("clients may send passwords unencrypted over the network: --require-tls=false", zap.Stringer("address", listener.Addr()))
	}
	server, err := tsqld.New(cfg.Config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close())
	}
	e := &Server{
		server: server, serving: make(chan struct{}), Address: listener.Addr().String(), Password: password, encrypt: encrypt, CertificateFile: cfg.CertificateFile,
		TargetPassword: cfg.TargetPassword,
	}
	if e.Certificate, err = server.Certificate(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close(), server.Close(ctx))
	}
	if cfg.InProcess {
		e.dialer = server.Dialer()
	}
	if err := e.prepareDatabases(ctx, server.Dialer()); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		return nil, errors.Join(err, server.Close(closing), listener.Close())
	}
	e.Listener = listener
	go func() { // ends when the server is closed; close waits for it
		e.serveErr = server.Serve(listener)
		close(e.serving)
	}()
	if err := e.prepare(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// prepare opens the control database and installs the schema. One that another version of the program left in the data directory is
// migrated: nobody could do so by hand, as the server ends when this fails.
func (e *Server) prepare(ctx context.Context) (err error) {
	if e.Store, err = controldb.Open(ctx, controldb.Config{DSN: e.DSN(ControlDatabase), Dialer: e.dialer}); err != nil {
		return err
	}
	err = e.Store.Install(ctx)
	if errors.Is(err, controldb.ErrSchemaVersion) {
		return e.Store.Migrate(ctx)
	}
	return err
}

// DSN is the connection string of a database, password included. It pins the server's certificate.
func (e *Server) DSN(database string) string {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.encrypt != "disable" {
		q.Set("certificate_sha256", mssql.CertificatePin(e.Certificate))
	}
	return (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", e.Password), Host: e.Address, RawQuery: q.Encode()}).String()
}

// URL is the connection string of a database without the password, in a form that every program with go-mssqldb reads.
func (e *Server) URL(database string) *url.URL {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.CertificateFile != "" {
		q.Set("serverCertificate", e.CertificateFile)
	}
	return &url.URL{Scheme: "sqlserver", User: url.User("sa"), Host: e.Address, RawQuery: q.Encode()}
}

// Open opens a pool on a database of the server.
func (e *Server) Open(database string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(e.DSN(database), e.dialer)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// ServerName is the server as a target group names it: host,port.
func (e *Server) ServerName() string {
	host, port, _ := net.SplitHostPort(e.Address)
	return host + "," + port
}

// Wait returns when ctx ends, with nil, or when the agent or the server fails: a server that nobody can reach any more must not look alive.
func (e *Server) Wait(ctx context.Context, agentFailed <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-agentFailed:
		return err
	case <-e.serving:
		return exit.With(exit.CodeConnection, fmt.Errorf("the embedded server stopped listening on %s: %w", e.Address, e.serveErr))
	}
}

// Close ends everything; it waits for statements for a while.
func (e *Server) Close() error {
	var errs []error
	if e.Store != nil {
		errs = append(errs, e.Store.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	errs = append(errs, e.server.Close(ctx))
	<-e.serving
	if !errors.Is(e.serveErr, tsqld.ErrServerClosed) {
		errs = append(errs, e.serveErr)
	}
	return errors.Join(errs...)
}

// RandomPassword makes a password that meets SQL Server's complexity rules.
func RandomPassword() string { return "Aa1-" + rand.Text() }
