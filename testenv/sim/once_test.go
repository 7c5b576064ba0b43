package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	jobmodel "github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// An agent is cut off while its session runs an at-most-once script. Another agent gets the task
// when the term has expired, while that session is still open. The second attempt waits for the end
// of the session. Each target shows the effect exactly once, whether or not the first attempt has
// committed.
func TestAtMostOnceUnderAnAgentThatIsCutOff(t *testing.T) {
	testenv.Long(t)
	const lease = 12 * time.Second
	for name, silentAfter := range map[string]time.Duration{
		"in the script":    5 * time.Second,
		"after the commit": 31 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 2)
				cfg := agent.Config{Lease: lease, Grace: time.Second}
				first := w.StartAgent(t, cfg, nil)
				w.AddJob(t, "j", []string{WriteLedger + " WAITFOR DELAY '00:00:30';"}, Retries(3, 1))
				yes := true
				_, err := catalog.On(w.Store).UpdateJobStep(t.Context(), jobmodel.StepSpec{JobName: "j", AtMostOnce: &yes})
				require.NoError(t, err)
				id := w.Start(t, "j")
				require.Eventually(t, func() bool { return len(running(t, w, id)) == 2 }, 10*time.Second, 100*time.Millisecond)
				if silentAfter > 30*time.Second {
					// The outcome does not reach the control database, which stops answering before
					// the script ends.
					<-time.After(25 * time.Second)
					first.Control.Silence()
					<-time.After(silentAfter - 25*time.Second)
				} else {
					<-time.After(silentAfter)
				}
				second := w.StartAgent(t, cfg, nil)
				first.Control.Silence()
				first.Targets.Silence()
				<-time.After(3 * lease)
				first.Control.Heal()
				first.Targets.Heal()

				root, ended := w.Ended(t, id, 10*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				rows, err := executions.On(w.Store).Rows(t.Context(), id)
				require.NoError(t, err)
				for _, e := range rows {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, 1, w.Ledger(t, e.Database, id, 1), e.Database)
						require.Equal(t, 2, e.Attempts)
						if silentAfter > 30*time.Second {
							require.Contains(t, e.LastMessage, "it was not run again")
						}
					}
				}
				require.NoError(t, first.Stop())
				require.NoError(t, second.Stop())
				w.Check(t, false)
			})
		})
	}
}
