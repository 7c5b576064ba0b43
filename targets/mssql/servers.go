package mssql

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/golang-sql/sqlexp"
	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// Config is how the servers of targets are reached. The zero value of each field means its default.
type Config struct {
	// Credentials are the agent's credentials; nil: none, so that nothing can be reached.
	Credentials *CredentialSet
	// Encrypt is true, strict (TDS 8.0) or disable. Default: true.
	Encrypt string
	// TrustServerCertificate accepts any certificate; strict accepts none that is not verified. Default: false.
	TrustServerCertificate bool
	// CertificateSHA256 pins the servers' certificate: one of these must be the SHA-256 of the certificate, or of the SubjectPublicKeyInfo in it, in
	// hexadecimal digits, with colons or without. Then neither an authority nor a name is asked for. Default: the certificate is verified.
	CertificateSHA256 []string
	// Servers are other settings of encryption for some servers: the first that matches counts.
	Servers []ServerEncryption
	// AppName is what the server shows as program_name; that of a session that runs a script is followed by a blank and
	// 16 hexadecimal digits, which tell it from all others. Default: jobagent.
	AppName string
	// LoginTimeout bounds connecting and logging in. Default: DefaultLoginTimeout.
	LoginTimeout time.Duration
	// Dialer reaches servers in another way than TCP. Default: TCP.
	Dialer mssqldb.HostDialer
	// Limits bound what a target may send. Default: DefaultLimits.
	Limits AnswerLimits
	// Control is the agent's control database, which no script may have rights on; its zero value: there is none.
	Control Instance
	// AllowControlDatabase lets scripts run on control databases, and with logins that can enter them. Default: false.
	AllowControlDatabase bool
	// Entra makes the connectors of credentials of Microsoft Entra ID: azure.Connector of package
	// targets/azure. nil: such credentials are refused.
	Entra func(EntraLogin) (*mssqldb.Connector, error)
}

// ServerEncryption is how connections to some servers are encrypted.
type ServerEncryption struct {
	// Match is a pattern of servers, as in Credential.Servers.
	Match string
	// Encrypt is as in Config. Default: that of the Config.
	Encrypt string
	// TrustServerCertificate and CertificateSHA256 are as in Config, whose own do not count for these servers.
	TrustServerCertificate bool
	CertificateSHA256      []string
}

// EntraLogin is a login with a credential of Microsoft Entra ID.
type EntraLogin struct {
	// Params are the connection's settings, without user and password, and with the driver's encryption disabled: Servers encrypts.
	Params msdsn.Config
	// Kind is not KindSQLLogin.
	Kind CredentialKind
	// User is the credential's.
	User string
	// Secret is the client secret itself; empty for kinds that have none. It must not be kept.
	Secret string
}

// Servers opens sessions on servers by name, with named credentials. Safe for concurrent use; Close
// it when nothing uses it any more.
type Servers struct {
	cfg        Config
	encryption Encryption         // of servers that match none of the exceptions
	exceptions []serverEncryption // the first that matches counts
	passes     passes

	// budget is shared by all sessions that run scripts.
	budget *tdsguard.Budget

	mu     sync.Mutex
	closed bool
	pools  map[poolKey]*sql.DB
}

// serverEncryption is a ServerEncryption that was read.
type serverEncryption struct {
	match      pattern
	text       string // of the pattern
	encryption Encryption
}

// poolKey says which sessions are alike. All names are folded.
type poolKey struct {
	server, database, credential string
	checked                      bool
}

const (
	// poolIdle is how many idle sessions a pool keeps: enough for a few steps that write to one output
	// database at once; a thousand targets that do so open what they need and let go of it.
	poolIdle = 4
	// poolIdleTime is how long an idle session is kept. A serverless database pauses only when nobody
	// is connected, hence not for long.
	poolIdleTime = 30 * time.Second
)

