package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// revision returns the revision of a job.
func (c *control) revision(t *testing.T, job string) int {
	t.Helper()
	return c.number(t, `SELECT revision FROM jobs.job_details WHERE job_name = @p1`, job)
}

// number returns the only value of a query.
func (c *control) number(t *testing.T, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, c.db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// TestRevisionsOfJobs: each change of a job, its steps or its schedules raises its revision; one
// that changes nothing does not, and makes no version.
func TestRevisionsOfJobs(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j', N'about';
EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'a', @command = N'SELECT 1', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'b', @command = N'SELECT 1', @target_group_name = N'g';
EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'c', @command = N'SELECT 1', @target_group_name = N'g';
EXEC jobs.sp_add_schedule @job_name = N'j', @schedule_name = N's', @kind = N'cron5', @spec = N'0 0 * * *', @parameters = N'{"a":1}';`)
		revision := c.revision(t, "j")
		version := c.number(t, `SELECT job_version FROM jobs.jobs`)
		steps := `SELECT step_name, revision FROM jobs.jobstep_options WHERE is_current = 1 ORDER BY step_id`
		for _, same := range []string{
			`sp_update_job N'j', N'j', N'about', 0, N'once', 1, '0001-01-01', '9999-12-31T11:59:59'`,
			`sp_update_jobstep @job_name = N'j', @step_name = N'a', @command = N'SELECT 1', @target_group_name = N'g', @retry_attempts = 10`,
			`sp_update_jobstep @job_name = N'j', @step_name = N'b', @new_id = 2, @after = N'(default)', @run_when = N'succeeded', @on_targets = N'ALL'`,
			`sp_set_jobstep_options @job_name = N'j', @step_name = N'b', @at_most_once = 0, @on_unknown_outcome = N'RETRY'`,
			`sp_update_schedule @job_name = N'j', @schedule_name = N's', @kind = N'CRON5', @spec = N'0 0 * * *', @enabled = 1, @parameters = N'{"a":1}'`,
			`sp_enable_schedule @job_name = N'j', @schedule_name = N's'`,
			`sp_pause_schedule @job_name = N'j', @schedule_name = N's', @paused = 0`,
		} {
			c.exec(t, "DECLARE @before DATETIME2 = (SELECT MAX(updated_at) FROM jobs_internal.schedules); EXEC jobs."+same+
				"; IF @before <> (SELECT MAX(updated_at) FROM jobs_internal.schedules) THROW 60000, N'updated', 1;")
			require.Equal(t, revision, c.revision(t, "j"), same)
			require.Equal(t, version, c.number(t, `SELECT MAX(job_version) FROM jobs.job_versions`), same)
		}
		before := c.rows(t, steps)
		for _, change := range []struct{ call, step string }{
			{`sp_update_job @job_name = N'j', @new_name = N'J'`, ""},
			{`sp_update_job @job_name = N'j', @description = N'About'`, ""},
			{`sp_update_job @job_name = N'j', @description = N'About '`, ""},
			{`sp_update_job @job_name = N'j', @enabled = 1`, ""},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'a', @new_name = N'A'`, "A"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'a', @command = N'select 1'`, "A"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'a', @output_subscription_id = '00000000-0000-0000-0000-000000000001'`, "A"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'a', @output_subscription_id = '00000000-0000-0000-0000-000000000000'`, "A"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'b', @retry_interval_backoff_multiplier = 2.5`, "b"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'c', @after = N'A'`, "c"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'c', @after = N'A,b'`, "c"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'c', @after = N'b'`, "c"},
			{`sp_update_jobstep @job_name = N'j', @step_name = N'c', @after = N''`, "c"},
			{`sp_set_jobstep_options @job_name = N'j', @step_name = N'c', @bind_parameters = 1`, "c"},
			{`sp_update_schedule @job_name = N'j', @schedule_name = N's', @parameters = N'{"a":2}'`, ""},
			{`sp_update_schedule @job_name = N'j', @schedule_name = N's', @overlap = N'BufferOne'`, ""},
			{`sp_update_schedule @job_name = N'j', @schedule_name = N'', @parameters = N'{"a":2}'`, ""},
			{`sp_pause_schedule @job_name = N'j', @schedule_name = N's'`, ""},
			{`sp_pause_schedule @job_name = N'j', @schedule_name = N's', @paused = 0`, ""},
			{`sp_enable_schedule @job_name = N'j', @schedule_name = N's', @enabled = 0`, ""},
			{`sp_delete_schedule @job_name = N'j', @schedule_name = N's'`, ""},
		} {
			c.exec(t, "EXEC jobs."+change.call)
			now := c.revision(t, "j")
			require.Greater(t, now, revision, change.call)
			revision = now
			after := c.rows(t, steps)
			for i, row := range after {
				name := []string{"A", "b", "c"}[i]
				if name == change.step {
					require.NotEqual(t, before[i], row, change.call)
				} else {
					require.Equal(t, before[i], row, change.call)
				}
			}
			before = after
		}
		// Steps that move have changed, too.
		c.exec(t, `EXEC jobs.sp_delete_jobstep @job_name = N'j', @step_name = N'b'`)
		after := c.rows(t, steps)
		require.Equal(t, before[0], after[0])
		require.NotEqual(t, before[2], after[1])
	})
}

// TestIfMatch: a change of another revision than the expected one does nothing.
func TestIfMatch(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j', N'about';
EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'a', @command = N'SELECT 1', @target_group_name = N'g';`)
		for _, call := range []string{
			`jobs.sp_update_job @job_name = N'j', @description = N'x'`,
			`jobs.sp_update_jobstep @job_name = N'j', @command = N'SELECT 2'`,
			`jobs.sp_set_jobstep_options @job_name = N'j', @at_most_once = 1`,
			`jobs.sp_delete_jobstep @job_name = N'j', @step_name = N'a'`,
			`jobs.sp_delete_job @job_name = N'j'`,
			`jobs.sp_delete_target_group @target_group_name = N'g'`,
		} {
			message := c.fails(t, 50203, "EXEC "+call+", @if_match = 7")
			require.Contains(t, message, "not 7", call)
			c.fails(t, 50203, "EXEC "+call+", @if_match = 0")
		}
		require.Equal(t, []string{"j|about|2"}, c.rows(t, `SELECT job_name, description, revision FROM jobs.job_details`))
		c.exec(t, `EXEC jobs.sp_update_job @job_name = N'j', @description = N'x', @if_match = 2`)
		c.exec(t, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_name = N'a', @command = N'SELECT 2', @if_match = 2`)
		c.exec(t, `EXEC jobs.sp_delete_jobstep @job_name = N'j', @step_name = N'a', @if_match = 4`)
		c.exec(t, `EXEC jobs.sp_delete_job @job_name = N'j', @if_match = -1`)
		require.Equal(t, 1, c.number(t, `SELECT revision FROM jobs.target_group_revisions`))
		c.exec(t, `DECLARE @id UNIQUEIDENTIFIER; EXEC jobs.sp_add_target_group_member N'g', NULL, N'SqlServer', NULL, N's', @target_id = @id OUTPUT;
EXEC jobs.sp_delete_target_group_member N'g', @id;`)
		require.Equal(t, 3, c.number(t, `SELECT revision FROM jobs.target_group_revisions`))
		c.exec(t, `EXEC jobs.sp_delete_target_group N'g', @if_match = 3`)
	})
}
