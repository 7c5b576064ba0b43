package controldb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
)

// sapProvider stores a provider and subscribes tenants.
func (c *control) sapProvider(t *testing.T, tenants ...string) sap.Scope {
	t.Helper()
	require.NoError(t, sap.On(c.Store).SetProvider(t.Context(), "p", "provider", ""))
	for _, one := range tenants {
		require.NoError(t, sap.On(c.Store).Subscribe(t.Context(), one, "sub-"+one, "app"))
	}
	return sap.Provider()
}

// sapSpec is a job with the given schedules.
func sapSpec(name string, schedules ...sap.ScheduleSpec) sap.JobSpec {
	return sap.JobSpec{
		Name: name, Action: "https://h.example/x", Method: "POST", Active: true, Schedules: schedules,
	}
}

// cron is an active schedule that is due every ten minutes.
func cron(data string) sap.ScheduleSpec {
	return sap.ScheduleSpec{Mode: sap.Cron, Spec: `{"cron":"* * * * * */10 0"}`, Active: true, Data: data}
}

// by is the writer of tests.
var by = sap.Write{By: "u"}

func TestSAPJobs(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		spec := sapSpec("my job", cron(`{"a":1}`), cron(""))
		spec.Start, spec.StartText = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02 03:04:05"`
		made, err := sap.On(c.Store).CreateJob(t.Context(), scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, int64(1), made.Job)
		require.True(t, made.Created)
		require.Len(t, made.Schedules, 2)

		job, err := sap.On(c.Store).Job(t.Context(), scope, sap.JobRef{Name: "my job"})
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), "p", "provider", "my job", "https://h.example/x", "POST", true, spec.Start, spec.StartText, 2, 0},
			[]any{job.ID, job.Tenant, job.SubDomain, job.Name, job.Action, job.Method, job.Active, job.Start.UTC(), job.StartText, job.ActiveCount, job.InactiveCount})
		require.Equal(t, []uuid.UUID{made.Schedules[0], made.Schedules[1]}, []uuid.UUID{job.Schedules[0].ID, job.Schedules[1].ID})
		require.Equal(t, `{"a":1}`, job.Schedules[0].Data)
		list, total, err := sap.On(c.Store).Jobs(t.Context(), scope, sap.JobQuery{Page: sap.Page{Size: 10}, Schedules: true})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, []sap.Job{job}, list)
		require.Equal(t, []string{"my job|1"}, c.rows(t, `SELECT job_name, job_version FROM jobs.jobs`))
		active, inactive, err := sap.On(c.Store).JobCount(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, []int{active, inactive})
		schedules, total, err := sap.On(c.Store).Schedules(t.Context(), scope, 1, uuid.Nil, sap.Page{Offset: 1, Size: 1})
		require.NoError(t, err)
		require.Equal(t, 2, total)
		require.Len(t, schedules, 1)
		found, total, err := sap.On(c.Store).SearchSchedules(t.Context(), scope, sap.Search{Words: []string{"A"}}, sap.Page{})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, "my job", found[0].JobName)

		added, err := sap.On(c.Store).AddSchedule(t.Context(), scope, by, 1, cron(`{"b":2}`))
		require.NoError(t, err)
		_, err = sap.On(c.Store).UpdateSchedule(t.Context(), scope, by, 1, added.Schedules[0], sap.ScheduleChange{Description: ptr("d"), Active: ptr(false)})
		require.NoError(t, err)
		one, _, err := sap.On(c.Store).Schedules(t.Context(), scope, 1, added.Schedules[0], sap.Page{})
		require.NoError(t, err)
		require.Equal(t, []any{"d", false, `{"b":2}`}, []any{one[0].Description, one[0].Active, one[0].Data})
		_, err = sap.On(c.Store).UpdateJob(t.Context(), scope, by, 1, sap.JobChange{Active: ptr(false), Method: ptr("GET"), Start: &time.Time{}})
		require.NoError(t, err)
		require.Equal(t, []string{"my job|2"}, c.rows(t, `SELECT job_name, job_version FROM jobs.jobs`))
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1 OR next_fire_at IS NOT NULL`))
		_, err = sap.On(c.Store).ActivateSchedules(t.Context(), scope, by, 1, true)
		require.NoError(t, err)
		_, err = sap.On(c.Store).UpdateJob(t.Context(), scope, by, 1, sap.JobChange{Active: ptr(true)})
		require.NoError(t, err)
		require.Equal(t, []string{"3"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`))
		again, err := sap.On(c.Store).PutJob(t.Context(), scope, by, sapSpec("my job", cron(`{"a":1}`), cron(`{"c":3}`)))
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), false, made.Schedules[0]}, []any{again.Job, again.Created, again.Schedules[0]})
		require.NotContains(t, made.Schedules, again.Schedules[1])
		runs, err := sap.On(c.Store).Runs(t.Context(), scope, 1, made.Schedules[0], sap.RunQuery{Events: true})
		require.NoError(t, err)
		require.Empty(t, runs.List)
		log, total, err := sap.On(c.Store).Actions(t.Context(), scope, 1, uuid.Nil)
		require.NoError(t, err)
		require.Equal(t, len(log), total)
		require.Equal(t, "UPDATE", log[0].Action)
		_, err = sap.On(c.Store).DeleteSchedules(t.Context(), scope, by, 1, uuid.Nil)
		require.NoError(t, err)
		settings, err := sap.On(c.Store).Settings(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, sap.Settings{AsyncExecTimeout: 7 * 24 * time.Hour, MinInterval: 5 * time.Minute, RunLogDays: 15}, settings)
		_, err = sap.On(c.Store).SetTimeout(t.Context(), scope, by, 600)
		require.NoError(t, err)
		_, err = sap.On(c.Store).DeleteJob(t.Context(), scope, by, 1)
		require.NoError(t, err)
		_, err = sap.On(c.Store).Job(t.Context(), scope, sap.JobRef{ID: 1})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		made, err = sap.On(c.Store).CreateJob(t.Context(), scope, by, sapSpec("my job"))
		require.NoError(t, err)
		require.Equal(t, int64(2), made.Job)
	})
}