// NewServers checks the configuration; it connects to nothing.
func NewServers(cfg Config) (*Servers, error) {
	cfg.AppName = cmp.Or(cfg.AppName, "jobagent")
	cfg.LoginTimeout = cmp.Or(cfg.LoginTimeout, DefaultLoginTimeout)
	if cfg.Dialer == nil {
		cfg.Dialer = tcpDialer{}
	}
	if cfg.LoginTimeout < 0 {
		return nil, &targets.ConfigError{Subject: "login timeout", Err: fmt.Errorf("%v is below 0", cfg.LoginTimeout)}
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if err := cfg.Limits.validate(); err != nil {
		return nil, &targets.ConfigError{Subject: "limits", Err: err}
	}
	s := &Servers{cfg: cfg, budget: tdsguard.NewBudget(cfg.Limits.BufferBytes), pools: make(map[poolKey]*sql.DB)}
	var err error
	if s.encryption, err = newEncryption("encryption of targets", cfg.Encrypt, cfg.TrustServerCertificate, cfg.CertificateSHA256); err != nil {
		return nil, err
	}
	for _, one := range cfg.Servers {
		subject := fmt.Sprintf("encryption of targets %q", one.Match)
		match, err := parsePattern(one.Match)
		if err != nil {
			return nil, &targets.ConfigError{Subject: subject, Err: err}
		}
		e, err := newEncryption(subject, cmp.Or(one.Encrypt, cfg.Encrypt), one.TrustServerCertificate, one.CertificateSHA256)
		if err != nil {
			return nil, err
		}
		s.exceptions = append(s.exceptions, serverEncryption{match, one.Match, e})
	}
	return s, nil
}

// newEncryption reads settings of a configuration. The error is a *ConfigError.
func newEncryption(subject, encrypt string, trust bool, pins []string) (e Encryption, err error) {
	e.trust = trust
	if e.mode, err = parseEncrypt(encrypt); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("encrypt %q: %w", encrypt, err)}
	}
	if e.pins, err = parsePins(pins...); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("%s: %w", pinParameter, err)}
	}
	if err := e.validate(); err != nil {
		return e, &targets.ConfigError{Subject: subject, Err: err}
	}
	return e, nil
}

// encryptionOf is how connections to an endpoint are encrypted. A pattern with a port is for that port: it does not match an instance whose port is
// not known.
func (s *Servers) encryptionOf(e endpoint) Encryption {
	for _, one := range s.exceptions {
		if one.match.covers(e) && (one.match.port == "" || e.port != 0) {
			return one.encryption
		}
	}
	return s.encryption
}

// Weaknesses lists the settings of encryption that leave a connection open to who is in its way, each with the servers that it is for: "*" for all
// that have none of their own. That nothing is encrypted does not count where it does not leave the machine.
func (s *Servers) Weaknesses() []Weakness {
	var list []Weakness
	for _, one := range s.exceptions {
		if !one.encryption.Plain() || !isLoopback(one.match.host) {
			list = append(list, one.encryption.weaknesses(one.text)...)
		}
	}
	return append(list, s.encryption.weaknesses("*")...)
}

// Close ends all idle sessions.
func (s *Servers) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	var errs []error
	for key, db := range s.pools {
		errs = append(errs, db.Close())
		delete(s.pools, key)
	}
	return errors.Join(errs...)
}

// Connector makes the connector for a database, without connecting. The server's name may have any
// form that SqlClient knows: host, host\instance, host,port, and these after tcp: . An empty
// credential means DefaultCredential. The error is a *ConfigError, and nothing was sent.
func (s *Servers) Connector(server, database, credential string) (*Connector, error) {
	return s.connector(server, database, credential, s.cfg.AppName)
}

// connector is Connector for sessions whose program_name is app.
func (s *Servers) connector(server, database, credential, app string) (*Connector, error) {
	e, err := parseEndpoint(server)
	if err != nil {
		return nil, &targets.ConfigError{Subject: fmt.Sprintf("server name %q", server), Err: err}
	}
	c, err := s.cfg.Credentials.forEndpoint(credential, server, e)
	if err != nil {
		return nil, err
	}
	params, err := s.params(e.String(), database)
	if err != nil {
		return nil, err
	}
	params.AppName = app
	encryption, dialer := s.encryptionOf(e), boundDialer{s.cfg.Dialer, c, e}
	var connector *Connector
	if c.Kind == KindSQLLogin {
		params.User = c.User
		if params.Password, err = c.secret(); err != nil {
			return nil, err
		}
		connector = DSN{Params: params, Encryption: encryption}.Connector(dialer)
	} else {
		inner, err := s.entra(withoutTLS(params), c)
		if err != nil {
			return nil, err
		}
		connector = wrapConnector(inner, &encryption, dialer)
	}
	connector.limit = s.cfg.LoginTimeout
	// The sessions of pools answer many questions, each of which is small.
	connector.guard = guardConfig{limits: tdsguard.Limits{MessageBytes: s.cfg.Limits.MessageBytes}, rows: tdsguard.OwnRows}
	return connector, nil
}

// entra makes the driver's connector for a credential of Microsoft Entra ID.
func (s *Servers) entra(params msdsn.Config, c Credential) (*mssqldb.Connector, error) {
	subject := fmt.Sprintf("credential %q", c.Name)
	if s.cfg.Entra == nil {
		return nil, &targets.ConfigError{Subject: subject, Err: fmt.Errorf("this agent has no support for %s", c.Kind)}
	}
	login := EntraLogin{Params: params, Kind: c.Kind, User: c.User}
	if c.Secret != "" {
		var err error
		if login.Secret, err = c.secret(); err != nil {
			return nil, err
		}
	}
	inner, err := s.cfg.Entra(login)
	if err != nil {
		return nil, &targets.ConfigError{Subject: subject, Err: err}
	}
	return inner, nil
}

