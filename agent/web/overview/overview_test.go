package overview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv/pagetest"
)

var now = pagetest.Now

// render renders the page, or a block.
func render(t *testing.T, name string, d *data) string {
	t.Helper()
	if d.Failures == nil {
		d.Failures = groupFailures(summary.Failures{Now: now, Since: now.Add(-24 * time.Hour), CompleteSince: now.Add(-24 * time.Hour)})
	}
	if d.Strips == nil {
		d.Strips = newStrips(summary.RecentRuns{Now: now})
	}
	return pagetest.Render(t, files, name, d)
}

func TestFirstPage(t *testing.T) {
	html := render(t, "overview.html", &data{O: summary.Overview{Now: now}})
	require.Contains(t, html, "There are no jobs yet")
	require.Contains(t, html, "jobagent run")
	require.NotContains(t, html, "Nothing failed", "nothing about runs before there are jobs")
	require.NotContains(t, html, "overview-figures\"")
}

// TestBlocks: each block has one element whose id is its name, or it could not be replaced.
func TestBlocks(t *testing.T) {
	d := &data{O: summary.Overview{Now: now, Jobs: 1}}
	for _, name := range blocks {
		html := strings.TrimSpace(render(t, name, d))
		require.Regexp(t, `^<(div|section) id="`+name+`"`, html)
		require.Equal(t, 1, strings.Count(html, `id="`+name+`"`))
		require.Equal(t, 1, strings.Count(render(t, "overview.html", d), `id="`+name+`"`))
	}
}

func TestAlarms(t *testing.T) {
	titles := func(o summary.Overview) string {
		o.Now = now
		if o.JobAgentState == "" {
			o.JobAgentState = account.AgentNone
		}
		var list []string
		for _, a := range (&data{O: o}).Alarms() {
			list = append(list, a.Class+": "+a.Title)
			require.NotEmpty(t, a.Text)
		}
		return strings.Join(list, " ")
	}
	require.Empty(t, titles(summary.Overview{Jobs: 1, LiveAgents: 1, ActiveRuns: 5}))
	require.Empty(t, titles(summary.Overview{}), "an empty database is no alarm")
	require.Equal(t, "bad: No agent is alive, and work waits.", titles(summary.Overview{Jobs: 1, ActiveRuns: 1}))
	require.Equal(t, "bad: No agent is alive, and work waits.", titles(summary.Overview{Jobs: 1, OverdueSchedules: 3}))
	require.Equal(t, "warn: No agent is alive.", titles(summary.Overview{Jobs: 1, LastAgentAt: now}))
	require.Equal(t, "bad: The job agent (account) is Disabled.", titles(summary.Overview{Jobs: 1, ActiveRuns: 1, JobAgentState: account.AgentDisabled}))
	require.Contains(t, titles(summary.Overview{Jobs: 1, LiveAgents: 1, AdvanceSkippedSince: now}), "do not advance")
	require.Equal(t, "warn: 1 schedule is overdue by more than a minute.", titles(summary.Overview{Jobs: 1, LiveAgents: 1, OverdueSchedules: 1}))
	require.Contains(t, titles(summary.Overview{Jobs: 1, LiveAgents: 1, OverdueSchedules: summary.Many}), "10000 or more schedules are")
}

// hostile is a text that must not be read as HTML, nor change the direction of the text around it.
const hostile = pagetest.Hostile

func TestHostileNames(t *testing.T) {
	long := strings.Repeat("é", 8000)
	d := &data{
		ages: true,
		O: summary.Overview{
			Now: now, Jobs: 3, JobAgentState: account.AgentDisabled, JobAgentReason: hostile,
			Runs:     []summary.ActiveRun{{ID: uuid.New(), JobName: hostile, StepName: hostile, Steps: 2, Targets: 3, Failed: 1}},
			Waiting:  []summary.WaitingRun{{JobName: hostile, For: hostile, Since: now}},
			Missing:  []summary.MissingType{{CommandType: hostile, Since: now}},
			Due:      []summary.DueNext{{JobName: hostile, Schedule: "../" + hostile, NextDue: now.Add(12 * time.Minute), NextFire: now.Add(12 * time.Minute)}},
			Stopped:  []summary.StoppedSchedule{{JobName: hostile, Schedule: hostile, State: "Paused", Reason: long, By: hostile}},
			Backfill: []summary.BackfillProgress{{JobName: hostile, RequestedBy: hostile}},
		},
		Alerts: []alerting.Alert{{Title: hostile, Severity: "Critical", AcknowledgedBy: hostile, State: alerting.AlertAcknowledged}},
		Agents: []fleet.Agent{{Host: hostile, Version: hostile, Live: true}, {Host: hostile, EndReason: "Replaced"}},
	}
	d.Failures = groupFailures(summary.Failures{Errors: []summary.FailureGroup{
		{JobName: hostile, StepName: hostile, Message: hostile, Server: hostile, Database: hostile, Lifecycle: jobs.Failed, Last: now},
	}})
	d.Strips = newStrips(summary.RecentRuns{Runs: []executions.Run{{JobName: hostile, ID: uuid.New(), Lifecycle: jobs.Failed, CreateTime: now}}})
	html := render(t, "overview.html", d)
	for _, bad := range []string{"<img", "\u202e", "style=", "/../"} {
		require.False(t, strings.Contains(html, bad), "%q is in the page", bad)
	}
	for _, good := range []string{"U+202E", "in 12\u00a0min", "show all"} {
		require.True(t, strings.Contains(html, good), "%q is not in the page", good)
	}
}

