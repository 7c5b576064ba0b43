package controldb_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
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
func (c *control) httpJob(t *testing.T, name string, change func(*model.StepSpec)) {
	t.Helper()
	_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	spec := model.StepSpec{
		JobName: name, CommandType: ptr("http"), Command: new(`{"method":"POST","url":"https://h/x"}`),
		InitialRetryInterval: ptr(1), RetryAttempts: ptr(1),
	}
	if change != nil {
		change(&spec)
	}
	_, err = catalog.On(c.Store).AddJobStep(t.Context(), spec)
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
		require.NoError(t, c.EndTerm(t.Context(), actions))
		why, err := executions.On(c.Store).Explain(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, []string{"Agent", "no live agent runs commands of type Http"}, []string{why.Waits[0].For, why.Waits[0].Text})
		actions = c.actionTerm(t)
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
		c.httpJob(t, "j", func(s *model.StepSpec) { s.TargetGroup = new("g") })
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

// attempt starts a run of the action j, and returns its claimed task.
func (c *control) attempt(t *testing.T, term controldb.TermID) (uuid.UUID, controldb.Task) {
	t.Helper()
	run := c.start(t, "j")
	c.endpoint(t, term)
	tasks := c.pass(t, term).Tasks
	require.Len(t, tasks, 1)
	return run, tasks[0]
}

// state returns the lifecycle, attempts and message of the only target of a run.
func (c *control) state(t *testing.T, run uuid.UUID) string {
	t.Helper()
	rows := c.rows(t, `SELECT t.lifecycle, t.attempts, t.outcome_unknown, t.last_message
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id
WHERE e.job_execution_id = @p1`, run.String())
	require.Len(t, rows, 1)
	return rows[0]
}

// begin begins to send the request of a task that must be held.
func (c *control) begin(t *testing.T, term controldb.TermID, task controldb.Task, callback *callbacks.Token) {
	t.Helper()
	refused, err := callbacks.On(c.Store).BeginSend(t.Context(), term, []callbacks.Send{{Task: task.ID, Attempt: task.Attempt, Callback: callback}})
	require.NoError(t, err)
	require.Empty(t, refused)
}

// TestBeginSend: an attempt may begin to send once, while its term holds the task.
func TestBeginSend(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.httpJob(t, "j", nil)
		term, other := c.actionTerm(t), c.actionTerm(t)
		_, task := c.attempt(t, term)
		send := callbacks.Send{Task: task.ID, Attempt: 1}
		refused := func(term controldb.TermID, s callbacks.Send) string {
			list, err := callbacks.On(c.Store).BeginSend(ctx, term, []callbacks.Send{s})
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, s.Task, list[0].Task)
			return list[0].Reason
		}
		require.Equal(t, "another term held the task", refused(other, send))
		require.Equal(t, "the task is another attempt", refused(term, callbacks.Send{Task: task.ID, Attempt: 2}))
		require.Equal(t, "the task does not exist", refused(term, callbacks.Send{Task: 99, Attempt: 1}))
		require.Equal(t, "the task is a resolution", refused(term, callbacks.Send{Task: task.ID - 1, Attempt: 1}))
		c.begin(t, term, task, nil)
		require.Equal(t, "the attempt has begun to send already", refused(term, send))
		c.complete(t, term, targets.Succeeded, "", task)
		require.Equal(t, "the task has its outcome already", refused(term, send))
		require.NoError(t, c.EndTerm(ctx, term))
		_, err := callbacks.On(c.Store).BeginSend(ctx, term, []callbacks.Send{send})
		require.ErrorIs(t, err, dberror.ErrTermEnded)
		c.fails(t, 50029, `EXECUTE jobs_internal.begin_send @term_id = 2, @sends = N'[{"task_id":1,"attempt":1,"token_hash":"zz"}]'`)
	})
}

