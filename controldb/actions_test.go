package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
)

// actionTerm starts a term of an agent that runs scripts and HTTP actions.
func (c *control) actionTerm(t *testing.T) controldb.TermID {
	t.Helper()
	term, err := c.StartTerm(t.Context(), controldb.Agent{
		ID: uuid.New(), Host: "host", Version: "v", MaxConcurrentTargets: 100,
		CommandTypes: []action.Type{action.TypeTSQL, action.TypeHTTP},
	}, time.Hour)
	require.NoError(t, err)
	return term.ID
}

// httpJob creates a job with one HTTP action on its endpoint.
func (c *control) httpJob(t *testing.T, name string, change func(*controldb.StepSpec)) {
	t.Helper()
	_, err := c.AddJob(t.Context(), controldb.JobSpec{Name: name})
	require.NoError(t, err)
	spec := controldb.StepSpec{
		JobName: name, CommandType: ptr("http"), Command: `{"method":"POST","url":"https://h/x"}`,
		InitialRetryInterval: ptr(1), RetryAttempts: ptr(1),
	}
	if change != nil {
		change(&spec)
	}
	_, err = c.AddJobStep(t.Context(), spec)
	require.NoError(t, err)
}

// endpoint resolves the only resolution that a pass returns into the endpoint h.
func (c *control) endpoint(t *testing.T, term controldb.TermID) {
	t.Helper()
	tasks := c.pass(t, term).Tasks
	require.Len(t, tasks, 1)
	require.Equal(t, controldb.TaskResolve, tasks[0].Kind)
	require.Equal(t, action.TypeHTTP, tasks[0].CommandType)
	require.Equal(t, []targets.Member{{Membership: targets.Include, Kind: targets.Endpoint}}, tasks[0].Members)
	require.NoError(t, c.CompleteResolution(t.Context(), term, tasks[0].ID, controldb.Resolution{
		Attempt: tasks[0].Attempt, Targets: []targets.Target{targets.NewTarget("h", "", "")},
	}))
}

// TestEndpoint: an action without a target group runs once on its endpoint, for an agent that runs
// actions of its type, and for no other agent.
func TestEndpoint(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		scripts, actions := c.term(t), c.actionTerm(t)
		run := c.start(t, "j")
		require.Empty(t, c.pass(t, scripts).Tasks)
		c.endpoint(t, actions)
		require.Empty(t, c.pass(t, scripts).Tasks)
		tasks := c.pass(t, actions).Tasks
		require.Len(t, tasks, 1)
		require.Equal(t, targets.NewTarget("h", "", ""), tasks[0].Target)
		require.Equal(t, "Retry", tasks[0].OnUnknownOutcome)
		require.Equal(t, tasks[0].ExecutionCreateTime, tasks[0].DueAt)
		c.complete(t, actions, targets.Succeeded, "200", tasks...)
		c.pass(t, actions)
		require.Equal(t, []string{
			"NULL|Succeeded|NULL|NULL|NULL|Job execution succeeded.",
			"1|Succeeded|TargetGroup|NULL|NULL|Step 1 ended with 1 of 1 targets succeeded.",
			"1|Succeeded|Endpoint|h|NULL|Step 1 succeeded execution on endpoint 'h'. 200",
		}, c.rows(t, `SELECT step_id, lifecycle, target_type, target_server_name, target_database_name, last_message
FROM jobs.job_executions
WHERE job_execution_id = @p1
ORDER BY step_id, target_type DESC`, run.String()))
	})
}

// TestCase128: an action on the databases of a group counts for the limits of the host that it
// calls, not of the databases' servers.
func TestCase128(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "other", nil)
		c.httpJob(t, "j", func(s *controldb.StepSpec) { s.TargetGroup = "g" })
		c.exec(t, `EXECUTE jobs.sp_set_limit @scope = N'Server', @name = N'api.example.com', @max_concurrent_targets = 2;`)
		term := c.actionTerm(t)
		run := c.start(t, "j")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 1)
		res := controldb.Resolution{Attempt: 1}
		for i := range 24 {
			res.Targets = append(res.Targets, targets.NewTarget("s"+string(rune('a'+i%3)), "d"+string(rune('a'+i)), ""))
			res.LimitServers = append(res.LimitServers, "api.example.com")
		}
		require.NoError(t, c.CompleteResolution(t.Context(), term, tasks[0].ID, res))
		done := 0
		for done < 24 {
			tasks := c.pass(t, term).Tasks
			require.Len(t, tasks, 2, "after %d targets", done)
			require.Empty(t, c.pass(t, term).Tasks, "the limit is used up")
			c.complete(t, term, targets.Succeeded, "", tasks...)
			done += len(tasks)
		}
		c.pass(t, term)
		require.Equal(t, "Succeeded", get[string](t, c, `SELECT lifecycle FROM jobs.job_executions WHERE job_execution_id = @p1 AND step_id IS NULL`, run.String()))
	})
}
