package conformance

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// pool opens a pool on a server.
func pool(t *testing.T, srv *tsqld.Server, database string) *sql.DB {
	t.Helper()
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable&database=" + database)
	require.NoError(t, err)
	connector.Dialer = pipe{srv}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

// server starts a server.
func server(t *testing.T) *tsqld.Server {
	t.Helper()
	srv, err := tsqld.New(tsqld.Config{SAPassword: "secret", Record: strict.Watch(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close(context.Background())) })
	return srv
}

// TestKillClosesTheSocket checks that a pool notices that a session was killed, and that the
// database is free at once. Documentation: KILL, "ends a user process"; ALTER DATABASE SET options,
// ROLLBACK IMMEDIATE.
func TestKillClosesTheSocket(t *testing.T) {
	srv, ctx := server(t), context.Background()
	admin := pool(t, srv, "master")
	admin.SetMaxOpenConns(1)
	_, err := admin.ExecContext(ctx, "CREATE DATABASE work")
	require.NoError(t, err)
	work := pool(t, srv, "work")
	work.SetMaxOpenConns(1)
	var spid int
	require.NoError(t, work.QueryRowContext(ctx, "SELECT @@SPID").Scan(&spid))
	_, err = admin.ExecContext(ctx, fmt.Sprintf("KILL %d", spid))
	require.NoError(t, err)
	_, err = work.ExecContext(ctx, "CREATE TABLE t (a int)")
	require.NoError(t, err, "the pool does not use the killed connection")
	_, err = admin.ExecContext(ctx, "ALTER DATABASE work SET SINGLE_USER WITH ROLLBACK IMMEDIATE; DROP DATABASE work")
	require.NoError(t, err)
	var n int
	require.NoError(t, admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM sys.dm_exec_sessions").Scan(&n))
	require.Equal(t, 1, n)
}

// TestKillOfARunningRequest checks that the killed session gets error 596, and that its locks are
// free before it has closed its socket.
func TestKillOfARunningRequest(t *testing.T) {
	srv, ctx := server(t), context.Background()
	admin := pool(t, srv, "master")
	_, err := admin.ExecContext(ctx, "CREATE TABLE t (a int)")
	require.NoError(t, err)
	victim, err := pool(t, srv, "master").Conn(ctx)
	require.NoError(t, err)
	var spid int
	require.NoError(t, victim.QueryRowContext(ctx, "BEGIN TRAN; INSERT t VALUES (1); SELECT @@SPID").Scan(&spid))
	ended := make(chan error)
	go func() {
		_, err := victim.ExecContext(ctx, "WAITFOR DELAY '01:00:00'")
		ended <- err
	}()
	_, err = admin.ExecContext(ctx, fmt.Sprintf(`WHILE NOT EXISTS (SELECT 1 FROM sys.dm_exec_requests WHERE session_id = %[1]d) WAITFOR DELAY '00:00:00.001';
		KILL %[1]d; SET LOCK_TIMEOUT 0; INSERT t VALUES (2); SET LOCK_TIMEOUT -1`, spid))
	require.NoError(t, err)
	var me mssql.Error
	require.ErrorAs(t, <-ended, &me)
	require.EqualValues(t, 596, me.Number)
	require.Equal(t, "mssql: Cannot continue the execution because the session is in the kill state. (596)", me.Error())
	require.ErrorContains(t, victim.PingContext(ctx), "bad connection")
}
