package controldb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
)

func TestAddJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		id, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "nightly"})
		require.NoError(t, err)
		jobs, err := catalog.On(c.Store).Jobs(t.Context(), "nightly")
		require.NoError(t, err)
		require.Equal(t, []catalog.Job{{
			ID: id, Name: "nightly", IntervalType: "Once", IntervalCount: 1,
			Start: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(9999, 12, 31, 11, 59, 59, 0, time.UTC),
		}}, jobs)
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT job_version FROM jobs.job_versions WHERE job_name = N'nightly'`))

		_, err = catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "nightly"})
		require.ErrorIs(t, err, dberror.ErrJobExists)
		require.ErrorContains(t, err, "'nightly'")

		c.exec(t, `DECLARE @id UNIQUEIDENTIFIER;
EXEC jobs.sp_add_job N'by position', N'about', 1, 'minutes', 15, '2030-01-01', '2031-01-01', @id OUTPUT;
IF @id <> (SELECT job_id FROM jobs.jobs WHERE job_name = N'by position') THROW 60000, N'other id', 1;`)
		require.Equal(
			t,
			[]string{"about|true|Minutes|15"},
			c.rows(
				t,
				`SELECT description, enabled, schedule_interval_type, schedule_interval_count FROM jobs.jobs WHERE job_name = N'BY POSITION'`,
			),
		)
	})
}

func TestAddJobRejectsInvalidArguments(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for _, test := range []struct {
			number int32
			args   string
		}{
			{201, ``},
			{50001, `@job_name = NULL`}, {50001, `@job_name = N''`}, {50001, `@job_name = N'  '`},
			{50002, `@job_name = N'50%'`}, {50003, `@job_name = N'JobAgent$x'`},
			{50004, `@job_name = N'x', @schedule_interval_type = N'Years'`},
			{50005, `@job_name = N'x', @schedule_interval_count = 0`},
			{50006, `@job_name = N'x', @schedule_start_time = '2030-01-02', @schedule_end_time = '2030-01-01'`},
			{8145, `@job_name = N'x', @nonsense = 1`},
		} {
			c.fails(t, test.number, `EXEC jobs.sp_add_job `+test.args)
		}
		require.Empty(t, c.rows(t, `SELECT job_name FROM jobs.jobs`))
	})
}

func TestUpdateJobKeepsOmittedValues(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_job @job_name = N'a', @description = N'about', @schedule_start_time = '2030-01-01'`)
		c.exec(t, `EXEC jobs.sp_add_job @job_name = N'b'`)
		const view = `SELECT description, enabled, schedule_interval_type, schedule_interval_count, CONVERT(NVARCHAR(19), schedule_start_time, 126), job_version FROM jobs.jobs WHERE job_name = @p1`
		c.exec(
			t,
			`EXEC jobs.sp_update_job @job_name = N'a', @enabled = 1, @schedule_interval_type = N'MINUTES', @schedule_interval_count = 15`,
		)
		require.Equal(t, []string{"about|true|Minutes|15|2030-01-01T00:00:00|0"}, c.rows(t, view, "a"))
		c.exec(t, `EXEC jobs.sp_update_job N'a', N'c', N''`)
		require.Equal(t, []string{"|true|Minutes|15|2030-01-01T00:00:00|0"}, c.rows(t, view, "c"))
		c.exec(t, `EXEC jobs.sp_update_job @job_name = N'c', @new_name = N'C'`)

		c.fails(t, 50100, `EXEC jobs.sp_update_job @job_name = N'a', @enabled = 1`)
		c.fails(t, 50101, `EXEC jobs.sp_update_job @job_name = N'c', @new_name = N'B'`)
		c.fails(t, 50002, `EXEC jobs.sp_update_job @job_name = N'c', @new_name = N'%'`)
		c.fails(t, 50001, `EXEC jobs.sp_update_job @job_name = NULL`)
		c.fails(t, 50005, `EXEC jobs.sp_update_job @job_name = N'c', @schedule_interval_count = -1, @description = N'half'`)
		c.fails(t, 50004, `EXEC jobs.sp_update_job @job_name = N'c', @schedule_interval_type = N'x'`)
		c.fails(t, 50006, `EXEC jobs.sp_update_job @job_name = N'c', @schedule_end_time = '2029-01-01'`)
		require.Equal(t, []string{"|true|Minutes|15|2030-01-01T00:00:00|0"}, c.rows(t, view, "c"), "nothing is half done")
	})
}

