package script_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// TestTwoSessionsAtOnce calls each procedure from two sessions at the same moment, over and over: one of them may win, or both, but
// nothing is done twice, nothing by halves, and the one that loses gets the documented error.
func TestTwoSessionsAtOnce(t *testing.T) {
	const rounds = 10
	cases := []struct {
		name  string
		setup string // before each round; %d is the round
		call  string // by both sessions
		loser int32  // the error of the one that comes second; 0: there is none
		check string // a query that returns what is wrong, if anything
	}{
		{
			name:  "sp_add_job",
			call:  `EXEC jobs.sp_add_job N'job %d';`,
			loser: 50101,
			check: `SELECT job_name FROM jobs.jobs GROUP BY job_name HAVING COUNT(*) > 1;`,
		},
		{
			name:  "sp_update_job",
			setup: `EXEC jobs.sp_add_job N'old %d';`,
			call:  `EXEC jobs.sp_update_job N'old %[1]d', @new_name = N'new %[1]d', @enabled = 1;`,
			loser: 50100,
			check: `SELECT job_name FROM jobs.jobs WHERE job_name LIKE N'old %' OR (job_name LIKE N'new %' AND enabled = 0);`,
		},
		{
			name:  "sp_delete_job",
			setup: `EXEC jobs.sp_add_job N'd %d';`,
			call:  `EXEC jobs.sp_delete_job N'd %d', 1;`,
			loser: 50100,
			check: `SELECT name FROM jobs_internal.jobs WHERE name LIKE N'd %';`,
		},
		{
			name:  "sp_add_jobstep",
			setup: `EXEC jobs.sp_add_job N's %d';`,
			call: `DECLARE @name NVARCHAR(128) = CONVERT(NVARCHAR(36), NEWID());
EXEC jobs.sp_add_jobstep N's %d', 1, @name, @command = N'SELECT 1;', @target_group_name = N'g';`,
			check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N's %'
AND (j.job_version <> 2 OR (SELECT COUNT(*) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id AND s.step_id IN (1, 2)) <> 2);`,
		},
		{
			name: "sp_update_jobstep",
			setup: `EXEC jobs.sp_add_job N'u %[1]d';
EXEC jobs.sp_add_jobstep N'u %[1]d', NULL, N'a', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep N'u %[1]d', NULL, N'b', @command = N'SELECT 1;', @target_group_name = N'g';`,
			call: `EXEC jobs.sp_update_jobstep N'u %d', @step_id = 1, @new_id = 2;`,
			check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N'u %'
AND (j.job_version <> 4 OR (SELECT MIN(s.step_name) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id AND s.step_id = 1) <> N'a');`,
		},
		{
			name: "sp_delete_jobstep",
			setup: `EXEC jobs.sp_add_job N'x %[1]d';
EXEC jobs.sp_add_jobstep N'x %[1]d', NULL, N'a', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep N'x %[1]d', NULL, N'b', @command = N'SELECT 1;', @target_group_name = N'g';`,
			call:  `EXEC jobs.sp_delete_jobstep N'x %d', @step_name = N'a';`,
			loser: 50104,
			check: `SELECT j.job_name FROM jobs.jobs AS j WHERE j.job_name LIKE N'x %'
AND (j.job_version <> 3 OR (SELECT COUNT(*) FROM jobs.jobsteps AS s WHERE s.job_id = j.job_id) <> 1);`,
		},
		{
			name: "sp_start_job",
			setup: `EXEC jobs.sp_add_job N'r %[1]d';
EXEC jobs.sp_add_jobstep N'r %[1]d', @command = N'SELECT 1;', @target_group_name = N'g';`,
			call:  `EXEC jobs.sp_start_job N'r %[1]d', '00000000-0000-0000-0000-%012[1]d';`,
			check: `SELECT job_name FROM jobs.job_executions GROUP BY job_name HAVING COUNT(*) <> 1;`,
		},
		{
			name: "sp_stop_job",
			setup: `EXEC jobs.sp_add_job N't %[1]d';
EXEC jobs.sp_add_jobstep N't %[1]d', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_start_job N't %[1]d', '10000000-0000-0000-0000-%012[1]d';`,
			call:  `EXEC jobs.sp_stop_job '10000000-0000-0000-0000-%012d';`,
			check: `SELECT j.name FROM jobs_internal.jobs AS j INNER JOIN jobs_internal.job_executions AS e ON e.job_id = j.job_id WHERE j.name LIKE N't %' AND e.stop_requested_at IS NULL;`,
		},
		{
			name:  "sp_add_target_group",
			call:  `EXEC jobs.sp_add_target_group N'group %d';`,
			loser: 50107,
			check: `SELECT target_group_name FROM jobs.target_groups GROUP BY target_group_name HAVING COUNT(*) > 1;`,
		},
		{
			name:  "sp_add_target_group_member",
			setup: `EXEC jobs.sp_add_target_group N'members %d';`,
			call:  `EXEC jobs.sp_add_target_group_member N'members %d', @target_type = N'SqlServer', @server_name = N's';`,
			check: `SELECT target_group_name FROM jobs.target_group_members WHERE target_group_name LIKE N'members %' GROUP BY target_group_name HAVING COUNT(*) <> 2;`,
		},
		{
			name:  "sp_delete_target_group",
			setup: `EXEC jobs.sp_add_target_group N'gone %d';`,
			call:  `EXEC jobs.sp_delete_target_group N'gone %d';`,
			loser: 50106,
			check: `SELECT target_group_name FROM jobs.target_groups WHERE target_group_name LIKE N'gone %';`,
		},
		{
			name: "sp_delete_target_group_member",
			setup: `EXEC jobs.sp_add_target_group N'one %[1]d';
EXEC jobs.sp_add_target_group_member N'one %[1]d', @target_type = N'SqlServer', @server_name = N's';`,
			call: `DECLARE @id UNIQUEIDENTIFIER = (SELECT target_id FROM jobs.target_group_members WHERE target_group_name = N'one %[1]d');
IF @id IS NOT NULL EXEC jobs.sp_delete_target_group_member N'one %[1]d', @id;`,
			loser: 50110,
			check: `SELECT target_group_name FROM jobs.target_group_members WHERE target_group_name LIKE N'one %';`,
		},
		{
			name: "sp_purge_jobhistory",
			setup: `EXEC jobs.sp_add_job N'h %[1]d';
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, end_time)
SELECT NEWID(), job_id, 0, N'Succeeded', 0, '2026-01-01', '2026-01-01' FROM jobs.jobs WHERE job_name = N'h %[1]d';`,
			call:  `EXEC jobs.sp_purge_jobhistory N'h %d';`,
			check: `SELECT job_name FROM jobs.job_executions WHERE job_name LIKE N'h %';`,
		},
	}
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		_, database := env.Control(t)
		db := env.DB(t, database)
		exec := func(ctx context.Context, text string) error {
			_, err := db.ExecContext(ctx, text)
			return err
		}
		require.NoError(t, exec(t.Context(), "EXEC jobs.sp_add_target_group N'g';"))
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				for round := range rounds {
					if c.setup != "" {
						require.NoError(t, exec(t.Context(), fmt.Sprintf(c.setup, round)))
					}
					var errs [2]error
					var wg sync.WaitGroup
					for i := range errs {
						wg.Go(func() { errs[i] = exec(t.Context(), fmt.Sprintf(c.call, round)) })
					}
					wg.Wait()
					failed := 0
					for _, err := range errs {
						if err == nil {
							continue
						}
						failed++
						var e mssql.Error
						require.True(t, errors.As(err, &e), "%v", err)
						require.Equal(t, c.loser, e.Number, "%v", err)
					}
					require.LessOrEqual(t, failed, 1)
				}
				rows, err := db.QueryContext(t.Context(), c.check)
				require.NoError(t, err)
				defer rows.Close()
				for rows.Next() {
					var wrong string
					require.NoError(t, rows.Scan(&wrong))
					t.Errorf("wrong: %s", wrong)
				}
				require.NoError(t, rows.Err())
			})
		}
		env.CheckInvariants(t, database, false)
	})
}
