package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestEmbeddedServerMigratesItsData opens a data directory whose control database has another procedure than this program's, as after
// an update of the program.
func TestEmbeddedServerMigratesItsData(t *testing.T) {
	dir, password := t.TempDir(), randomPassword()
	server, err := startEmbedded(t.Context(), dir, "127.0.0.1:0", password, "disable", zap.NewNop())
	require.NoError(t, err)
	db, err := server.open(controlDatabase)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE OR ALTER PROCEDURE jobs.sp_stop_job @job_execution_id UNIQUEIDENTIFIER = NULL AS RETURN 1;")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE jobs_internal.code_objects SET sha256 = REPLICATE('0', 64) WHERE name = N'jobs.sp_stop_job';")
	require.NoError(t, err)
	require.Error(t, server.store.Verify(t.Context()))
	require.NoError(t, db.Close())
	require.NoError(t, server.close())

	server, err = startEmbedded(t.Context(), dir, "127.0.0.1:0", password, "disable", zap.NewNop())
	require.NoError(t, err)
	require.NoError(t, server.store.Verify(t.Context()))
	require.NoError(t, server.close())
}
