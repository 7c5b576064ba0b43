package controldb_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/oracle"
)

// term starts a term of a new agent.
func (c *control) term(t *testing.T) controldb.TermID {
	t.Helper()
	term, err := c.StartTerm(
		t.Context(),
		controldb.Agent{ID: uuid.New(), Host: "host", Version: "test", MaxConcurrentTargets: 100},
		time.Hour,
	)
	require.NoError(t, err)
	return term.ID
}

// pass makes a pass that may claim up to 100 tasks, and checks the digest.
func (c *control) pass(t *testing.T, term controldb.TermID) controldb.PassResult {
	t.Helper()
	return c.passMax(t, term, 100)
}

func (c *control) passMax(t *testing.T, term controldb.TermID, maxTasks int) controldb.PassResult {
	t.Helper()
	res, err := c.Pass(t.Context(), controldb.PassRequest{Term: term, MaxTasks: maxTasks, MaxConcurrentTargets: 100})
	require.NoError(t, err)
	require.False(t, res.Now.IsZero())
	return res
}

// job creates a job with one step per option function, on a group "g" with one member.
func (c *control) job(t *testing.T, name string, steps ...func(*model.StepSpec)) {
	t.Helper()
	if get[int](t, c, `SELECT COUNT(*) FROM jobs.target_groups`) == 0 {
		c.exec(
			t,
			`EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_target_group_member N'g', @target_type = N'SqlServer', @server_name = N's', @refresh_credential_name = N'r';`,
		)
	}
	_, err := catalog.On(c.Store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	for i, option := range steps {
		spec := model.StepSpec{
			JobName:     name,
			StepName:    ptr(fmt.Sprintf("step %d", i+1)),
			Command:     new("SELECT 1"),
			TargetGroup: new("g"),
		}
		if option != nil {
			option(&spec)
		}
		_, err := catalog.On(c.Store).AddJobStep(t.Context(), spec)
		require.NoError(t, err)
	}
}

func (c *control) start(t *testing.T, job string) uuid.UUID {
	t.Helper()
	id, err := executions.On(c.Store).StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	return id
}

// resolve makes a pass, which must claim exactly one resolution, and completes it with databases of
// server s. A name "pool/db" is a database in a pool.
func (c *control) resolve(t *testing.T, term controldb.TermID, databases ...string) controldb.Task {
	t.Helper()
	res := c.pass(t, term)
	require.Len(t, res.Tasks, 1)
	task := res.Tasks[0]
	require.Equal(t, controldb.TaskResolve, task.Kind)
	var list []targets.Target
	for _, d := range databases {
		pool, name, ok := strings.Cut(d, "/")
		if !ok {
			pool, name = "", d
		}
		list = append(list, targets.NewTarget("s", name, pool))
	}
	require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
	return task
}

// complete records the same outcome for all tasks; all must be accepted.
func (c *control) complete(t *testing.T, term controldb.TermID, outcome targets.Outcome, message string, tasks ...controldb.Task) {
	t.Helper()
	var list []controldb.Outcome
	for _, task := range tasks {
		list = append(
			list,
			controldb.Outcome{
				Task:    task.ID,
				Attempt: task.Attempt,
				Outcome: outcome,
				Message: message,
				Elapsed: time.Second,
			},
		)
	}
	refusals, err := c.CompleteTasks(t.Context(), term, list)
	require.NoError(t, err)
	require.Empty(t, refusals)
}

// lifecycles lists the rows of a run: "root=…", "1=…" for a step, "1/db=…" for a target.
func (c *control) lifecycles(t *testing.T, id uuid.UUID) string {
	t.Helper()
	rows, err := c.db.QueryContext(t.Context(), `SELECT COALESCE(CAST(step_id AS NVARCHAR(10)), N'root') + COALESCE(N'/' + target_database_name, N''),
    lifecycle, is_active
FROM jobs.job_executions -- of any version of the schema
WHERE job_execution_id = @p1
ORDER BY step_id, target_server_name, target_database_name;`, id.String())
	require.NoError(t, err)
	defer rows.Close()
	var list []string
	for rows.Next() {
		var name string
		var lifecycle jobs.Lifecycle
		var active bool
		require.NoError(t, rows.Scan(&name, &lifecycle, &active))
		list = append(list, name+"="+string(lifecycle))
		require.Equal(t, lifecycle.Active(), active)
	}
	require.NoError(t, rows.Err())
	return strings.Join(list, " ")
}

func TestRun(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) {
			s.Credential, s.Timeout = ptr("k"), ptr(60)
			s.Output = &model.OutputSpec{
				Type:     ptr("SqlDatabase"),
				Server:   ptr("o"),
				Database: ptr("d"),
				Table:    ptr("t"),
			}
		}, nil)
		id := c.start(t, "j")
		require.Equal(t, "root=Created", c.lifecycles(t, id))
		term := c.term(t)
		res := c.pass(t, term)
		require.Equal(t, controldb.Digest{Count: 1, Sum: int64(res.Tasks[0].ID)}, res.Held)
		task := res.Tasks[0]
		require.Equal(t, controldb.TaskResolve, task.Kind)
		require.Len(t, task.Members, 1)
		require.Equal(
			t,
			targets.Member{
				ID:                task.Members[0].ID,
				Membership:        targets.Include,
				Kind:              targets.SQLServer,
				Server:            "s",
				RefreshCredential: "r",
			},
			task.Members[0],
		)
		require.Equal(t, "root=WaitingForChildJobExecutions 1=InProgress", c.lifecycles(t, id))
		require.Empty(t, c.pass(t, term).Tasks, "what is held is not claimed again")

		b, a := targets.NewTarget("s", "b", ""), targets.NewTarget("s", "a", "pool")
		require.NoError(
			t,
			c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: 1, Targets: []targets.Target{b, a}}),
		)
		require.NoError(
			t,
			c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: 1, Targets: []targets.Target{b}}),
			"a second answer is forgotten",
		)
		require.Equal(t, "root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/a=Created 1/b=Created", c.lifecycles(t, id))

		res = c.pass(t, term)
		require.Len(t, res.Tasks, 2)
		run := res.Tasks[0]
		text, err := c.Command(t.Context(), run.CommandID)
		require.NoError(t, err)
		require.Equal(t, "SELECT 1", text)
		require.NotZero(t, run.Claim)
		require.Equal(t, controldb.Task{
			ID: run.ID, Kind: controldb.TaskRun, Attempt: 1, Claim: run.Claim, JobID: run.JobID, JobName: "j", JobVersion: 2, JobExecutionID: id,
			ExecutionCreateTime: run.ExecutionCreateTime, DueAt: run.ExecutionCreateTime, StepID: 1, StepName: "step 1",
			TargetGroupName: "g", CommandID: run.CommandID, CommandType: action.TypeTSQL, OnUnknownOutcome: "Retry",
			CredentialName: "k", Target: b, TargetExecutionID: run.TargetExecutionID, Timeout: time.Minute,
			Output: &controldb.Output{Server: "o", Database: "d", Schema: "dbo", Table: "t"},
		}, run)
		require.Equal(t, a, res.Tasks[1].Target)
		require.NotEqual(t, uuid.Nil, run.TargetExecutionID)

		refusals, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{
			{
				Task:         run.ID,
				Attempt:      1,
				Outcome:      targets.Succeeded,
				RowsAffected: 3,
				SPID:         51,
				Messages: []targets.Message{
					{Kind: targets.KindInfo, Text: "hello", Line: 2}, {Kind: targets.KindRows, Rows: 3},
				},
			},
			{
				Task:    res.Tasks[1].ID,
				Attempt: 2,
				Outcome: targets.Succeeded,
			}, {Task: 999, Attempt: 1, Outcome: targets.Succeeded},
		})
		require.NoError(t, err)
		require.Equal(
			t,
			[]controldb.Refusal{
				{Task: res.Tasks[1].ID, Reason: "the task is another attempt"},
				{Task: 999, Reason: "the task does not exist"},
			},
			refusals,
		)
		messages, err := executions.On(c.Store).Messages(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, messages, 2)
		require.Equal(t, "hello", messages[0].Message.Text)
		require.Equal(t, int64(3), messages[1].Message.Rows)

		other := c.term(t)
		refusals, err = c.CompleteTasks(
			t.Context(),
			other,
			[]controldb.Outcome{{Task: res.Tasks[1].ID, Attempt: 1, Outcome: targets.Succeeded}},
		)
		require.NoError(t, err)
		require.Len(t, refusals, 1)
		c.complete(t, term, targets.Succeeded, "2 rows were written to t.", res.Tasks[1])

		res = c.pass(t, term)
		require.Len(t, res.Tasks, 1, "step 2 begins in the same pass")
		require.Equal(t, 2, res.Tasks[0].StepID)
		require.NoError(t, c.CompleteResolution(t.Context(), term, res.Tasks[0].ID, controldb.Resolution{Attempt: 1}))
		res = c.pass(t, term)
		require.Empty(t, res.Tasks)
		require.Equal(t, controldb.Digest{}, res.Held)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded 2=Succeeded", c.lifecycles(t, id))
		require.Equal(t, []string{
			"Job execution succeeded.|NULL|0", "Step 1 ended with 2 of 2 targets succeeded.|TargetGroup|1",
			"Step 1 succeeded execution on target (server 's', database 'a'). 2 rows were written to t.|SqlDatabase|1",
			"Step 1 succeeded execution on target (server 's', database 'b').|SqlDatabase|1",
			"Step 2 succeeded: the target group 'g' resolved to no databases.|TargetGroup|1",
		}, c.rows(t, `SELECT last_message, target_type, current_attempts FROM jobs.job_executions ORDER BY step_id, target_server_name, target_database_name`))
		require.Equal(
			t,
			5,
			get[int](
				t,
				c,
				`SELECT COUNT(*) FROM jobs.job_executions WHERE is_active = 0 AND start_time IS NOT NULL AND end_time IS NOT NULL AND create_time <= start_time AND start_time <= end_time`,
			),
		)
	})
}