// TestLiveBlocksAreStable: what did not change is not sent again as time goes by.
func TestLiveBlocksAreStable(t *testing.T) {
	at := func(now time.Time) *data {
		d := &data{O: summary.Overview{
			Now: now, Jobs: 1, LiveAgents: 1,
			Runs:    []summary.ActiveRun{{JobName: "j", Targets: 9, Due: 9}},
			Due:     []summary.DueNext{{JobName: "j"}},
			Waiting: []summary.WaitingRun{{JobName: "j", For: "Worker"}},
		}}
		d.O.Runs[0].StartTime, d.O.Due[0].NextFire, d.O.Waiting[0].Since = testStart, testStart.Add(time.Hour), testStart
		return d
	}
	for _, name := range blocks {
		require.Equal(t, render(t, name, at(now)), render(t, name, at(now.Add(7*time.Second))), name)
	}
}

var testStart = now.Add(-time.Minute)

func TestGroupFailures(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	entry := func(job string, n *int32, message string, runs, targets int, minutes int) summary.FailureGroup {
		return summary.FailureGroup{JobName: job, Lifecycle: jobs.Failed, ErrorNumber: n, Message: message, Runs: runs, Targets: targets,
			First: now.Add(-time.Duration(minutes+5) * time.Minute), Last: now.Add(-time.Duration(minutes) * time.Minute)}
	}
	f := groupFailures(summary.Failures{Errors: []summary.FailureGroup{
		entry("a", number(208), "Invalid object name 'dbo.Ledger'.", 2, 20, 1),
		entry("b", number(208), "Invalid object name 'dbo.Visits'.", 1, 5, 2),
		entry("a", number(208), "Invalid object name 'dbo.Other'.", 3, 3, 60),
		entry("a", number(209), "Invalid object name 'dbo.Ledger'.", 1, 1, 3),
		entry("c", nil, "connect to 10.0.0.7 after 3 attempts", 1, 1, 4),
		entry("c", nil, "connect to 10.0.0.8 after 12 attempts", 1, 1, 5),
	}})
	require.Len(t, f.Groups, 3)
	g := f.Groups[0]
	require.Equal(t, []string{"a", "b"}, g.Jobs)
	require.Equal(t, []int{4, 28}, []int{g.Runs, g.Targets}, "a: 3 of its runs at least; b: 1")
	require.True(t, g.AtLeast)
	require.Equal(t, "Invalid object name 'dbo.Ledger'.", g.Message, "the latest one")
	require.Equal(t, now.Add(-65*time.Minute), g.First)
	require.False(t, f.Groups[1].AtLeast)
	require.Equal(t, 1, f.Groups[2].Runs)

	var many []summary.FailureGroup
	for i := range 40 {
		many = append(many, entry(fmt.Sprintf("job %d", i), nil, strings.Repeat("x", i+1), 1, 1, i))
	}
	f = groupFailures(summary.Failures{Errors: many})
	require.Len(t, f.Groups, maxFailures)
	require.Equal(t, 28, f.More)
	many = many[:0]
	for i := range 5 {
		many = append(many, entry(fmt.Sprintf("job %d", i), nil, "same", 1, 1, i))
	}
	g = groupFailures(summary.Failures{Errors: many}).Groups[0]
	require.Len(t, g.Jobs, 3)
	require.Equal(t, 2, g.MoreJobs)
}