// TestHandOverOfActions: the task of a lost agent is handed back if it did not begin to send;
// otherwise its outcome is unknown, or awaits a report.
func TestHandOverOfActions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", nil)
		lost := func(begin bool) uuid.UUID {
			term := c.actionTerm(t)
			run, task := c.attempt(t, term)
			if begin {
				c.begin(t, term, task, nil)
			}
			require.NoError(t, c.EndTerm(t.Context(), term))
			return run
		}
		require.Equal(t, "Created|0|false|NULL", c.state(t, lost(false)))
		c.exec(t, `UPDATE e SET e.stop_requested_at = SYSUTCDATETIME() FROM jobs_internal.job_executions AS e WHERE e.is_active = 1`)
		c.pass(t, c.actionTerm(t))
		run := lost(true)
		require.Equal(t, "WaitingForRetry|1|true|The outcome of attempt 1 of step 1 on endpoint 'h' is unknown: "+
			"the agent on 'host' ended or lost its lease while it held the task.", c.state(t, run))
		c.exec(t, `UPDATE e SET e.stop_requested_at = SYSUTCDATETIME() FROM jobs_internal.job_executions AS e WHERE e.is_active = 1`)
		c.pass(t, c.actionTerm(t))
		c.exec(t, `EXECUTE jobs.sp_set_jobstep_options @job_name = N'j', @on_unknown_outcome = N'await'`)
		run = lost(true)
		require.Regexp(t, `^WaitingForCallback\|1\|false\|Step 1 waits for a callback about endpoint 'h' until .*Z\. the agent on`, c.state(t, run))
		require.Equal(t, "InProgress", get[string](t, c,
			`SELECT lifecycle FROM jobs.job_executions WHERE job_execution_id = @p1 AND target_type = N'Endpoint'`, run.String()))
	})
}

// TestOutcomesOfActions: what follows an outcome depends on the step's options and the outcome's
// flags.
func TestOutcomesOfActions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.httpJob(t, "j", func(s *model.StepSpec) { s.MaximumRetryInterval = ptr(60) })
		term := c.actionTerm(t)
		outcome := func(o controldb.Outcome) string {
			t.Helper()
			run, task := c.attempt(t, term)
			c.begin(t, term, task, nil)
			o.Task, o.Attempt = task.ID, task.Attempt
			refused, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{o})
			require.NoError(t, err)
			require.Empty(t, refused)
			state := c.state(t, run)
			c.exec(t, `UPDATE e SET e.stop_requested_at = SYSUTCDATETIME() FROM jobs_internal.job_executions AS e WHERE e.is_active = 1`)
			c.pass(t, term)
			return state
		}
		wait := func() int {
			return get[int](t, c, `SELECT TOP (1) DATEDIFF(SECOND, k.ended_at, t.next_attempt_at)
FROM jobs_internal.task_executions AS k
INNER JOIN jobs_internal.target_executions AS t ON t.target_execution_id = k.target_execution_id
ORDER BY k.task_id DESC`)
		}
		require.Equal(t, "WaitingForRetry|1|false|500", outcome(controldb.Outcome{Outcome: targets.Failed, Message: "500"}))
		require.Equal(t, "Failed|1|false|404", outcome(controldb.Outcome{Outcome: targets.Failed, Message: "404", NoRetry: true}))
		require.Regexp(t, `^WaitingForRetry\|1\|true\|`, outcome(controldb.Outcome{Outcome: targets.NoAnswer, Message: "m"}),
			"only a step with Await waits for a report")
		c.exec(t, `EXECUTE jobs.sp_set_jobstep_options @job_name = N'j', @at_most_once = 1`)
		require.Equal(t, "Failed|1|true|The outcome of attempt 1 of step 1 on endpoint 'h' is unknown, "+
			"and the step is not retried after that (at_most_once is 1): m",
			outcome(controldb.Outcome{Outcome: targets.Unknown, Message: "m"}))
		c.exec(t, `EXECUTE jobs.sp_set_jobstep_options @job_name = N'j', @on_unknown_outcome = N'Await'`)
		require.Contains(t, outcome(controldb.Outcome{Outcome: targets.Unknown, Message: "m"}), "(on_unknown_outcome is Await): m")

		for after, want := range map[time.Duration]int{0: 1, time.Second / 2: 1, 20 * time.Second: 20, time.Hour: 60} {
			run, task := c.attempt(t, term)
			c.begin(t, term, task, nil)
			_, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{
				{Task: task.ID, Attempt: 1, Outcome: targets.Failed, Message: "503", RetryAfter: after},
			})
			require.NoError(t, err)
			require.Equal(t, want, wait(), after.String())
			c.exec(t, `EXECUTE jobs.sp_stop_job @p1`, run.String())
			c.pass(t, term)
		}
	})
}
