package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// A schedule that is enabled between two full seconds is due at once, and then one interval later,
// but not at the next full second.
func TestScheduleEnabledBetweenTwoSeconds(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, agent.Config{PollIdle: 2 * time.Second})
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.AddJob(t, "later", []string{"SELECT 1;"})
		<-time.After(925 * time.Millisecond)
		start := time.Now().Add(time.Minute)
		require.NotZero(t, start.Nanosecond())
		f.every(t, "j", 1)
		require.NoError(t, catalog.On(f.Store).UpdateJob(t.Context(), model.JobSpec{
			Name: "later", Enabled: ptr(true), IntervalType: ptr("Minutes"), IntervalCount: ptr(1), Start: &start,
		}))
		<-time.After(10*time.Minute + 30*time.Second)
		runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "j"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, runs, 1+10)
		runs, err = executions.On(f.Store).List(t.Context(), executions.Query{JobName: "later"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, runs, 10)
		f.CheckInvariants(t, f.Control, false)
	})
}
