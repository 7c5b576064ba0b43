package controldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/auditlog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// overview reads the overview.
func (c *control) overview(t *testing.T) summary.Overview {
	t.Helper()
	o, err := summary.On(c.Store).Overview(t.Context(), 20)
	require.NoError(t, err)
	require.False(t, o.Now.IsZero())
	return o
}

func TestOverviewOfNothing(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		o := c.overview(t)
		require.Zero(t, o.Jobs)
		require.Zero(t, o.LiveAgents)
		require.True(t, o.LastAgentAt.IsZero(), "there was no agent")
		require.False(t, o.WorkWaits())
		require.Equal(t, account.AgentNone, o.JobAgentState)
		require.Empty(t, o.Runs)
		require.Empty(t, o.Waiting)
		f, err := summary.On(c.Store).Failures(t.Context(), 24)
		require.NoError(t, err)
		require.Equal(t, 24*time.Hour, f.Now.Sub(f.Since))
		require.Equal(t, f.Since, f.CompleteSince)
		require.Empty(t, f.Errors)
		r, err := summary.On(c.Store).RecentRuns(t.Context(), 7, 40, 30)
		require.NoError(t, err)
		require.Zero(t, r.Jobs)
		require.Empty(t, r.Runs)
		u, err := summary.On(c.Store).LimitUse(t.Context(), 10)
		require.NoError(t, err)
		require.Empty(t, u.Limits)
		require.Empty(t, u.Uses)
	})
}

// TestOverviewOfARun follows a run: numbers of targets by what they do, and the steps.
func TestOverviewOfARun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "busy", func(s *model.StepSpec) { s.RetryAttempts = ptr(1) }, nil)
		term := c.term(t)
		run := c.start(t, "busy")
		c.resolve(t, term, "a", "b", "c", "d", "e")
		tasks := c.passMax(t, term, 4).Tasks
		require.Len(t, tasks, 4)
		c.complete(t, term, targets.Succeeded, "", tasks[0])
		c.complete(t, term, targets.Failed, "again", tasks[1])
		c.complete(t, term, targets.TimedOut, "too slow", tasks[2])

		o := c.overview(t)
		require.Equal(t, 1, o.Jobs)
		require.Equal(t, 1, o.LiveAgents)
		require.Equal(t, 1, o.BusyWorkers)
		require.Positive(t, o.Workers)
		require.True(t, o.LeaseUntil.After(o.Now))
		require.Equal(t, 1, o.ActiveRuns)
		require.Equal(t, 1, o.RunningTargets)
		require.Equal(t, 2, o.WaitingTargets, "one is due, one waits for its retry")
		require.True(t, o.WorkWaits())
		require.Len(t, o.Runs, 1)
		r := o.Runs[0]
		require.Equal(t, run, r.ID)
		require.Equal(t, jobs.WaitingForChildJobExecutions, r.Lifecycle)
		require.Equal(t, "step 1", r.StepName)
		require.Equal(t, 2, r.Steps)
		require.Equal(t, 1, r.StepsBegun)
		require.Equal(t, []int{5, 1, 1, 1, 0, 1, 1}, []int{r.Targets, r.Running, r.Due, r.Retrying, r.Callbacks, r.Failed, r.Ended()})
		require.Equal(t, []int{5, 3}, []int{r.StepTargets, r.StepActive})
		require.True(t, r.NextAttempt.After(o.Now))
		require.False(t, r.BeganAt.IsZero())
		require.Empty(t, o.Waiting, "a target runs")
	})
}

func TestActiveRunRate(t *testing.T) {
	began := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	r := summary.ActiveRun{BeganAt: began, StepTargets: 100, StepActive: 80}
	pace := func(now time.Time) []any {
		rate, left := r.Pace(now)
		return []any{rate, left}
	}
	require.Equal(t, []any{2.0, 40 * time.Second}, pace(began.Add(10*time.Second)))
	require.Equal(t, []any{0.0, time.Duration(0)}, pace(began.Add(-time.Hour)), "the clock went back")
	r.Held = 60
	require.Equal(t, []any{2.0, time.Duration(0)}, pace(began.Add(10*time.Second)), "nobody knows when the windows open")
	r.HeldUntil = began.Add(15 * time.Second)
	require.Equal(t, []any{2.0, 10 * time.Second}, pace(began.Add(10*time.Second)), "the others take longer than the windows")
	r.HeldUntil = began.Add(time.Hour)
	require.Equal(t, []any{2.0, 59*time.Minute + 50*time.Second}, pace(began.Add(10*time.Second)))
	r.StepActive, r.Held = 100, 0
	require.Equal(t, []any{0.0, time.Duration(0)}, pace(began.Add(time.Hour)), "nothing has ended")
	r = summary.ActiveRun{}
	require.Equal(t, []any{0.0, time.Duration(0)}, pace(began))
}

