package controldb_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets"
)

// insertRuns inserts ended runs of the only schedule, one per ten minutes until now.
const insertRuns = `
DECLARE @now DATETIME2(7) = SYSUTCDATETIME();
INSERT INTO jobs_internal.job_executions (
    job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time, schedule_id, due_at, last_message
)
SELECT NEWID(), s.job_id, 1, N'Failed', 0, v.at, v.at, v.at, s.schedule_id, v.at, N'broken'
FROM jobs_internal.schedules AS s
CROSS JOIN (
    SELECT DATEADD(MINUTE, -10 * CAST(o.value AS INT), DATEADD(SECOND, -10, @now)) AS at
    FROM OPENJSON(@p1) AS o
) AS v
WHERE s.next_run_id IS NOT NULL;`

// numbers returns a JSON array of the numbers from 0 to n - 1.
func numbers(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprint(i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// validateAll gives all schedules that wait for validation an instant.
func (c *control) validateAll(t *testing.T, term controldb.TermID, at time.Time) {
	t.Helper()
	due, err := c.DueSchedules(t.Context(), 100)
	require.NoError(t, err)
	var list []controldb.Validation
	for _, s := range due.Unvalidated {
		list = append(list, controldb.Validation{Schedule: s.ID, Revision: s.Revision, Zone: "UTC", Engine: "e", NextDueAt: at})
	}
	recorded, err := c.RecordValidations(t.Context(), term, list)
	require.NoError(t, err)
	require.Len(t, recorded, len(list))
}

// TestSAPRunLog is about pages and cursors of the log (cases 18 and 70, S-30, S-31).
func TestSAPRunLog(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		made, err := sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec("j", cron("")))
		require.NoError(t, err)
		job, schedule := made.Job, made.Schedules[0]
		c.exec(t, insertRuns, numbers(230))
		read := func(q sap.RunQuery) sap.Runs {
			t.Helper()
			res, err := sap.On(c.Store).Runs(ctx, scope, job, schedule, q)
			require.NoError(t, err)
			for i := 1; i < len(res.List); i++ {
				require.False(t, res.List[i].ScheduledAt.After(res.List[i-1].ScheduledAt), "newest first")
			}
			return res
		}
		page := func(offset, size int) sap.RunQuery {
			return sap.RunQuery{Page: sap.Page{Offset: offset, Size: size}}
		}
		// 18
		all := read(sap.RunQuery{})
		require.Equal(t, []any{200, 230, true, false}, []any{len(all.List), all.Total, all.More, all.Newer})
		first := read(page(0, 15))
		require.Equal(t, []any{15, 230, true, false}, []any{len(first.List), first.Total, first.More, first.Newer})
		require.Equal(t, all.List[:15], first.List)
		last := read(page(225, 15))
		require.Equal(t, []any{5, false, true}, []any{len(last.List), last.More, last.Newer})
		beyond := read(page(99999, 10))
		require.Equal(t, []any{0, 230, false, true}, []any{len(beyond.List), beyond.Total, beyond.More, beyond.Newer})

		// Cursors: the whole log forwards, and back.
		var ids []uuid.UUID
		for q := page(0, 100); ; q.After = ids[len(ids)-1] {
			res := read(q)
			for _, r := range res.List {
				ids = append(ids, r.ID)
			}
			if !res.More {
				break
			}
		}
		require.Len(t, ids, 230)
		back := read(sap.RunQuery{Page: sap.Page{Size: 15}, Before: ids[20]})
		require.Equal(t, []any{15, ids[5], ids[19], true, true}, []any{len(back.List), back.List[0].ID, back.List[14].ID, back.More, back.Newer})
		back = read(sap.RunQuery{Page: sap.Page{Size: 15}, Before: ids[3]})
		require.Equal(t, []any{3, ids[0], false}, []any{len(back.List), back.List[0].ID, back.Newer})
		_, err = sap.On(c.Store).Runs(ctx, scope, job, schedule, sap.RunQuery{After: uuid.New()})
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		_, err = sap.On(c.Store).Runs(ctx, scope, job, schedule, page(0, 201))
		require.Equal(t, dberror.KindInvalid, dberror.KindOf(err))

		// S-31: the next run is the newest entry.
		term := c.term(t)
		at := time.Now().UTC().Add(time.Hour).Truncate(time.Second)
		c.validateAll(t, term, at)
		with := read(page(0, 3))
		require.Equal(t, []any{231, "SCHEDULED", ids[0], ids[1]}, []any{with.Total, with.List[0].State, with.List[1].ID, with.List[2].ID})
		require.Equal(t, ids[0], read(page(1, 1)).List[0].ID)
		next := with.List[0].ID
		require.Equal(t, ids[0], read(sap.RunQuery{After: next}).List[0].ID)
		back = read(sap.RunQuery{Page: sap.Page{Size: 2}, Before: ids[1]})
		require.Equal(t, []uuid.UUID{next, ids[0]}, []uuid.UUID{back.List[0].ID, back.List[1].ID})
		one, err := sap.On(c.Store).Run(ctx, scope, job, schedule, next)
		require.NoError(t, err)
		require.Equal(t, []any{"SCHEDULED", 1}, []any{one.Status, len(one.Events)})
		one, err = sap.On(c.Store).Run(ctx, scope, job, schedule, ids[7])
		require.NoError(t, err)
		require.Equal(t, []any{ids[7], "COMPLETED", "REQUEST_ERROR", "broken"}, []any{one.ID, one.Status, one.State, one.Text})

		// 70: older runs are in the history only.
		c.exec(t, `UPDATE jobs_internal.job_executions SET due_at = DATEADD(DAY, -16, due_at), create_time = DATEADD(DAY, -16, create_time) WHERE job_execution_id = @p1`, ids[7].String())
		_, err = sap.On(c.Store).Run(ctx, scope, job, schedule, ids[7])
		require.ErrorIs(t, err, dberror.ErrSAPNotFound)
		require.Equal(t, 230, read(page(0, 1)).Total)
		require.Equal(t, []string{"1"}, c.rows(t, `SELECT COUNT(*) FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id IS NULL`, ids[7].String()))
		c.exec(t, `EXECUTE jobs.sp_set_setting @name = N'sap_run_log_days', @value = 20;`)
		require.Equal(t, 231, read(page(0, 1)).Total)

		// The action log is kept as long as the history.
		_, err = sap.On(c.Store).AddSchedule(ctx, scope, by, job, cron(""))
		require.NoError(t, err)
		c.exec(t, `UPDATE a SET a.at = DATEADD(DAY, -46, a.at) FROM jobs_internal.rest_action_log AS a WHERE a.log_id = 1`)
		c.exec(t, `EXECUTE jobs_internal.purge_history;`)
		_, total, err := sap.On(c.Store).Actions(ctx, scope, job, uuid.Nil)
		require.NoError(t, err)
		require.Equal(t, 1, total)
	})
}