func TestSteps(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';`)
		const steps = `SELECT step_id, step_name, command, job_version FROM jobs.jobsteps ORDER BY step_id`
		c.exec(t, `EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'G'`)
		require.Equal(t, []string{"1|JobStep|SELECT 1|1"}, c.rows(t, steps))
		require.Equal(
			t,
			[]string{"TSql|Inline|NULL|g|1|120|2|10|43200|NULL|NULL|NULL"},
			c.rows(t, `SELECT command_type, command_source, credential_name, target_group_name,
initial_retry_interval_seconds, maximum_retry_interval_seconds, retry_interval_backoff_multiplier, retry_attempts, step_timeout_seconds, output_type, output_schema_name, max_parallelism FROM jobs.jobsteps`),
		)

		added, err := catalog.On(c.Store).AddJobStep(
			t.Context(),
			model.StepSpec{
				JobName:        "j",
				StepName:       ptr("first"),
				StepID:         ptr(1),
				Command:        new("SELECT 0"),
				TargetGroup:    new("g"),
				MaxParallelism: ptr(3),
			},
		)
		require.NoError(t, err)
		require.Equal(t, catalog.StepAdded{StepID: 1, JobVersion: 2}, added)
		added, err = catalog.On(c.Store).AddJobStep(
			t.Context(),
			model.StepSpec{JobName: "j", StepName: ptr("last"), Command: new("SELECT 2"), TargetGroup: new("g")},
		)
		require.NoError(t, err)
		require.Equal(t, catalog.StepAdded{StepID: 3, JobVersion: 3}, added)
		require.Equal(t, []string{"1|first|SELECT 0|3", "2|JobStep|SELECT 1|3", "3|last|SELECT 2|3"}, c.rows(t, steps))

		version, err := catalog.On(c.Store).UpdateJobStep(
			t.Context(),
			model.StepSpec{
				JobName:  "j",
				StepName: ptr("last"),
				NewID:    ptr(1),
				NewName:  ptr("new"),
				Command:  ptr("SELECT 3"),
			},
		)
		require.NoError(t, err)
		require.Equal(t, 4, version)
		require.Equal(t, []string{"1|new|SELECT 3|4", "2|first|SELECT 0|4", "3|JobStep|SELECT 1|4"}, c.rows(t, steps))
		version, err = catalog.On(c.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", StepID: ptr(1), NewID: ptr(2), MaxParallelism: ptr(5)})
		require.NoError(t, err)
		require.Equal(t, 5, version)
		require.Equal(t, []string{"1|first|SELECT 0|5", "2|new|SELECT 3|5", "3|JobStep|SELECT 1|5"}, c.rows(t, steps))
		require.Equal(t, 4, get[int](t, c, `SELECT COUNT(DISTINCT command_id) FROM jobs_internal.job_steps`), "each text is stored once")

		c.exec(
			t,
			`EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 2, @max_parallelism = -1, @output_type = N'sqldatabase', @output_server_name = N's', @output_database_name = N'd', @output_table_name = N't', @credential_name = N'k'`,
		)
		require.Equal(
			t,
			[]string{"NULL|SqlDatabase|s|d|dbo|t|k"},
			c.rows(
				t,
				`SELECT max_parallelism, output_type, output_server_name, output_database_name, output_schema_name, output_table_name, credential_name FROM jobs.jobsteps WHERE step_id = 2`,
			),
		)
		c.exec(
			t,
			`EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 2, @output_type = N'', @output_server_name = N'', @output_database_name = N'', @output_schema_name = N'', @output_table_name = N'', @output_credential_name = N''`,
		)
		require.Equal(
			t,
			[]string{"NULL|NULL|NULL|NULL|NULL|k"},
			c.rows(
				t,
				`SELECT output_type, output_server_name, output_database_name, output_schema_name, output_table_name, credential_name FROM jobs.jobsteps WHERE step_id = 2`,
			),
		)

		version, err = catalog.On(c.Store).DeleteJobStep(t.Context(), "j", nil, ptr("first"))
		require.NoError(t, err)
		require.Equal(t, 8, version)
		require.Equal(t, []string{"1|new|SELECT 3|8", "2|JobStep|SELECT 1|8"}, c.rows(t, steps))
		old, err := catalog.On(c.Store).JobSteps(t.Context(), "j", ptr(3))
		require.NoError(t, err)
		require.Len(t, old, 3)
		require.Equal(t, "SELECT 1", old[1].Command)
		require.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"},
			c.rows(t, `SELECT job_version FROM jobs.job_versions WHERE job_name = N'j' ORDER BY job_version`))
	})
}

