package mssql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// silentServer is a server that accepts connections and never answers.
type silentServer struct{ dialed chan string }

func (silentServer) HostName() string { return "" }

func (h silentServer) DialContext(_ context.Context, _, addr string) (net.Conn, error) {
	client, server := net.Pipe()
	go func() {
		_, _ = io.Copy(io.Discard, server)
		_ = server.Close()
	}()
	if h.dialed != nil {
		h.dialed <- addr
	}
	return client, nil
}

func TestLoginEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := NewConnector("sqlserver://sa:hunter2@x?encrypt=disable", silentServer{})
		require.NoError(t, err)

		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(3*time.Second, func() { cancel(targets.ErrStopRequested) })
		start := time.Now()
		_, err = c.Connect(ctx)
		require.ErrorIs(t, err, targets.ErrStopRequested)
		require.Equal(t, 3*time.Second, time.Since(start))

		start = time.Now()
		_, err = c.Connect(t.Context())
		require.ErrorIs(t, err, ErrLoginTimeout)
		require.Equal(t, DefaultLoginTimeout, time.Since(start))
		require.Equal(t, targets.ClassTimeout, Classify(err).Class)
		synctest.Wait()
	})
}

// "connection timeout" bounds the login, as in SqlClient, and no statement. Azure's portal writes
// it into its connection strings.
func TestConnectionTimeoutIsThatOfTheLogin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const text = "Server=tcp:h,1433;Initial Catalog=master;User ID=sa;Password=secret;Encrypt=disable;Connection Timeout=5;"
		c, err := NewConnector(text, silentServer{})
		require.NoError(t, err)
		start := time.Now()
		_, err = c.Connect(t.Context())
		require.ErrorIs(t, err, ErrLoginTimeout)
		require.Equal(t, 5*time.Second, time.Since(start))
		synctest.Wait()

		server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close(context.Background())) }()
		c, err = NewConnector(text, server.Dialer())
		require.NoError(t, err)
		db := sql.OpenDB(c)
		defer db.Close()
		_, err = db.ExecContext(t.Context(), "WAITFOR DELAY '00:01:00';")
		require.NoError(t, err)
	})
}

// A first server that does not answer leaves time for its failover partner.
func TestFailoverPartnerOfASilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
		require.NoError(t, err)
		defer func() { require.NoError(t, server.Close(context.Background())) }()
		c, err := NewConnector("sqlserver://sa:secret@gone?encrypt=disable&failoverpartner=partner", partnerOf{server.Dialer()})
		require.NoError(t, err)
		start := time.Now()
		conn, err := c.Connect(t.Context())
		require.NoError(t, err)
		require.Equal(t, DefaultLoginTimeout/3, time.Since(start))
		require.NoError(t, conn.Close())
	})
}

// partnerOf dials a server, but not by the name gone, which no host has.
type partnerOf struct{ mssqldb.HostDialer }

func (p partnerOf) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if addr == "gone:1433" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return p.HostDialer.DialContext(ctx, network, addr)
}

// A login has texts of any characters.
func TestLoginBeyondTheBasicPlane(t *testing.T) {
	t.Parallel()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	const name, password = "𠮷野家", "Pa55-😀😀-word"
	admin, err := NewConnector("sqlserver://sa:secret@h?encrypt=disable", server.Dialer())
	require.NoError(t, err)
	db := sql.OpenDB(admin)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "CREATE DATABASE ["+name+"]; CREATE LOGIN ["+name+"] WITH PASSWORD = N'"+password+"';")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "USE ["+name+"]; CREATE USER ["+name+"] FOR LOGIN ["+name+"];")
	require.NoError(t, err)
	for _, encrypt := range []string{"disable", "true", "strict"} {
		s := testServers(t, Config{Encrypt: encrypt, TrustServerCertificate: encrypt == "true", Dialer: server.Dialer(), CertificateSHA256: pinOf(t, server, encrypt)},
			LoginCredential("default", name, password, "*"))
		one, err := s.open(t.Context(), "s", name, "")
		require.NoError(t, err)
		var row [2]driver.Value
		require.NoError(t, one.row(t.Context(), "SELECT DB_NAME(), ORIGINAL_LOGIN()", row[:]))
		require.Equal(t, [2]driver.Value{name, name}, row)
		one.close()
	}
}

// pinOf returns the pin of a server's certificate, for strict.
func pinOf(t *testing.T, server *tsqld.Server, encrypt string) []string {
	t.Helper()
	if encrypt != "strict" {
		return nil
	}
	certificate, err := server.Certificate()
	require.NoError(t, err)
	return []string{KeyPin(certificate)}
}

// Settings of the driver that would change what a query returns have no effect.
func TestSettingsThatChangeAnswers(t *testing.T) {
	t.Parallel()
	d, err := ParseDSN("sqlserver://sa:secret@h?timezone=Asia%2FTokyo&guid+conversion=true&columnencryption=true")
	require.NoError(t, err)
	require.Equal(t, msdsn.EncodeParameters{Timezone: time.UTC}, d.Params.Encoding)
	require.False(t, d.Params.ColumnEncryption)
}

