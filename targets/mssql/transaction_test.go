package mssql

import (
	"bytes"
	"context"
	"database/sql"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// A session whose transaction was ended by an error takes the next batch, on the same connection.
func TestSessionAfterATransactionEndedByAnError(t *testing.T) {
	t.Parallel()
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret"})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(t.Context())) }()
	connector, err := NewConnector("sqlserver://sa:secret@h?encrypt=disable", server.Dialer())
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	defer func() { require.NoError(t, db.Close()) }()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SET XACT_ABORT ON; BEGIN TRANSACTION; DECLARE @n INT = 1/0; PRINT 'not reached';")
	require.ErrorContains(t, err, "zero")
	var n int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@TRANCOUNT").Scan(&n))
	require.Zero(t, n)
}

// The next request after an error names no transaction that the server has ended, even if the
// server says so behind the DONE of the error.
func TestRequestAfterATransactionEndedByAnError(t *testing.T) {
	t.Parallel()
	begun := []byte{0xE3, 11, 0, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0}
	ended := []byte{0xE3, 11, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8}
	failed := hostile.Message(8134, 16, "zero")
	for name, answer := range map[string][][]byte{
		"before DONE": {begun, failed, ended, hostile.Done(2, 0)},
		"behind DONE": {begun, failed, hostile.Done(1|2, 0), ended, hostile.Done(0, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heard := make(chan []byte, 4)
			connector, err := NewConnector("sqlserver://sa:secret@h?encrypt=disable", dialerFunc(func(c net.Conn) {
				for _, answer := range [][]byte{
					{0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 0xFF, 16, 0, 0, 0, 0, 0, 2}, // PRELOGIN: no encryption
					bytes.Join([][]byte{{0xAD, 16, 0, 1, 0x74, 0, 0, 4, 3}, ucs2("sql"), {16, 0, 0, 0}, hostile.Done(0, 0)}, nil),
					bytes.Join(answer, nil),
					hostile.Done(0, 0),
				} {
					_, body, err := readPacket(c)
					if err != nil {
						return
					}
					heard <- body
					writePacket(c, answer)
				}
				_, _, _ = readPacket(c) // until the client disconnects
			}))
			require.NoError(t, err)
			db := sql.OpenDB(connector)
			defer func() { require.NoError(t, db.Close()) }()
			conn, err := db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			_, err = conn.ExecContext(t.Context(), "first")
			require.ErrorContains(t, err, "zero")
			_, err = conn.ExecContext(t.Context(), "second")
			require.NoError(t, err)
			<-heard
			<-heard
			for range 2 {
				descriptor := (<-heard)[10:18] // MS-TDS 2.2.5.3.2, after two lengths and a type
				require.Equal(t, make([]byte, 8), descriptor)
			}
		})
	}
}

func (dialerFunc) HostName() string { return "" }

// The driver does not wait for the answer to a rollback under a context that has ended. SQL Server
// drops a connection that gets another request meanwhile (17886), so that the pool must not use it
// again.
func TestRollbackWithoutAnAnswerEndsTheSession(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	server, err := tsqld.New(tsqld.Config{SAPassword: "secret", Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement && p.Request == "TM_ROLLBACK_XACT" {
			close(begun)
			<-release
		}
		return nil
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, server.Close(context.Background())) }()
	defer close(release)
	n := fault.NewNetwork(server.Dialer(), nil)
	connector, err := NewConnector("sqlserver://sa:secret@h?encrypt=disable", n)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	defer func() { require.NoError(t, db.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	_, err = db.BeginTx(ctx, nil)
	require.NoError(t, err)
	cancel() // package sql rolls back
	<-begun
	_, err = db.ExecContext(t.Context(), "SELECT 1;")
	require.NoError(t, err)
	require.Len(t, n.Dials(), 2)
}
