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
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
	"github.com/jobagent/jobagent/testenv/tsqld/store"
)

// ControlDatabase is the name of the control database on the embedded server.
const ControlDatabase = "jobagent"

// shutdownTime limits the wait for running statements when the server closes.
const shutdownTime = 10 * time.Second

// Server is an embedded server that listens on TCP, with a control database installed on it.
type Server struct {
	server   *tsqld.Server
	Listener net.Listener
	serving  chan struct{}      // closed after Serve has returned
	serveErr error              // Serve's error; read it after serving is closed
	Address  string             // host:port
	Password string             // of sa
	encrypt  string             // value of encrypt in connection strings
	dialer   mssqldb.HostDialer // for connections to the control database; nil: TCP
	Store    *controldb.Store

	Certificate     *x509.Certificate
	CertificateFile string       // path of the certificate's file, for clients; may be empty
	TargetSettings  mssql.Config // settings of targets on other servers
	TargetPassword  string       // of TargetLogin
}

// Option changes the configuration of an embedded server.
type Option func(*Config)

// Config is the configuration of an embedded server.
type Config struct {
	tsqld.Config
	// InProcess makes the agent connect to the control database without TCP. Password guesses from
	// loopback may lock the login sa out there; the agent is not affected.
	InProcess bool
	// CertificateFile is the path of the certificate's file, for clients.
	CertificateFile string
	// TargetPassword is the password of TargetLogin. It consists of letters, digits and hyphens.
	TargetPassword string
	// Control is the content of a new control database; without it, the database is empty. Tests
	// give an installed one, because each installation takes more time than most of them.
	Control tsqld.Image
}

// controlKey is the key of the content of [WithControl].
type controlKey struct{}

// WithControl returns a context with which [Start] gives a new control database this content, as
// Config.Control does. It is for tests of commands that start a server themselves.
func WithControl(ctx context.Context, content tsqld.Image) context.Context {
	return context.WithValue(ctx, controlKey{}, content)
}

// beyondLoopback reports whether other machines may connect to a listener.
func beyondLoopback(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// logLoginFailure returns a function that logs refused logins, without passwords.
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

// Start starts a server over the databases in dir and installs the control database. If dir is
// empty, the server keeps nothing. If other machines may connect, clients must use TLS, unless an
// option allows connections without TLS.
func Start(ctx context.Context, dir, address, password, encrypt string, log *zap.Logger, options ...Option) (*Server,
	error) {
	listener, err := listen(ctx, address)
	if err != nil {
		return nil, err
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
				zap.Int("session", w.SPID), zap.String("program", w.Program), zap.String("host", w.Host),
				zap.String("database", w.Database),
				zap.String("application_lock", w.Application), zap.Duration("waited", w.Waited),
				zap.Int("holder", w.Blocker), zap.String("holder_program", w.BlockerProgram),
				zap.String("holder_host", w.BlockerHost),
			}
			if !w.BlockerIdleSince.IsZero() {
				fields = append(fields, zap.Time("holder_idle_since", w.BlockerIdleSince))
			}
			log.Warn("statement waits for another session", fields...)
		},
	}, TargetPassword: RandomPassword()}
	cfg.Control, _ = ctx.Value(controlKey{}).(tsqld.Image)
	for _, option := range options {
		option(&cfg)
	}
	if beyondLoopback(listener.Addr()) && !cfg.RequireTLS {
		log.Warn("clients may send passwords unencrypted over the network: --require-tls=false",
			zap.Stringer("address", listener.Addr()))
	}
	server, err := tsqld.New(cfg.Config)
	if errors.Is(err, store.ErrInUse) { // by a version that does not lock the data directory
		err = exit.With(exit.CodeConflict, err)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close())
	}
	e := &Server{
		server: server, serving: make(chan struct{}), Address: listener.Addr().String(), Password: password,
		encrypt: encrypt, CertificateFile: cfg.CertificateFile,
		TargetPassword: cfg.TargetPassword,
	}
	if e.Certificate, err = server.Certificate(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close(), server.Close(ctx))
	}
	if cfg.InProcess {
		e.dialer = server.Dialer()
	}
	if err := e.prepareDatabases(ctx, server.Dialer(), cfg.Control); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		return nil, errors.Join(err, server.Close(closing), listener.Close())
	}
	e.Listener = listener
	go func() { // ends when the server is closed; Close waits for it
		e.serveErr = server.Serve(listener)
		close(e.serving)
	}()
	if err := e.prepare(ctx, log); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// prepare opens the control database and installs the schema. It migrates the schema of another
// version, because the user cannot: the server ends if prepare fails.
func (e *Server) prepare(ctx context.Context, log *zap.Logger) (err error) {
	if e.Store, err = controldb.Open(ctx, controldb.Config{DSN: e.DSN(ControlDatabase), Dialer: e.dialer}); err != nil {
		return err
	}
	err = deploy.On(e.Store).Install(ctx)
	if !errors.Is(err, dberror.ErrSchemaVersion) {
		return err
	}
	var version *dberror.SchemaVersionError
	if old := errors.As(err, &version); !old {
		return deploy.On(e.Store).Migrate(ctx)
	}
	if err := deploy.On(e.Store).Migrate(ctx); err != nil {
		return err
	}
	if version.Have == version.Want {
		log.Info("the objects of the control schema were replaced by those of this program", zap.Int("version", version.Want),
			zap.Int("changed", len(version.Changed)), zap.Int("missing", len(version.Missing)))
		return nil
	}
	log.Info("the control schema was migrated", zap.Int("from", version.Have), zap.Int("to", version.Want))
	return nil
}

// OpenStore opens further connections to the control database. The caller closes them.
func (e *Server) OpenStore() (*controldb.Store, error) {
	return controldb.New(controldb.Config{DSN: e.DSN(ControlDatabase), Dialer: e.dialer})
}

// DSN returns the connection string of a database, password included. It pins the server's
// certificate.
func (e *Server) DSN(database string) string {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.encrypt != "disable" {
		q.Set("certificate_sha256", mssql.CertificatePin(e.Certificate))
	}
	return (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", e.Password), Host: e.Address,
		RawQuery: q.Encode()}).String()
}

// URL returns the connection string of a database without the password, in the form of go-mssqldb.
func (e *Server) URL(database string) *url.URL {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.CertificateFile != "" {
		q.Set("serverCertificate", e.CertificateFile)
	}
	return &url.URL{Scheme: "sqlserver", User: url.User("sa"), Host: e.Address, RawQuery: q.Encode()}
}

// Open opens a connection pool on a database of the server.
func (e *Server) Open(database string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(e.DSN(database), e.dialer)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// ServerName returns the server's name for target groups: host,port.
func (e *Server) ServerName() string {
	host, port, _ := net.SplitHostPort(e.Address)
	return host + "," + port
}

// Wait returns nil when ctx ends, and an error when the agent or the server fails.
func (e *Server) Wait(ctx context.Context, agentFailed <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-agentFailed:
		return err
	case <-e.serving:
		return exit.With(exit.CodeConnection, fmt.Errorf("the embedded server stopped listening on %s: %w", e.Address,
			e.serveErr))
	}
}

// Close closes the server and the control database. It waits up to shutdownTime for running
// statements.
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

// RandomPassword returns a password that meets SQL Server's complexity rules.
func RandomPassword() string { return "Aa1-" + rand.Text() }