func TestStepsRejectInvalidArguments(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j'; EXEC jobs.sp_add_job N'empty';
EXEC jobs.sp_add_jobstep N'j', NULL, N'one', N'tsql', N'INLINE', N'SELECT 1', NULL, N'g';
EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'two', @command = N'SELECT 2', @target_group_name = N'g';`)
		const add = `EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'x', @target_group_name = N'g'`
		for _, test := range []struct {
			number int32
			query  string
		}{
			{50100, `EXEC jobs.sp_add_jobstep @job_name = N'nope', @command = N'x', @target_group_name = N'g'`},
			{50001, `EXEC jobs.sp_add_jobstep @job_name = NULL, @command = N'x', @target_group_name = N'g'`},
			{50009, `EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'x', @target_group_name = N'g'`},
			{50009, `EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'x', @command = N'', @target_group_name = N'g'`},
			{50012, `EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'x', @command = N'x'`},
			{50106, `EXEC jobs.sp_add_jobstep @job_name = N'j', @step_name = N'x', @command = N'x', @target_group_name = N'nope'`},
			{50010, add}, {50010, add + `, @step_name = N''`}, {50105, add + `, @step_name = N'ONE'`},
			{50011, add + `, @step_name = N'x', @step_id = 0`}, {50011, add + `, @step_name = N'x', @step_id = 4`},
			{50007, add + `, @step_name = N'x', @command_type = N'PowerShell'`}, {50008, add + `, @step_name = N'x', @command_source = N'File'`},
			{50013, add + `, @step_name = N'x', @initial_retry_interval_seconds = 0`}, {50014, add + `, @step_name = N'x', @maximum_retry_interval_seconds = 2147484`},
			{50015, add + `, @step_name = N'x', @retry_interval_backoff_multiplier = 0.5`}, {50016, add + `, @step_name = N'x', @retry_attempts = -1`},
			{50017, add + `, @step_name = N'x', @step_timeout_seconds = 0`}, {50018, add + `, @step_name = N'x', @output_type = N'File'`},
			{50019, add + `, @step_name = N'x', @output_type = N'SqlDatabase', @output_server_name = N's', @output_database_name = N'd'`},
			{50020, add + `, @step_name = N'x', @max_parallelism = 0`},
			{50021, `EXEC jobs.sp_update_jobstep @job_name = N'j', @command = N'y'`},
			{50021, `EXEC jobs.sp_delete_jobstep @job_name = N'j'`},
			{50030, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @step_name = N'two', @command = N'y'`},
			{50104, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 3, @command = N'y'`},
			{50104, `EXEC jobs.sp_delete_jobstep @job_name = N'j', @step_name = N'three'`},
			{50104, `EXEC jobs.sp_delete_jobstep @job_name = N'empty', @step_id = 1`},
			{50011, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @new_id = 3`},
			{50105, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @new_name = N'TWO'`},
			{50020, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @max_parallelism = -2`},
			{50106, `EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 1, @target_group_name = N'nope'`},
		} {
			c.fails(t, test.number, test.query)
		}
		require.Contains(t, c.fails(t, 50021, `EXEC jobs.sp_delete_jobstep @job_name = N'j'`), "1 'one', 2 'two'")
		require.Equal(t, 2, get[int](t, c, `SELECT job_version FROM jobs.jobs WHERE job_name = N'j'`), "nothing is half done")
		require.Equal(t, 2, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.step_commands`))
	})
}

func TestTheOnlyStepNeedsNoName(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g';
EXEC jobs.sp_update_jobstep @job_name = N'j', @command = N'SELECT 2', @target_group_name = N'g';`)
		require.Equal(t, []string{"SELECT 2|2"}, c.rows(t, `SELECT command, job_version FROM jobs.jobsteps`))
		c.fails(t, 50021, `EXEC jobs.sp_delete_jobstep @job_name = N'j'`)
	})
}

