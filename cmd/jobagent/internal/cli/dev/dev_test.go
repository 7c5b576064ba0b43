package dev

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// ping logs in at the port of a server on loopback and returns the error.
func ping(t *testing.T, address, user, password, encrypt string) error {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	u := url.URL{Scheme: "sqlserver", User: url.UserPassword(user, password), Host: "127.0.0.1:" + port,
		RawQuery: url.Values{"encrypt": {encrypt}, "TrustServerCertificate": {"true"}}.Encode()}
	db, err := sql.Open("sqlserver", u.String())
	require.NoError(t, err)
	defer db.Close()
	return db.PingContext(t.Context())
}

// A server to which other machines can connect refuses passwords without TLS, unless a flag allows
// them.
func TestDevRequiresTLSBeyondLoopback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen   string
		limits   clientLimits
		clear    bool
		warnings int
	}{
		{"127.0.0.1:0", clientLimits{maxConnections: 10}, true, 0},
		{"127.0.0.1:0", clientLimits{maxConnections: 10, requireTLS: true, tlsGiven: true}, false, 0},
		{"0.0.0.0:0", clientLimits{maxConnections: 10}, false, 0},
		{"0.0.0.0:0", clientLimits{maxConnections: 10, tlsGiven: true}, true, 1},
	} {
		core, logs := observer.New(zapcore.WarnLevel)
		password := embedded.RandomPassword()
		server, err := embedded.Start(t.Context(), "", c.listen, password, "true", zap.New(core), c.limits.option, clitest.Installed(t))
		require.NoError(t, err)
		require.Equal(t, c.warnings, logs.Len(), "%+v", c)
		require.NoError(t, ping(t, server.Address, "sa", password, "true"))
		err = ping(t, server.Address, "sa", password, "disable")
		require.Equal(t, c.clear, err == nil, "%+v: %v", c, err)
		require.NoError(t, server.Close())
	}
}

// Password guesses for sa are logged without the password and lock out sa on loopback. The agent's
// own connections are not affected.
func TestDevLogsRefusedLogins(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.WarnLevel)
	password := embedded.RandomPassword()
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", password, "disable", zap.New(core),
		clientLimits{maxConnections: 5}.option, clitest.Installed(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			var e mssqldb.Error
			err := ping(t, server.Address, "sa", fmt.Sprintf("Canary-%d", i), "disable")
			assert.ErrorAs(t, err, &e)
			assert.EqualValues(t, 18456, e.Number)
		})
	}
	wg.Wait()
	var locked mssqldb.Error
	require.ErrorAs(t, ping(t, server.Address, "sa", password, "disable"), &locked)
	require.EqualValues(t, 18486, locked.Number)
	require.Equal(t, 6, logs.Len())
	first := logs.All()[0]
	require.Equal(t, "login refused", first.Message)
	require.Equal(t, "wrong password", first.ContextMap()["reason"])
	require.Equal(t, "sa", first.ContextMap()["login"])
	require.Contains(t, first.ContextMap()["address"], "127.0.0.1:")
	for _, entry := range logs.All() {
		require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), "Canary")
	}
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.PingContext(t.Context()), "new connections of the agent's kind")
	// Connections beyond the limit are refused.
	for range 10 {
		if _, err = db.Conn(t.Context()); err != nil {
			break
		}
	}
	var e mssqldb.Error
	require.ErrorAs(t, err, &e)
	require.EqualValues(t, 17809, e.Number)
}

// `jobagent dev` ends with an error when its server stops listening.
func TestDevEndsWhenItsServerDoes(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start(t.Context(), "", "127.0.0.1:0", embedded.RandomPassword(), "disable", zap.NewNop(), clitest.Installed(t))
	require.NoError(t, err)
	require.NoError(t, server.Listener.Close())
	err = server.Wait(t.Context(), make(chan error))
	require.ErrorContains(t, err, "stopped listening on 127.0.0.1:")
	require.Equal(t, exit.CodeConnection, exit.Code(err))
	require.ErrorContains(t, server.Close(), "accept")
}
