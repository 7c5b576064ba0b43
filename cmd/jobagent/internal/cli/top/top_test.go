package top

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/summary"
	"github.com/jobagent/jobagent/jobs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake answers reads.
type fake struct {
	overview summary.Overview
	agents   []fleet.Agent
	failures summary.Failures
	rollouts []rollouts.Rollout
	run      executions.Run
	failed   []executions.RunTarget
	err      error
	reads    map[string]int
}

func (f *fake) count(name string) error {
	if f.reads == nil {
		f.reads = map[string]int{}
	}
	f.reads[name]++
	return f.err
}

func (f *fake) Overview(context.Context, int) (summary.Overview, error) {
	return f.overview, f.count("Overview")
}

func (f *fake) Recent(context.Context, int) ([]fleet.Agent, error) {
	return f.agents, f.count("Recent")
}

func (f *fake) Failures(context.Context, int) (summary.Failures, error) {
	return f.failures, f.count("Failures")
}

func (f *fake) Rollouts(context.Context, rollouts.Filter, controldb.Page[executions.Key]) ([]rollouts.Rollout, error) {
	return f.rollouts, f.count("Rollouts")
}

func (f *fake) Get(context.Context, uuid.UUID, ...executions.Part) (executions.Run, error) {
	run := f.run
	run.Steps = slices.Clone(run.Steps)
	run.Steps[0].States = slices.Clone(run.Steps[0].States)
	return run, f.count("Get")
}

func (f *fake) Targets(context.Context, uuid.UUID, executions.RunTargetFilter) ([]executions.RunTarget, error) {
	return f.failed, f.count("Targets")
}

