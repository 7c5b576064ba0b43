package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/doctor"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/measure"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
)

// After a restore, the terms of before are refused, nothing is claimed, and the runs in flight are
// listed. After the resume, another term claims the target again.
func TestAfterRestore(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		before, err := identity.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.False(t, before.Paused())
		a := controldb.Agent{ID: uuid.New(), Host: "host", Version: "1", MaxConcurrentTargets: 7}
		old, err := c.StartTerm(ctx, a, time.Hour)
		require.NoError(t, err)
		c.exec(t, `EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_target_group N'g';
EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = N'd';
EXEC jobs.sp_add_jobstep N'j', @command = N'SELECT 1;', @target_group_name = N'g';
EXEC jobs.sp_start_job N'j';`)
		p, err := c.Pass(ctx, controldb.PassRequest{Term: old.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
		require.NoError(t, err)
		require.Equal(t, 1, p.Held.Count)

		r, err := identity.On(c.Store).AfterRestore(ctx, 10)
		require.NoError(t, err)
		require.NotEqual(t, before.Incarnation, r.Incarnation)
		require.Equal(t, []int{1, 0, 1}, []int{r.Terms, r.DueSchedules, r.ActiveRuns})
		require.Equal(t, "j", r.Runs[0].JobName)
		_, err = c.Pass(ctx, controldb.PassRequest{Term: old.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
		require.ErrorIs(t, err, dberror.ErrIncarnation)
		require.ErrorIs(t, err, dberror.ErrTermEnded, "so the agent starts another term")
		i, err := identity.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{true, before.DatabaseID, r.Incarnation}, []any{i.Paused(), i.DatabaseID, i.Incarnation})

		next, err := c.StartTerm(ctx, a, time.Hour)
		require.NoError(t, err)
		for range 3 {
			p, err = c.Pass(ctx, controldb.PassRequest{Term: next.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
			require.NoError(t, err)
			require.Zero(t, p.Held.Count)
		}
		again, err := identity.On(c.Store).AfterRestore(ctx, 10)
		require.NoError(t, err)
		require.NotEqual(t, r.Incarnation, again.Incarnation)

		require.NoError(t, identity.On(c.Store).Resume(ctx, time.Time{}))
		c.exec(t, `UPDATE jobs_internal.step_executions SET next_attempt_at = '2000-01-01' WHERE next_attempt_at IS NOT NULL;`)
		next, err = c.StartTerm(ctx, a, time.Hour)
		require.NoError(t, err)
		p, err = c.Pass(ctx, controldb.PassRequest{Term: next.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
		require.NoError(t, err)
		require.Equal(t, 1, p.Held.Count)
	})
}

// An instant before the time of a resume is recorded as skipped with its reason, and a later one is
// run. While the control database is paused, neither is.
func TestResumeSkipsInstants(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		term, err := c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "host", Version: "1", MaxConcurrentTargets: 7}, time.Hour)
		require.NoError(t, err)
		c.exec(t, `EXEC jobs.sp_add_job N'j', @enabled = 1, @schedule_interval_type = N'Hours';
EXEC jobs.sp_add_target_group N'g';
EXEC jobs.sp_add_jobstep N'j', @command = N'SELECT 1;', @target_group_name = N'g';
UPDATE jobs_internal.schedules SET next_due_at = '2026-03-01 02:00', next_fire_at = '2026-03-01 02:00', awaits_verdict = 0 WHERE kind = N'Elastic' OR spec IS NULL;`)
		id := get[int64](t, c, `SELECT s.schedule_id FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE j.name = N'j';`)
		first, second := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC), time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
		firing := []controldb.Firing{{
			Schedule: controldb.ScheduleID(id), DueAt: first, Revision: get[int](t, c, `SELECT revision FROM jobs_internal.schedules WHERE schedule_id = @p1;`, id),
			Runs: []time.Time{first}, LastDueAt: first, NextDueAt: second, NextFireAt: second,
		}}
		require.NoError(t, identity.On(c.Store).Pause(ctx, "why"))
		_, err = c.FireSchedules(ctx, term.ID, firing)
		require.NoError(t, err)
		require.Empty(t, c.rows(t, `SELECT CONCAT(e.due_at, N'') FROM jobs_internal.job_executions AS e;`))

		require.NoError(t, identity.On(c.Store).Resume(ctx, second))
		_, err = c.FireSchedules(ctx, term.ID, firing)
		require.NoError(t, err)
		require.Empty(t, c.rows(t, `SELECT CONCAT(e.due_at, N'') FROM jobs_internal.job_executions AS e;`))
		require.Equal(t, []string{"Paused"}, c.rows(t, `SELECT k.cause FROM jobs_internal.schedule_skips AS k;`))
		firing[0].DueAt, firing[0].Runs, firing[0].LastDueAt = second, []time.Time{second}, second
		firing[0].NextDueAt, firing[0].NextFireAt = second.Add(time.Hour), second.Add(time.Hour)
		_, err = c.FireSchedules(ctx, term.ID, firing)
		require.NoError(t, err)
		require.Len(t, c.rows(t, `SELECT CONCAT(e.due_at, N'') FROM jobs_internal.job_executions AS e;`), 1)
	})
}