// TestSAPEarlyRuns: a run of which no attempt was claimed is canceled by a change of its schedule,
// and made anew with the new data (S-17), also if it waits for a limit of its endpoint; one that
// waits is canceled by the deletion of its schedule (S-43).
func TestSAPEarlyRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		made, err := sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec("j", cron(`{"n":1}`)))
		require.NoError(t, err)
		job, schedule := made.Job, made.Schedules[0]
		term := c.actionTerm(t)
		c.validateAll(t, term, time.Now().UTC().Add(-time.Second).Truncate(time.Second))
		fire := func() {
			t.Helper()
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			require.Len(t, due.Schedules, 1)
			s := due.Schedules[0]
			fired, err := c.FireSchedules(ctx, term, []controldb.Firing{{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}, NextDueAt: time.Now().UTC().Add(time.Hour)}})
			require.NoError(t, err)
			require.Equal(t, controldb.FiredStarted, fired[0].Result)
		}
		shown := c.mustRuns(t, scope, job, schedule)[0]
		fire()
		list := c.mustRuns(t, scope, job, schedule)
		require.Equal(t, []any{2, shown.ID, "SCHEDULED"}, []any{len(list), list[1].ID, list[1].State})
		_, err = sap.On(c.Store).UpdateSchedule(ctx, scope, by, job, schedule, sap.ScheduleChange{Data: ptr(`{"n":2}`)})
		require.NoError(t, err)
		fire()
		resolution := c.pass(t, term).Tasks[0]
		require.NoError(t, c.CompleteResolution(ctx, term, resolution.ID, controldb.Resolution{
			Attempt: resolution.Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")},
		}))
		_, err = c.Pass(ctx, controldb.PassRequest{Term: term, MaxConcurrentTargets: 10}) // the endpoint is at its limit: nothing is claimed
		require.NoError(t, err)
		_, err = sap.On(c.Store).UpdateSchedule(ctx, scope, by, job, schedule, sap.ScheduleChange{Data: ptr(`{"n":3}`)})
		require.NoError(t, err)
		fire()
		pass := c.pass(t, term)
		require.Len(t, pass.Tasks, 1, "the canceled runs send nothing")
		require.NoError(t, c.CompleteResolution(ctx, term, pass.Tasks[0].ID, controldb.Resolution{
			Attempt: pass.Tasks[0].Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")},
		}))
		pass = c.pass(t, term)
		require.Len(t, pass.Tasks, 1, "the canceled runs send nothing")
		change := func(data string) {
			t.Helper()
			_, err := sap.On(c.Store).UpdateSchedule(ctx, scope, by, job, schedule, sap.ScheduleChange{Data: &data})
			require.NoError(t, err)
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			require.Empty(t, due.Schedules, "an attempt was claimed: the run goes on")
		}
		change(`{"n":4}`)
		require.Equal(t, []any{job, schedule, "p"}, []any{pass.Tasks[0].SAPJobID, pass.Tasks[0].SAPScheduleID, pass.Tasks[0].Tenant.ID})
		text, err := c.Payload(ctx, pass.Tasks[0].PayloadID)
		require.NoError(t, err)
		require.Equal(t, `{"n":3}`, text)
		list = c.mustRuns(t, scope, job, schedule)
		require.Equal(t, []string{"SCHEDULED", "SCHEDULED", "ERROR", "ERROR"}, []string{list[0].State, list[1].State, list[2].State, list[3].State})

		_, err = sap.On(c.Store).DeleteSchedules(ctx, scope, by, job, schedule)
		require.NoError(t, err)
		require.Len(t, c.pass(t, term).Cancels, 1)
		require.ErrorIs(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, list[1].ID, callbacks.Report{Success: true}), dberror.ErrSAPNotFound)
	})
}