// TestOverviewWaits: why runs wait, once they have waited for a while.
func TestOverviewWaits(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "sql", nil)
		c.httpJob(t, "call", nil)
		term := c.term(t) // runs TSql only
		sqlRun := c.start(t, "sql")
		c.resolve(t, term, "a", "b")
		tasks := c.passMax(t, term, 1).Tasks
		callRun := c.start(t, "call")
		c.pass(t, term) // creates the step of the call
		old := func() {
			c.exec(t, `UPDATE jobs_internal.step_executions SET create_time = DATEADD(MINUTE, -5, create_time);
UPDATE jobs_internal.target_executions SET next_attempt_at = DATEADD(MINUTE, -4, next_attempt_at) WHERE next_attempt_at IS NOT NULL;`)
		}
		waits := func() map[string]string {
			got := map[string]string{}
			for _, w := range c.overview(t).Waiting {
				got[w.JobName] = strings.TrimSpace(w.For + " " + w.CommandType)
				require.False(t, w.Since.IsZero())
			}
			return got
		}
		require.Empty(t, waits(), "they have not waited for 30 seconds")
		old()
		require.Equal(t, map[string]string{"call": "Agent Http"}, waits(), "a target of the other run is running: %s", sqlRun)
		o := c.overview(t)
		require.Equal(t, "Http", o.Missing[0].CommandType)
		require.Equal(t, 1, o.Missing[0].Runs)

		c.complete(t, term, targets.Succeeded, "", tasks...)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), callRun))
		c.exec(t, "UPDATE jobs_internal.job_executions SET stop_requested_at = DATEADD(MINUTE, -1, stop_requested_at) WHERE stop_requested_at IS NOT NULL;")
		got := waits()
		require.Equal(t, "Stop", got["call"])
		if got["sql"] != "" { // the second target was claimed by the pass above
			require.Equal(t, "Limit", got["sql"])
		}

		require.NoError(t, c.EndTerm(t.Context(), term))
		o = c.overview(t)
		require.Zero(t, o.LiveAgents)
		require.False(t, o.LastAgentAt.IsZero())
		require.Empty(t, o.Missing, "no agent is live at all")
	})
}

// TestOverviewBoundsWaits: what the overview counts of runs that it does not list does not grow
// with their targets.
func TestOverviewBoundsWaits(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		const many = 1001
		list := make([]targets.Target, many)
		for i := range list {
			list[i] = targets.NewTarget("s", fmt.Sprintf("d%d", i), "")
		}
		term := c.term(t)
		for _, job := range []string{"first", "second"} {
			c.job(t, job, nil)
			c.start(t, job)
		}
		resolutions := c.pass(t, term).Tasks
		require.Len(t, resolutions, 2)
		for _, task := range resolutions {
			require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
		}
		require.Len(t, c.passMax(t, term, 1).Tasks, 1)
		require.NoError(t, c.EndTerm(t.Context(), term))
		c.exec(t, "UPDATE jobs_internal.target_executions SET next_attempt_at = DATEADD(MINUTE, -4, next_attempt_at) WHERE next_attempt_at IS NOT NULL;")
		counted := func(top int) map[string]int {
			o, err := summary.On(c.Store).Overview(t.Context(), top)
			require.NoError(t, err)
			got := map[string]int{}
			for _, w := range o.Waiting {
				got[w.JobName] = w.Targets
			}
			return got
		}
		all := counted(20)
		require.Len(t, all, 2)
		require.InDelta(t, many, all["first"], 1, "all targets of listed runs, but those that were claimed")
		require.InDelta(t, many, all["second"], 1)
		require.Equal(t, map[string]int{"first": 1000}, counted(1), "the page lists the second run only")
	})
}

