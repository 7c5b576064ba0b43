package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
)

// due lists what is due.
func (c *control) due(t *testing.T) controldb.DueSchedules {
	t.Helper()
	due, err := c.DueSchedules(t.Context(), 10)
	require.NoError(t, err)
	return due
}

func TestScheduleIsDueOnce(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		require.Empty(t, c.due(t).Schedules)
		require.NoError(
			t,
			catalog.On(c.Store).UpdateJob(
				t.Context(),
				model.JobSpec{
					Name:          "j",
					Enabled:       ptr(true),
					IntervalType:  ptr("Minutes"),
					IntervalCount: ptr(15),
				},
			),
		)
		due := c.due(t)
		require.Len(t, due.Schedules, 1)
		s := due.Schedules[0]
		require.Equal(t, s.DueAt.Truncate(time.Second), s.Anchor, "a start in the year 1 anchors at the activation, by the second")
		require.Equal(t, controldb.DueSchedule{
			ID: s.ID, JobID: s.JobID, JobName: "j", Kind: "elastic", IntervalType: "Minutes", IntervalCount: 15,
			Start: time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), End: time.Date(9999, 12, 31, 11, 59, 59, 0, time.UTC),
			Anchor: s.Anchor, TimeZone: "UTC", DueAt: s.DueAt, FireAt: s.DueAt, Overlap: "Elastic",
			Defined: s.Defined, Activated: s.DueAt, Revision: 2,
		}, s)

		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", Enabled: ptr(true)}))
		require.Equal(t, s.DueAt, c.due(t).Schedules[0].DueAt, "repeating what holds is no activation")

		term := c.term(t)
		next := s.DueAt.Add(15 * time.Minute)
		firing := controldb.Firing{
			Schedule:  s.ID,
			DueAt:     s.DueAt,
			Runs:      []time.Time{s.DueAt},
			NextDueAt: next,
			Skips:     []controldb.Skip{{DueAt: s.DueAt.Add(time.Minute), Count: 3, Reason: "the agent was down"}},
		}
		fired, err := c.FireSchedules(t.Context(), term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Len(t, fired, 1)
		require.NotEqual(t, uuid.Nil, fired[0].JobExecutionID)
		require.Equal(
			t,
			controldb.FiredExecution{
				Schedule:       s.ID,
				JobName:        "j",
				JobExecutionID: fired[0].JobExecutionID,
				DueAt:          s.DueAt,
				Result:         controldb.FiredStarted,
			},
			fired[0],
		)
		again, err := c.FireSchedules(t.Context(), term, []controldb.Firing{firing})
		require.NoError(t, err)
		require.Equal(t, controldb.FiredStale, again[0].Result)
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions`))

		due = c.due(t)
		require.Empty(t, due.Schedules)
		require.Equal(t, next, due.NextFireAt)
		require.Equal(t, []string{"1|3"}, c.rows(t, `SELECT executions, skips FROM jobs_internal.schedules`))
		require.Equal(t, []string{"3|the agent was down"}, c.rows(t, `SELECT skipped, reason FROM jobs_internal.schedule_skips`))
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", Enabled: ptr(false)}))
		require.True(t, c.due(t).NextFireAt.IsZero())
	})
}

func TestFirstDueInstant(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		start := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
		_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "later", Enabled: ptr(true), IntervalType: ptr("Hours"), Start: &start})
		require.NoError(t, err)
		require.Empty(t, c.due(t).Schedules)
		require.Equal(t, start, c.due(t).NextFireAt)

		past := time.Date(2017, 3, 19, 22, 0, 0, 0, time.UTC)
		_, err = catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "past", Enabled: ptr(true), IntervalType: ptr("Weeks"), Start: &past})
		require.NoError(t, err)
		due := c.due(t)
		require.Len(t, due.Schedules, 1)
		require.Equal(t, past, due.Schedules[0].Anchor)
		require.WithinDuration(t, due.Now, due.Schedules[0].DueAt, time.Minute)

		over := past.Add(time.Hour)
		_, err = catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: "over", Enabled: ptr(true), Start: &past, End: &over})
		require.NoError(t, err)
		require.Len(t, c.due(t).Schedules, 1)
		require.Equal(
			t,
			[]string{"Completed"},
			c.rows(
				t,
				`SELECT s.state FROM jobs_internal.schedules AS s INNER JOIN jobs.jobs AS j ON j.job_id = s.job_id WHERE j.job_name = N'over'`,
			),
		)
	})
}

func TestOnceFiresOnce(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", Enabled: ptr(true)}))
		s := c.due(t).Schedules[0]
		_, err := c.FireSchedules(t.Context(), c.term(t), []controldb.Firing{{Schedule: s.ID, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}})
		require.NoError(t, err)
		require.Equal(t, []string{"false"}, c.rows(t, `SELECT enabled FROM jobs.jobs`))
		require.Empty(t, c.due(t).Schedules)
		require.NoError(t, catalog.On(c.Store).UpdateJob(t.Context(), model.JobSpec{Name: "j", Enabled: ptr(true)}))
		require.Len(t, c.due(t).Schedules, 1, "enabling it again is another activation")
	})
}

func TestDueWithoutSteps(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "other", nil)
		for _, kind := range []string{"Once", "Weeks"} {
			_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: kind, Enabled: ptr(true), IntervalType: &kind})
			require.NoError(t, err)
			s := c.due(t).Schedules[0]
			firing := controldb.Firing{Schedule: s.ID, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}
			if kind == "Weeks" {
				firing.NextDueAt = s.DueAt.AddDate(0, 0, 7)
			}
			fired, err := c.FireSchedules(t.Context(), c.term(t), []controldb.Firing{firing})
			require.NoError(t, err)
			require.Equal(t, controldb.FiredSkipped, fired[0].Result)
			require.Equal(t, "The job has no steps.", fired[0].Reason)
			require.Empty(t, c.due(t).Schedules)

			_, err = catalog.On(c.Store).AddJobStep(t.Context(), model.StepSpec{JobName: kind, Command: new("SELECT 1"), TargetGroup: new("g")})
			require.NoError(t, err)
			due := c.due(t)
			require.Len(t, due.Schedules, 1, "the first step makes it due again")
			fired, err = c.FireSchedules(
				t.Context(),
				c.term(t),
				[]controldb.Firing{
					{Schedule: s.ID, DueAt: due.Schedules[0].DueAt, Runs: []time.Time{due.Schedules[0].DueAt}},
				},
			)
			require.NoError(t, err)
			require.Equal(t, controldb.FiredStarted, fired[0].Result)
		}
		require.Equal(
			t,
			[]string{"1|The job has no steps.", "1|The job has no steps."},
			c.rows(t, `SELECT skipped, reason FROM jobs_internal.schedule_skips`),
		)
	})
}

func TestSystemJobs(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		const view = `SELECT job_name, job_version, enabled, schedule_interval_type, schedule_interval_count FROM jobs.jobs`
		require.Equal(t, []string{"jobagent$history_retention|1|true|Days|1"}, c.rows(t, view))
		require.Empty(t, c.due(t).Schedules, "it waits for the night")
		require.Empty(
			t,
			c.rows(t, `SELECT target_group_name FROM jobs.target_groups`),
			"its target is the control database, which is in no group",
		)

		c.exec(t, `EXEC jobs.sp_update_job @job_name = N'jobagent$history_retention', @enabled = 0;
UPDATE s SET s.at_most_once = 1 FROM jobs_internal.job_steps AS s;`)
		c.fails(
			t,
			50118,
			`EXEC jobs.sp_update_jobstep @job_name = N'jobagent$history_retention', @step_id = 1, @command = N'DROP TABLE x';`,
		)
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		require.Equal(t, []string{"jobagent$history_retention|2|true|Days|1"}, c.rows(t, view))
		require.Equal(t, []string{"Upkeep|PurgeHistory"}, c.rows(t, `SELECT command_type, command FROM jobs.jobsteps`))

		require.NoError(t, catalog.On(c.Store).DeleteJob(t.Context(), "jobagent$history_retention", true))
		require.NoError(t, c.EnsureSystemJobs(t.Context()))
		require.Len(t, c.rows(t, view), 1)
	})
}

func TestHistory(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		for range 3 {
			c.start(t, "j")
			c.resolve(t, term, "a", "b")
			c.complete(t, term, "Succeeded", "", c.pass(t, term).Tasks...)
			c.pass(t, term)
		}
		active := c.start(t, "j")
		c.exec(
			t,
			`UPDATE jobs_internal.job_executions SET create_time = DATEADD(DAY, -46, create_time), end_time = DATEADD(DAY, -46, end_time) WHERE execution_id IN (1, 4)`,
		)

		c.exec(t, `EXEC jobs_internal.purge_history @batch_size = 10`)
		require.Equal(
			t,
			3,
			get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL`),
			"45 days are kept, and what is active",
		)
		c.exec(t, `EXEC jobs.sp_purge_jobhistory @job_name = N'j', @oldest_date = '2016-07-01 00:00:00'`)
		require.Equal(t, 3, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL`))
		c.exec(t, `DECLARE @id UNIQUEIDENTIFIER = (SELECT job_id FROM jobs.jobs); EXEC jobs.sp_purge_jobhistory NULL, @id`)
		require.Equal(t, "root=Created", c.lifecycles(t, active))
		require.Equal(
			t,
			[]string{"1|0|0|0"},
			c.rows(
				t,
				`SELECT (SELECT COUNT(*) FROM jobs_internal.job_executions), (SELECT COUNT(*) FROM jobs_internal.step_executions),
(SELECT COUNT(*) FROM jobs_internal.target_executions), (SELECT COUNT(*) FROM jobs_internal.task_executions)`,
			),
		)

		c.exec(t, `INSERT INTO jobs_internal.settings (name, value) VALUES (N'history_retention_days', N'0')`)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), active))
		c.pass(t, term)
		c.exec(t, `EXEC jobs_internal.purge_history @now = @p1`, time.Now().UTC().Add(time.Hour))
		require.Empty(t, c.rows(t, `SELECT lifecycle FROM jobs.job_executions`))

		for _, args := range []string{``, `@job_name = N'j', @job_id = 'B9A5E1C0-0000-0000-0000-000000000000'`} {
			c.fails(t, 50027, `EXEC jobs.sp_purge_jobhistory `+args)
		}
		require.ErrorIs(t, executions.On(c.Store).Purge(t.Context(), executions.PurgeRequest{JobName: "nope"}), dberror.ErrJobNotFound)
		require.ErrorIs(t, executions.On(c.Store).Purge(t.Context(), executions.PurgeRequest{JobID: uuid.New()}), dberror.ErrJobNotFound)
	})
}
