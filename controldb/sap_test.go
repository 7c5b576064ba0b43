package controldb_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// sapProvider stores a provider and subscribes tenants.
func (c *control) sapProvider(t *testing.T, tenants ...string) controldb.SAPScope {
	t.Helper()
	require.NoError(t, c.SetSAPProvider(t.Context(), "p", "provider", ""))
	for _, one := range tenants {
		require.NoError(t, c.SubscribeSAPTenant(t.Context(), one, "sub-"+one, "app"))
	}
	return controldb.SAPProvider()
}

// sapSpec is a job with the given schedules.
func sapSpec(name string, schedules ...controldb.SAPScheduleSpec) controldb.SAPJobSpec {
	return controldb.SAPJobSpec{
		Name: name, Action: "https://h.example/x", Method: "POST", Active: true, Schedules: schedules,
	}
}

// cron is an active schedule that is due every ten minutes.
func cron(data string) controldb.SAPScheduleSpec {
	return controldb.SAPScheduleSpec{Mode: controldb.SAPCron, Spec: `{"cron":"* * * * * */10 0"}`, Active: true, Data: data}
}

// by is the writer of tests.
var by = controldb.SAPWrite{By: "u"}

func TestSAPJobs(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		spec := sapSpec("my job", cron(`{"a":1}`), cron(""))
		spec.Start, spec.StartText = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), `"2026-01-02 03:04:05"`
		made, err := c.CreateSAPJob(t.Context(), scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, int64(1), made.Job)
		require.True(t, made.Created)
		require.Len(t, made.Schedules, 2)

		job, err := c.SAPJob(t.Context(), scope, controldb.SAPJobRef{Name: "my job"})
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), "p", "provider", "my job", "https://h.example/x", "POST", true, spec.Start, spec.StartText, 2, 0},
			[]any{job.ID, job.Tenant, job.SubDomain, job.Name, job.Action, job.Method, job.Active, job.Start.UTC(), job.StartText, job.ActiveCount, job.InactiveCount})
		require.Equal(t, []uuid.UUID{made.Schedules[0], made.Schedules[1]}, []uuid.UUID{job.Schedules[0].ID, job.Schedules[1].ID})
		require.Equal(t, `{"a":1}`, job.Schedules[0].Data)
		list, total, err := c.SAPJobs(t.Context(), scope, controldb.SAPJobQuery{Page: controldb.SAPPage{Size: 10}, Schedules: true})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, []controldb.SAPJob{job}, list)
		require.Equal(t, []string{"my job|1"}, c.rows(t, `SELECT job_name, job_version FROM jobs.jobs`))
		active, inactive, err := c.SAPJobCount(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, []int{1, 0}, []int{active, inactive})
		schedules, total, err := c.SAPSchedules(t.Context(), scope, 1, uuid.Nil, controldb.SAPPage{Offset: 1, Size: 1})
		require.NoError(t, err)
		require.Equal(t, 2, total)
		require.Len(t, schedules, 1)
		found, total, err := c.SearchSAPSchedules(t.Context(), scope, controldb.SAPSearch{Words: []string{"A"}}, controldb.SAPPage{})
		require.NoError(t, err)
		require.Equal(t, 1, total)
		require.Equal(t, "my job", found[0].JobName)

		added, err := c.AddSAPSchedule(t.Context(), scope, by, 1, cron(`{"b":2}`))
		require.NoError(t, err)
		_, err = c.UpdateSAPSchedule(t.Context(), scope, by, 1, added.Schedules[0], controldb.SAPScheduleChange{Description: ptr("d"), Active: ptr(false)})
		require.NoError(t, err)
		one, _, err := c.SAPSchedules(t.Context(), scope, 1, added.Schedules[0], controldb.SAPPage{})
		require.NoError(t, err)
		require.Equal(t, []any{"d", false, `{"b":2}`}, []any{one[0].Description, one[0].Active, one[0].Data})
		_, err = c.UpdateSAPJob(t.Context(), scope, by, 1, controldb.SAPJobChange{Active: ptr(false), Method: ptr("GET"), Start: &time.Time{}})
		require.NoError(t, err)
		require.Equal(t, []string{"my job|2"}, c.rows(t, `SELECT job_name, job_version FROM jobs.jobs`))
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1 OR next_fire_at IS NOT NULL`))
		_, err = c.ActivateSAPSchedules(t.Context(), scope, by, 1, true)
		require.NoError(t, err)
		_, err = c.UpdateSAPJob(t.Context(), scope, by, 1, controldb.SAPJobChange{Active: ptr(true)})
		require.NoError(t, err)
		require.Equal(t, []string{"3"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`))
		again, err := c.PutSAPJob(t.Context(), scope, by, sapSpec("my job", cron(`{"a":1}`), cron(`{"c":3}`)))
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), false, made.Schedules[0]}, []any{again.Job, again.Created, again.Schedules[0]})
		require.NotContains(t, made.Schedules, again.Schedules[1])
		runs, err := c.SAPRuns(t.Context(), scope, 1, made.Schedules[0], controldb.SAPRunQuery{Events: true})
		require.NoError(t, err)
		require.Empty(t, runs.List)
		log, total, err := c.SAPActions(t.Context(), scope, 1, uuid.Nil)
		require.NoError(t, err)
		require.Equal(t, len(log), total)
		require.Equal(t, "UPDATE", log[0].Action)
		_, err = c.DeleteSAPSchedules(t.Context(), scope, by, 1, uuid.Nil)
		require.NoError(t, err)
		settings, err := c.SAPSettings(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, controldb.SAPSettings{AsyncExecTimeout: 7 * 24 * time.Hour, MinInterval: 5 * time.Minute, RunLogDays: 15}, settings)
		_, err = c.SetSAPTimeout(t.Context(), scope, by, 600)
		require.NoError(t, err)
		_, err = c.DeleteSAPJob(t.Context(), scope, by, 1)
		require.NoError(t, err)
		_, err = c.SAPJob(t.Context(), scope, controldb.SAPJobRef{ID: 1})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		made, err = c.CreateSAPJob(t.Context(), scope, by, sapSpec("my job"))
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
		made := map[string]controldb.SAPResult{}
		scopes := map[string]controldb.SAPScope{"p": provider, "t1": controldb.SAPSubscriber("t1"), "t2": controldb.SAPSubscriber("t2")}
		for _, id := range []string{"p", "t1", "t2"} {
			res, err := c.CreateSAPJob(ctx, scopes[id], by, sapSpec("same", cron("")))
			require.NoError(t, err)
			made[id] = res
		}
		require.Equal(t, []string{"same", "same#2", "same#3"}, c.rows(t, `SELECT job_name FROM jobs.jobs ORDER BY job_name`), "S-67")
		for who, scope := range map[string]controldb.SAPScope{"t2": scopes["t2"], "t3": controldb.SAPSubscriber("t3"), "nobody": {}, "empty": controldb.SAPSubscriber("")} {
			before := c.rows(t, `SELECT revision FROM jobs_internal.jobs ORDER BY name`)
			var texts [2]string
			for i, job := range []int64{made["t1"].Job, 999999} {
				schedule, run := made["t1"].Schedules[0], uuid.New()
				if i == 1 {
					schedule = uuid.New()
				}
				for _, call := range []func() error{
					func() error { _, err := c.SAPJob(ctx, scope, controldb.SAPJobRef{ID: job}); return err },
					func() error {
						_, err := c.SAPJob(ctx, scope, controldb.SAPJobRef{ID: job, Name: "same"})
						return err
					},
					func() error {
						_, err := c.UpdateSAPJob(ctx, scope, by, job, controldb.SAPJobChange{Active: ptr(false)})
						return err
					},
					func() error { _, err := c.DeleteSAPJob(ctx, scope, by, job); return err },
					func() error { _, err := c.AddSAPSchedule(ctx, scope, by, job, cron("")); return err },
					func() error {
						_, err := c.UpdateSAPSchedule(ctx, scope, by, job, schedule, controldb.SAPScheduleChange{Active: ptr(false)})
						return err
					},
					func() error { _, err := c.DeleteSAPSchedules(ctx, scope, by, job, schedule); return err },
					func() error { _, err := c.DeleteSAPSchedules(ctx, scope, by, job, uuid.Nil); return err },
					func() error { _, err := c.ActivateSAPSchedules(ctx, scope, by, job, false); return err },
					func() error {
						_, _, err := c.SAPSchedules(ctx, scope, job, uuid.Nil, controldb.SAPPage{})
						return err
					},
					func() error {
						_, _, err := c.SAPSchedules(ctx, scope, job, schedule, controldb.SAPPage{})
						return err
					},
					func() error {
						_, err := c.SAPRuns(ctx, scope, job, schedule, controldb.SAPRunQuery{})
						return err
					},
					func() error { _, err := c.SAPRun(ctx, scope, job, schedule, run); return err },
					func() error { return c.ReportSAPRun(ctx, scope, job, schedule, run, controldb.Report{Success: true}) },
					func() error { _, _, err := c.SAPActions(ctx, scope, job, uuid.Nil); return err },
				} {
					err := call()
					require.ErrorIs(t, err, dberror.ErrSAPNotFound, who)
					texts[i] += err.Error() + "\n"
				}
			}
			require.Equal(t, texts[1], texts[0], "%s: the texts are those of an unknown job", who)
			require.Equal(t, before, c.rows(t, `SELECT revision FROM jobs_internal.jobs ORDER BY name`), who)
			list, total, err := c.SAPJobs(ctx, scope, controldb.SAPJobQuery{Schedules: true})
			require.NoError(t, err)
			found, schedules, err := c.SearchSAPSchedules(ctx, scope, controldb.SAPSearch{}, controldb.SAPPage{})
			require.NoError(t, err)
			active, inactive, err := c.SAPJobCount(ctx, scope)
			require.NoError(t, err)
			want := map[bool]int{true: 1}[who == "t2"]
			require.Equal(t, []int{want, want, want, want, want, 0}, []int{len(list), total, len(found), schedules, active, inactive}, who)
		}
		_, err := c.CreateSAPJob(ctx, controldb.SAPSubscriber("t3"), by, sapSpec("j"))
		require.ErrorIs(t, err, dberror.ErrSAPTenant, "S-58")

		// 98: the provider sees, changes and deletes the jobs of all tenants.
		list, total, err := c.SAPJobs(ctx, provider, controldb.SAPJobQuery{})
		require.NoError(t, err)
		require.Equal(t, []any{3, "provider", "sub-t1", "sub-t2"}, []any{total, list[0].SubDomain, list[1].SubDomain, list[2].SubDomain})
		list, total, err = c.SAPJobs(ctx, provider, controldb.SAPJobQuery{Tenant: "t1"})
		require.NoError(t, err)
		require.Equal(t, []any{1, "t1"}, []any{total, list[0].Tenant})
		_, err = c.UpdateSAPJob(ctx, provider, by, made["t1"].Job, controldb.SAPJobChange{Active: ptr(false)})
		require.NoError(t, err)
		// S-13: by name, the provider's own tenant comes first.
		job, err := c.SAPJob(ctx, provider, controldb.SAPJobRef{Name: "same"})
		require.NoError(t, err)
		require.Equal(t, "p", job.Tenant)
		_, err = c.DeleteSAPJob(ctx, provider, by, made["p"].Job)
		require.NoError(t, err)
		_, err = c.SAPJob(ctx, provider, controldb.SAPJobRef{Name: "same"})
		require.ErrorIs(t, err, dberror.ErrSAPAmbiguous)
		job, err = c.SAPJob(ctx, provider, controldb.SAPJobRef{Name: "same", Tenant: "t2"})
		require.NoError(t, err)
		require.Equal(t, "t2", job.Tenant)
		_, err = c.SAPJob(ctx, scopes["t1"], controldb.SAPJobRef{Name: "SAME"})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound, "names are compared exactly")

		// S-59: the last subscription takes the jobs with it.
		require.NoError(t, c.SubscribeSAPTenant(ctx, "t1", "sub-t1", "second"))
		require.NoError(t, c.UnsubscribeSAPTenant(ctx, "t1", "app"))
		_, err = c.SAPJob(ctx, scopes["t1"], controldb.SAPJobRef{Name: "same"})
		require.NoError(t, err)
		require.ErrorIs(t, c.UnsubscribeSAPTenant(ctx, "t1", "app"), dberror.ErrSAPNotFound)
		require.NoError(t, c.UnsubscribeSAPTenant(ctx, "t1", "second"))
		_, err = c.SAPJob(ctx, scopes["t1"], controldb.SAPJobRef{Name: "same"})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		_, err = c.CreateSAPJob(ctx, scopes["t1"], by, sapSpec("j"))
		require.ErrorIs(t, err, dberror.ErrSAPTenant)
		tenants, err := c.SAPTenants(ctx, "t1")
		require.NoError(t, err)
		require.Equal(t, []any{1, false, 0}, []any{len(tenants), tenants[0].Subscribed, len(tenants[0].Apps)})
		require.Equal(t, []string{"same#3"}, c.rows(t, `SELECT job_name FROM jobs.jobs`))
		require.Error(t, c.SetSAPProvider(ctx, "t2", "x", ""), "the provider cannot become another tenant")
	})
}