// TestSAPTenants: what belongs to another tenant behaves as what does not exist (case 96), and
// the provider sees all (case 98).
func TestSAPTenants(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		provider := c.sapProvider(t, "t1", "t2")
		ctx := t.Context()
		made := map[string]sap.Result{}
		scopes := map[string]sap.Scope{"p": provider, "t1": sap.Subscriber("t1"), "t2": sap.Subscriber("t2")}
		for _, id := range []string{"p", "t1", "t2"} {
			res, err := sap.On(c.Store).CreateJob(ctx, scopes[id], by, sapSpec("same", cron("")))
			require.NoError(t, err)
			made[id] = res
		}
		require.Equal(t, []string{"same", "same#2", "same#3"}, c.rows(t, `SELECT job_name FROM jobs.jobs ORDER BY job_name`), "S-67")
		for who, scope := range map[string]sap.Scope{"t2": scopes["t2"], "t3": sap.Subscriber("t3"), "nobody": {}, "empty": sap.Subscriber("")} {
			before := c.rows(t, `SELECT revision FROM jobs_internal.jobs ORDER BY name`)
			var texts [2]string
			for i, job := range []int64{made["t1"].Job, 999999} {
				schedule, run := made["t1"].Schedules[0], uuid.New()
				if i == 1 {
					schedule = uuid.New()
				}
				for _, call := range []func() error{
					func() error { _, err := sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: job}); return err },
					func() error {
						_, err := sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: job, Name: "same"})
						return err
					},
					func() error {
						_, err := sap.On(c.Store).UpdateJob(ctx, scope, by, job, sap.JobChange{Active: ptr(false)})
						return err
					},
					func() error { _, err := sap.On(c.Store).DeleteJob(ctx, scope, by, job); return err },
					func() error { _, err := sap.On(c.Store).AddSchedule(ctx, scope, by, job, cron("")); return err },
					func() error {
						_, err := sap.On(c.Store).UpdateSchedule(ctx, scope, by, job, schedule, sap.ScheduleChange{Active: ptr(false)})
						return err
					},
					func() error { _, err := sap.On(c.Store).DeleteSchedules(ctx, scope, by, job, schedule); return err },
					func() error { _, err := sap.On(c.Store).DeleteSchedules(ctx, scope, by, job, uuid.Nil); return err },
					func() error { _, err := sap.On(c.Store).ActivateSchedules(ctx, scope, by, job, false); return err },
					func() error {
						_, _, err := sap.On(c.Store).Schedules(ctx, scope, job, uuid.Nil, sap.Page{})
						return err
					},
					func() error {
						_, _, err := sap.On(c.Store).Schedules(ctx, scope, job, schedule, sap.Page{})
						return err
					},
					func() error {
						_, err := sap.On(c.Store).Runs(ctx, scope, job, schedule, sap.RunQuery{})
						return err
					},
					func() error { _, err := sap.On(c.Store).Run(ctx, scope, job, schedule, run); return err },
					func() error {
						return sap.On(c.Store).ReportRun(ctx, scope, job, schedule, run, callbacks.Report{Success: true})
					},
					func() error { _, _, err := sap.On(c.Store).Actions(ctx, scope, job, uuid.Nil); return err },
				} {
					err := call()
					require.ErrorIs(t, err, dberror.ErrSAPNotFound, who)
					texts[i] += err.Error() + "\n"
				}
			}
			require.Equal(t, texts[1], texts[0], "%s: the texts are those of an unknown job", who)
			require.Equal(t, before, c.rows(t, `SELECT revision FROM jobs_internal.jobs ORDER BY name`), who)
			list, total, err := sap.On(c.Store).Jobs(ctx, scope, sap.JobQuery{Schedules: true})
			require.NoError(t, err)
			found, schedules, err := sap.On(c.Store).SearchSchedules(ctx, scope, sap.Search{}, sap.Page{})
			require.NoError(t, err)
			active, inactive, err := sap.On(c.Store).JobCount(ctx, scope)
			require.NoError(t, err)
			want := map[bool]int{true: 1}[who == "t2"]
			require.Equal(t, []int{want, want, want, want, want, 0}, []int{len(list), total, len(found), schedules, active, inactive}, who)
		}
		_, err := sap.On(c.Store).CreateJob(ctx, sap.Subscriber("t3"), by, sapSpec("j"))
		require.ErrorIs(t, err, dberror.ErrSAPTenant, "S-58")

		// 98: the provider sees, changes and deletes the jobs of all tenants.
		list, total, err := sap.On(c.Store).Jobs(ctx, provider, sap.JobQuery{})
		require.NoError(t, err)
		require.Equal(t, []any{3, "provider", "sub-t1", "sub-t2"}, []any{total, list[0].SubDomain, list[1].SubDomain, list[2].SubDomain})
		list, total, err = sap.On(c.Store).Jobs(ctx, provider, sap.JobQuery{Tenant: "t1"})
		require.NoError(t, err)
		require.Equal(t, []any{1, "t1"}, []any{total, list[0].Tenant})
		_, err = sap.On(c.Store).UpdateJob(ctx, provider, by, made["t1"].Job, sap.JobChange{Active: ptr(false)})
		require.NoError(t, err)
		// S-13: by name, the provider's own tenant comes first.
		job, err := sap.On(c.Store).Job(ctx, provider, sap.JobRef{Name: "same"})
		require.NoError(t, err)
		require.Equal(t, "p", job.Tenant)
		_, err = sap.On(c.Store).DeleteJob(ctx, provider, by, made["p"].Job)
		require.NoError(t, err)
		_, err = sap.On(c.Store).Job(ctx, provider, sap.JobRef{Name: "same"})
		require.ErrorIs(t, err, dberror.ErrSAPAmbiguous)
		job, err = sap.On(c.Store).Job(ctx, provider, sap.JobRef{Name: "same", Tenant: "t2"})
		require.NoError(t, err)
		require.Equal(t, "t2", job.Tenant)
		_, err = sap.On(c.Store).Job(ctx, scopes["t1"], sap.JobRef{Name: "SAME"})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound, "names are compared exactly")

		// S-59: the last subscription takes the jobs with it.
		require.NoError(t, sap.On(c.Store).Subscribe(ctx, "t1", "sub-t1", "second"))
		require.NoError(t, sap.On(c.Store).Unsubscribe(ctx, "t1", "app"))
		_, err = sap.On(c.Store).Job(ctx, scopes["t1"], sap.JobRef{Name: "same"})
		require.NoError(t, err)
		require.ErrorIs(t, sap.On(c.Store).Unsubscribe(ctx, "t1", "app"), dberror.ErrSAPNotFound)
		require.NoError(t, sap.On(c.Store).Unsubscribe(ctx, "t1", "second"))
		_, err = sap.On(c.Store).Job(ctx, scopes["t1"], sap.JobRef{Name: "same"})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		_, err = sap.On(c.Store).CreateJob(ctx, scopes["t1"], by, sapSpec("j"))
		require.ErrorIs(t, err, dberror.ErrSAPTenant)
		tenants, err := sap.On(c.Store).Tenants(ctx, "t1")
		require.NoError(t, err)
		require.Equal(t, []any{1, false, 0}, []any{len(tenants), tenants[0].Subscribed, len(tenants[0].Apps)})
		require.Equal(t, []string{"same#3"}, c.rows(t, `SELECT job_name FROM jobs.jobs`))
		require.Error(t, sap.On(c.Store).SetProvider(ctx, "t2", "x", ""), "the provider cannot become another tenant")
	})
}

