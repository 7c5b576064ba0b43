package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
)

// sapProvider stores a provider and subscribes tenants.
func (c *control) sapProvider(t *testing.T, tenants ...string) controldb.SAPScope {
	t.Helper()
	require.NoError(t, c.SetSAPProvider(t.Context(), "p", "provider"))
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
		require.ErrorIs(t, err, controldb.ErrSAPNotFound)
		made, err = c.CreateSAPJob(t.Context(), scope, by, sapSpec("my job"))
		require.NoError(t, err)
		require.Equal(t, int64(2), made.Job)
	})
}
