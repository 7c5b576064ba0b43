package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets"
)

const (
	okAction    = `{"method":"GET","url":"http://h.example/ok","allow_http":true}`
	errorAction = `{"method":"POST","url":"http://h.example/err","allow_http":true}`
	weekly      = `{"recurrence":{"frequency":"Week","interval":1},"startTime":"2015-07-13T00:00:00Z"}`
)

// collection creates a job collection.
func (c *control) collection(t *testing.T, spec scheduler.CollectionSpec) int64 {
	t.Helper()
	put, err := scheduler.On(c.Store).SetCollection(t.Context(), spec)
	require.NoError(t, err)
	require.True(t, put.Created)
	return put.Object.Revision
}

// schedulerJob returns the definition of a job of the collection jc.
func schedulerJob(name string, change ...func(*scheduler.JobSpec)) scheduler.JobSpec {
	spec := scheduler.JobSpec{
		Collection: "jc", Name: name, Enabled: true, Schedule: weekly,
		Main: scheduler.Action{Type: "http", Command: okAction, Retries: 4, RetryInterval: 30},
	}
	for _, f := range change {
		f(&spec)
	}
	return spec
}

// A job of a collection is a job like others, with two steps and one schedule. A call that changes
// nothing makes no version and no revision, and the schedule goes on.
func TestSchedulerJobs(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		require.Equal(t, int64(1), c.collection(t, scheduler.CollectionSpec{Name: "jc", Location: "on prem"}))
		l, err := scheduler.On(c.Store).Collection(t.Context(), "JC")
		require.NoError(t, err)
		require.Equal(t, scheduler.Collection{
			Name: "jc", ID: l.ID, Location: "on prem", SKU: "Standard", State: "Enabled", MaxJobCount: 50, MaxRecurrenceFrequency: "minute",
			MaxRecurrenceInterval: 1, Revision: 1,
		}, l)
		same, err := scheduler.On(c.Store).SetCollection(t.Context(), scheduler.CollectionSpec{Name: "jc", Location: "OnPrem", SKU: "standard"})
		require.NoError(t, err)
		require.Equal(t, state{false, 1}, state{same.Created, same.Object.Revision})

		withError := func(s *scheduler.JobSpec) {
			s.Error = &scheduler.Action{Type: "Http", Command: errorAction, Retries: 1, RetryInterval: 15}
		}
		put, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1", withError))
		require.NoError(t, err)
		require.Equal(t, state{true, 1}, state{put.Created, put.Object.Revision})
		require.Equal(t, []string{"MainAction|NULL|Succeeded", "ErrorAction|NULL|Failed"}, c.rows(t,
			`SELECT step_name, after, run_when FROM jobs.jobstep_options WHERE job_name = N'jc/h1' AND is_current = 1 ORDER BY step_id`))
		j, err := scheduler.On(c.Store).Job(t.Context(), "jc", "H1")
		require.NoError(t, err)
		require.Equal(t, "Enabled", j.State)
		require.Equal(t, "jc/h1", j.FullName)
		require.True(t, j.AwaitsValidation)
		require.Equal(t, scheduler.Action{Type: "Http", Command: errorAction, Retries: 1, RetryInterval: 15}, *j.Error())

		activated := j.ActivatedTime
		put, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1", withError))
		require.NoError(t, err)
		require.Equal(t, state{false, 1}, state{put.Created, put.Object.Revision})
		put, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1"))
		require.NoError(t, err)
		require.Equal(t, int64(2), put.Object.Revision)
		j, err = scheduler.On(c.Store).Job(t.Context(), "jc", "h1")
		require.NoError(t, err)
		require.Nil(t, j.Error())
		require.Equal(t, activated, j.ActivatedTime, "the schedule has not changed")
		require.Equal(t, 2, get[int](t, c, `SELECT job_version FROM jobs.jobs WHERE job_name = N'jc/h1'`))
		require.Equal(t, []string{"sp_set_job_collection|JobCollection", "sp_set_scheduler_job|Job", "sp_set_scheduler_job|Job"}, c.rows(t,
			`SELECT action, object_kind FROM jobs_internal.audit_entries WHERE action LIKE N'sp[_]set[_]%' ORDER BY entry_id`))

		// Such a job is changed as a whole.
		c.fails(t, 50169, `EXEC jobs.sp_update_jobstep N'jc/h1', @step_id = 1, @retry_attempts = 1`)
		c.fails(t, 50169, `EXEC jobs.sp_add_jobstep N'jc/h1', @step_name = N's', @command_type = N'Http', @command = N'{"url": "https://h.example"}'`)
		c.fails(t, 50169, `EXEC jobs.sp_update_job N'jc/h1', @new_name = N'other'`)
		c.fails(t, 50169, `EXEC jobs.sp_update_job N'jc/h1', @enabled = 1`)
		c.fails(t, 50169, `EXEC jobs.sp_add_schedule N'jc/h1', N's', N'cron5', N'* * * * *'`)
		c.fails(t, 50169, `EXEC jobs.sp_delete_job N'jc/h1'`)
		c.fails(t, 50169, `EXEC jobs.sp_update_schedule N'jc/h1', N'scheduler', @spec = N'{}'`)
		c.fails(t, 50169, `EXEC jobs.sp_delete_schedule N'jc/h1', N'scheduler'`)
		c.exec(t, `EXEC jobs.sp_add_job N'jc/h2'`)
		_, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h2"))
		require.ErrorContains(t, err, "belongs to no job collection")

		one, zero := int64(1), int64(0)
		_, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1", func(s *scheduler.JobSpec) { s.IfMatch = &one }))
		require.ErrorIs(t, err, dberror.ErrRevision)
		_, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1", func(s *scheduler.JobSpec) { s.IfMatch = &zero }))
		require.ErrorIs(t, err, dberror.ErrRevision)
		require.ErrorIs(t, scheduler.On(c.Store).DeleteJob(t.Context(), "jc", "h1", &one), dberror.ErrRevision)
		require.NoError(t, scheduler.On(c.Store).DeleteJob(t.Context(), "jc", "h1", nil))
		require.ErrorIs(t, scheduler.On(c.Store).DeleteJob(t.Context(), "jc", "h1", nil), dberror.ErrSchedulerJobNotFound)
		_, err = scheduler.On(c.Store).Job(t.Context(), "jc", "h1")
		require.ErrorIs(t, err, dberror.ErrSchedulerJobNotFound)

		_, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h3"))
		require.NoError(t, err)
		require.NoError(t, scheduler.On(c.Store).DeleteCollection(t.Context(), "jc", nil))
		require.ErrorIs(t, scheduler.On(c.Store).DeleteCollection(t.Context(), "jc", nil), dberror.ErrCollectionNotFound)
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs.jobs WHERE job_name LIKE N'jc/%'`))
	})
}

// Only what the collection has paused is resumed with it (case 96).
func TestJobCollectionsPause(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.collection(t, scheduler.CollectionSpec{Name: "jc"})
		for _, name := range []string{"h1", "h2", "h3"} {
			_, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob(name, func(s *scheduler.JobSpec) { s.Enabled = name != "h2" }))
			require.NoError(t, err)
		}
		c.exec(t, `EXEC jobs.sp_pause_schedule N'jc/h3', N'scheduler', 1, N'mine'`)
		states := func() (list []string) {
			jobs, err := scheduler.On(c.Store).Jobs(t.Context(), "jc", "", controldb.Page[string]{Top: 10})
			require.NoError(t, err)
			for _, j := range jobs {
				list = append(list, j.Name+" "+j.State)
			}
			return list
		}
		require.Equal(t, []string{"h1 Enabled", "h2 Disabled", "h3 Disabled"}, states())
		for range 2 {
			disabled, err := scheduler.On(c.Store).EnableCollection(t.Context(), "jc", false, nil)
			require.NoError(t, err)
			require.Equal(t, "Disabled", disabled.State)
		}
		_, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h4"))
		require.NoError(t, err)
		require.Equal(t, []string{"h1 Disabled", "h2 Disabled", "h3 Disabled", "h4 Disabled"}, states())
		require.ErrorContains(t, scheduler.On(c.Store).RunJob(t.Context(), "jc", "h1", uuid.New()), "its job collection is disabled")
		l, err := scheduler.On(c.Store).Collection(t.Context(), "jc")
		require.NoError(t, err)
		require.Equal(t, "Disabled", l.State)
		require.Equal(t, int64(2), l.Revision)
		_, err = scheduler.On(c.Store).SetCollection(t.Context(), scheduler.CollectionSpec{Name: "jc", State: "enabled"})
		require.NoError(t, err)
		require.Equal(t, []string{"h1 Enabled", "h2 Disabled", "h3 Disabled", "h4 Enabled"}, states())
		for name, enabled := range map[string]bool{"h2": true, "h1": false} {
			j, err := scheduler.On(c.Store).EnableJob(t.Context(), "jc", name, enabled, nil)
			require.NoError(t, err)
			require.Equal(t, enabled, j.Enabled)
		}
		require.Equal(t, []string{"h1 Disabled", "h2 Enabled", "h3 Disabled", "h4 Enabled"}, states())
	})
}

func TestJobCollectionQuotas(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		two, many, thousand := 2, 51, 1000
		c.collection(t, scheduler.CollectionSpec{Name: "jc", MaxJobCount: &two, MaxRecurrenceFrequency: "Hour"})
		for sku, count := range map[string]int{"free": 5, "Standard": 50, "Premium": 50, "p20PREMIUM": 1000} {
			c.collection(t, scheduler.CollectionSpec{Name: "c" + sku, SKU: sku})
			l, err := scheduler.On(c.Store).Collection(t.Context(), "c"+sku)
			require.NoError(t, err)
			require.Equal(t, count, l.MaxJobCount)
		}
		refused := func(want string, spec scheduler.CollectionSpec) {
			t.Helper()
			_, err := scheduler.On(c.Store).SetCollection(t.Context(), spec)
			require.ErrorContains(t, err, want)
		}
		refused("the limit is 50", scheduler.CollectionSpec{Name: "x", MaxJobCount: &many})
		refused("the limit is hour/1", scheduler.CollectionSpec{Name: "x", SKU: "Free", MaxRecurrenceFrequency: "minute", MaxRecurrenceInterval: &two})
		refused("Invalid sku", scheduler.CollectionSpec{Name: "x", SKU: "Gold"})
		refused("Invalid state", scheduler.CollectionSpec{Name: "x", State: "Suspended"})
		refused("maxRecurrence", scheduler.CollectionSpec{Name: "x", MaxRecurrenceFrequency: "second"})
		refused("Invalid tags", scheduler.CollectionSpec{Name: "x", Tags: "[]"})
		refused("Invalid @job_collection_name", scheduler.CollectionSpec{Name: "x/y"})
		c.collection(t, scheduler.CollectionSpec{Name: "p20", SKU: "P20Premium", MaxJobCount: &thousand, Location: "a"})
		refused("cannot be changed", scheduler.CollectionSpec{Name: "p20", SKU: "P20Premium", Location: "b"})

		set := func(change ...func(*scheduler.JobSpec)) error {
			_, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("h1", change...))
			return err
		}
		every := func(frequency string, interval string, gap int64) func(*scheduler.JobSpec) {
			return func(s *scheduler.JobSpec) {
				s.Schedule, s.Gap = `{"recurrence":{"frequency":"`+frequency+`","interval":`+interval+`}}`, gap
			}
		}
		require.ErrorIs(t, set(every("Minute", "59", 0)), dberror.ErrQuotaExceeded)
		require.ErrorContains(t, set(every("Week", "1", 900)), "recurs every 900 s, more often than the quota maxRecurrence of its job collection permits: the limit is hour/1.")
		require.NoError(t, set(every("Minute", "59", 0), func(s *scheduler.JobSpec) { s.NoQuotas = true }))
		require.NoError(t, set(every("MINUTE", "60", 0)))
		require.ErrorContains(t, set(every("fortnight", "1", 0)), "Invalid recurrence")
		require.ErrorContains(t, set(every("Day", "1001", 0)), "Invalid recurrence")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Main.Retries = 21 }), "Invalid retry policy")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Main.Type = "TSql" }), "Invalid command type")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Main.Command = `{"url": 5}` }), "$.url")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Schedule = "5" }), "Invalid @schedule")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Properties = "[]" }), "Invalid @properties")
		require.ErrorContains(t, set(func(s *scheduler.JobSpec) { s.Name = "a b" }), "Invalid @job_name")
		require.ErrorIs(t, set(func(s *scheduler.JobSpec) { s.Collection = "nope" }), dberror.ErrCollectionNotFound)
		for _, name := range []string{"h2", "h3"} {
			_, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob(name))
			if name == "h3" {
				require.ErrorContains(t, err, "the limit is 2.")
				require.ErrorIs(t, err, dberror.ErrQuotaExceeded)
			} else {
				require.NoError(t, err)
			}
		}
		basic := func(s *scheduler.JobSpec) {
			s.Schedule = `{}`
			s.Main.Command = `{"url":"https://h.example/","auth":{"kind":"basic","username":"u","password":"$(secret.rest-0123456789abcdef0123456789abcdef)"}}`
		}
		require.NoError(t, set(basic))
		// To the plan Free: not beside another one, and not with an authentication.
		refused("there is another Free collection", scheduler.CollectionSpec{Name: "jc", SKU: "Free"})
		require.NoError(t, scheduler.On(c.Store).DeleteCollection(t.Context(), "cfree", nil))
		refused("a job has an authentication", scheduler.CollectionSpec{Name: "jc", SKU: "Free"})
		require.NoError(t, set())
		_, err := scheduler.On(c.Store).SetCollection(t.Context(), scheduler.CollectionSpec{Name: "jc", SKU: "Free"})
		require.NoError(t, err)
		require.ErrorContains(t, set(basic), "Invalid authentication")
	})
}

// Secrets come with the definition that names them, in one transaction.
func TestSchedulerSecrets(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		key, err := secret.GenerateKey(zeros{})
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).AddKey(t.Context(), key.Public()))
		c.collection(t, scheduler.CollectionSpec{Name: "jc"})
		name, err := secret.RESTName(zeros{})
		require.NoError(t, err)
		sealed, err := secrets.On(c.Store).Seal(t.Context(), secret.Place{Owner: secret.OwnerREST, Name: name, Version: 1, Hosts: []string{"h.example"}}, "pw-1")
		require.NoError(t, err)
		spec := schedulerJob("h1", func(s *scheduler.JobSpec) {
			s.Main.Command = `{"url":"https://h.example/","auth":{"kind":"basic","username":"u","password":"$(secret.` + name + `)"}}`
			s.Secrets = []scheduler.Secret{{Name: name, Sealed: []byte(sealed)}}
		})
		_, err = scheduler.On(c.Store).SetJob(t.Context(), spec)
		require.NoError(t, err)
		stored, err := secrets.On(c.Store).Sealed(t.Context(), secret.OwnerREST, name)
		require.NoError(t, err)
		value, err := stored.Sealed.Open(stored.Place, []secret.PrivateKey{key})
		require.NoError(t, err)
		require.Equal(t, "pw-1", value)
		spec.Name, spec.Secrets[0].Name = "h2", "rest-x"
		_, err = scheduler.On(c.Store).SetJob(t.Context(), spec)
		require.ErrorContains(t, err, "Invalid secret name")
		_, err = scheduler.On(c.Store).Job(t.Context(), "jc", "h2")
		require.ErrorIs(t, err, dberror.ErrSchedulerJobNotFound, "nothing was stored")
	})
}

// Jobs that have been final for 60 days are deleted, and the history of the others is kept as long.
func TestSchedulerRetention(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.collection(t, scheduler.CollectionSpec{Name: "jc"})
		for _, name := range []string{"old", "new", "active"} {
			_, err := scheduler.On(c.Store).SetJob(t.Context(), schedulerJob(name))
			require.NoError(t, err)
		}
		require.NoError(t, scheduler.On(c.Store).RunJob(t.Context(), "jc", "active", uuid.New()))
		done := uuid.New()
		require.NoError(t, scheduler.On(c.Store).RunJob(t.Context(), "jc", "new", done))
		require.NoError(t, scheduler.On(c.Store).RunJob(t.Context(), "jc", "new", done), "a repeated call starts nothing")
		c.exec(t, `UPDATE s SET state = N'Completed', awaits_verdict = 0, next_due_at = NULL, next_fire_at = NULL,
    closed_at = DATEADD(DAY, CASE j.name WHEN N'jc/new' THEN -59 ELSE -61 END, SYSUTCDATETIME())
FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.jobs AS j ON j.job_id = s.job_id WHERE s.name = N'scheduler';
UPDATE jobs_internal.job_executions SET lifecycle = N'Succeeded', is_active = 0, unaccounted = 0, end_time = DATEADD(DAY, -59, SYSUTCDATETIME())
WHERE job_execution_id = @p1`, done.String())
		states := func() (list []string) {
			jobs, err := scheduler.On(c.Store).Jobs(t.Context(), "jc", "", controldb.Page[string]{Top: 10})
			require.NoError(t, err)
			for _, j := range jobs {
				list = append(list, j.Name+" "+j.State)
			}
			return list
		}
		_, err := scheduler.On(c.Store).EnableJob(t.Context(), "jc", "old", true, nil)
		require.ErrorContains(t, err, "is Completed, which is final")
		_, err = scheduler.On(c.Store).SetJob(t.Context(), schedulerJob("old"))
		require.ErrorContains(t, err, "is Completed, which is final")
		c.exec(t, `EXEC jobs_internal.purge_history @retention_days = 45`)
		require.Equal(t, []string{"active Completed", "new Completed"}, states())
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions WHERE job_name = N'jc/new' AND step_id IS NULL`))
		c.exec(t, `EXEC jobs_internal.purge_history @retention_days = 45, @now = @p1`, time.Now().UTC().AddDate(0, 0, 2).Format("2006-01-02T15:04:05"))
		require.Equal(t, []string{"active Completed"}, states())
	})
}

