package sim

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
)

// An agent that starts while its control database is unreachable waits for it, and works when it is
// back.
func TestAgentWaitsForItsControlDatabase(t *testing.T) {
	testenv.Long(t)
	for _, kind := range fault.Kinds {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 1)
				w.AddJob(t, "work", []string{WriteLedger})
				back := time.Now().Add(2 * time.Minute)
				a := w.StartAgent(t, agent.Config{}, func(fault.Call) fault.Kind {
					if time.Now().Before(back) {
						return kind
					}
					return fault.None
				})
				root, ended := w.Ended(t, w.Start(t, "work"), time.Hour)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				require.False(t, a.Ended())
				require.NotEmpty(t, a.Logs.FilterMessage("the control database cannot be used yet").All())
				require.Less(t, a.Control.Calls(), 2000, "the agent has waited between its attempts")
				require.NoError(t, a.Stop())
			})
		})
	}
}

// An agent that is stopped while it waits ends without an error. An agent whose control database
// has no schema ends at once with an error.
func TestAgentDoesNotWaitWithoutReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := NewWorld(t, 1)
		a := w.StartAgent(t, agent.Config{}, func(fault.Call) fault.Kind { return fault.BeforeSending })
		<-time.After(time.Minute)
		require.False(t, a.Ended())
		require.NoError(t, a.Stop())

		w.Control = w.CreateDatabase(t, "empty")
		b := w.StartAgent(t, agent.Config{}, nil)
		<-b.ended
		require.True(t, errors.Is(b.Stop(), dberror.ErrNotInstalled), "%v", b.Stop())
	})
}
