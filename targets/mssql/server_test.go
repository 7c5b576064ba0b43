package mssql_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// fixture is an embedded server with the databases d and out, and a runner on it.
type fixture struct {
	server  *tsqld.Server
	servers *mssql.Servers
	runner  *mssql.Runner
}

// newFixture starts a server. In a synctest bubble the server belongs to the bubble.
func newFixture(t *testing.T, cfg tsqld.Config) *fixture {
	t.Helper()
	cfg.SAPassword = "secret"
	if cfg.OnPanic == nil {
		cfg.OnPanic = func(v any, stack []byte) { t.Errorf("panic in the server: %v\n%s", v, stack) }
	}
	cfg.Fault = testenv.Recorder(cfg.Fault)
	server, err := tsqld.New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close(context.Background())) })
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: server.Dialer()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	f := &fixture{server: server, servers: servers, runner: mssql.NewRunner(servers, targets.Limits{})}
	f.exec(t, "master", "CREATE DATABASE d; CREATE DATABASE out;")
	return f
}

// config returns a configuration for the server with an encryption setting.
func (f *fixture) config(t *testing.T, how string) mssql.Config {
	t.Helper()
	certificate, err := f.server.Certificate()
	require.NoError(t, err)
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(t, err)
	cfg := mssql.Config{Credentials: set, Encrypt: how, Dialer: f.server.Dialer()}
	if how != "disable" {
		cfg.CertificateSHA256 = []string{mssql.KeyPin(certificate)}
	}
	return cfg
}

// encrypt replaces the runner by one with an encryption setting.
func (f *fixture) encrypt(t *testing.T, how string) {
	t.Helper()
	servers, err := mssql.NewServers(f.config(t, how))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	f.runner = mssql.NewRunner(servers, targets.Limits{})
}

// open returns the test's own pool on a database.
func (f *fixture) open(t *testing.T, database string) *sql.DB {
	t.Helper()
	connector, err := f.servers.Connector("s", database, "")
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// exec runs statements on a database.
func (f *fixture) exec(t *testing.T, database, text string) {
	t.Helper()
	_, err := f.open(t, database).ExecContext(t.Context(), text)
	require.NoError(t, err)
}

// query returns a result set as text: one line for each row, with | between the values.
func (f *fixture) query(t *testing.T, database, text string) []string {
	t.Helper()
	rows, err := f.open(t, database).QueryContext(t.Context(), text)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	lines := []string{}
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, rows.Scan(into...))
		var parts []string
		for _, v := range values {
			if !v.Valid {
				v.String = "NULL"
			}
			parts = append(parts, v.String)
		}
		lines = append(lines, strings.Join(parts, "|"))
	}
	require.NoError(t, rows.Err())
	return lines
}

// onD returns an attempt of a script on the database d.
func onD(script string) mssql.Attempt {
	return mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script}}
}

// run makes an attempt on the database d.
func (f *fixture) run(t *testing.T, script string) targets.Result {
	t.Helper()
	return f.runner.Run(t.Context(), onD(script))
}