// mustRuns returns the log of a schedule.
func (c *control) mustRuns(t *testing.T, scope sap.Scope, job int64, schedule uuid.UUID) []sap.Run {
	t.Helper()
	res, err := sap.On(c.Store).Runs(t.Context(), scope, job, schedule, sap.RunQuery{Events: true})
	require.NoError(t, err)
	return res.List
}

// TestSAPReportRaces: of two different reports at once, one counts (case 78).
func TestSAPReportRaces(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		term := c.actionTerm(t)
		for i := range 5 {
			made, err := sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec(fmt.Sprintf("race %d", i), cron("")))
			require.NoError(t, err)
			job, schedule := made.Job, made.Schedules[0]
			c.validateAll(t, term, time.Now().UTC().Add(-time.Second).Truncate(time.Second))
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			s := due.Schedules[0]
			_, err = c.FireSchedules(ctx, term, []controldb.Firing{{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}})
			require.NoError(t, err)
			run := c.mustRuns(t, scope, job, schedule)[0].ID
			task := c.pass(t, term).Tasks[0]
			require.ErrorIs(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, run, callbacks.Report{Success: true}), dberror.ErrSAPRunNotStarted)
			err = c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")}})
			require.NoError(t, err)
			task = c.pass(t, term).Tasks[0]
			token := callbacks.HashToken(uuid.NewString())
			c.begin(t, term, task, &token)
			require.Equal(t, "TRIGGERED", c.mustRuns(t, scope, job, schedule)[0].State)
			c.complete(t, term, targets.Accepted, "202", task)
			errs := make(chan error, 2)
			for _, success := range []bool{true, false} {
				go func() { // ends with the call
					errs <- sap.On(c.Store).ReportRun(ctx, scope, job, schedule, run, callbacks.Report{Success: success, Message: fmt.Sprint(success), By: "app"})
				}()
			}
			first, second := <-errs, <-errs
			require.True(t, (first == nil) != (second == nil), "one of %v and %v", first, second)
			got := c.mustRuns(t, scope, job, schedule)[0]
			require.Equal(t, map[string]string{"true": "SUCCESS", "false": "ERROR"}[got.Text], got.State)
			c.pass(t, term)
			require.Equal(t, got.State, c.mustRuns(t, scope, job, schedule)[0].State)
		}
	})
}

