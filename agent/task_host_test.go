package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// runTestHost runs a task host with one worker and two tasks, which the agent cannot carry out: it
// returns each after 30 s, unless the task ends before. After a second the host is stopped. It
// returns how long the stop took, and the reports.
func runTestHost(t *testing.T, grace time.Duration, skipGrace <-chan struct{}, endTerm bool) (time.Duration, []report) {
	t.Helper()
	cfg, err := Config{MaxConcurrentTargets: 1, Prefetch: 1, PollIdle: 10 * time.Second, Lease: time.Minute}.withDefaults()
	require.NoError(t, err)
	cfg.Grace = grace
	termCtx, cancelTerm := context.WithCancelCause(t.Context())
	defer cancelTerm(nil)
	comm := newCommunicator(nil, controldb.TermID{}, termCtx, nil, &crowd{}, cfg, zap.NewNop())
	h := newTaskHost(nil, controldb.TermID{}, comm, nil, Tools{}, cfg, skipGrace, zap.NewNop())
	_, err = h.caches.commands.get(t.Context(), 7, func(context.Context) (string, int, error) { return "SELECT 1;", 1, nil })
	require.NoError(t, err)
	list := tasks(1, 2)
	for i := range list {
		list[i].CommandID, list[i].CommandType, list[i].Mode = 7, action.TypeTSQL, "of a newer version"
	}
	comm.accept(list, time.Now(), 2)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.run(ctx, func() {}) }()
	<-time.After(time.Second)
	stopped := time.Now()
	stop()
	if endTerm {
		cancelTerm(ErrTermLost)
	}
	require.NoError(t, <-ended)
	queued, running := comm.queue.counts()
	require.Equal(t, []int{0, 0}, []int{queued, running})
	return time.Since(stopped), comm.outbox.waiting
}

// A stopping host waits for the tasks of its workers, cancels them after the grace period, and
// returns what no worker has taken. Nothing is lost, and nothing counts that was not sent.
func TestTaskHostStops(t *testing.T) {
	t.Parallel()
	skipped := make(chan struct{})
	close(skipped)
	for name, tc := range map[string]struct {
		grace   time.Duration
		skip    <-chan struct{}
		endTerm bool
		took    time.Duration
		reason  string // why the first task is returned
	}{
		"Ends":     {grace: time.Minute, took: 29 * time.Second, reason: "the agent does not support runs with the mode of a newer version"},
		"Canceled": {grace: 5 * time.Second, took: 5 * time.Second, reason: "not begun: agent stopping"},
		"NoGrace":  {reason: "not begun: agent stopping"},
		"Skipped":  {grace: time.Minute, skip: skipped, reason: "not begun: agent stopping"},
		"TermLost": {grace: time.Minute, endTerm: true, reason: "not begun: term lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				took, reports := runTestHost(t, tc.grace, tc.skip, tc.endTerm)
				require.Equal(t, tc.took, took)
				require.Len(t, reports, 2)
				for i, reason := range []string{tc.reason, "the agent stopped before the attempt began"} {
					require.Equal(t, controldb.TaskID(i+1), reports[i].outcome.Task)
					require.Equal(t, targets.NotSent, reports[i].outcome.Outcome)
					require.Equal(t, reason, reports[i].outcome.Message)
				}
			})
		})
	}
}

// A panic fails only its task, whose outcome is unknown; the worker goes on.
func TestTaskPanics(t *testing.T) {
	t.Parallel()
	c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
	h := newTaskHost(nil, controldb.TermID{}, c, nil, Tools{}, c.outbox.cfg, nil, zap.NewNop())
	h.caches = nil
	r := h.carryOut(c.registry.add(controldb.Task{ID: 7, Attempt: 3}, time.Now()))
	require.Equal(t, controldb.TaskID(7), r.task)
	require.Equal(t, controldb.Outcome{Task: 7, Attempt: 3, Outcome: targets.Unknown, Message: r.outcome.Message}, r.outcome)
	require.Contains(t, r.outcome.Message, "whether the script ran is unknown")
}

// A task that waited for its worker longer than its time limit is not begun.
func TestTaskLimitCountsFromTheClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
		h := newTaskHost(nil, controldb.TermID{}, c, nil, Tools{}, c.outbox.cfg, nil, zap.NewNop())
		_, err := h.caches.commands.get(t.Context(), 7, func(context.Context) (string, int, error) { return "SELECT 1;", 1, nil })
		require.NoError(t, err)
		e := c.registry.add(controldb.Task{ID: 7, CommandID: 7, Mode: "of a newer version", Timeout: time.Minute}, time.Now())
		<-time.After(time.Minute)
		started := time.Now()
		require.Equal(t, targets.TimedOut, h.carryOut(e).outcome.Outcome)
		require.Zero(t, time.Since(started))
	})
}

// A script that could not be read is an error, and not an empty script; the next task reads it
// again.
func TestScriptThatCouldNotBeRead(t *testing.T) {
	t.Parallel()
	c := newCaches(nil, nil)
	lost := errors.New("lost")
	for _, want := range []error{lost, lost, nil, nil} {
		script, err := c.commands.get(t.Context(), 7, func(context.Context) (string, int, error) { return "SELECT 1;", 9, want })
		require.ErrorIs(t, err, want)
		if want == nil {
			require.Equal(t, "SELECT 1;", script)
		}
	}
}