// now is the database's time in tests.
var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// id returns the ID of a test's run.
func id(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

// busy is an installation with much to show, and hostile names.
func busy() *fake {
	f := &fake{
		overview: summary.Overview{
			Now: now, LiveAgents: 2, Workers: 200, BusyWorkers: 64, ActiveRuns: 30, RunningTargets: 64, WaitingTargets: summary.Many,
			Due: []summary.DueNext{{JobName: "backup", Schedule: "hourly", NextDue: now.Add(time.Hour), NextFire: now.Add(time.Hour)}},
		},
		agents: []fleet.Agent{
			{Host: "alpha", Version: "1.2.3", MaxConcurrentTargets: 100, Tasks: 64, Live: true, ExpiresAt: now.Add(20 * time.Second)},
			{Host: "beta", MaxConcurrentTargets: 50, Tasks: 57, Live: true, ExpiresAt: now.Add(20 * time.Second)},
			{Host: "gone", MaxConcurrentTargets: 100},
		},
		failures: summary.Failures{Now: now, Runs: 2, Targets: 7, Errors: []summary.FailureGroup{
			{JobName: "load", StepName: "copy", Message: "Msg 208: Invalid object\r\nname \x1b[31m'x'\u202e", Targets: 7, Last: now.Add(-time.Minute), LastRun: id(99)},
		}},
		run: executions.Run{
			JobName: "job 3", Active: true, Lifecycle: jobs.InProgress, CreateTime: now.Add(-time.Minute), Now: now,
			Steps: []executions.RunStep{{StepID: 1, ID: 1, Name: "first", Lifecycle: jobs.InProgress, StartTime: now.Add(-time.Minute), States: []executions.StateCount{
				{Lifecycle: jobs.Succeeded, Total: 4997}, {Lifecycle: jobs.Failed, Total: 3}, {Lifecycle: jobs.InProgress, Total: 64}, {Lifecycle: jobs.Created, Total: 4936},
			}}},
		},
		failed: []executions.RunTarget{
			{StepID: 1, Server: "srv1", Database: "tenant1", LastMessage: `Cannot open database "tenant1"`},
			{StepID: 1, Server: "srv1", Database: "tenant2", LastMessage: `Cannot open database "tenant2"`},
			{StepID: 1, Server: "srv1", Database: "tenant3", LastMessage: "other"},
		},
	}
	for n := range 30 {
		f.overview.Runs = append(f.overview.Runs, summary.ActiveRun{
			ID: id(n), JobName: fmt.Sprintf("job %d", n), Lifecycle: jobs.InProgress, CreateTime: now.Add(-time.Duration(n) * time.Minute),
			Steps: 2, StepID: 1, StepName: "first", ActiveSteps: 1, BeganAt: now.Add(-10 * time.Second), StepTargets: 1000, StepActive: 500,
			Targets: 1000, Running: 64, Due: 436, Failed: n % 7,
		})
	}
	f.overview.Runs[2].JobName = "wide 日本語 \u202egnp.exe"
	return f
}

// started returns a model that has read once, in a window of this size.
func started(t *testing.T, f *fake, width, height int) *model {
	t.Helper()
	m := newModel(t.Context(), &source{agents: f, runs: f, summary: f, rollouts: f}, time.Second)
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(m.read()())
	return m
}

// press sends keys. The read that a key causes is carried out.
func press(m *model, keys ...tea.KeyPressMsg) {
	for _, k := range keys {
		if _, cmd := m.Update(k); cmd != nil {
			m.Update(cmd())
		}
	}
}

// key returns the key of a character.
func key(r rune) tea.KeyPressMsg { return tea.KeyPressMsg{Code: r, Text: string(r)} }

var (
	enter = tea.KeyPressMsg{Code: tea.KeyEnter}
	esc   = tea.KeyPressMsg{Code: tea.KeyEscape}
	down  = tea.KeyPressMsg{Code: tea.KeyDown}
)

// plain returns the screen without styles.
func plain(m *model) string {
	before := m.paint.Plain
	m.paint.Plain = true
	defer func() { m.paint.Plain = before }()
	return m.View().Content
}

// Every page fits into the window, at any size.
func TestPagesFit(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{80, 24}, {140, 50}, {100, 10}, {40, 8}, {300, 100}, {20, 3}, {1, 1}} {
		m := started(t, busy(), size[0], size[1])
		for name, keys := range map[string][]tea.KeyPressMsg{
			"overview": nil, "run": {enter}, "help": {key('?')}, "filter": {key('/'), key('j')},
		} {
			press(m, keys...)
			lines := strings.Split(m.View().Content, "\n")
			require.LessOrEqual(t, len(lines), max(2, size[1]), "%s %v", name, size)
			for _, line := range lines {
				if size[0] >= 80 {
					require.LessOrEqual(t, lipgloss.Width(line), size[0], "%s %v: %q", name, size, line)
				}
				require.NotContains(t, line, "\u202e")
				require.NotContains(t, line, "\x1b[31m'x'", "of the message")
			}
			m = started(t, busy(), size[0], size[1])
		}
	}
}

func TestOverviewPage(t *testing.T) {
	t.Parallel()
	one := busy()
	one.failures.Runs, one.failures.Targets = 1, 1
	require.Contains(t, plain(started(t, one, 140, 40)), "FAILED IN 24 HOURS  1 target of 1 run ")
	for _, width := range []int{80, 140} {
		text := plain(started(t, busy(), width, 40))
		for _, want := range []string{
			"2 agents live · 64 of 200 workers busy", "12:00:00 UTC", "alpha", "64 of 100", "50 of 50", "RUNS  30 active", "job 0", "500 of 1 000",
			"FAILED IN 24 HOURS  7 targets of 2 runs", "7 ×  load / copy", "in 1h00m  backup / hourly", "q quit",
		} {
			require.Contains(t, text, want, "at %d columns", width)
		}
		require.NotContains(t, text, "gone", "agents that are not live")
	}
	require.Contains(t, plain(started(t, busy(), 140, 40)), "50/s")
}