func TestFailures(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "bad", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		c.job(t, "lost", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.term(t)
		for range 2 {
			c.start(t, "bad")
			c.resolve(t, term, "a", "b", "c")
			tasks := c.pass(t, term).Tasks
			require.Len(t, tasks, 3)
			for _, task := range tasks[:2] {
				c.complete(t, term, targets.Failed, fmt.Sprintf("Cannot open database '%s' on 's'.", task.Target.Database), task)
			}
			c.complete(t, term, targets.TimedOut, "too <slow>", tasks[2])
			c.pass(t, term)
		}
		run := c.start(t, "lost")
		task := c.pass(t, term).Tasks[0]
		c.complete(t, term, targets.Failed, "the server has no databases", task)
		c.pass(t, term)

		f, err := summary.On(c.Store).Failures(t.Context(), 24)
		require.NoError(t, err)
		require.Equal(t, 3, f.Runs)
		require.Equal(t, 6, f.Targets)
		require.Equal(t, f.Since, f.CompleteSince)
		got := map[string]summary.FailureGroup{}
		for _, e := range f.Errors {
			got[fmt.Sprintf("%s %d %s %s", e.JobName, e.StepID, e.Lifecycle, e.Message)] = e
		}
		require.Len(t, got, 3, "%v", f.Errors)
		e, ok := got["bad 1 Failed Cannot open database '...' on '...'."]
		require.True(t, ok, "%v", f.Errors)
		require.Equal(t, []int{2, 4}, []int{e.Runs, e.Targets})
		require.Equal(t, "step 1", e.StepName)
		require.Equal(t, "s", e.Server)
		require.True(t, e.First.Before(e.Last))
		require.Equal(t, []int{2, 2}, []int{got["bad 1 TimedOut too <slow>"].Runs, got["bad 1 TimedOut too <slow>"].Targets})
		e = got["lost 1 Failed the server has no databases"]
		require.Equal(t, run, e.LastRun)
		require.Equal(t, []int{1, 0}, []int{e.Runs, e.Targets})
		require.Equal(t, "lost", f.Errors[0].JobName, "the latest first")

		c.exec(t, "UPDATE jobs_internal.job_executions SET end_time = DATEADD(HOUR, -25, end_time) WHERE is_active = 0;")
		f, err = summary.On(c.Store).Failures(t.Context(), 24)
		require.NoError(t, err)
		require.Empty(t, f.Errors)
	})
}

// TestFailuresOfAnActiveRun: a failed target counts before its run has ended.
func TestFailuresOfAnActiveRun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "bad", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.term(t)
		c.start(t, "bad")
		c.resolve(t, term, "a", "b")
		c.complete(t, term, targets.Failed, strings.Repeat("x", 8000), c.pass(t, term).Tasks[0])
		f, err := summary.On(c.Store).Failures(t.Context(), 24)
		require.NoError(t, err)
		require.Equal(t, 1, f.Runs)
		require.Equal(t, strings.Repeat("x", 400), f.Errors[0].Message)
	})
}

func TestRecentRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for _, name := range []string{"one", "two", "idle"} {
			c.job(t, name, func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		}
		term := c.term(t)
		end := func(job string, outcome targets.Outcome) {
			c.start(t, job)
			c.resolve(t, term, "a")
			c.complete(t, term, outcome, "m", c.pass(t, term).Tasks...)
			c.pass(t, term)
		}
		end("two", targets.Succeeded)
		end("one", targets.Failed)
		end("one", targets.Succeeded)
		end("one", targets.Succeeded)
		list := func(jobs, runs int) (got []string) {
			r, err := summary.On(c.Store).RecentRuns(t.Context(), 7, jobs, runs)
			require.NoError(t, err)
			require.Equal(t, 2, r.Jobs)
			for _, run := range r.Runs {
				require.False(t, run.EndTime.Before(run.StartTime))
				got = append(got, run.JobName+" "+string(run.Lifecycle))
			}
			return got
		}
		require.Equal(t, []string{"one Failed", "one Succeeded", "one Succeeded", "two Succeeded"}, list(40, 30))
		require.Equal(t, []string{"one Succeeded", "two Succeeded"}, list(40, 1), "the latest of each")
		require.Equal(t, []string{"one Failed", "one Succeeded", "one Succeeded"}, list(1, 30), "the job that ran last")
	})
}

func TestLimitUse(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "one", nil)
		c.job(t, "two", func(s *model.StepSpec) { s.MaxParallelism = ptr(5) })
		require.NoError(t, settings.On(c.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitServer, Name: "s", Max: 2}))
		require.NoError(t, settings.On(c.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitJob, Name: "one", Max: 9}))
		term := c.term(t)
		c.start(t, "one")
		c.resolve(t, term, "a", "b", "c")
		c.pass(t, term)
		c.start(t, "two")
		c.resolve(t, term, "d")
		c.pass(t, term)

		u, err := summary.On(c.Store).LimitUse(t.Context(), 100)
		require.NoError(t, err)
		var got []string
		for _, l := range u.Limits {
			got = append(got, fmt.Sprintf("%s %s %d/%d +%d", l.Scope, l.Name, l.Running, l.Max, l.Waiting))
		}
		require.Equal(t, []string{"Job one 2/9 +1", "Server s 2/2 +2"}, got)
		got = nil
		for _, l := range u.Uses {
			got = append(got, fmt.Sprintf("%s of %s: %d of %d/%d +%d %t", l.Description, l.JobName, l.Running, l.Used, l.Max, l.Waiting, l.Full))
			require.Equal(t, l.Scope == "Step", l.LimitID == nil)
		}
		require.ElementsMatch(t, []string{
			"limit of server 's' of one: 2 of 2/2 +1 true", "limit of server 's' of two: 0 of 2/2 +1 true",
			"limit of the job 'one' of one: 2 of 2/9 +1 false",
			"max_parallelism of step 1 on server 's' of two: 0 of 0/5 +1 false",
		}, got)

		// jobs.limits says the same.
		list, err := settings.On(c.Store).Limits(t.Context())
		require.NoError(t, err)
		for i, l := range list {
			require.Equal(t, l, u.Limits[i].Limit)
		}
	})
}