func TestStrips(t *testing.T) {
	run := func(job string, l jobs.Lifecycle, active bool) executions.Run {
		return executions.Run{JobName: job, ID: uuid.New(), Lifecycle: l, Active: active, CreateTime: now, StartTime: now, EndTime: now.Add(90 * time.Second)}
	}
	s := newStrips(summary.RecentRuns{Runs: []executions.Run{
		run("calm", jobs.Succeeded, false),
		run("once", jobs.Failed, false), run("once", jobs.Succeeded, false),
		run("worse", jobs.TimedOut, false), run("worse", jobs.InProgress, true),
	}})
	var names []string
	for _, one := range s.List {
		names = append(names, one.JobName)
	}
	require.Equal(t, []string{"worse", "once", "calm"}, names)
	require.Equal(t, "2 runs, 1 failed", s.List[0].Summary())
	require.Equal(t, "1 run, none failed", s.List[2].Summary())

	// Each lifecycle has a drawing of its own: colour and shape.
	seen := map[string]jobs.Lifecycle{}
	for _, l := range []jobs.Lifecycle{
		jobs.Succeeded, jobs.SucceededWithSkipped, jobs.Failed, jobs.TimedOut, jobs.Canceled, jobs.Skipped, jobs.InProgress,
	} {
		drawing := cell(run("j", l, false), 0)
		require.NotContains(t, seen, drawing, "%s looks like %s", l, seen[drawing])
		seen[drawing] = l
	}
	require.Contains(t, string(s.List[0].Cells("/ui/main/runs")), "Timed out · 2026-11-23 12:00:00 UTC · took 1 min 30 s")
}

func TestTimeLeft(t *testing.T) {
	d := &data{O: summary.Overview{Now: now}}
	r := summary.ActiveRun{BeganAt: now.Add(-100 * time.Second), StepTargets: 200, StepActive: 100, Running: 1}
	require.Equal(t, "1.0 per second", d.Rate(r))
	require.Equal(t, 2*time.Minute, d.Left(r))
	r.Running, r.Retrying, r.NextAttempt = 0, 2, now.Add(time.Hour)
	require.Negative(t, d.Left(r), "what waits for a retry has no rate")
	r.StepActive, r.BeganAt, r.Running = 199, now.Add(-time.Hour), 1
	require.Equal(t, "1.0 per hour", d.Rate(r))
	require.Zero(t, d.Left(r)%(5*time.Minute))
	require.Equal(t, "1200", twoDigits(1234))
}

// Runs that wait for the same are one item.
func TestWaits(t *testing.T) {
	d := &data{O: summary.Overview{Now: now, Jobs: 1}}
	for i := range 5 {
		d.O.Waiting = append(d.O.Waiting, summary.WaitingRun{JobName: fmt.Sprintf("job %d", i), For: "Worker", Targets: 2, Since: now})
	}
	d.O.Waiting = append(d.O.Waiting, summary.WaitingRun{JobName: "mail", For: "Agent", CommandType: "Http", Since: now})
	groups := d.Waits()
	require.Len(t, groups, 2)
	require.Equal(t, []int{3, 2, 10}, []int{len(groups[0].Shown()), groups[0].More(), groups[0].Targets})
	html := render(t, "overview-attention", d)
	require.Contains(t, html, "All workers of all agents are busy.")
	require.Contains(t, html, "No live agent runs commands of type Http.")
	require.NotContains(t, html, "job 3")
	require.False(t, d.CutWaits())
}

// Held targets are shown with the time at which the first one goes on.
func TestHeldRuns(t *testing.T) {
	r := summary.ActiveRun{
		ID: uuid.New(), JobName: "j", Lifecycle: jobs.WaitingForChildJobExecutions, CreateTime: now.Add(-time.Hour), BeganAt: now.Add(-time.Hour), Steps: 1, StepsBegun: 1,
		Targets: 3, StepTargets: 3, StepActive: 2, Held: 2,
	}
	d := &data{O: summary.Overview{Now: now, Jobs: 1, Runs: []summary.ActiveRun{r}}}
	html := render(t, "overview-runs", d)
	require.Contains(t, html, "held by pauses and windows<")
	require.NotContains(t, html, "left", "nobody knows when the windows open")
	d.O.Runs[0].HeldFrom, d.O.Runs[0].HeldUntil = now.Add(2*time.Hour), now.Add(5*time.Hour)
	html = render(t, "overview-runs", d)
	require.Contains(t, html, "held by pauses and windows, the first goes on")
	require.Regexp(t, `at least .*5.h<.* left`, html)
}