// Roll-outs that have not ended are shown with what happens next.
func TestRollouts(t *testing.T) {
	t.Parallel()
	require.NotContains(t, plain(started(t, busy(), 140, 40)), "ROLL-OUTS")
	f := busy()
	for n := range 12 {
		f.rollouts = append(f.rollouts, rollouts.Rollout{
			ID: id(200 + n), JobName: fmt.Sprintf("roll \u202e%d", n), State: rollouts.Waiting, Wave: 2, Waves: 3, Targets: 1000, Succeeded: 100, Failed: 3,
			NextEvent: "The wave 'rest' starts when somebody approves it.",
		})
	}
	text := plain(started(t, f, 140, 40))
	for _, want := range []string{"ROLL-OUTS", "103 of 1 000", "wave 2 of 3  WaitingForApproval  The wave 'rest' starts"} {
		require.Contains(t, text, want)
	}
	require.Contains(t, plain(started(t, f, 80, 24)), "103 of 1 000  wave 2 of 3  WaitingForApproval")
	require.Contains(t, plain(started(t, f, 60, 24)), "103 of 1 000  WaitingForApproval")
	for _, size := range [][2]int{{80, 24}, {140, 50}, {60, 24}, {100, 10}, {20, 3}, {1, 1}} {
		lines := strings.Split(started(t, f, size[0], size[1]).View().Content, "\n")
		require.LessOrEqual(t, len(lines), max(2, size[1]), "%v", size)
		for _, line := range lines {
			if size[0] >= 80 || size[0] >= 60 && strings.Contains(line, "103 of") {
				require.LessOrEqual(t, lipgloss.Width(line), size[0], "%v: %q", size, line)
			}
			require.NotContains(t, line, "\u202e")
		}
	}
}

// Keys move the cursor through runs and failures, sort, filter, and open a run.
func TestKeys(t *testing.T) {
	t.Parallel()
	m := started(t, busy(), 120, 40)
	require.Contains(t, plain(m), "▸ job 0 ")
	press(m, down, key('j'))
	require.Contains(t, plain(m), "▸ wide 日本語 \\u202egnp.exe")
	press(m, key('G'))
	require.Contains(t, plain(m), "▸        7 ×  load / copy")
	press(m, key('s'), key('g'))
	require.Contains(t, plain(m), "▸ job 6 ", "the most failed")
	press(m, key('s'), key('s'), key('s'), key('s'), key('/'), key('j'), key('O'), key('b'), tea.KeyPressMsg{Code: tea.KeySpace, Text: " "}, key('2'), key('1'))
	press(m, enter)
	require.Len(t, m.rows(), 1)
	require.Contains(t, plain(m), "▸ job 21")
	require.Contains(t, plain(m), "none matches the filter")
	press(m, enter)
	text := plain(m)
	require.Contains(t, text, id(21).String())
	require.Contains(t, text, "5 000 of 10 000")
	require.Contains(t, text, `2 ×  step 1  Cannot open database "…"`)
	require.Contains(t, text, "srv1/tenant1, srv1/tenant2")
	press(m, esc)
	require.Contains(t, plain(m), "job 21")
	press(m, esc)
	require.Len(t, m.rows(), 31)
	_, quit := m.Update(key('q'))
	require.Equal(t, tea.QuitMsg{}, quit())
}

// A page costs one aggregate call per tick, and the errors of a run only when more have failed.
func TestReads(t *testing.T) {
	t.Parallel()
	f := busy()
	m := started(t, f, 100, 30)
	for range 3 {
		m.Update(m.read()())
	}
	require.Equal(t, map[string]int{"Overview": 4, "Recent": 4, "Rollouts": 4, "Failures": 1}, f.reads)
	press(m, enter)
	clear(f.reads)
	for range 3 {
		m.Update(m.read()())
	}
	require.Equal(t, map[string]int{"Get": 3}, f.reads)
	f.run.Steps[0].States[1].Total++
	m.Update(m.read()())
	require.Equal(t, map[string]int{"Get": 4, "Targets": 1}, f.reads)
	// An answer that comes after the page has changed is dropped.
	late := m.read()
	press(m, esc)
	m.Update(late())
	require.Nil(t, m.detail)
}