// TestSAPRepeats is about blind repeats of clients (S-4): cases 28 and 30.
func TestSAPRepeats(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		write := func(key byte) sap.Write {
			return sap.Write{By: "u", Key: sap.RequestKey{key}}
		}

		// 28: the answer was not delivered.
		first, err := sap.On(c.Store).CreateJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		again, err := sap.On(c.Store).CreateJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, []any{first.Job, first.Created, first.Schedules, ""}, []any{again.Job, again.Created, again.Schedules, again.Answer}, "28")
		require.NoError(t, sap.On(c.Store).FinishRequest(ctx, scope, sap.RequestKey{1}, "the answer", false))
		again, err = sap.On(c.Store).CreateJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		require.Equal(t, "the answer", again.Answer)
		require.Equal(t, []string{"1|1"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs_internal.rest_jobs), (SELECT COUNT(*) FROM jobs_internal.rest_schedules)`))
		// It was delivered: the same request is a new one.
		require.NoError(t, sap.On(c.Store).FinishRequest(ctx, scope, sap.RequestKey{1}, "the answer", true))
		_, err = sap.On(c.Store).CreateJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.ErrorIs(t, err, dberror.ErrSAPExists)

		// 30: two deliberate requests.
		for range 2 {
			res, err := sap.On(c.Store).AddSchedule(ctx, scope, write(2), first.Job, cron(""))
			require.NoError(t, err)
			require.False(t, res.Replayed)
			require.NoError(t, sap.On(c.Store).FinishRequest(ctx, scope, sap.RequestKey{2}, "", true))
		}
		_, total, err := sap.On(c.Store).Schedules(ctx, scope, first.Job, uuid.Nil, sap.Page{})
		require.NoError(t, err)
		require.Equal(t, 3, total, "30")

		// A request that fails leaves nothing.
		_, err = sap.On(c.Store).AddSchedule(ctx, scope, write(3), 77, cron(""))
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		require.Equal(t, []string{"2"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.rest_requests`))

		// After a minute, the same request is a new one; old requests are deleted.
		res, err := sap.On(c.Store).DeleteSchedules(ctx, scope, write(4), first.Job, uuid.Nil)
		require.NoError(t, err)
		require.False(t, res.Replayed)
		c.exec(t, `UPDATE jobs_internal.rest_requests SET created_at = DATEADD(SECOND, -61, created_at)`)
		res, err = sap.On(c.Store).DeleteSchedules(ctx, scope, write(4), first.Job, uuid.Nil)
		require.NoError(t, err)
		require.False(t, res.Replayed)
		c.exec(t, `UPDATE jobs_internal.rest_requests SET created_at = DATEADD(MINUTE, -11, created_at)`)
		require.NoError(t, sap.On(c.Store).FinishRequest(ctx, scope, sap.RequestKey{9}, "", true))
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.rest_requests`))

		// Many at once: one makes the change, and all get its ids.
		results := make([]sap.Result, 8)
		errs := make([]error, len(results))
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() {
				results[i], errs[i] = sap.On(c.Store).CreateJob(ctx, scope, write(5), sapSpec("at once", cron("")))
			})
		}
		group.Wait()
		made := 0
		for i := range results {
			require.NoError(t, errs[i])
			require.Equal(t, []any{results[0].Job, results[0].Schedules}, []any{results[i].Job, results[i].Schedules})
			if !results[i].Replayed {
				made++
			}
		}
		require.Equal(t, 1, made)
	})
}

// TestSAPPut is about the replacement of a job by its name (S-16).
func TestSAPPut(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		spec := sapSpec("j", cron(`{"a":1}`), cron(`{"a":1}`), cron(""))
		first, err := sap.On(c.Store).PutJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.True(t, first.Created)
		term := c.term(t)
		due, err := c.DueSchedules(ctx, 10)
		require.NoError(t, err)
		require.Len(t, due.Unvalidated, 3)
		at := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
		var validations []controldb.Validation
		for _, s := range due.Unvalidated {
			validations = append(validations, controldb.Validation{Schedule: s.ID, Revision: s.Revision, Zone: "UTC", Engine: "e", NextDueAt: at})
		}
		_, err = c.RecordValidations(ctx, term, validations)
		require.NoError(t, err)
		states := func() []string {
			return c.rows(t, `SELECT name, revision, next_run_id, next_due_at, enabled FROM jobs_internal.schedules WHERE next_run_id IS NOT NULL ORDER BY schedule_id`)
		}
		before := states()
		again, err := sap.On(c.Store).PutJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, []any{false, first.Schedules}, []any{again.Created, again.Schedules}, "the same file again changes nothing")
		require.Equal(t, before, states())
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT current_version FROM jobs_internal.jobs`), "and makes no version")

		spec.Schedules[0].Active = false
		spec.Schedules[2].Description = "new"
		third, err := sap.On(c.Store).PutJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, first.Schedules[:2], third.Schedules[:2])
		require.NotEqual(t, first.Schedules[2], third.Schedules[2])
		require.Equal(t, before[1], states()[1], "the second one keeps its instants")
		_, err = sap.On(c.Store).Runs(ctx, scope, first.Job, first.Schedules[2], sap.RunQuery{})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound, "the replaced one is gone")

		// A schedule that has ended is not kept: a finished time runs again.
		spec = sapSpec("k", sap.ScheduleSpec{Mode: sap.Time, Spec: `{"time":"now"}`, Active: true})
		first, err = sap.On(c.Store).PutJob(ctx, scope, by, spec)
		require.NoError(t, err)
		c.exec(t, `UPDATE s SET s.state = N'Completed', s.awaits_verdict = 0 FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id WHERE x.mode = N'time'`)
		again, err = sap.On(c.Store).PutJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.NotEqual(t, first.Schedules, again.Schedules)
	})
}