func TestRetriesThenFails(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) {
			s.RetryAttempts, s.InitialRetryInterval, s.MaximumRetryInterval, s.RetryIntervalMultiplier = ptr(3), ptr(10), ptr(35), ptr(2.0)
		}, nil)
		policy := oracle.RetryPolicy{Retries: 3, Initial: 10 * time.Second, Maximum: 35 * time.Second, Multiplier: 2}
		id := c.start(t, "j")
		term := c.term(t)
		c.resolve(t, term, "a", "b")
		res := c.pass(t, term)
		c.complete(t, term, targets.Succeeded, "", res.Tasks[1])
		task := res.Tasks[0]
		for attempt, pause := range policy.Waits() {
			wait := int(pause / time.Second)
			require.Equal(t, attempt+1, task.Attempt)
			refusals, err := c.CompleteTasks(t.Context(), term, []controldb.Outcome{{
				Task: task.ID, Attempt: task.Attempt, Outcome: targets.Failed, Message: "Msg 8134: Divide by zero",
				Error: targets.ErrorDetail{Number: 8134, Severity: 16, State: 1, Line: 3, Text: "Divide by zero"},
			}})
			require.NoError(t, err)
			require.Empty(t, refusals)
			require.Equal(
				t,
				[]string{fmt.Sprintf("WaitingForRetry|%d|%d", attempt+1, wait)},
				c.rows(t, `SELECT t.lifecycle, t.attempts, DATEDIFF(SECOND, k.ended_at, t.next_attempt_at)
FROM jobs_internal.target_executions AS t INNER JOIN jobs_internal.task_executions AS k ON k.target_execution_id = t.target_execution_id WHERE k.task_id = @p1`, int64(task.ID)),
			)
			res = c.pass(t, term)
			require.Empty(t, res.Tasks, "it waits")
			require.WithinDuration(t, res.Now.Add(time.Duration(wait)*time.Second), res.NextWake, 5*time.Second)
			require.Equal(
				t,
				1,
				get[int](
					t,
					c,
					`SELECT COUNT(*) FROM jobs.job_executions WHERE next_attempt_start_time IS NOT NULL AND lifecycle = N'WaitingForRetry'`,
				),
			)
			c.exec(t, `UPDATE jobs_internal.target_executions SET next_attempt_at = SYSUTCDATETIME() WHERE next_attempt_at IS NOT NULL`)
			res = c.pass(t, term)
			require.Len(t, res.Tasks, 1)
			task = res.Tasks[0]
		}
		c.complete(t, term, targets.Failed, "Msg 8134: Divide by zero", task)
		c.pass(t, term)
		require.Equal(t, "root=Failed 1=Failed 1/a=Failed 1/b=Succeeded", c.lifecycles(t, id), "later steps do not start")
		require.Equal(t, []string{
			"Job execution failed. Step 1 ended with 1 of 2 targets succeeded, 1 failed.", "Step 1 ended with 1 of 2 targets succeeded, 1 failed.", "Msg 8134: Divide by zero",
		}, c.rows(t, `SELECT last_message FROM jobs.job_executions WHERE lifecycle = N'Failed' ORDER BY step_id, target_database_name`))
	})
}