// The tries of a run are counted and listed: at once, and after the run was accounted for.
func TestSchedulerHistory(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		for _, name := range []string{"a", "jc", "z"} {
			c.collection(t, scheduler.CollectionSpec{Name: name})
		}
		list, err := scheduler.On(c.Store).Collections(ctx, controldb.Page[string]{After: ptr("a"), Top: 5})
		require.NoError(t, err)
		require.Len(t, list, 2)
		require.Equal(t, "jc", list[0].Name)
		_, err = scheduler.On(c.Store).SetJob(ctx, schedulerJob("h1", func(s *scheduler.JobSpec) { s.Main.Retries, s.Enabled = 1, false }))
		require.NoError(t, err)
		run := uuid.New()
		require.NoError(t, scheduler.On(c.Store).RunJob(ctx, "jc", "h1", run))
		term := c.actionTerm(t)
		c.endpoint(t, term)
		c.complete(t, term, targets.Failed, "refused", c.pass(t, term).Tasks...)
		shown := func() (list []string) {
			j, err := scheduler.On(c.Store).Job(ctx, "jc", "h1")
			require.NoError(t, err)
			runs, err := scheduler.On(c.Store).Runs(ctx, j.ID, controldb.Page[executions.Key]{Top: 10})
			require.NoError(t, err)
			require.Len(t, runs, 1)
			require.Equal(t, run, runs[0].ID)
			require.False(t, runs[0].Scheduled)
			older, err := scheduler.On(c.Store).Runs(ctx, j.ID, controldb.Page[executions.Key]{After: &executions.Key{Created: runs[0].CreatedTime, ID: runs[0].ID}, Top: 10})
			require.NoError(t, err)
			require.Empty(t, older)
			attempts, err := scheduler.On(c.Store).History(ctx, j.ID, runs[0].CreatedTime, runs[0].CreatedTime, "")
			require.NoError(t, err)
			for _, a := range attempts {
				list = append(list, fmt.Sprintf("%s %s %d %s", a.Action, a.Status, a.RetryCount, a.Message))
			}
			return append(list, fmt.Sprintf("%d %d %d", j.ExecutionCount, j.FailureCount, j.FaultedCount))
		}
		postponed := "MainAction Postponed 0 Http Action - Request to host 'h' failed: refused"
		require.Equal(t, []string{postponed, "1 1 0"}, shown())
		c.exec(t, `UPDATE jobs_internal.target_executions SET next_attempt_at = SYSUTCDATETIME() WHERE next_attempt_at IS NOT NULL`)
		c.complete(t, term, targets.TimedOut, "too slow", c.pass(t, term).Tasks...)
		want := []string{"MainAction Failed 1 Http Action - Request to host 'h' failed: too slow", postponed, "2 2 1"}
		c.pass(t, term)
		require.Equal(t, want, shown())
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE unaccounted = 1`))
		c.pass(t, term)
		require.Equal(t, 0, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE unaccounted = 1`))
		require.Equal(t, want, shown())
		require.Equal(t, "2|2|1|0", c.rows(t,
			`SELECT main_attempts, main_failures, faults, executions FROM jobs_internal.schedules WHERE name = N'scheduler'`)[0])
	})
}

// zeros is a source of keys for tests.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
