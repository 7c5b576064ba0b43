package controldb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestChosenTargetsAreCheckedBeforeTheLock: thousands of chosen databases are compared with the
// members of target groups before the job is locked, and again if the job has changed meanwhile.
func TestChosenTargetsAreCheckedBeforeTheLock(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		c.exec(t, `EXEC jobs.sp_add_target_group N'h';
EXEC jobs.sp_add_target_group_member N'h', @target_type = N'SqlServer', @server_name = N's2', @refresh_credential_name = N'r';`)
		const (
			inG      = `EXEC jobs.sp_start_job N'j', @only_targets = N'[{"target_id": "00000000-0000-0000-0000-0000000000f1", "server_name": "s", "database_name": "a"}]';`
			nowhere  = `EXEC jobs.sp_start_job N'j', @only_targets = N'[{"target_id": "00000000-0000-0000-0000-0000000000f2", "server_name": "s9", "database_name": "a"}]';`
			lockWait = 1222
			noMatch  = 50162
		)
		change, err := c.db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer change.Rollback()
		_, err = change.ExecContext(t.Context(), `EXEC jobs.sp_update_jobstep N'j', @step_id = 1, @target_group_name = N'h';`)
		require.NoError(t, err)

		c.fails(t, noMatch, `SET LOCK_TIMEOUT 0; `+nowhere)
		c.fails(t, lockWait, `SET LOCK_TIMEOUT 0; `+inG)

		done := make(chan error, 1)
		go func() {
			_, err := c.db.ExecContext(t.Context(), `SET LOCK_TIMEOUT -1; `+inG)
			done <- err
		}()
		waits := func() bool {
			return get[int](t, c, `SELECT COUNT(*) FROM sys.dm_exec_requests WHERE blocking_session_id <> 0`) > 0
		}
		for deadline := time.Now().Add(time.Minute); !waits(); <-time.After(10 * time.Millisecond) {
			require.True(t, time.Now().Before(deadline), "the start does not wait for the change of the job")
		}
		require.NoError(t, change.Commit())
		require.ErrorContains(t, <-done, "1 of the 1 chosen targets matches no database", "of the version that is current now")
		require.Zero(t, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions`))
	})
}