// params makes the driver's settings for a database, without a login. server is an endpoint's text.
func (s *Servers) params(server, database string) (msdsn.Config, error) {
	subject := fmt.Sprintf("server name %q", server)
	params, err := msdsn.Parse("server=" + server)
	if err != nil {
		return msdsn.Config{}, &targets.ConfigError{Subject: subject, Err: err}
	}
	params.Host = bareHost(params.Host)
	params.Database = database
	params.DialTimeout = -1 // the connector's own limit covers dialing
	params.ConnTimeout = 0  // it would end every statement that is silent for so long
	params.DisableRetry = true
	return params, nil
}

// session is a session of its own on one database, never used before and never again. It is the
// driver's own connection, without database/sql in between: a script needs the driver's message queue,
// and its end must not depend on locks that others hold while they wait for the network.
type session struct {
	conn *conn
	wire *wire
	// token is in the session's program_name, and in no other's; empty: none.
	token  string
	closed bool
}

// open logs in to a database. Scripts get a fresh session each: go-mssqldb resets a pooled one when it
// is taken again (RESETCONNECTION in the next packet's header), but SQL Server does not undo
// everything at a reset, the isolation level among others, and a script may do anything. A token that is not empty becomes
// part of the session's program_name.
func (s *Servers) open(ctx context.Context, server, database, credential, token string) (*session, error) {
	app := s.cfg.AppName
	if token != "" {
		app = programName(app, token)
	}
	connector, err := s.connector(server, database, credential, app)
	if err != nil {
		return nil, err
	}
	connector.guard.limits, connector.guard.budget = s.cfg.Limits.guard(), s.budget
	session, err := connect(ctx, connector, server, database)
	if err != nil {
		return nil, err
	}
	session.token = token
	return session, nil
}

// connect logs in by a connector.
func connect(ctx context.Context, connector *Connector, server, database string) (*session, error) {
	made, err := connector.Connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s/%s: %w", server, database, err)
	}
	own, ok := made.(*conn)
	if !ok {
		_ = made.Close()
		return nil, fmt.Errorf("connect to %s/%s: the connector made a %T", server, database, made)
	}
	return &session{conn: own, wire: own.wire}, nil
}

// spid is the session's id as the server writes it into what it sends; 0 when the driver encrypts and it cannot be read.
func (s *session) spid() int { return s.wire.spid() }

// openTransactions asks for @@TRANCOUNT.
func (s *session) openTransactions(ctx context.Context) (int, error) {
	return s.number(ctx, "SELECT @@TRANCOUNT")
}

// number asks a question whose answer is one integer.
func (s *session) number(ctx context.Context, question string) (int, error) {
	var row [1]driver.Value
	if err := s.row(ctx, question, row[:]); err != nil {
		return 0, err
	}
	n, ok := row[0].(int64)
	if !ok {
		return 0, fmt.Errorf("%s answers with a %T", question, row[0])
	}
	return int(n), nil
}

// row asks a question whose answer is one row. A target that answers with something else is no reason to index what is not there.
func (s *session) row(ctx context.Context, question string, into []driver.Value) error {
	a, err := s.ask(ctx, question)
	switch {
	case err != nil:
		return err
	case a.columns != len(into):
		return fmt.Errorf("a question of the agent was answered with %d columns, where %d are needed", a.columns, len(into))
	case a.sets != 1:
		return errors.New("a question of the agent was answered with more than one result set")
	case len(a.rows) == 0:
		return errors.New("a question of the agent was answered with no row")
	case len(a.rows) > 1:
		return errors.New("a question of the agent was answered with more than one row")
	}
	copy(into, a.rows[0])
	return nil
}

// smallAnswer is what a server said to a question of the agent.
type smallAnswer struct {
	sets    int              // result sets
	columns int              // of the first one
	rows    [][]driver.Value // of the first one; two at most
}

// ask sends a batch and reads the answer to its end. The error is the server's first of severity 11 or more, or why there is no whole answer.
//
// It takes the driver's message queue, as scripts do: without it the driver leaves its reading goroutine behind when an error comes before the
// columns.
func (s *session) ask(ctx context.Context, text string) (a smallAnswer, err error) {
	s.wire.setRows(tdsguard.OwnRows)
	var queue sqlexp.ReturnMessage
	answer, err := s.query(ctx, text, &queue)
	if err != nil {
		return a, err
	}
	said := &collector{limits: targets.Limits{Messages: 1, MessageBytes: 1, TextBytes: 1}}
	p := startPump(&queue, said, 1)
	set, err := newResultSet(answer, nil)
	if set != nil {
		a.columns = len(set.columns)
		for set.next() {
			if len(a.rows) < 2 {
				a.rows = append(a.rows, slices.Clone(set.row))
			}
		}
		err = set.err
	}
	for err == nil {
		err = answer.Next(nil)
	}
	s.finish(answer)
	p.stop()
	a.sets = p.sets
	_, broken := s.wire.state()
	switch {
	case said.failure() != nil:
		return a, said.failure()
	case ctx.Err() != nil:
		return a, ctx.Err()
	case errors.Is(err, io.EOF) && broken == nil && p.err == nil:
		return a, nil
	default:
		return a, cmp.Or(broken, p.err, err)
	}
}

