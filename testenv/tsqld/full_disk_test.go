package tsqld

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/strict"
)

// newRealServer starts a server with the real engine, and closes it at the test's end.
func newRealServer(t *testing.T, cfg Config) *fixture {
	t.Helper()
	cfg.SAPassword = "secret"
	if cfg.OnPanic == nil {
		cfg.OnPanic = func(v any, stack []byte) { t.Errorf("panic: %v\n%s", v, stack) }
	}
	if cfg.OnError == nil {
		cfg.OnError = func(err error) { t.Logf("internal error: %v", err) }
	}
	if cfg.Record == nil {
		cfg.Record = strict.Watch(t)
	}
	s, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return &fixture{Server: s}
}

// A transaction that cannot be committed on a full disk is rolled back, and the client is notified:
// its next request does not carry the transaction's descriptor.
func TestCommitOnAFullDisk(t *testing.T) {
	t.Parallel()
	var full atomic.Bool
	f := newRealServer(t, Config{Fault: func(p Point) error {
		if p.Kind == BeforeCommit && full.Load() {
			return errors.New("no space left")
		}
		return nil
	}})
	c := f.oneConn(t)
	ctx := t.Context()
	_, err := c.ExecContext(ctx, "CREATE DATABASE d")
	require.NoError(t, err)
	_, err = c.ExecContext(ctx, "USE d; CREATE TABLE t (a int)")
	require.NoError(t, err)
	_, err = c.ExecContext(ctx, `CREATE PROCEDURE p AS
SET XACT_ABORT, NOCOUNT ON;
BEGIN TRY
    BEGIN TRANSACTION;
    INSERT t VALUES (1);
    COMMIT;
END TRY
BEGIN CATCH
    IF @@TRANCOUNT > 0 ROLLBACK;
    THROW;
END CATCH`)
	require.NoError(t, err)
	for name, spoil := range map[string]func() error{
		"procedure":       func() error { _, err := c.ExecContext(ctx, "EXEC p"); return err },
		"remote call":     func() error { _, err := c.ExecContext(ctx, "p"); return err },
		"batch":           func() error { _, err := c.ExecContext(ctx, "BEGIN TRAN; INSERT t VALUES (1); COMMIT"); return err },
		"statement":       func() error { _, err := c.ExecContext(ctx, "INSERT t VALUES (1)"); return err },
		"client's commit": func() error { return inTransaction(ctx, c, "INSERT t VALUES (1)") },
	} {
		full.Store(true)
		require.Equal(t, int32(1105), number(spoil()), name)
		full.Store(false)
		require.Equal(t, 0, selectInt(t, c, "SELECT @@TRANCOUNT + COUNT(*) FROM t"), name)
	}
	_, err = c.ExecContext(ctx, "EXEC p")
	require.NoError(t, err)
	require.Equal(t, 1, selectInt(t, c, "SELECT COUNT(*) FROM t"))
}

// inTransaction runs a statement in a transaction of the client.
func inTransaction(ctx context.Context, c *sql.Conn, statement string) error {
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, statement); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
