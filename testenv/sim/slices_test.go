package sim

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// slicesConfig makes the lists of a few targets as long as several calls.
var slicesConfig = agent.Config{MaxConcurrentTargets: 4, Lease: 10 * time.Second, Grace: 5 * time.Second, TargetsPerCall: 2}

// TestAgentsDieBetweenSlices: an agent dies at each of its calls while lists of targets are written
// in slices, and another agent goes on. At no time is a half-written list visible, and no target is
// lost or doubled: in a run, in a run that is stopped, and in the rerun of its failed targets.
func TestAgentsDieBetweenSlices(t *testing.T) {
	testenv.Long(t)
	const targets = 7
	for _, n := range []int{6, 10, 14} {
		t.Run(fmt.Sprint("call ", n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, targets)
				testenv.SetSlices(t, w.DB(t, w.Control), 2)
				w.AddJob(t, "fails at first", []string{WriteLedger + `
IF OBJECT_ID(N'dbo.fixed', N'U') IS NULL THROW 50001, N'not yet', 1;`}, Retries(3, 1))
				watch := func() { w.CheckInvariants(t, w.Control, false) }
				// The first agent dies at call n of each phase, and the second one takes over.
				phase := func(begin func()) {
					var a *Agent
					var calls atomic.Int64
					dead := make(chan struct{})
					a = w.StartAgent(t, slicesConfig, func(fault.Call) fault.Kind {
						if calls.Add(1) == int64(n) {
							close(dead)
						}
						return fault.None
					})
					begin()
					<-dead
					a.Kill()
					_ = a.Stop()
					watch()
				}
				finish := func() func() {
					b := w.StartAgent(t, slicesConfig, nil)
					return func() { require.NoError(t, b.Stop()) }
				}

				run := w.Start(t, "fails at first")
				phase(func() {})
				stop := finish()
				root, ended := w.Ended(t, run, sweepLimit, watch)
				require.True(t, ended)
				require.Equal(t, jobs.Failed, root.Lifecycle, root.LastMessage)
				require.Len(t, w.Run(t, run), 2+targets)
				stop()

				for _, name := range w.Targets {
					_, err := w.DB(t, name).ExecContext(t.Context(), "CREATE TABLE dbo.fixed (n INT);")
					require.NoError(t, err)
				}
				rerun, err := executions.On(w.Store).Rerun(t.Context(), executions.RerunRequest{Origin: run})
				require.NoError(t, err)
				phase(func() {})
				stop = finish()
				root, ended = w.Ended(t, rerun, sweepLimit, watch)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.Len(t, w.Run(t, rerun), 2+targets)
				stop()

				halted := w.Start(t, "fails at first")
				phase(func() {})
				require.NoError(t, executions.On(w.Store).Stop(t.Context(), halted))
				stop = finish()
				root, ended = w.Ended(t, halted, sweepLimit, watch)
				require.True(t, ended)
				require.Contains(t, []jobs.Lifecycle{jobs.Canceled, jobs.Succeeded}, root.Lifecycle)
				rows := len(w.Run(t, halted))
				require.True(t, rows <= 2 || rows == 2+targets, "%d rows", rows)
				stop()
				w.Check(t, true)
			})
		})
	}
}

// TestStopsOfManyTargetsTakeNoPolls: the passes that cancel the waiting targets of a stopped run
// follow each other at once, not at the polling interval.
func TestStopsOfManyTargetsTakeNoPolls(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 60)
		testenv.SetSlices(t, w.DB(t, w.Control), 2)
		cfg := slicesConfig
		cfg.MaxConcurrentTargets = 1
		w.AddJob(t, "waits", []string{"WAITFOR DELAY '01:00:00';"})
		w.StartAgent(t, cfg, nil)
		run := w.Start(t, "waits")
		time.Sleep(30 * time.Second)
		require.NoError(t, executions.On(w.Store).Stop(t.Context(), run))
		asked := time.Now()
		root, ended := w.Ended(t, run, time.Minute)
		require.True(t, ended)
		require.Equal(t, jobs.Canceled, root.Lifecycle)
		// 30 slices at PollActive are 1.5 s, and at PollIdle 9 s.
		require.Less(t, time.Since(asked), 1500*time.Millisecond)
	})
}
