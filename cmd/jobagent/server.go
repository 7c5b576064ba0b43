package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// controlDatabase is the name of the control database on the embedded server.
const controlDatabase = "jobagent"

// shutdownTime is how long the embedded server waits for statements when it closes.
const shutdownTime = 10 * time.Second

// embedded is an embedded server that listens on TCP, with a control database installed on it.
type embedded struct {
	server   *tsqld.Server
	listener net.Listener
	serving  chan struct{}      // closed when Serve has ended
	serveErr error              // why; once serving is closed
	address  string             // host:port
	password string             // of sa
	encrypt  string             // as in a connection string
	dialer   mssqldb.HostDialer // how the control database is reached; nil: TCP
	store    *controldb.Store

	certificate     *x509.Certificate
	certificateFile string       // that holds it, for clients; empty: none
	reach           mssql.Config // encryption of targets on other servers
	targetPassword  string       // of targetLogin
}

// embeddedOption changes how an embedded server is made.
type embeddedOption func(*embeddedConfig)

// embeddedConfig is what embedded options change.
type embeddedConfig struct {
	tsqld.Config
	// inProcess makes the control database be reached without TCP, so that guesses at the password of sa on loopback, which lock sa out
	// there, leave the agent alone.
	inProcess bool
	// certificateFile is the file of the server's certificate, for clients.
	certificateFile string
	// targetPassword is that of targetLogin, of letters, digits and hyphens.
	targetPassword string
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

// startEmbedded starts a server over the databases in dir ("" keeps nothing), and installs the control database. Unless an option says
// otherwise, clients must use TLS when other machines may reach the server.
func startEmbedded(ctx context.Context, dir, listen, password, encrypt string, log *zap.Logger, options ...embeddedOption) (*embedded, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return nil, exitWith(exitConnection, fmt.Errorf("listen on %s (choose another address with --listen): %w", listen, err))
	}
	cfg := embeddedConfig{Config: tsqld.Config{
		Dir: dir, SAPassword: password, RequireTLS: beyondLoopback(listener.Addr()),
		OnLoginFailed: logLoginFailure(log),
		OnPanic: func(value any, stack []byte) {
			log.Error("embedded server panicked", zap.Any("error", value), zap.ByteString("stack", stack))
		},
		OnError:       func(err error) { log.Error("embedded server met an error", zap.Error(err)) },
		OnAcceptError: func(err error) { log.Warn("connection could not be accepted", zap.Error(err)) },
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
	}, targetPassword: randomPassword()}
	for _, option := range options {
		option(&cfg)
	}
	if beyondLoopback(listener.Addr()) && !cfg.RequireTLS {
		log.Warn("clients may send passwords in clear over the network: --require-tls=false", zap.Stringer("address", listener.Addr()))
	}
	server, err := tsqld.New(cfg.Config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close())
	}
	e := &embedded{
		server: server, serving: make(chan struct{}), address: listener.Addr().String(), password: password, encrypt: encrypt, certificateFile: cfg.certificateFile,
		targetPassword: cfg.targetPassword,
	}
	if e.certificate, err = server.Certificate(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the embedded server: %w", err), listener.Close(), server.Close(ctx))
	}
	if cfg.inProcess {
		e.dialer = server.Dialer()
	}
	if err := e.prepareDatabases(ctx, server.Dialer()); err != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		return nil, errors.Join(err, server.Close(closing), listener.Close())
	}
	e.listener = listener
	go func() { // ends when the server is closed; close waits for it
		e.serveErr = server.Serve(listener)
		close(e.serving)
	}()
	if err := e.prepare(ctx); err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

// prepare opens the control database and installs the schema. One that another version of the program left in the data directory is
// migrated: nobody could do so by hand, as the server ends when this fails.
func (e *embedded) prepare(ctx context.Context) (err error) {
	if e.store, err = controldb.Open(ctx, controldb.Config{DSN: e.dsn(controlDatabase), Dialer: e.dialer}); err != nil {
		return err
	}
	err = e.store.Install(ctx)
	if errors.Is(err, controldb.ErrSchemaVersion) {
		return e.store.Migrate(ctx)
	}
	return err
}

// keptCertificate reads the server's certificate and key from files in dir, and makes them when there are none: clients that know the server by its
// certificate are to know it after a restart.
func keptCertificate(dir string, listen string) (*tls.Certificate, error) {
	certificate, key := filepath.Join(dir, certificateFile), filepath.Join(dir, keyFile)
	kept, err := tls.LoadX509KeyPair(certificate, key)
	if err == nil {
		return &kept, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, usagef("%s and %s hold no certificate and its key; delete both: %w", certificate, key, err)
	}
	var hosts []string
	if host, _, err := net.SplitHostPort(listen); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	made, err := tsqld.NewCertificate(hosts)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(made.PrivateKey)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return nil, err
	}
	return &made, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made.Certificate[0]}), 0o644)
}

// dsn is the connection string of a database, password included. It pins the server's certificate.
func (e *embedded) dsn(database string) string {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.encrypt != "disable" {
		q.Set("certificate_sha256", mssql.CertificatePin(e.certificate))
	}
	return (&url.URL{Scheme: "sqlserver", User: url.UserPassword("sa", e.password), Host: e.address, RawQuery: q.Encode()}).String()
}

// url is the connection string of a database without the password, in a form that every program with go-mssqldb reads.
func (e *embedded) url(database string) *url.URL {
	q := url.Values{"database": {database}, "encrypt": {e.encrypt}}
	if e.certificateFile != "" {
		q.Set("serverCertificate", e.certificateFile)
	}
	return &url.URL{Scheme: "sqlserver", User: url.User("sa"), Host: e.address, RawQuery: q.Encode()}
}

// open opens a pool on a database of the server.
func (e *embedded) open(database string) (*sql.DB, error) {
	connector, err := mssql.NewConnector(e.dsn(database), e.dialer)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// serverName is the server as a target group names it: host,port.
func (e *embedded) serverName() string {
	host, port, _ := net.SplitHostPort(e.address)
	return host + "," + port
}

// wait returns when ctx ends, with nil, or when the agent or the server fails: a server that nobody can reach any more must not look alive.
func (e *embedded) wait(ctx context.Context, agentFailed <-chan error) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-agentFailed:
		return err
	case <-e.serving:
		return exitWith(exitConnection, fmt.Errorf("the embedded server no longer listens on %s: %w", e.address, e.serveErr))
	}
}

// close ends everything; it waits for statements for a while.
func (e *embedded) close() error {
	var errs []error
	if e.store != nil {
		errs = append(errs, e.store.Close())
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

// background runs an agent until stop is called, which waits for it and returns its error.
func background(ctx context.Context, cfg agent.Config, store *controldb.Store, tools agent.Tools, log *zap.Logger) (stop func() error, failed <-chan error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	failed = ended
	go func() { // ends when ctx does; stop waits for it
		defer close(ended)
		if err := runAgent(ctx, cfg, store, tools, log); err != nil {
			ended <- err
		}
	}()
	return func() error {
		cancel()
		return <-ended
	}, failed
}

// randomPassword makes a password that meets SQL Server's complexity rules.
func randomPassword() string { return "Aa1-" + rand.Text() }

// keptText reads a text from a file in dir, and makes it with mode 0600 when there is none.
func keptText(dir, name string, newText func() string) (string, error) {
	path := filepath.Join(dir, name)
	b, err := os.ReadFile(path)
	if err == nil {
		return strings.TrimSpace(string(b)), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	text := newText()
	return text, os.WriteFile(path, []byte(text+"\n"), 0o600)
}
