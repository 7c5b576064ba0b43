package mssql_test

import (
	"database/sql"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// benchTargets runs fn with a connector over TCP, with and without encryption.
func benchTargets(b *testing.B, fn func(b *testing.B, c *mssql.Connector)) {
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Close(b.Context())) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go server.Serve(listener) // until the listener is closed
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(b, err)
	for _, encrypt := range []string{"disable", "true"} {
		b.Run("encrypt="+encrypt, func(b *testing.B) {
			servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: encrypt, TrustServerCertificate: true})
			require.NoError(b, err)
			defer servers.Close()
			c, err := servers.Connector(strings.Replace(listener.Addr().String(), ":", ",", 1), "master", "")
			require.NoError(b, err)
			fn(b, c)
		})
	}
}

// BenchmarkConnect measures a connection with its login.
func BenchmarkConnect(b *testing.B) {
	benchTargets(b, func(b *testing.B, c *mssql.Connector) {
		for b.Loop() {
			conn, err := c.Connect(b.Context())
			require.NoError(b, err)
			require.NoError(b, conn.Close())
		}
	})
}

// BenchmarkStream measures 200,000 rows of about 60 bytes each.
func BenchmarkStream(b *testing.B) {
	const digits, rows = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))", 200_000
	benchTargets(b, func(b *testing.B, c *mssql.Connector) {
		db := sql.OpenDB(c)
		defer db.Close()
		query := fmt.Sprintf("SELECT TOP (%d) a.n, N'twenty-five characters ..' AS t FROM %[2]s AS a(n) CROSS JOIN %[2]s AS b(n) CROSS JOIN %[2]s AS c(n) "+
			"CROSS JOIN %[2]s AS d(n) CROSS JOIN %[2]s AS e(n) CROSS JOIN %[2]s AS f(n)", rows, digits)
		for b.Loop() {
			answer, err := db.QueryContext(b.Context(), query)
			require.NoError(b, err)
			n := 0
			for answer.Next() {
				n++
			}
			require.NoError(b, answer.Err())
			require.Equal(b, rows, n)
		}
	})
}
