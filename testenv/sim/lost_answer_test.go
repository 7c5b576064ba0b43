package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// If the answer to a pass is lost, the next pass returns its claims again. No attempt and no term
// is lost.
func TestLostAnswersOfPassesWasteNothing(t *testing.T) {
	testenv.Long(t)
	for _, kind := range []fault.Kind{fault.AfterSending, fault.Cut, fault.Stall} {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 3)
				w.AddJob(t, "j", []string{WriteLedger, WriteLedger}, Retries(0, 1))
				passes := 0
				a := w.StartAgent(t, agent.Config{MaxConcurrentTargets: 2, Prefetch: 1}, func(c fault.Call) fault.Kind {
					if c.Name != "jobs_internal.controller_pass" {
						return fault.None
					}
					if passes++; passes%2 == 1 {
						return kind
					}
					return fault.None
				})
				id := w.Start(t, "j")
				root, ended := w.Ended(t, id, time.Hour)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.NoError(t, a.Stop())
				rows, err := executions.On(w.Store).Rows(t.Context(), id)
				require.NoError(t, err)
				for _, e := range rows {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, 1, e.Attempts)
					}
				}
				for _, database := range w.Targets {
					require.Equal(t, 1, w.Ledger(t, database, id, 1))
					require.Equal(t, 1, w.Ledger(t, database, id, 2))
				}
				agents, err := fleet.On(w.Store).List(t.Context())
				require.NoError(t, err)
				require.Len(t, agents, 1)
				require.Len(t, a.Logs.FilterMessage("term started").All(), 1)
				w.Check(t, true)
			})
		})
	}
}