// TestSAPPasswords: a password is stored sealed only, belongs to the job, and goes with it (S-53).
func TestSAPPasswords(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		key, err := secret.GenerateKey(rand.Reader)
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, key.Public()))
		database, err := secrets.On(c.Store).DatabaseID(ctx)
		require.NoError(t, err)
		seal := func() *sap.Password {
			name, err := secret.RESTName(rand.Reader)
			require.NoError(t, err)
			hosts := []string{"h.example"}
			sealed, err := secret.Seal(rand.Reader, secret.Place{Database: database.String(), Owner: secret.OwnerOf(name), Name: name, Version: 1, Hosts: hosts}, "pass-word", []secret.PublicKey{key.Public()})
			require.NoError(t, err)
			return &sap.Password{Name: name, Sealed: sealed.JSON(1, hosts...)}
		}
		spec := sapSpec("j")
		spec.User, spec.Password = `us"er`, seal()
		_, err = sap.On(c.Store).CreateJob(ctx, scope, by, spec)
		require.NoError(t, err)
		job, err := sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []any{`us"er`, true}, []any{job.User, job.HasPassword})
		command := get[string](t, c, `SELECT TOP (1) command FROM jobs_internal.step_commands ORDER BY command_id DESC`)
		definition, err := action.Decode(action.TypeHTTP, command)
		require.NoError(t, err)
		require.Equal(t, &action.Auth{Kind: "basic", Username: `us"er`, Password: "$(secret." + spec.Password.Name + ")"}, definition.HTTP.Auth)
		stored, err := secrets.On(c.Store).Sealed(ctx, secret.OwnerOf(spec.Password.Name), spec.Password.Name)
		require.NoError(t, err)
		value, err := stored.Sealed.Open(stored.Place, []secret.PrivateKey{key})
		require.NoError(t, err)
		require.Equal(t, "pass-word", value)

		_, err = sap.On(c.Store).UpdateJob(ctx, scope, by, 1, sap.JobChange{Password: seal()})
		require.NoError(t, err)
		require.Equal(t, []string{"2"}, c.rows(t, `SELECT current_version FROM jobs_internal.jobs`))
		_, err = sap.On(c.Store).UpdateJob(ctx, scope, by, 1, sap.JobChange{User: ptr("")})
		require.NoError(t, err)
		job, err = sap.On(c.Store).Job(ctx, scope, sap.JobRef{ID: 1})
		require.NoError(t, err)
		require.Equal(t, []any{"", false}, []any{job.User, job.HasPassword})
		c.fails(t, 50090, `EXECUTE jobs_rest.set_job @tenant = NULL, @job = N'{"action": "https://h.example/"}';`)
		c.fails(t, 50090, `EXECUTE jobs_rest.set_job @tenant = NULL, @job = N'[';`)
		for _, name := range []string{"", " x", "x ", "123", "a#1", strings.Repeat("x", 129), "50%"} {
			_, err = sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec(name))
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(err), name)
		}
		// A URL with a variable could show any secret to any host.
		for _, url := range []string{"https://evil.example/?x=$(secret.api)", "ftp://h.example", "", "https://" + strings.Repeat("x", 3000)} {
			bad := sapSpec("bad")
			bad.Action = url
			_, err = sap.On(c.Store).CreateJob(ctx, scope, by, bad)
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(err), url)
		}
	})
}

