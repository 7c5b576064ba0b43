package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// TestModes: the tasks of a run with a mode have it, and no ledger row and no output; an agent that
// does not name the mode does not get them.
func TestModes(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil, func(s *model.StepSpec) {
			once, table, server := true, "t", "s"
			s.AtMostOnce, s.Output = &once, &model.OutputSpec{Type: &[]string{"SqlDatabase"}[0], Server: &server, Database: &server, Table: &table}
		})
		target := targets.NewTarget("s", "a", "")
		options := `{"skip_unsupported":true,"plan_xml":true}`
		run, err := executions.On(c.Store).Start(t.Context(), executions.StartRequest{
			Job: "j", Mode: controldb.ModeTrial, ModeOptions: options, OnlyTargets: []targets.Target{target},
		})
		require.NoError(t, err)
		agent := controldb.Agent{ID: uuid.New(), Host: "h", Version: "v", MaxConcurrentTargets: 10, CommandTypes: action.Types()}
		earlier, err := c.StartTerm(t.Context(), agent, time.Hour)
		require.NoError(t, err)
		agent.ID, agent.Modes = uuid.New(), []controldb.RunMode{controldb.ModeTrial}
		term, err := c.StartTerm(t.Context(), agent, time.Hour)
		require.NoError(t, err)
		for range 2 {
			require.Empty(t, c.pass(t, earlier.ID).Tasks)
		}
		resolve := c.pass(t, term.ID).Tasks
		require.Len(t, resolve, 1)
		require.Equal(t, controldb.ModeTrial, resolve[0].Mode)
		require.NoError(t, c.CompleteResolution(t.Context(), term.ID, resolve[0].ID, controldb.Resolution{
			Attempt: 1, Claim: resolve[0].Claim, Targets: []targets.Target{target},
		}))
		require.Empty(t, c.pass(t, earlier.ID).Tasks)
		tasks := c.pass(t, term.ID).Tasks
		require.Len(t, tasks, 1)
		require.Equal(t, run, tasks[0].JobExecutionID)
		require.Equal(t, controldb.ModeTrial, tasks[0].Mode)
		require.Equal(t, options, tasks[0].ModeOptions)
		require.False(t, tasks[0].AtMostOnce)
		require.Nil(t, tasks[0].Output)
	})
}