func TestResolutionRetriesThenFails(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(1) }, nil)
		id := c.start(t, "j")
		term := c.term(t)
		for attempt := 1; attempt <= 2; attempt++ {
			res := c.pass(t, term)
			require.Len(t, res.Tasks, 1)
			require.Equal(t, attempt, res.Tasks[0].Attempt)
			require.NoError(
				t,
				c.CompleteResolution(
					t.Context(),
					term,
					res.Tasks[0].ID,
					controldb.Resolution{
						Attempt: attempt,
						Failure: "login refused",
						Error:   targets.ErrorDetail{Number: 18456},
					},
				),
			)
			if attempt == 1 {
				require.Equal(t, "root=WaitingForChildJobExecutions 1=WaitingForRetry", c.lifecycles(t, id))
				c.exec(t, `UPDATE jobs_internal.step_executions SET next_attempt_at = SYSUTCDATETIME()`)
			}
		}
		c.pass(t, term)
		require.Equal(t, "root=Failed 1=Failed", c.lifecycles(t, id))
		require.Equal(
			t,
			[]string{"The targets of the group 'g' could not be found: login refused|2"},
			c.rows(t, `SELECT last_message, current_attempts FROM jobs.job_executions WHERE step_id = 1`),
		)
	})
}

func TestOutcomes(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		term := c.term(t)
		for _, test := range []struct {
			outcome targets.Outcome
			want    string
		}{
			{targets.Succeeded, "root=Succeeded 1=Succeeded 1/a=Succeeded"},
			{targets.Failed, "root=Failed 1=Failed 1/a=Failed"},
			{targets.TimedOut, "root=TimedOut 1=TimedOut 1/a=TimedOut"},
			{targets.Canceled, "root=Canceled 1=Canceled 1/a=Canceled"},
			{targets.Unknown, "root=Failed 1=Failed 1/a=Failed"},
			{targets.NotSent, "root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/a=Created"},
		} {
			id := c.start(t, "j")
			c.resolve(t, term, "a")
			res := c.pass(t, term)
			c.complete(t, term, test.outcome, "because", res.Tasks...)
			c.passMax(t, term, 0)
			require.Equal(t, test.want, c.lifecycles(t, id), test.outcome)
			if test.outcome == targets.NotSent {
				res = c.pass(t, term)
				require.Equal(t, 1, res.Tasks[0].Attempt, "it does not count")
				c.complete(t, term, targets.Succeeded, "", res.Tasks...)
				c.pass(t, term)
			}
		}
		require.Equal(
			t,
			1,
			get[int](
				t,
				c,
				`SELECT COUNT(*) FROM jobs.job_executions WHERE last_message LIKE N'The outcome of attempt 1 of step 1 on target (server ''s'', database ''a'') is unknown: because%'`,
			),
		)
	})
}