// TestSAPTurns: tenants take turns, so one with many runs does not hold up the others. It is the
// same when another job is under a limit.
func TestSAPTurns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.sapProvider(t, "t1", "t2")
		ctx := t.Context()
		term := c.actionTerm(t)
		add := func(tenant string, n int) {
			t.Helper()
			for i := range n {
				_, err := sap.On(c.Store).CreateJob(ctx, sap.Subscriber(tenant), by, sapSpec(fmt.Sprintf("job %d", i), cron("")))
				require.NoError(t, err)
			}
			c.validateAll(t, term, time.Now().UTC().Add(-time.Second).Truncate(time.Second))
			due, err := c.DueSchedules(ctx, 100)
			require.NoError(t, err)
			var firings []controldb.Firing
			for _, s := range due.Schedules {
				firings = append(firings, controldb.Firing{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}})
			}
			_, err = c.FireSchedules(ctx, term, firings)
			require.NoError(t, err)
			for _, task := range c.passMax(t, term, n).Tasks {
				require.Equal(t, controldb.TaskResolve, task.Kind)
				require.NoError(t, c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")}}))
			}
		}
		claimed := func(n int) (tenants []string) {
			t.Helper()
			for _, task := range c.passMax(t, term, n).Tasks {
				require.Equal(t, controldb.TaskRun, task.Kind)
				tenants = append(tenants, task.Tenant.ID)
			}
			return tenants
		}
		add("t1", 8)
		require.Equal(t, []string{"t1", "t1"}, claimed(2))
		add("t2", 3)
		require.Equal(t, []string{"t2"}, claimed(1), "t1 has two tasks running, t2 none")
		require.Equal(t, []string{"t2"}, claimed(1))
		require.ElementsMatch(t, []string{"t1", "t2"}, claimed(2))
		c.exec(t, `EXECUTE jobs.sp_set_limit @scope = N'Server', @name = N'h.example', @max_concurrent_targets = 7;`)
		require.Equal(t, []string{"t1"}, claimed(5), "the limit holds")
	})
}

// TestSAPLostAgent: the run of an agent that was lost after the request began waits for a report
// under the next agent, which does not call again (case 90, S-35). One of which nothing was sent is
// handed over.
func TestSAPLostAgent(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		scope := c.sapProvider(t)
		ctx := t.Context()
		for _, sent := range []bool{true, false} {
			term := c.actionTerm(t)
			made, err := sap.On(c.Store).CreateJob(ctx, scope, by, sapSpec(fmt.Sprintf("sent %v", sent), cron("")))
			require.NoError(t, err)
			job, schedule := made.Job, made.Schedules[0]
			c.validateAll(t, term, time.Now().UTC().Add(-time.Second).Truncate(time.Second))
			due, err := c.DueSchedules(ctx, 10)
			require.NoError(t, err)
			s := due.Schedules[0]
			_, err = c.FireSchedules(ctx, term, []controldb.Firing{{Schedule: s.ID, Revision: s.Revision, DueAt: s.DueAt, Runs: []time.Time{s.DueAt}}})
			require.NoError(t, err)
			task := c.pass(t, term).Tasks[0]
			require.NoError(t, c.CompleteResolution(ctx, term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: []targets.Target{targets.NewTarget("h.example", "", "")}}))
			task = c.pass(t, term).Tasks[0]
			if sent {
				token := callbacks.HashToken(uuid.NewString())
				c.begin(t, term, task, &token)
			}
			require.NoError(t, c.EndTerm(ctx, term))
			next := c.actionTerm(t)
			tasks := c.pass(t, next).Tasks
			run := c.mustRuns(t, scope, job, schedule)[0]
			if !sent {
				require.Len(t, tasks, 1)
				require.Equal(t, "SCHEDULED", run.State)
				continue
			}
			require.Empty(t, tasks)
			require.Equal(t, []any{"RUNNING", "ACK_NOT_RECVD", 0}, []any{run.Status, run.State, run.HTTPStatus})
			require.NoError(t, sap.On(c.Store).ReportRun(ctx, scope, job, schedule, run.ID, callbacks.Report{Success: true, Message: "m"}))
			c.pass(t, next)
			require.Equal(t, "Succeeded", c.lifecycle(t, run.ID))
			require.Equal(t, "SUCCESS", c.mustRuns(t, scope, job, schedule)[0].State)
			require.NoError(t, c.EndTerm(ctx, next))
		}
	})
}
