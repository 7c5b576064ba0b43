package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// An agent is killed after a schedule has become due and before the call that creates the run is
// answered. The call fails in each possible way. Another agent starts later: the instant has one
// run, and the instants that were missed meanwhile run or are recorded as skipped.
func TestKilledBetweenDueAndFired(t *testing.T) {
	testenv.Long(t)
	for _, kind := range fault.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 1)
				w.AddJob(t, "j", []string{WriteLedger})
				all, side := "all", "AllowAll"
				_, err := timetable.On(w.Store).Add(t.Context(), timetable.Spec{
					JobName: "j", Name: "s", Kind: new("cron5"), Spec: new("*/10 * * * *"), CatchUp: &all, Overlap: &side,
				})
				require.NoError(t, err)
				failed := make(chan struct{})
				fires := 0
				a := w.StartAgent(t, agent.Config{PollIdle: 5 * time.Second}, func(c fault.Call) fault.Kind {
					if c.Name != "jobs_internal.fire_schedules" {
						return fault.None
					}
					if fires++; fires < 3 {
						return fault.None
					}
					if fires == 3 {
						close(failed)
						return kind
					}
					return fault.BeforeSending // until the agent is killed
				})
				<-failed
				a.Kill()
				_ = a.Stop()
				<-time.After(25 * time.Minute)
				w.StartAgent(t, agent.Config{PollIdle: 5 * time.Second}, nil)
				<-time.After(6 * time.Minute)
				rows, err := executions.On(w.Store).List(t.Context(), executions.Query{JobName: "j"}, controldb.Page[executions.Key]{})
				require.NoError(t, err)
				var dues []string
				control := w.DB(t, w.Control)
				for _, e := range rows {
					var due time.Time
					require.NoError(t, control.QueryRowContext(t.Context(), "SELECT due_at FROM jobs_internal.job_executions WHERE job_execution_id = @p1;", e.ID.String()).Scan(&due))
					dues = append(dues, due.UTC().Format("15:04"))
				}
				require.ElementsMatch(t, []string{"00:00", "00:10", "00:20", "00:30", "00:40", "00:50"}[:len(dues)], dues)
				require.GreaterOrEqual(t, len(dues), 5)
				skips, err := timetable.On(w.Store).Skips(t.Context(), timetable.SkipFilter{JobName: "j"})
				require.NoError(t, err)
				require.Empty(t, skips)
				w.Check(t, true)
			})
		})
	}
}