func TestTimeLimitWhileWaiting(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.Timeout, s.InitialRetryInterval = ptr(30), ptr(60) })
		id := c.start(t, "j")
		term := c.term(t)
		c.resolve(t, term, "a")
		res := c.pass(t, term)
		require.Equal(t, 30*time.Second, res.Tasks[0].Timeout)
		c.complete(t, term, targets.Failed, "no", res.Tasks...)
		res = c.pass(t, term)
		require.WithinDuration(t, res.Now.Add(30*time.Second), res.NextWake, 5*time.Second, "the time limit comes before the next attempt")
		c.exec(t, `EXEC jobs_internal.advance @now = @p1`, res.NextWake)
		require.Equal(t, "root=TimedOut 1=TimedOut 1/a=TimedOut", c.lifecycles(t, id))
	})
}

func TestStop(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil, nil)
		term := c.term(t)
		id := c.start(t, "j")
		c.resolve(t, term, "a", "b", "c")
		res := c.passMax(t, term, 1)
		require.Len(t, res.Tasks, 1)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), id))
		next := c.pass(t, term)
		require.Empty(t, next.Tasks)
		require.Len(t, next.Cancels, 1)
		require.Equal(t, res.Tasks[0].ID, next.Cancels[0].Task)
		require.Contains(t, next.Cancels[0].Reason, "stop requested by")
		require.Equal(
			t,
			"root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/a=InProgress 1/b=Canceled 1/c=Canceled",
			c.lifecycles(t, id),
		)
		c.complete(t, term, targets.Failed, "it failed by itself", res.Tasks...)
		c.pass(t, term)
		require.Equal(
			t,
			"root=Canceled 1=Canceled 1/a=Canceled 1/b=Canceled 1/c=Canceled",
			c.lifecycles(t, id),
			"no retry after a stop request",
		)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), id), "stopping a finished run has no effect")
		require.Equal(t, "root=Canceled 1=Canceled 1/a=Canceled 1/b=Canceled 1/c=Canceled", c.lifecycles(t, id))

		id = c.start(t, "j")
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), id))
		c.pass(t, term)
		require.Equal(t, "root=Canceled", c.lifecycles(t, id))

		id = c.start(t, "j")
		res = c.pass(t, term)
		require.NoError(t, executions.On(c.Store).Stop(t.Context(), id))
		require.NoError(
			t,
			c.CompleteResolution(
				t.Context(),
				term,
				res.Tasks[0].ID,
				controldb.Resolution{Attempt: 1, Targets: []targets.Target{targets.NewTarget("s", "a", "")}},
			),
		)
		c.pass(t, term)
		require.Equal(t, "root=Canceled 1=Canceled", c.lifecycles(t, id))

		require.ErrorIs(t, executions.On(c.Store).Stop(t.Context(), uuid.New()), dberror.ErrExecutionNotFound)
		c.fails(t, 50028, `EXEC jobs.sp_stop_job`)
	})
}

func TestStartJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		c.job(t, "k", nil)
		c.job(t, "empty")
		id := uuid.New()
		for range 2 {
			got, err := executions.On(c.Store).StartJob(t.Context(), "j", id)
			require.NoError(t, err)
			require.Equal(t, id, got)
		}
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs.job_executions`))
		_, err := executions.On(c.Store).StartJob(t.Context(), "k", id)
		require.Equal(t, int32(50112), dberror.NumberOf(err))
		_, err = executions.On(c.Store).StartJob(t.Context(), "empty", uuid.Nil)
		require.Equal(t, int32(50103), dberror.NumberOf(err))
		_, err = executions.On(c.Store).StartJob(t.Context(), "nope", uuid.Nil)
		require.ErrorIs(t, err, dberror.ErrJobNotFound)
		c.fails(t, 206, `EXEC jobs.sp_start_job N'j', 1`)
		c.exec(t, `DECLARE @je UNIQUEIDENTIFIER; EXEC jobs.sp_start_job 'j', @job_execution_id = @je OUTPUT;
IF NOT EXISTS (SELECT 1 FROM jobs.job_executions WHERE job_execution_id = @je AND last_message = N'Job execution created.') THROW 60000, N'no run', 1;`)
	})
}

func TestVersionIsPinned(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil, nil)
		id := c.start(t, "j")
		c.exec(
			t,
			`EXEC jobs.sp_update_jobstep @job_name = N'j', @step_id = 2, @command = N'SELECT 2'; EXEC jobs.sp_delete_jobstep @job_name = N'j', @step_id = 1;`,
		)
		term := c.term(t)
		for range 2 {
			c.resolve(t, term, "a")
			res := c.pass(t, term)
			text, err := c.Command(t.Context(), res.Tasks[0].CommandID)
			require.NoError(t, err)
			require.Equal(t, "SELECT 1", text)
			c.complete(t, term, targets.Succeeded, "", res.Tasks...)
		}
		c.pass(t, term)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 2=Succeeded 2/a=Succeeded", c.lifecycles(t, id))
	})
}

func TestOverlapIsSkipped(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", nil)
		term := c.term(t)
		first := c.start(t, "j")
		c.resolve(t, term, "a", "b")
		held := c.pass(t, term).Tasks
		second := c.start(t, "j")
		c.resolve(t, term, "b", "c")
		require.Equal(
			t,
			"root=WaitingForChildJobExecutions 1=WaitingForChildJobExecutions 1/b=Skipped 1/c=Created",
			c.lifecycles(t, second),
		)
		res := c.pass(t, term)
		require.Len(t, res.Tasks, 1)
		c.complete(t, term, targets.Succeeded, "", append(held, res.Tasks...)...)
		c.pass(t, term)
		require.Equal(t, "root=Succeeded 1=Succeeded 1/a=Succeeded 1/b=Succeeded", c.lifecycles(t, first))
		require.Equal(t, "root=SucceededWithSkipped 1=SucceededWithSkipped 1/b=Skipped 1/c=Succeeded", c.lifecycles(t, second))
	})
}

func TestMaxParallelism(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.MaxParallelism = ptr(2) })
		term := c.term(t)
		c.start(t, "j")
		c.resolve(t, term, "p1/a", "p1/b", "p1/c", "p2/d", "e", "f", "g")
		res := c.pass(t, term)
		count := map[string]int{}
		for _, task := range res.Tasks {
			count[task.Target.ElasticPool]++
		}
		require.Equal(t, map[string]int{"p1": 2, "p2": 1, "": 2}, count)
		require.Empty(t, c.pass(t, term).Tasks)
		c.complete(t, term, targets.Succeeded, "", res.Tasks[0])
		res = c.pass(t, term)
		require.Len(t, res.Tasks, 1)
		require.Equal(t, "c", res.Tasks[0].Target.Database)
	})
}

func TestTurns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "wide", nil)
		c.job(t, "narrow", nil)
		term := c.term(t)
		c.start(t, "wide")
		var many []string
		for i := range 40 {
			many = append(many, fmt.Sprintf("db%02d", i))
		}
		c.resolve(t, term, many...)
		require.Len(t, c.passMax(t, term, 10).Tasks, 10)
		c.start(t, "narrow")
		res := c.passMax(t, term, 1)
		require.Equal(t, controldb.TaskResolve, res.Tasks[0].Kind)
		require.NoError(
			t,
			c.CompleteResolution(
				t.Context(),
				term,
				res.Tasks[0].ID,
				controldb.Resolution{Attempt: 1, Targets: []targets.Target{targets.NewTarget("s", "one", "")}},
			),
		)
		res = c.passMax(t, term, 2)
		require.Len(t, res.Tasks, 2)
		require.ElementsMatch(
			t,
			[]string{"narrow", "wide"},
			[]string{res.Tasks[0].JobName, res.Tasks[1].JobName},
			"the narrow job goes first",
		)
	})
}

// TestTurnsOfManySteps: where many steps wait, a claim reads a few targets of each, and still gives
// all first turns to the step that has the fewest tasks. This is so if a step with a limit waits,
// too, with which claims read the others in another procedure.
func TestTurnsOfManySteps(t *testing.T) {
	t.Run("no limit", func(t *testing.T) { turnsOfManySteps(t, false) })
	t.Run("a limit", func(t *testing.T) { turnsOfManySteps(t, true) })
}

func turnsOfManySteps(t *testing.T, limited bool) {
	each(t, func(t *testing.T, c *control) {
		const jobs, waiting = 50, 25 // times 50 free workers: above the number of targets that are all read
		term := c.term(t)
		if limited {
			// One target of it runs, which is as many as its limit allows.
			c.job(t, "limited", func(s *model.StepSpec) { s.MaxParallelism = ptr(1) })
			c.start(t, "limited")
			other := c.term(t)
			c.resolve(t, other, "d0", "d1")
			require.Len(t, c.passMax(t, other, 2).Tasks, 1)
		}
		var list []targets.Target
		for i := range waiting {
			list = append(list, targets.NewTarget("s", fmt.Sprint("d", i), ""))
		}
		for i := range jobs {
			c.job(t, fmt.Sprint("j", i), nil)
			c.start(t, fmt.Sprint("j", i))
		}
		for _, task := range c.pass(t, term).Tasks {
			require.Equal(t, controldb.TaskResolve, task.Kind)
			require.NoError(t, c.CompleteResolution(t.Context(), term, task.ID, controldb.Resolution{Attempt: 1, Targets: list}))
		}
		var held [][]controldb.Task
		var terms []controldb.TermID
		for range 3 {
			var first []controldb.Task // of the first job
			for range 3 {
				of := map[string]bool{}
				for _, task := range c.passMax(t, term, jobs).Tasks {
					of[task.JobName] = true
					if task.JobName == "j0" {
						first = append(first, task)
					}
				}
				require.Len(t, of, jobs, "one of each")
			}
			held = append(held, first)
			terms = append(terms, term)
			term = c.term(t)
		}
		for i, tasks := range held {
			c.complete(t, terms[i], targets.Succeeded, "", tasks...)
		}
		turns := 0
		for _, task := range c.passMax(t, term, jobs).Tasks {
			if task.JobName == "j0" {
				turns++
			}
		}
		require.GreaterOrEqual(t, turns, 9, "the others have nine tasks each")
	})
}

func TestRunProgress(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.job(t, "j", func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		c.job(t, "other", nil)
		term := c.term(t)
		id := c.start(t, "j")
		progress := func(active bool, l jobs.Lifecycle, want jobs.Counts) {
			t.Helper()
			got, err := executions.On(c.Store).Get(t.Context(), id, executions.States)
			require.NoError(t, err)
			require.Equal(t, []any{active, l, want}, []any{got.Active, got.Lifecycle, got.Counts()})
		}
		progress(true, jobs.Created, jobs.Counts{})
		c.resolve(t, term, "a", "b", "c")
		tasks := c.pass(t, term).Tasks
		require.Len(t, tasks, 3)
		c.complete(t, term, targets.Failed, "no", tasks[0])
		c.complete(t, term, targets.Succeeded, "yes", tasks[1])
		progress(true, jobs.WaitingForChildJobExecutions, jobs.Counts{Succeeded: 1, Failed: 1, Running: 1})
		c.complete(t, term, targets.Succeeded, "yes", tasks[2])
		c.pass(t, term)
		progress(false, jobs.Failed, jobs.Counts{Succeeded: 2, Failed: 1})
	})
}
