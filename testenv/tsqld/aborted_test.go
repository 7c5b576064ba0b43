package tsqld

import (
	"context"
	"database/sql"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"
)

// TestEndOfTransactionComesBeforeTheError: with XACT_ABORT, an error ends the transaction. The
// driver stops reading at the end of the statement, and must know by then that the transaction has
// ended; otherwise its next request names the transaction (error 3989).
func TestEndOfTransactionComesBeforeTheError(t *testing.T) {
	t.Parallel()
	s, err := New(Config{SAPassword: "secret"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
	connector, err := mssql.NewConnector("sqlserver://sa:secret@tsqld?encrypt=disable")
	require.NoError(t, err)
	connector.Dialer = s.Dialer()
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "SET XACT_ABORT ON;")
	require.NoError(t, err)
	tx, err := conn.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), "SELECT 1 / 0;")
	require.ErrorContains(t, err, "Divide by zero")
	require.NoError(t, tx.Rollback())
	var n int
	require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@TRANCOUNT;").Scan(&n))
	require.Zero(t, n)
}