// Doctor and the numbers for metrics tell of a pause, with the command that ends it.
func TestPauseIsFound(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		require.NoError(t, identity.On(c.Store).Pause(t.Context(), "until <Monday>"))
		found := c.findings(t, doctor.CodePause)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityError, found[0].Severity)
		require.Contains(t, found[0].Found, "until <Monday>")
		require.Contains(t, found[0].Fix(), "jobagent db resume")
		n, err := measure.On(c.Store).RunCounts(t.Context(), time.Time{})
		require.NoError(t, err)
		require.True(t, n.Paused)
		require.NoError(t, identity.On(c.Store).Resume(t.Context(), time.Time{}))
		found = c.findings(t, doctor.CodePause)
		require.Len(t, found, 1)
		require.Equal(t, doctor.SeverityOK, found[0].Severity)
		n, err = measure.On(c.Store).RunCounts(t.Context(), time.Time{})
		require.NoError(t, err)
		require.False(t, n.Paused)
	})
}

// TestPauseNeedsMigration: a backup of an earlier release may lack the procedures, and the error
// says that a migration comes first.
func TestPauseNeedsMigration(t *testing.T) {
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		c := version(t, env, earlier.Version28)
		_, err := identity.On(c.Store).AfterRestore(t.Context(), 10)
		for _, err := range []error{err, identity.On(c.Store).Pause(t.Context(), ""), identity.On(c.Store).Resume(t.Context(), time.Time{})} {
			require.ErrorIs(t, err, dberror.ErrSchemaVersion)
			require.ErrorContains(t, err, `the control schema has version 28 and this program needs `)
			require.ErrorContains(t, err, `run "jobagent db migrate"`)
		}
	})
}

// TestAfterRestoreListsUnvalidatedSchedules: a backup may have a schedule that no agent had
// validated. Its instants since the activation fire after the resume, so it is listed.
func TestAfterRestoreListsUnvalidatedSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.exec(t, `EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_schedule N'j', N'new', N'cron5', N'* * * * *';
EXEC jobs.sp_add_schedule N'j', N'off', N'cron5', N'* * * * *', @enabled = 0;
EXEC jobs.sp_add_schedule N'j', N'paused', N'cron5', N'* * * * *';
EXEC jobs.sp_pause_schedule N'j', N'paused';`)
		r, err := identity.On(c.Store).AfterRestore(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, 1, r.DueSchedules)
		require.Len(t, r.Due, 1)
		require.Equal(t, "new", r.Due[0].Schedule)
		require.Equal(t, get[time.Time](t, c, `SELECT s.activated_at FROM jobs_internal.schedules AS s WHERE s.name = N'new'`), r.Due[0].DueAt)
	})
}
