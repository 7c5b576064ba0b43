package conformance

import (
	"context"
	"database/sql"
	"net"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// TestResetWhileImpersonating: a connection that is reset under EXECUTE AS ends with error 18059,
// so that no user of a pool gets the identity of the one before. The end of a text of sp_executesql
// ends its impersonation, also after an error. A reset clears the context of the session.
func TestResetWhileImpersonating(t *testing.T) {
	db := workPool(t)
	db.SetMaxOpenConns(1)
	_, err := db.ExecContext(t.Context(), "CREATE USER u WITHOUT LOGIN;")
	require.NoError(t, err)
	who := func() (name string, err error) {
		err = db.QueryRowContext(t.Context(), "SELECT CONCAT(USER_NAME(), CAST(SESSION_CONTEXT(N'k') AS NVARCHAR(9)));").Scan(&name)
		return name, err
	}
	for _, end := range []string{"SELECT 1;", "THROW 50000, N'x', 1;", "SELECT 1 / 0;"} {
		_, _ = db.ExecContext(t.Context(), "SET XACT_ABORT ON; EXECUTE sp_set_session_context N'k', N'v', 1; EXECUTE AS USER = @u; "+end, sql.Named("u", "u"))
		name, err := who()
		require.NoError(t, err, end)
		require.Equal(t, "dbo", name, end)
	}
	_, err = db.ExecContext(t.Context(), "EXECUTE AS USER = N'u';")
	require.NoError(t, err)
	_, err = who()
	var e mssql.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, int32(18059), e.Number)
	name, err := who()
	require.NoError(t, err, "on another connection")
	require.Equal(t, "dbo", name)
}

// TestConnectionProperty: the addresses of a connection.
func TestConnectionProperty(t *testing.T) {
	const query = `SELECT CAST(CONNECTIONPROPERTY('client_net_address') AS VARCHAR(48)), CAST(CONNECTIONPROPERTY('local_net_address') AS VARCHAR(48)),
    CAST(CONNECTIONPROPERTY('local_tcp_port') AS INT), (SELECT c.client_net_address FROM sys.dm_exec_connections AS c WHERE c.session_id = @@SPID);`
	var client, view string
	var local sql.NullString
	var port sql.NullInt64
	require.NoError(t, workPool(t).QueryRowContext(t.Context(), query).Scan(&client, &local, &port, &view))
	require.Equal(t, []string{"<local machine>", "<local machine>"}, []string{client, view})
	require.False(t, local.Valid || port.Valid)

	srv, err := tsqld.New(tsqld.Config{SAPassword: "secret", Record: strict.Watch(t)})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	db, err := sql.Open("sqlserver", "sqlserver://sa:secret@"+l.Addr().String()+"?encrypt=disable")
	require.NoError(t, err)
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&client, &local, &port, &view))
	require.NoError(t, db.Close())
	require.Equal(t, []string{"127.0.0.1", "127.0.0.1", "127.0.0.1"}, []string{client, local.String, view})
	require.EqualValues(t, l.Addr().(*net.TCPAddr).Port, port.Int64)
	require.NoError(t, srv.Close(context.WithoutCancel(t.Context())))
	<-served
}