// TestSAPRepeats is about blind repeats of clients (S-4): cases 28 and 30.
func TestSAPRepeats(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		write := func(key byte) controldb.SAPWrite {
			return controldb.SAPWrite{By: "u", Key: controldb.SAPRequestKey{key}}
		}

		// 28: the answer was not delivered.
		first, err := c.CreateSAPJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		again, err := c.CreateSAPJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		require.True(t, again.Replayed)
		require.Equal(t, []any{first.Job, first.Created, first.Schedules, ""}, []any{again.Job, again.Created, again.Schedules, again.Answer}, "28")
		require.NoError(t, c.FinishSAPRequest(ctx, scope, controldb.SAPRequestKey{1}, "the answer", false))
		again, err = c.CreateSAPJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.NoError(t, err)
		require.Equal(t, "the answer", again.Answer)
		require.Equal(t, []string{"1|1"}, c.rows(t, `SELECT (SELECT COUNT(*) FROM jobs_internal.rest_jobs), (SELECT COUNT(*) FROM jobs_internal.rest_schedules)`))
		// It was delivered: the same request is a new one.
		require.NoError(t, c.FinishSAPRequest(ctx, scope, controldb.SAPRequestKey{1}, "the answer", true))
		_, err = c.CreateSAPJob(ctx, scope, write(1), sapSpec("j", cron("")))
		require.ErrorIs(t, err, dberror.ErrSAPExists)

		// 30: two deliberate requests.
		for range 2 {
			res, err := c.AddSAPSchedule(ctx, scope, write(2), first.Job, cron(""))
			require.NoError(t, err)
			require.False(t, res.Replayed)
			require.NoError(t, c.FinishSAPRequest(ctx, scope, controldb.SAPRequestKey{2}, "", true))
		}
		_, total, err := c.SAPSchedules(ctx, scope, first.Job, uuid.Nil, controldb.SAPPage{})
		require.NoError(t, err)
		require.Equal(t, 3, total, "30")

		// A request that fails leaves nothing.
		_, err = c.AddSAPSchedule(ctx, scope, write(3), 77, cron(""))
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		require.Equal(t, []string{"2"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.rest_requests`))

		// After a minute, the same request is a new one; old requests are deleted.
		res, err := c.DeleteSAPSchedules(ctx, scope, write(4), first.Job, uuid.Nil)
		require.NoError(t, err)
		require.False(t, res.Replayed)
		c.exec(t, `UPDATE jobs_internal.rest_requests SET created_at = DATEADD(SECOND, -61, created_at)`)
		res, err = c.DeleteSAPSchedules(ctx, scope, write(4), first.Job, uuid.Nil)
		require.NoError(t, err)
		require.False(t, res.Replayed)
		c.exec(t, `UPDATE jobs_internal.rest_requests SET created_at = DATEADD(MINUTE, -11, created_at)`)
		require.NoError(t, c.FinishSAPRequest(ctx, scope, controldb.SAPRequestKey{9}, "", true))
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.rest_requests`))

		// Many at once: one makes the change, and all get its ids.
		results := make([]controldb.SAPResult, 8)
		errs := make([]error, len(results))
		var group sync.WaitGroup
		for i := range results {
			group.Go(func() { results[i], errs[i] = c.CreateSAPJob(ctx, scope, write(5), sapSpec("at once", cron(""))) })
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
		first, err := c.PutSAPJob(ctx, scope, by, spec)
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
		again, err := c.PutSAPJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, []any{false, first.Schedules}, []any{again.Created, again.Schedules}, "the same file again changes nothing")
		require.Equal(t, before, states())
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT current_version FROM jobs_internal.jobs`), "and makes no version")

		spec.Schedules[0].Active = false
		spec.Schedules[2].Description = "new"
		third, err := c.PutSAPJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.Equal(t, first.Schedules[:2], third.Schedules[:2])
		require.NotEqual(t, first.Schedules[2], third.Schedules[2])
		require.Equal(t, before[1], states()[1], "the second one keeps its instants")
		_, err = c.SAPRuns(ctx, scope, first.Job, first.Schedules[2], controldb.SAPRunQuery{})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound, "the replaced one is gone")

		// A schedule that has ended is not kept: a finished time runs again.
		spec = sapSpec("k", controldb.SAPScheduleSpec{Mode: controldb.SAPTime, Spec: `{"time":"now"}`, Active: true})
		first, err = c.PutSAPJob(ctx, scope, by, spec)
		require.NoError(t, err)
		c.exec(t, `UPDATE s SET s.state = N'Completed', s.awaits_verdict = 0 FROM jobs_internal.schedules AS s INNER JOIN jobs_internal.rest_schedules AS x ON x.schedule_id = s.schedule_id WHERE x.mode = N'time'`)
		again, err = c.PutSAPJob(ctx, scope, by, spec)
		require.NoError(t, err)
		require.NotEqual(t, first.Schedules, again.Schedules)
	})
}

// TestSAPJobsInTSQL: T-SQL may switch jobs of the SAP surface, and nothing else (S-67).
func TestSAPJobsInTSQL(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t, "t1")
		res, err := c.CreateSAPJob(t.Context(), scope, by, sapSpec("j", cron("")))
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
			job, err := c.SAPJob(t.Context(), scope, controldb.SAPJobRef{ID: res.Job})
			require.NoError(t, err)
			return []bool{job.Active, job.Schedules[0].Active}
		}
		c.exec(t, `DECLARE @s NVARCHAR(128) = (SELECT TOP (1) name FROM jobs_internal.schedules WHERE next_run_id IS NOT NULL);
			EXECUTE jobs.sp_enable_schedule @job_name = N'j', @schedule_name = @s, @enabled = 0;`)
		require.Equal(t, []bool{true, false}, active())
		c.exec(t, `EXECUTE jobs.sp_update_job @job_name = N'j', @enabled = 0;`)
		require.Equal(t, []bool{false, false}, active())
		_, err = c.ActivateSAPSchedules(t.Context(), scope, by, res.Job, true)
		require.NoError(t, err)
		require.Equal(t, []bool{false, true}, active())
		require.Equal(t, []string{"0"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`))
		c.exec(t, `EXECUTE jobs.sp_update_job @job_name = N'j', @enabled = 1;`)
		require.Equal(t, []bool{true, true}, active())
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT COUNT(*) FROM jobs_internal.schedules WHERE enabled = 1`), "the schedule of sp_add_job stays disabled")

		// REST does not see jobs of T-SQL. One of REST has another name there if its own is taken.
		c.exec(t, `EXECUTE jobs.sp_add_job @job_name = N'taken';`)
		list, total, err := c.SAPJobs(t.Context(), scope, controldb.SAPJobQuery{})
		require.NoError(t, err)
		require.Equal(t, []any{1, "j"}, []any{total, list[0].Name})
		res, err = c.CreateSAPJob(t.Context(), scope, by, sapSpec("taken"))
		require.NoError(t, err)
		require.Equal(t, []string{"taken#2"}, c.rows(t, `SELECT job_name FROM jobs.jobs WHERE job_name LIKE N'taken#%'`))
		_, err = c.CreateSAPJob(t.Context(), scope, by, sapSpec("J"))
		require.NoError(t, err, "names differ in case")
	})
}

// TestSAPLists is about filters, searches, sorting and pages (S-20, S-24, S-25; case 54 and 56).
func TestSAPLists(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		provider := c.sapProvider(t, "t1", "T2")
		ctx := t.Context()
		start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
		add := func(scope controldb.SAPScope, name, description string, active bool, from time.Time) {
			spec := sapSpec(name, controldb.SAPScheduleSpec{Mode: controldb.SAPCron, Spec: `{"cron":"* * * * * */10 0"}`, Description: "of " + name, Active: active, Start: from, Data: `{"n":"` + name + `"}`})
			spec.Description, spec.Active, spec.Start = description, active, from
			_, err := c.CreateSAPJob(ctx, scope, by, spec)
			require.NoError(t, err)
		}
		add(provider, "b", "First job", true, time.Time{})
		add(controldb.SAPSubscriber("t1"), "a", "second JOB", false, start)
		add(controldb.SAPSubscriber("T2"), "x'y_[", "third", true, start.AddDate(0, 1, 0))
		names := func(q controldb.SAPJobQuery) (list []string) {
			t.Helper()
			jobs, total, err := c.SAPJobs(ctx, provider, q)
			require.NoError(t, err)
			if q.Page.Size == 0 {
				require.Len(t, jobs, total)
			}
			for _, j := range jobs {
				list = append(list, j.Name)
			}
			return list
		}
		is := func(property, value string) controldb.SAPCondition {
			return controldb.SAPCondition{Property: property, Value: value}
		}
		has := func(property, value string) controldb.SAPCondition {
			return controldb.SAPCondition{Property: property, Value: value, Contains: true}
		}
		search := func(s controldb.SAPSearch) controldb.SAPJobQuery { return controldb.SAPJobQuery{Search: &s} }
		for i, x := range []struct {
			q    controldb.SAPJobQuery
			want []string
		}{
			{controldb.SAPJobQuery{}, []string{"b", "a", "x'y_["}},
			{controldb.SAPJobQuery{Sort: "name"}, []string{"a", "b", "x'y_["}},
			{controldb.SAPJobQuery{Sort: "name", Descending: true}, []string{"x'y_[", "b", "a"}},
			{controldb.SAPJobQuery{Sort: "active"}, []string{"a", "b", "x'y_["}},
			{controldb.SAPJobQuery{Sort: "createdAt", Descending: true}, []string{"x'y_[", "a", "b"}},
			{controldb.SAPJobQuery{Descending: true, Page: controldb.SAPPage{Offset: 1, Size: 1}}, []string{"a"}},
			{controldb.SAPJobQuery{Page: controldb.SAPPage{Offset: 99, Size: 10}}, nil},
			{controldb.SAPJobQuery{JobType: "CF_TASK", Sort: "name", Descending: true}, nil},
			// 54: and binds tighter than or
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{is("name", "a"), is("subDomain", "x")}, {is("tenantId", "T2")}}}, []string{"x'y_["}},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{is("name", "a"), is("subDomain", "sub-t1")}, {is("tenantId", "t2")}}}, []string{"a"}},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{has("subDomain", "SUB-")}}}, []string{"a", "x'y_["}},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{has("name", "'Y_[")}}}, []string{"x'y_["}},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{is("name", "A")}}}, nil},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{is("name", "a ")}}}, nil},
			{controldb.SAPJobQuery{Filter: controldb.SAPFilter{{has("name", "a")}}, Tenant: "T2"}, []string{"a"}},
			{search(controldb.SAPSearch{Words: []string{"job"}}), []string{"b", "a"}},
			{search(controldb.SAPSearch{Words: []string{"job", "SECOND"}}), []string{"a"}},
			{search(controldb.SAPSearch{Words: []string{"h.example"}, Active: ptr(true)}), []string{"b", "x'y_["}},
			{search(controldb.SAPSearch{Bounds: []controldb.SAPBound{{Field: "startTime", Operator: ">", At: start}}}), []string{"x'y_["}},
			{search(controldb.SAPSearch{Bounds: []controldb.SAPBound{{Field: "startTime", Operator: ">=", At: start}, {Field: "startTime", Operator: "<", At: start.AddDate(0, 1, 0)}}}), []string{"a"}},
			{search(controldb.SAPSearch{Bounds: []controldb.SAPBound{{Field: "endTime", Operator: "<=", At: start}}}), nil},
		} {
			require.Equal(t, x.want, names(x.q), "%d", i)
		}
		_, _, err := c.SAPJobs(ctx, provider, controldb.SAPJobQuery{Sort: "name; DROP TABLE x"})
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))
		_, _, err = c.SAPJobs(ctx, provider, controldb.SAPJobQuery{Filter: controldb.SAPFilter{{is("password", "x")}}})
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))
		for _, x := range []struct {
			s    controldb.SAPSearch
			want int
		}{
			{controldb.SAPSearch{}, 3},
			{controldb.SAPSearch{Words: []string{"OF A"}}, 1},
			{controldb.SAPSearch{Words: []string{`"n":"b"`}}, 1},
			{controldb.SAPSearch{Active: ptr(false)}, 1},
			{controldb.SAPSearch{Bounds: []controldb.SAPBound{{Field: "startTime", Operator: "<=", At: start}}}, 1},
		} {
			list, total, err := c.SearchSAPSchedules(ctx, provider, x.s, controldb.SAPPage{})
			require.NoError(t, err)
			require.Equal(t, []int{x.want, x.want}, []int{len(list), total}, "%+v", x.s)
		}
	})
}
