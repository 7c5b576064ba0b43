package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// Two agents, each with more workers, share a server's limit of 3. Exactly three scripts run at the
// same time, so that 12 scripts of 10 s take 40 s. A script of another job that starts later is
// among the next.
func TestTwoAgentsShareALimit(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 12)
		require.NoError(t, settings.On(f.Store).SetLimit(t.Context(), model.Limit{Scope: model.LimitServer, Name: "*", Max: 3}))
		f.AddJob(t, "wide", []string{"WAITFOR DELAY '00:00:10';"})
		_, err := targetgroups.On(f.Store).Add(t.Context(), "one")
		require.NoError(t, err)
		list, err := targetgroups.On(f.Store).Members(t.Context(), "all")
		require.NoError(t, err)
		_, err = targetgroups.On(f.Store).AddMember(t.Context(), "one", list[0])
		require.NoError(t, err)
		f.AddJob(t, "small", []string{"WAITFOR DELAY '00:00:10';"}, func(s *model.StepSpec) { s.TargetGroup = new("one") })
		f.startAgent(t, agent.Config{MaxConcurrentTargets: 8})
		f.startAgent(t, agent.Config{MaxConcurrentTargets: 8})

		wide := f.Start(t, "wide")
		most, looks := 0, 0
		small := wide
		rows := f.until(t, wide, 5*time.Minute, func(rows []executions.Execution) bool {
			if looks++; looks%50 == 1 {
				f.CheckInvariants(t, f.Control, false)
			}
			running := 0
			for _, l := range lifecycles(rows, 1) {
				if l == jobs.InProgress {
					running++
				}
			}
			require.LessOrEqual(t, running, 3)
			if most = max(most, running); running == 3 && small == wide {
				small = f.Start(t, "small")
			}
			return !rows[0].Active
		})
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
		require.Equal(t, 3, most)
		took := rows[0].EndTime.Sub(rows[0].StartTime)
		require.Less(t, took, 55*time.Second, "13 scripts of 10 s, three at a time, take 50 s at most")

		rows = f.ended(t, small, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
		require.Less(t, rows[0].EndTime.Sub(rows[0].CreateTime), 23*time.Second, "it starts after the first three scripts")
	})
}