// A database that is away: the page stays, says since when, and recovers.
func TestAway(t *testing.T) {
	t.Parallel()
	f := busy()
	m := started(t, f, 100, 30)
	f.err = errors.New("dial tcp: refused\nsecond line")
	m.Update(m.read()())
	since := m.awaySince
	m.Update(m.read()())
	require.Equal(t, since, m.awaySince)
	text := plain(m)
	require.Contains(t, text, "no news since "+since.Format("15:04:05")+": dial tcp: refused | second line")
	require.Contains(t, text, "job 0")
	f.err = nil
	m.Update(m.read()())
	require.NotContains(t, plain(m), "no news")
}

// A run whose targets wait for a retry has failed in the eyes of who watches: the page says with
// which error, and when it goes on.
func TestRetries(t *testing.T) {
	t.Parallel()
	f := busy()
	f.overview.Runs[0].Retrying, f.overview.Runs[0].RetryMessage = 3, "Msg 8114:\nError converting"
	f.overview.Runs[0].NextAttempt = now.Add(40 * time.Second)
	text := plain(started(t, f, 130, 30))
	require.Contains(t, text, "FAILED, AND WAIT FOR A RETRY  3")
	require.Regexp(t, `3 ×  job .*Msg 8114: \| Error converting .*next in 40s`, text)
	require.NotContains(t, plain(started(t, busy(), 130, 30)), "WAIT FOR A RETRY")
}

func TestNothingToShow(t *testing.T) {
	t.Parallel()
	m := started(t, &fake{overview: summary.Overview{Now: now, OverdueSchedules: 2, LastAgentAt: now.Add(-time.Hour)}}, 130, 30)
	text := plain(m)
	for _, want := range []string{"no agent is live, the last one was 1h00m ago; work waits", "2 schedules overdue", "none is active", "nothing failed", "no schedule is due"} {
		require.Contains(t, text, want)
	}
	press(m, enter, down, key('G')) // nothing to open
	require.Equal(t, uuid.Nil, m.shown)
}

// A pause is told on the first page.
func TestPaused(t *testing.T) {
	t.Parallel()
	m := started(t, &fake{overview: summary.Overview{Now: now, PausedAt: now, PauseReason: "until\nMonday"}}, 130, 30)
	require.Contains(t, plain(m), "paused since "+now.UTC().Format("2006-01-02 15:04:05 UTC")+", nothing starts until jobagent db resume: until | Monday")
	m = started(t, &fake{overview: summary.Overview{Now: now}}, 130, 30)
	require.NotContains(t, plain(m), "paused")
}

// Without a terminal all rows are printed once, without styles.
func TestOnce(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	f := busy()
	require.NoError(t, printOnce(t.Context(), &b, &source{agents: f, runs: f, summary: f, rollouts: f}))
	require.NotContains(t, b.String(), "\x1b")
	for n := range 30 {
		if n != 2 {
			require.Contains(t, b.String(), fmt.Sprintf("job %d ", n))
		}
	}
	require.NotContains(t, b.String(), "q quit")
	require.Error(t, printOnce(t.Context(), &b, &source{summary: &fake{err: errors.New("away")}}))
}

// The bar has the width that it was given, and shows every part that is not empty.
func TestBar(t *testing.T) {
	t.Parallel()
	p := terminal.Painter{Plain: true}
	for _, c := range []jobs.Counts{{}, {Succeeded: 1}, {Succeeded: 9999, Failed: 1}, {Succeeded: 1, Failed: 1, Skipped: 1, Running: 1, Waiting: 1, Callback: 1}, {Succeeded: 3, Waiting: 1000}} {
		require.Equal(t, 10, lipgloss.Width(p.Bar(c, 10)), c)
	}
	require.Contains(t, p.Bar(jobs.Counts{Succeeded: 9999, Failed: 1}, 10), "▚")
	require.Equal(t, "██████████", p.Bar(jobs.Counts{Succeeded: 5}, 10))
	require.Equal(t, "1 234 567", terminal.Number(1234567))
	require.Equal(t, []string{"0s", "59s", "1m01s", "2h00m", "3d"},
		[]string{terminal.Span(-time.Second), terminal.Span(59 * time.Second), terminal.Span(61 * time.Second), terminal.Span(2 * time.Hour), terminal.Span(72 * time.Hour)})
}
