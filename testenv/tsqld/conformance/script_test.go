package conformance

import (
	"context"
	"database/sql"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golang-sql/sqlexp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/testenv/script"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pipe dials a server in this process.
type pipe struct{ srv *tsqld.Server }

// DialContext implements mssql.Dialer.
func (p pipe) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return p.srv.Dialer().DialContext(ctx, network, addr)
}

// HostName implements mssql.HostDialer: the name is not resolved.
func (p pipe) HostName() string { return "tsqld" }

// open starts a server and returns a connection to its database work.
func open(t *testing.T) *sql.Conn {
	t.Helper()
	conn, err := workPool(t).Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return conn
}

// workPool starts a server with the database work and opens a pool on that database.
func workPool(t *testing.T) *sql.DB {
	t.Helper()
	srv := server(t)
	master := pool(t, srv, "master")
	_, err := master.ExecContext(t.Context(), "CREATE DATABASE work")
	require.NoError(t, err)
	require.NoError(t, master.Close())
	return pool(t, srv, "work")
}

// TestScripts runs testdata/*.txt.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			work := workPool(t)
			script.Run(t, file, "embedded", func(t testing.TB, _ string) script.Session { return script.Connect(t, work) })
		})
	}
}

// ends counts the statements whose end the client sees.
func ends(ctx context.Context, t *testing.T, conn *sql.Conn, batch string) int {
	t.Helper()
	var messages sqlexp.ReturnMessage
	rows, err := conn.QueryContext(ctx, batch, &messages)
	require.NoError(t, err)
	defer rows.Close()
	n := 0
	for more := true; more; {
		switch m := messages.Message(ctx).(type) {
		case sqlexp.MsgError:
			require.NoError(t, m.Error)
		case sqlexp.MsgNextResultSet:
			n++
			more = rows.NextResultSet()
		}
	}
	require.NoError(t, rows.Err())
	return n - 1 // the driver adds one at the very end
}