func TestTargetGroups(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		id, err := targetgroups.On(c.Store).Add(t.Context(), "g")
		require.NoError(t, err)
		require.Equal(
			t,
			id,
			uuid.MustParse(
				get[string](t, c, `SELECT CONVERT(NVARCHAR(36), target_group_id) FROM jobs.target_groups WHERE target_group_name = N'g'`),
			),
		)
		c.fails(t, 50107, `EXEC jobs.sp_add_target_group N'G'`)
		c.fails(t, 50012, `EXEC jobs.sp_add_target_group N''`)

		c.exec(
			t,
			`EXEC jobs.sp_add_target_group_member N'g', @target_type = N'Sqldatabase', @server_name = N's', @database_name = N'd';
EXEC jobs.sp_add_target_group_member N'g', N'exclude', N'SqlElasticPool', N'refresh', N's', NULL, N'Pool-1';
EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlServer', @server_name = N's';
EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlShardMap', @server_name = N's', @database_name = N'm', @shard_map_name = N'map';`,
		)
		require.Equal(t, []string{
			"Exclude|SqlElasticPool|refresh|s|NULL|Pool-1|NULL", "Include|SqlDatabase|NULL|s|d|NULL|NULL",
			"Include|SqlServer|NULL|s|NULL|NULL|NULL", "Include|SqlShardMap|NULL|s|m|NULL|map",
		}, c.rows(t, `SELECT membership_type, target_type, refresh_credential_name, server_name, database_name, elastic_pool_name, shard_map_name
FROM jobs.target_group_member_details WHERE target_group_name = N'g' ORDER BY membership_type, target_type`))
		members, err := targetgroups.On(c.Store).Members(t.Context(), "g")
		require.NoError(t, err)
		require.Len(t, members, 4)
		for _, m := range members {
			require.NoError(t, m.Validate())
		}

		for _, test := range []struct {
			number int32
			args   string
		}{
			{50106, `N'nope', @target_type = N'SqlServer', @server_name = N's'`}, {50012, `NULL, @target_type = N'SqlServer', @server_name = N's'`},
			{50022, `N'g', N'maybe', N'SqlServer', @server_name = N's'`}, {50023, `N'g', @server_name = N's'`},
			{50023, `N'g', @target_type = N'Oracle', @server_name = N's'`}, {50024, `N'g', @target_type = N'SqlServer'`},
			{50024, `N'g', @target_type = N'SqlDatabase', @server_name = N's'`}, {50024, `N'g', @target_type = N'SqlElasticPool', @server_name = N's'`},
			{50024, `N'g', @target_type = N'SqlShardMap', @server_name = N's', @database_name = N'd'`},
			{50025, `N'g', @target_type = N'SqlServer', @server_name = N's', @database_name = N'd'`},
			{50025, `N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = N'd', @elastic_pool_name = N'p'`},
		} {
			c.fails(t, test.number, `EXEC jobs.sp_add_target_group_member `+test.args)
		}

		require.NoError(t, targetgroups.On(c.Store).DeleteMember(t.Context(), "g", members[0].ID))
		require.ErrorIs(t, targetgroups.On(c.Store).DeleteMember(t.Context(), "g", members[0].ID), dberror.ErrMemberNotFound)
		c.fails(t, 50026, `EXEC jobs.sp_delete_target_group_member N'g'`)
		c.fails(t, 50106, `EXEC jobs.sp_delete_target_group_member N'nope', 'B9A5E1C0-0000-0000-0000-000000000000'`)

		c.exec(
			t,
			`EXEC jobs.sp_add_job N'j'; EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g'; EXEC jobs.sp_add_target_group N'other';`,
		)
		err = targetgroups.On(c.Store).Delete(t.Context(), "g")
		require.ErrorIs(t, err, dberror.ErrGroupInUse)
		require.ErrorContains(t, err, "'JobStep' of the job 'j'")
		c.exec(t, `EXEC jobs.sp_start_job N'j'; EXEC jobs.sp_update_jobstep @job_name = N'j', @target_group_name = N'other';`)
		c.fails(t, 50109, `EXEC jobs.sp_delete_target_group N'g'`)
		c.exec(t, `EXEC jobs.sp_delete_job N'j', 1; EXEC jobs.sp_delete_target_group N'g';`)
		require.ErrorIs(t, targetgroups.On(c.Store).Delete(t.Context(), "g"), dberror.ErrGroupNotFound)
	})
}