// finish closes an answer. When the driver cannot even ask for its end, it leaves a goroutine behind that waits for somebody to take what it has
// read; the connection is cut then, and all is taken.
func (s *session) finish(answer driver.Rows) {
	for tries := 0; answer.Close() != nil && s.wire != nil && tries < 1000; tries++ {
		s.wire.abort()
		time.Sleep(time.Millisecond)
	}
}

// exec sends a batch that answers with nothing but errors.
func (s *session) exec(ctx context.Context, text string) error {
	_, err := s.ask(ctx, text)
	return err
}

// query sends a batch. The messages go to the queue, and the rows are a *mssql.Rowsq; the caller has said what becomes of the rows.
func (s *session) query(ctx context.Context, text string, queue *sqlexp.ReturnMessage) (driver.Rows, error) {
	// This is how database/sql hands the queue to the driver.
	if err := s.conn.CheckNamedValue(&driver.NamedValue{Ordinal: 1, Value: queue}); !errors.Is(err, driver.ErrRemoveArgument) {
		return nil, fmt.Errorf("the driver takes no message queue: %w", err)
	}
	stmt, err := s.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	query, ok := stmt.(driver.StmtQueryContext)
	if !ok {
		return nil, fmt.Errorf("the driver's statement is a %T", stmt)
	}
	return query.QueryContext(ctx, nil)
}

// close ends the session; the server rolls back what the script left open. Again: nothing. The driver gives the connection's buffers
// to the next one, and would give them twice.
func (s *session) close() {
	if !s.closed {
		s.closed = true
		_ = s.conn.Close()
	}
}

// discard ends a session that does not answer; nothing is waited for. The driver may still read from it in a goroutine of its own, which
// ends with the wire, so that its buffers must not be given to another connection: the driver's Close is not called.
func (s *session) discard() {
	if s.wire == nil {
		s.close()
		return
	}
	s.closed = true
	s.wire.abort()
	_ = s.wire.Close()
}

// pool returns the shared pool for the agent's own statements on a database: listing databases and
// writing output. They leave no state behind, and the driver resets a session before its next use. Each session of a checked pool is
// held against the control database first (admit): the names in its statements are an author's.
func (s *Servers) pool(server, database, credential string, checked bool) (*sql.DB, error) {
	if _, err := s.Connector(server, database, credential); err != nil {
		return nil, err
	}
	key := poolKey{targets.FoldName(server), targets.FoldName(database), targets.FoldName(credential), checked}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the agent's connections are closed")
	}
	db := s.pools[key]
	if db == nil {
		db = sql.OpenDB(&namedConnector{s, server, database, credential, checked})
		db.SetMaxIdleConns(poolIdle)
		db.SetConnMaxIdleTime(poolIdleTime)
		s.pools[key] = db
	}
	return db, nil
}

// lend takes a session of a pool; release gives it back. It is cut soon after ctx ended, whatever the server does: the driver does not look at
// a context while it writes.
func (s *Servers) lend(ctx context.Context, server, database, credential string) (session *sql.Conn, release func(), err error) {
	db, err := s.pool(server, database, credential, false)
	if err != nil {
		return nil, nil, err
	}
	if session, err = db.Conn(ctx); err != nil {
		return nil, nil, err
	}
	stop := cutAfter(ctx, wireOf(session), ackWait)
	return session, func() {
		_ = session.Close()
		stop()
	}, nil
}

// namedConnector looks its credential up at each login, so that a changed secret is used at once.
type namedConnector struct {
	servers                      *Servers
	server, database, credential string
	checked                      bool
}

// Connect logs in.
func (c *namedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	connector, err := c.servers.Connector(c.server, c.database, c.credential)
	if err != nil {
		return nil, err
	}
	if !c.checked {
		return connector.Connect(ctx)
	}
	own, err := connect(ctx, connector, c.server, c.database)
	if err != nil {
		return nil, err
	}
	defer cutAfter(ctx, own.wire, 0)()
	if _, err := c.servers.admit(ctx, own, c.server, c.database, c.credential); err != nil {
		own.close()
		return nil, endOr(ctx, err)
	}
	return own.conn, nil
}

// Driver is for database/sql, which hands it to its callers only.
func (c *namedConnector) Driver() driver.Driver { return &mssqldb.Driver{} }
