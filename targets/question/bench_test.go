package question_test

import (
	"database/sql"
	"net"
	"strings"
	"testing"

	mssqldb "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// BenchmarkTarget compares a question of one database with the bare driver: a login, a SELECT, and
// the end of the session. `jobagent bench query` measures many databases.
func BenchmarkTarget(b *testing.B) {
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, server.Close(b.Context())) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	go server.Serve(listener) // until the listener is closed
	const text = "SELECT COUNT(*) AS objects FROM sys.objects;"
	set, err := mssql.NewCredentialSet(mssql.LoginCredential("default", "sa", "secret", "*"))
	require.NoError(b, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable"})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, servers.Close()) })
	list := []targets.Target{targets.NewTarget(strings.Replace(listener.Addr().String(), ":", ",", 1), "master", "")}
	b.Run("question", func(b *testing.B) {
		q := reading(b, text)
		for b.Loop() {
			sum, err := q.Ask(b.Context(), servers, list, &lines{})
			require.NoError(b, err)
			require.EqualValues(b, 1, sum.Rows)
		}
	})
	b.Run("bare", func(b *testing.B) {
		params, err := msdsn.Parse("sqlserver://sa:secret@" + listener.Addr().String() + "?encrypt=disable&database=master")
		require.NoError(b, err)
		for b.Loop() {
			db := sql.OpenDB(mssqldb.NewConnectorConfig(params))
			n := 0
			require.NoError(b, db.QueryRow(text).Scan(&n))
			require.NoError(b, db.Close())
		}
	})
}