func TestCallersTransaction(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `BEGIN TRANSACTION; EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g'; EXEC jobs.sp_start_job N'j'; ROLLBACK;`)
		require.Empty(t, c.rows(t, `SELECT job_name FROM jobs.jobs UNION ALL SELECT target_group_name FROM jobs.target_groups`))
		c.fails(t, 50100, `BEGIN TRANSACTION; EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_start_job N'j'; COMMIT;`)
		require.Empty(t, c.rows(t, `SELECT target_group_name FROM jobs.target_groups`), "an error rolls the caller's transaction back")
		c.exec(t, `BEGIN TRANSACTION; EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j'; COMMIT;`)
		require.Len(t, c.rows(t, `SELECT job_name FROM jobs.jobs`), 1)
	})
}

func TestCalledTwiceAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'steps';`)
		var wg sync.WaitGroup
		jobs, steps := make([]error, 8), make([]error, 8)
		for i := range jobs {
			wg.Go(func() { _, jobs[i] = catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "same"}) })
			wg.Go(func() {
				_, steps[i] = catalog.On(c.Store).AddJobStep(t.Context(), model.StepSpec{
					JobName: "steps", StepName: ptr(string(rune('a' + i))), Command: new("SELECT 1"), TargetGroup: new("g"),
				})
			})
		}
		wg.Wait()
		added := 0
		for i := range jobs {
			require.NoError(t, steps[i])
			if jobs[i] == nil {
				added++
			} else {
				require.ErrorIs(t, jobs[i], dberror.ErrJobExists)
			}
		}
		require.Equal(t, 1, added)
		require.Equal(t, []string{"8|8"}, c.rows(t, `SELECT MAX(job_version), COUNT(*) FROM jobs.jobsteps WHERE job_name = N'steps'`))
	})
}

func TestDeleteJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g'; EXEC jobs.sp_start_job N'j';`)
		require.ErrorIs(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", false), dberror.ErrJobActive)
		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", true))
		require.Empty(
			t,
			c.rows(
				t,
				`SELECT job_name FROM jobs.jobs UNION ALL SELECT job_name FROM jobs.job_executions UNION ALL SELECT job_name FROM jobs.jobstep_versions`,
			),
		)
		c.fails(t, 50100, `EXEC jobs.sp_delete_job N'j'`)
		c.fails(t, 50100, `EXEC jobs.sp_purge_jobhistory @job_name = N'j'`)
		c.exec(t, `EXEC jobs.sp_add_job N'j'`)
		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "j", false))
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.jobs`), "the run that was canceled has not ended yet")

		term := c.term(t)
		require.True(t, c.pass(t, term).CleanupDue)
		deleted, remaining, err := c.DeleteLeftovers(t.Context())
		require.NoError(t, err)
		require.Positive(t, deleted)
		require.False(t, remaining)
		require.False(t, c.pass(t, term).CleanupDue)
		require.Equal(
			t,
			0,
			get[int](
				t,
				c,
				`SELECT (SELECT COUNT(*) FROM jobs_internal.jobs) + (SELECT COUNT(*) FROM jobs_internal.step_commands) + (SELECT COUNT(*) FROM jobs_internal.job_executions)`,
			),
		)
	})
}