// TestOverviewOfSchedules: what is due next, and what does not run.
func TestOverviewOfSchedules(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "nightly", nil)
		for _, name := range []string{"due", "paused", "bad", "late"} {
			_, err := timetable.On(c.Store).Add(t.Context(), timetable.Spec{JobName: "nightly", Name: name, Kind: new("cron5"), Spec: new("0 3 * * *")})
			require.NoError(t, err)
		}
		term := c.term(t)
		c.validate(t, term, time.Now().UTC().Add(time.Hour))
		require.NoError(t, timetable.On(c.Store).Pause(t.Context(), "nightly", "paused", true, "until <Monday>"))
		c.exec(t, `UPDATE jobs_internal.schedules SET state = N'Faulted', reason = N'no such day', closed_at = SYSUTCDATETIME(), next_due_at = NULL, next_fire_at = NULL WHERE name = N'bad';
UPDATE jobs_internal.schedules SET next_fire_at = DATEADD(HOUR, -2, next_fire_at) WHERE name = N'late';`)
		o := c.overview(t)
		require.Equal(t, []int{1, 1, 1}, []int{o.OverdueSchedules, o.PausedSchedules, o.FaultedSchedules})
		require.True(t, o.FirstOverdueAt.Before(o.Now))
		require.Len(t, o.Due, 2)
		require.Equal(t, []string{"late", "due"}, []string{o.Due[0].Schedule, o.Due[1].Schedule})
		require.Equal(t, "cron5", o.Due[0].Kind)
		require.Len(t, o.Stopped, 2)
		require.Equal(t, []string{"Faulted", "bad", "no such day"}, []string{o.Stopped[0].State, o.Stopped[0].Schedule, o.Stopped[0].Reason})
		require.Equal(t, []string{"Paused", "paused", "until <Monday>"}, []string{o.Stopped[1].State, o.Stopped[1].Schedule, o.Stopped[1].Reason})
		require.NotEmpty(t, o.Stopped[1].By)
	})
}

// TestAgentsAndTheirTasks: what the page of agents shows.
func TestAgentsAndTheirTasks(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "busy", nil)
		term := c.term(t)
		run := c.start(t, "busy")
		c.pass(t, term)
		tasks, err := fleet.On(c.Store).Tasks(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, tasks, 1)
		require.Equal(t, "Resolve", tasks[0].Kind)
		require.Empty(t, tasks[0].Server)
		list, err := fleet.On(c.Store).Recent(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, list, 1)
		a := list[0]
		require.Equal(t, term.Number, a.Term)
		require.True(t, a.Live)
		require.Equal(t, []int{1, 1, controldb.AgentProtocol}, []int{a.Tasks, a.RecentTerms, a.Protocol})
		require.Contains(t, a.CommandTypes, "TSql")
		require.False(t, a.FirstSeenAt.IsZero())

		require.NoError(t, c.CompleteResolution(t.Context(), term, controldb.TaskID(tasks[0].ID), controldb.Resolution{Attempt: 1, Targets: []targets.Target{targets.NewTarget("s", "a", "")}}))
		c.pass(t, term)
		tasks, err = fleet.On(c.Store).Tasks(t.Context(), 10)
		require.NoError(t, err)
		require.Equal(t, []string{"Run", "busy", "step 1", "s", "a"}, []string{tasks[0].Kind, tasks[0].JobName, tasks[0].StepName, tasks[0].Server, tasks[0].Database})
		require.Equal(t, run, tasks[0].RunID)
	})
}

func TestAuditFilters(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "one", nil)
		c.job(t, "two", nil)
		all, err := auditlog.On(c.Store).Read(t.Context(), auditlog.Filter{})
		require.NoError(t, err)
		count := func(f auditlog.Filter) int {
			list, err := auditlog.On(c.Store).Read(t.Context(), f)
			require.NoError(t, err)
			return len(list)
		}
		require.Equal(t, len(all), count(auditlog.Filter{Door: all[0].Door}))
		require.Zero(t, count(auditlog.Filter{Door: "REST"}))
		require.Equal(t, 2, count(auditlog.Filter{ObjectKind: "Job"}))
		require.Equal(t, 1, count(auditlog.Filter{ObjectKind: "Job", ObjectName: "two"}))
		require.Equal(t, 1, count(auditlog.Filter{Back: all[1].ID}))
		require.Equal(t, 1, count(auditlog.Filter{Back: all[2].ID, Behind: all[0].ID}))
	})
}