func TestNewConnectorKeepsSecrets(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"sqlserver://sa:hunter2@x:port", "sqlserver://sa:hunter2@x?encrypt=maybe",
		"server=x;port=hunter2", "odbc:password={hunter2"} {
		_, err := NewConnector(dsn, nil)
		var config *targets.ConfigError
		require.ErrorAs(t, err, &config, dsn)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func testServers(t *testing.T, cfg Config, credentials ...Credential) *Servers {
	t.Helper()
	set, err := NewCredentialSet(credentials...)
	require.NoError(t, err)
	cfg.Credentials = set
	s, err := NewServers(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Server names lead to the same addresses as in SqlClient.
func TestServerNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dialed := make(chan string, 1)
		s := testServers(t, Config{Encrypt: "disable", Dialer: silentServer{dialed}, LoginTimeout: time.Second},
			LoginCredential("default", "sa", "pw", "*"))
		for name, want := range map[string]string{
			"host":            "host:1433",
			"host,1444":       "host:1444",
			"tcp:host,1444":   "host:1444",
			"tcp:host":        "host:1433",
			"10.0.0.7,99":     "10.0.0.7:99",
			" h.example.com ": "h.example.com:1433",
			`host\inst,1500`:  "host:1500",
			".":               "localhost:1433",
			"(local)":         "localhost:1433",
		} {
			_, err := s.open(t.Context(), name, "d", "")
			require.ErrorIs(t, err, ErrLoginTimeout, name)
			require.Equal(t, want, <-dialed, name)
		}
		for _, name := range []string{"", " ", "a;password=x", "a'b", "a=b", "a\nb"} {
			_, err := s.open(t.Context(), name, "d", "")
			var config *targets.ConfigError
			require.ErrorAs(t, err, &config, "%q", name)
			require.Empty(t, dialed)
		}
		synctest.Wait()
	})
}

// With a credential that is missing or not allowed, no connection is dialed.
func TestCredentialIsNotSentElsewhere(t *testing.T) {
	t.Parallel()
	dialed := make(chan string, 1)
	s := testServers(t, Config{Dialer: silentServer{dialed}},
		LoginCredential("default", "sa", "pw", "good*"), Credential{Name: "mi", Servers: []string{"*"},
			Kind: KindManagedIdentity},
		Credential{Name: "unset", Servers: []string{"*"}, Kind: KindSQLLogin, User: "u", Secret: "env:JOBAGENT_TEST_UNSET"})
	for credential, want := range map[string]string{
		"":      `credential "default": it may not be used on server "bad"`,
		"other": "no such credential",
		"mi":    "does not support ManagedIdentity",
		"unset": "JOBAGENT_TEST_UNSET is not set",
	} {
		res := NewRunner(s, targets.Limits{}).Run(t.Context(),
			Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("bad", "d", ""), Credential: credential,
				Command: "SELECT 1"}})
		require.Equal(t, targets.Failed, res.Outcome)
		require.False(t, res.Sent)
		require.Equal(t, targets.ClassConfig, res.Error.Class)
		require.Contains(t, res.Summary, want)
		_, _, err := s.borrow(t.Context(), "bad", "d", credential, false)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, dialed)
}

func TestEntraLogin(t *testing.T) {
	t.Parallel()
	var got EntraLogin
	s := testServers(t, Config{AppName: "x", Entra: func(l EntraLogin) (*mssqldb.Connector, error) {
		got = l
		if l.User == "bad" {
			return nil, errors.New("bad user")
		}
		return mssqldb.NewConnectorConfig(l.Params), nil
	}}, Credential{Name: "default", Servers: []string{"*"}, Kind: KindManagedIdentity, User: "client"},
		Credential{Name: "bad", Servers: []string{"*"}, Kind: KindManagedIdentity, User: "bad"})
	_, err := s.Connector("h,1444", "d", "")
	require.NoError(t, err)
	require.Equal(t, KindManagedIdentity, got.Kind)
	require.Equal(t, "client", got.User)
	require.Equal(t, "d", got.Params.Database)
	require.Equal(t, uint64(1444), got.Params.Port)
	require.Equal(t, msdsn.Encryption(msdsn.EncryptionDisabled), got.Params.Encryption, "the channel encrypts")
	require.Empty(t, got.Params.User+got.Params.Password)
	_, err = s.Connector("h", "d", "bad")
	require.ErrorContains(t, err, `credential "bad": bad user`)
}

func TestNewServersChecks(t *testing.T) {
	t.Parallel()
	_, err := NewServers(Config{Encrypt: "maybe"})
	require.ErrorContains(t, err, `"maybe"`)
	_, err = NewServers(Config{LoginTimeout: -1})
	require.Error(t, err)
	s, err := NewServers(Config{})
	require.NoError(t, err)
	require.NoError(t, s.Close())
	_, err = s.Connector("h", "d", "")
	require.ErrorContains(t, err, "give the agent --target-credential NAME")
}

// An invalid script is not sent, and neither is a stopped attempt.
func TestRunWithoutServer(t *testing.T) {
	t.Parallel()
	s := testServers(t, Config{Dialer: silentServer{}, Encrypt: "disable"}, LoginCredential("default", "sa", "pw", "*"))
	res := NewRunner(s, targets.Limits{}).Run(t.Context(),
		Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("h", "d", ""), Command: "SELECT 1\nGO x"}})
	require.Equal(t, targets.Failed, res.Outcome)
	require.Equal(t, targets.ClassPermanent, res.Error.Class)
	require.Contains(t, res.Summary, "script line 2")

	for cause, want := range map[error]targets.Outcome{
		targets.ErrStopRequested: targets.Canceled, targets.ErrTimeout: targets.TimedOut,
		errors.New("agent stopping"): targets.NotSent,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		res := NewRunner(s, targets.Limits{}).Run(ctx,
			Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("h", "d", ""), Command: "SELECT 1"}})
		require.Equal(t, want, res.Outcome, cause)
		require.ErrorIs(t, res.Err, cause)
		require.False(t, res.Sent)
		require.NotEmpty(t, res.Summary)
	}
}