// TestSAPJobsInTSQL: T-SQL may switch jobs of the SAP surface, and nothing else (S-67).
func TestSAPJobsInTSQL(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t, "t1")
		res, err := sap.On(c.Store).CreateJob(t.Context(), scope, by, sapSpec("j", cron("")))
		require.NoError(t, err)
		for _, batch := range []string{
			`EXECUTE jobs.sp_update_job @job_name = N'j', @description = N'x';`,
			`EXECUTE jobs.sp_update_job @job_name = N'j', @new_name = N'k';`,
			`EXECUTE jobs.sp_delete_job @job_name = N'j', @force = 1;`,
			`EXECUTE jobs.sp_add_jobstep @job_name = N'j', @step_name = N's', @command_type = N'Http', @command = N'{"url": "https://x.example/"}';`,
			`EXECUTE jobs.sp_update_jobstep @job_name = N'j', @retry_attempts = 3;`,
			`EXECUTE jobs.sp_delete_jobstep @job_name = N'j', @step_id = 1;`,
			`EXECUTE jobs.sp_set_jobstep_options @job_name = N'j', @step_id = 1, @on_unknown_outcome = N'Retry';`,
			`EXECUTE jobs.sp_add_schedule @job_name = N'j', @schedule_name = N's', @kind = N'cron5', @spec = N'* * * * *';`,
			`DECLARE @s NVARCHAR(128) = (SELECT TOP (1) name FROM jobs_internal.schedules WHERE next_run_id IS NOT NULL);
			EXECUTE jobs.sp_update_schedule @job_name = N'j', @schedule_name = @s, @overlap = N'Skip';`,
			`DECLARE @s NVARCHAR(128) = (SELECT TOP (1) name FROM jobs_internal.schedules WHERE next_run_id IS NOT NULL);
			EXECUTE jobs.sp_delete_schedule @job_name = N'j', @schedule_name = @s;`,
		} {
			c.fails(t, 50180, batch)
		}
		active := func() []bool {
			job, err := sap.On(c.Store).Job(t.Context(), scope, sap.JobRef{ID: res.Job})
			require.NoError(t, err)
			return []bool{job.Active, job.Schedules[0].Active}
		}
		c.exec(t, `DECLARE @s NVARCHAR(128) = (SELECT TOP (1) name FROM jobs_internal.schedules WHERE next_run_id IS NOT NULL);
			EXECUTE jobs.sp_enable_schedule @job_name = N'j', @schedule_name = @s, @enabled = 0;`)
		require.Equal(t, []bool{true, false}, active())
		c.exec(t, `EXECUTE jobs.sp_update_job @job_name = N'j', @enabled = 0;`)
		require.Equal(t, []bool{false, false}, active())
		_, err = sap.On(c.Store).ActivateSchedules(t.Context(), scope, by, res.Job, true)
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, active())
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`))
		c.exec(t, `EXECUTE jobs.sp_update_job @job_name = N'j', @enabled = 1;`)
		require.Equal(t, []bool{true, true}, active())
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`), "the schedule of sp_add_job stays disabled")

		// REST does not see jobs of T-SQL. One of REST has another name there if its own is taken.
		c.exec(t, `EXECUTE jobs.sp_add_job @job_name = N'taken';`)
		list, total, err := sap.On(c.Store).Jobs(t.Context(), scope, sap.JobQuery{})
		require.NoError(t, err)
		require.Equal(t, []any{1, "j"}, []any{total, list[0].Name})
		res, err = sap.On(c.Store).CreateJob(t.Context(), scope, by, sapSpec("taken"))
		require.NoError(t, err)
		require.Equal(t, []string{"taken#2"}, c.rows(t, `SELECT job_name FROM jobs.jobs WHERE job_name LIKE N'taken#%'`))
		_, err = sap.On(c.Store).CreateJob(t.Context(), scope, by, sapSpec("J"))
		require.NoError(t, err, "names differ in case")
	})
}

// TestSAPLists is about filters, searches, sorting and pages (S-20, S-24, S-25; case 54 and 56).
func TestSAPLists(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		provider := c.sapProvider(t, "t1", "T2")
		ctx := t.Context()
		start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		add := func(scope sap.Scope, name, description string, active bool, from time.Time) {
			spec := sapSpec(name, sap.ScheduleSpec{Mode: sap.Cron, Spec: `{"cron":"* * * * * */10 0"}`, Description: "of " + name, Active: active, Start: from, Data: `{"n":"` + name + `"}`})
			spec.Description, spec.Active, spec.Start = description, active, from
			_, err := sap.On(c.Store).CreateJob(ctx, scope, by, spec)
			require.NoError(t, err)
		}
		add(provider, "b", "First job", true, time.Time{})
		add(sap.Subscriber("t1"), "a", "second JOB", false, start)
		add(sap.Subscriber("T2"), "x'y_[", "third", true, start.AddDate(0, 1, 0))
		names := func(q sap.JobQuery) (list []string) {
			t.Helper()
			jobs, total, err := sap.On(c.Store).Jobs(ctx, provider, q)
			require.NoError(t, err)
			if q.Page.Size == 0 {
				require.Len(t, jobs, total)
			}
			for _, j := range jobs {
				list = append(list, j.Name)
			}
			return list
		}
		is := func(property, value string) sap.Condition {
			return sap.Condition{Property: property, Value: value}
		}
		has := func(property, value string) sap.Condition {
			return sap.Condition{Property: property, Value: value, Contains: true}
		}
		search := func(s sap.Search) sap.JobQuery { return sap.JobQuery{Search: &s} }
		for i, x := range []struct {
			q    sap.JobQuery
			want []string
		}{
			{sap.JobQuery{}, []string{"b", "a", "x'y_["}},
			{sap.JobQuery{Sort: "name"}, []string{"a", "b", "x'y_["}},
			{sap.JobQuery{Sort: "name", Descending: true}, []string{"x'y_[", "b", "a"}},
			{sap.JobQuery{Sort: "active"}, []string{"a", "b", "x'y_["}},
			{sap.JobQuery{Sort: "createdAt", Descending: true}, []string{"x'y_[", "a", "b"}},
			{sap.JobQuery{Descending: true, Page: sap.Page{Offset: 1, Size: 1}}, []string{"a"}},
			{sap.JobQuery{Page: sap.Page{Offset: 99, Size: 10}}, nil},
			{sap.JobQuery{JobType: "CF_TASK", Sort: "name", Descending: true}, nil},
			// 54: and binds tighter than or
			{sap.JobQuery{Filter: sap.Filter{{is("name", "a"), is("subDomain", "x")}, {is("tenantId", "T2")}}}, []string{"x'y_["}},
			{sap.JobQuery{Filter: sap.Filter{{is("name", "a"), is("subDomain", "sub-t1")}, {is("tenantId", "t2")}}}, []string{"a"}},
			{sap.JobQuery{Filter: sap.Filter{{has("subDomain", "SUB-")}}}, []string{"a", "x'y_["}},
			{sap.JobQuery{Filter: sap.Filter{{has("name", "'Y_[")}}}, []string{"x'y_["}},
			{sap.JobQuery{Filter: sap.Filter{{is("name", "A")}}}, nil},
			{sap.JobQuery{Filter: sap.Filter{{is("name", "a ")}}}, nil},
			{sap.JobQuery{Filter: sap.Filter{{has("name", "a")}}, Tenant: "T2"}, []string{"a"}},
			{search(sap.Search{Words: []string{"job"}}), []string{"b", "a"}},
			{search(sap.Search{Words: []string{"job", "SECOND"}}), []string{"a"}},
			{search(sap.Search{Words: []string{"h.example"}, Active: ptr(true)}), []string{"b", "x'y_["}},
			{search(sap.Search{Bounds: []sap.Bound{{Field: "startTime", Operator: ">", At: start}}}), []string{"x'y_["}},
			{search(sap.Search{Bounds: []sap.Bound{{Field: "startTime", Operator: ">=", At: start}, {Field: "startTime", Operator: "<", At: start.AddDate(0, 1, 0)}}}), []string{"a"}},
			{search(sap.Search{Bounds: []sap.Bound{{Field: "endTime", Operator: "<=", At: start}}}), nil},
		} {
			require.Equal(t, x.want, names(x.q), "%d", i)
		}
		_, _, err := sap.On(c.Store).Jobs(ctx, provider, sap.JobQuery{Sort: "name; DROP TABLE x"})
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))
		_, _, err = sap.On(c.Store).Jobs(ctx, provider, sap.JobQuery{Filter: sap.Filter{{is("password", "x")}}})
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))
		for _, x := range []struct {
			s    sap.Search
			want int
		}{
			{sap.Search{}, 3},
			{sap.Search{Words: []string{"OF A"}}, 1},
			{sap.Search{Words: []string{`"n":"b"`}}, 1},
			{sap.Search{Active: ptr(false)}, 1},
			{sap.Search{Bounds: []sap.Bound{{Field: "startTime", Operator: "<=", At: start}}}, 1},
		} {
			list, total, err := sap.On(c.Store).SearchSchedules(ctx, provider, x.s, sap.Page{})
			require.NoError(t, err)
			require.Equal(t, []int{x.want, x.want}, []int{len(list), total}, "%+v", x.s)
		}
	})
}
