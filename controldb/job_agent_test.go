package controldb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/account"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/settings"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// advance carries out the operation on the job agent.
func (c *control) advance(t *testing.T) account.JobAgent {
	t.Helper()
	require.NoError(t, account.On(c.Store).Advance(t.Context(), uuid.New(), time.Minute))
	a, err := account.On(c.Store).Read(t.Context())
	require.NoError(t, err)
	return a
}

// makeAgent creates the job agent a1.
func (c *control) makeAgent(t *testing.T) {
	t.Helper()
	_, _, err := account.On(c.Store).Set(t.Context(), account.Change{Name: "a1"})
	require.NoError(t, err)
	require.Equal(t, account.AgentReady, c.advance(t).State)
}

// A job agent is created, changed, disabled, enabled and deleted, and created again.
func TestJobAgentLife(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		a, err := account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, account.JobAgent{State: account.AgentNone}, a)

		created, operation, err := account.On(c.Store).Set(ctx, account.Change{
			Name: "a1", Location: ptr("onprem"), SKU: ptr("ja200"), Tags: ptr(map[string]string{"k": "v"}),
		})
		require.NoError(t, err)
		require.True(t, created)
		a, err = account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, account.AgentCreating, a.State)
		require.Equal(t, operation, a.Operation)
		op, ok, err := account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, []string{"UpsertJobAccount", "a1", "InProgress", ""}, []string{op.Kind, op.Agent, op.Status, op.ErrorCode})
		_, _, err = account.On(c.Store).Set(ctx, account.Change{Name: "a1"})
		require.ErrorIs(t, err, dberror.ErrAgentBusy)
		_, err = account.On(c.Store).Delete(ctx, "a1", uuid.Nil)
		require.ErrorIs(t, err, dberror.ErrAgentBusy)

		a = c.advance(t)
		tags, err := a.Tags()
		require.NoError(t, err)
		require.Equal(t, map[string]string{"k": "v"}, tags)
		require.Equal(t, []any{account.AgentReady, "a1", "onprem", "JA200", 200}, []any{a.State, a.Name, a.Location, a.SKU, a.Capacity})
		op, _, err = account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.Equal(t, account.OperationSucceeded, op.Status)
		require.False(t, op.EndTime.IsZero())
		limits, err := settings.On(c.Store).Limits(ctx)
		require.NoError(t, err)
		require.Len(t, limits, 1)
		require.Equal(t, []any{model.LimitAgent, 200}, []any{limits[0].Scope, limits[0].Max})

		// The tags alone, or nothing: no operation.
		created, operation, err = account.On(c.Store).Set(ctx, account.Change{Name: "A1", Tags: ptr(map[string]string(nil))})
		require.NoError(t, err)
		require.False(t, created)
		require.Equal(t, uuid.Nil, operation)
		_, operation, err = account.On(c.Store).Set(ctx, account.Change{Name: "a1", Capacity: ptr(200)})
		require.NoError(t, err)
		require.Equal(t, uuid.Nil, operation)
		require.Equal(t, "{}", get[string](t, c, "SELECT tags FROM jobs.agent;"))

		id := uuid.New()
		_, operation, err = account.On(c.Store).Set(ctx, account.Change{Name: "a1", Capacity: ptr(7), Operation: id})
		require.NoError(t, err)
		require.Equal(t, id, operation)
		a, err = account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{account.AgentUpdating, 200}, []any{a.State, a.Capacity}, "the old values hold until the operation has succeeded")
		a = c.advance(t)
		require.Equal(t, []any{account.AgentReady, "JA7", 7}, []any{a.State, a.SKU, a.Capacity})

		require.NoError(t, account.On(c.Store).Disable(ctx, "repairs"))
		require.NoError(t, account.On(c.Store).Disable(ctx, "more repairs"))
		a, err = account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{account.AgentDisabled, "more repairs"}, []any{a.State, a.Reason})
		require.NotEmpty(t, a.Disabler)
		require.NoError(t, account.On(c.Store).Enable(ctx))
		require.NoError(t, account.On(c.Store).Enable(ctx), "a second call has no effect")

		operation, err = account.On(c.Store).Delete(ctx, "a1", uuid.Nil)
		require.NoError(t, err)
		joined, err := account.On(c.Store).Delete(ctx, "a1", uuid.New())
		require.NoError(t, err)
		require.Equal(t, operation, joined)
		require.Equal(t, account.JobAgent{State: account.AgentDeleted}, c.advance(t))
		_, err = account.On(c.Store).Delete(ctx, "a1", uuid.Nil)
		require.ErrorIs(t, err, dberror.ErrAgentNotFound)
		require.ErrorIs(t, account.On(c.Store).Disable(ctx, ""), dberror.ErrAgentNotFound)
		limits, err = settings.On(c.Store).Limits(ctx)
		require.NoError(t, err)
		require.Empty(t, limits)
		c.makeAgent(t)
	})
}

// Invalid arguments change nothing.
func TestJobAgentArguments(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		for _, name := range []string{"", " ", "a/b", "a%b", "a.", "a ", "a?", "a\tb", "a*"} {
			c.fails(t, 50094, "EXECUTE jobs.sp_set_job_agent @agent_name = @p1;", name)
		}
		c.fails(t, 50094, "EXECUTE jobs.sp_set_job_agent @agent_name = NULL;")
		for _, args := range []string{
			"@sku = N'JA100', @capacity = 200", "@sku = N'JA0'", "@sku = N'JA01'", "@sku = N'JA10001'", "@sku = N'S1'", "@capacity = 0",
			"@capacity = 10001", "@sku = N'JA99999999999999'", "@sku = N'Agent', @capacity = 0",
		} {
			c.fails(t, 50095, "EXECUTE jobs.sp_set_job_agent @agent_name = N'a', "+args+";")
		}
		for _, tags := range []string{"x", "[]", `"a"`, `{"a": 1}`, `{"a": {}}`, `{"a": null}`, ``} {
			c.fails(t, 50096, "EXECUTE jobs.sp_set_job_agent @agent_name = N'a', @tags = @p1;", tags)
		}
		c.fails(t, 50185, "EXECUTE jobs.sp_set_job_agent @agent_name = N'a', @create = 0;")
		c.makeAgent(t)
		c.fails(t, 50186, "EXECUTE jobs.sp_set_job_agent @agent_name = N'other';")
		c.fails(t, 50185, "EXECUTE jobs.sp_delete_job_agent @agent_name = N'other';")
		c.fails(t, 50185, "EXECUTE jobs.sp_delete_job_agent @agent_name = NULL;")
		c.fails(t, 50029, "EXECUTE jobs_internal.set_job_agent_state @to = N'None', @now = '2026-01-01';")
		c.fails(t, 50029, "EXECUTE jobs_internal.set_job_agent_state @to = N'Nonsense', @now = '2026-01-01';")
		c.fails(t, 50029, "EXECUTE jobs_internal.advance_job_agent @lease_seconds = 0;")
		c.fails(t, 50038, "EXECUTE jobs.sp_set_limit @scope = N'Agent', @name = N'x', @max_concurrent_targets = 1;")
		require.Equal(t, "a1 Ready JA100", get[string](t, c, "SELECT CONCAT(agent_name, N' ', state, N' ', sku) FROM jobs.agent;"))
	})
}

// Another caller continues an operation that a caller has left, when its lease has passed in the
// database's time. An operation that never comes to an end fails.
func TestJobAgentOperationIsResumed(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		_, _, err := account.On(c.Store).Set(ctx, account.Change{Name: "a1"})
		require.NoError(t, err)
		hold := func(attempts int) {
			c.exec(t, `UPDATE jobs_internal.job_agent_operations
SET holder = NEWID(), held_until = DATEADD(SECOND, 30, SYSUTCDATETIME()), attempts = @p1 WHERE status = N'InProgress';`, attempts)
		}
		hold(1)
		require.Equal(t, account.AgentCreating, c.advance(t).State, "another caller holds it")
		c.exec(t, "DECLARE @now DATETIME2(7) = DATEADD(SECOND, 31, SYSUTCDATETIME()); EXECUTE jobs_internal.advance_job_agent @now = @now;")
		a, err := account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, account.AgentReady, a.State)

		_, operation, err := account.On(c.Store).Set(ctx, account.Change{Name: "a1", Capacity: ptr(5)})
		require.NoError(t, err)
		hold(20)
		c.exec(t, "DECLARE @now DATETIME2(7) = DATEADD(SECOND, 31, SYSUTCDATETIME()); EXECUTE jobs_internal.advance_job_agent @now = @now;")
		a, err = account.On(c.Store).Read(ctx)
		require.NoError(t, err)
		require.Equal(t, []any{account.AgentFaulted, 100}, []any{a.State, a.Capacity})
		require.NotEmpty(t, a.Reason)
		op, _, err := account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.Equal(t, []string{"Failed", "OperationTimedOut"}, []string{op.Status, op.ErrorCode})
		_, _, err = account.On(c.Store).Set(ctx, account.Change{Name: "a1"})
		require.NoError(t, err, "the same values again repair it")
		require.Equal(t, account.AgentReady, c.advance(t).State)

		// A day later the operation is gone.
		c.exec(t, "UPDATE jobs_internal.job_agent_operations SET ended_at = DATEADD(HOUR, -25, ended_at);")
		_, ok, err := account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.False(t, ok)
	})
}

// An incomplete schema: a new job agent is gone again, and a changed one keeps its values.
func TestJobAgentVerifiesTheSchema(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		text := get[string](t, c, "SELECT m.definition FROM sys.sql_modules AS m WHERE m.object_id = OBJECT_ID(N'jobs.jobs');")
		c.exec(t, "DROP VIEW jobs.jobs;")
		_, operation, err := account.On(c.Store).Set(ctx, account.Change{Name: "a1"})
		require.NoError(t, err)
		require.Equal(t, account.JobAgent{State: account.AgentNone}, c.advance(t))
		op, _, err := account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.Equal(t, "Failed", op.Status)
		require.Contains(t, op.ErrorMessage, "jobs.jobs")
		c.exec(t, text)
		c.makeAgent(t)
		c.exec(t, "DROP VIEW jobs.jobs;")
		_, _, err = account.On(c.Store).Set(ctx, account.Change{Name: "a1", Capacity: ptr(3)})
		require.NoError(t, err)
		a := c.advance(t)
		require.Equal(t, []any{account.AgentReady, 100}, []any{a.State, a.Capacity})
		c.exec(t, text)
	})
}

// A disabled job agent refuses definitions and starts; what ends work is permitted. Agents get no
// term.
func TestDisabledJobAgentRefuses(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.makeAgent(t)
		c.exec(t, `EXECUTE jobs.sp_add_target_group @target_group_name = N'g';
EXECUTE jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = N'd';
EXECUTE jobs.sp_add_job @job_name = N'j';
EXECUTE jobs.sp_add_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 1;', @target_group_name = N'g';
EXECUTE jobs.sp_add_schedule @job_name = N'j', @schedule_name = N'x', @kind = N'cron5', @spec = N'{"expression": "* * * * *"}';
DECLARE @id UNIQUEIDENTIFIER = 'c0000000-0000-0000-0000-000000000001';
EXECUTE jobs.sp_start_job @job_name = N'j', @job_execution_id = @id;`)
		term, err := c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}, time.Minute)
		require.NoError(t, err)
		require.NoError(t, account.On(c.Store).Disable(ctx, "repairs"))
		for _, text := range []string{
			"EXECUTE jobs.sp_add_job @job_name = N'k';",
			"EXECUTE jobs.sp_update_job @job_name = N'j', @enabled = 1;",
			"EXECUTE jobs.sp_delete_job @job_name = N'j';",
			"EXECUTE jobs.sp_update_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 2;';",
			"EXECUTE jobs.sp_delete_jobstep @job_name = N'j', @step_name = N's';",
			"EXECUTE jobs.sp_start_job @job_name = N'j';",
			"EXECUTE jobs.sp_add_target_group @target_group_name = N'h';",
			"EXECUTE jobs.sp_delete_target_group @target_group_name = N'g';",
			"EXECUTE jobs.sp_pause_schedule @job_name = N'j', @schedule_name = N'x';",
			"EXECUTE jobs.sp_add_calendar @calendar_name = N'c', @spec = N'{}';",
			"EXECUTE jobs.sp_set_limit @scope = N'Server', @name = N's', @max_concurrent_targets = 1;",
		} {
			require.Contains(t, c.fails(t, 50183, text), "Disabled: repairs", text)
		}
		_, err = c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}, time.Minute)
		require.ErrorIs(t, err, dberror.ErrAgentUnavailable)
		res, err := c.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 5, MaxConcurrentTargets: 5})
		require.NoError(t, err)
		require.Empty(t, res.Tasks)
		due, err := c.DueSchedules(ctx, 10)
		require.NoError(t, err)
		require.Empty(t, due.Unvalidated)
		c.exec(t, "EXECUTE jobs.sp_stop_job @job_execution_id = 'c0000000-0000-0000-0000-000000000001';")
		require.NoError(t, account.On(c.Store).Enable(ctx))
		c.exec(t, "EXECUTE jobs.sp_add_job @job_name = N'k';")
	})
}

// The deletion of a job agent stops its runs, also when no agent is at work, and ends terms.
func TestJobAgentDeletionStopsRuns(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.makeAgent(t)
		c.exec(t, `EXECUTE jobs.sp_add_target_group @target_group_name = N'g';
EXECUTE jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = N'd';
EXECUTE jobs.sp_add_job @job_name = N'j';
EXECUTE jobs.sp_add_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 1;', @target_group_name = N'g';
EXECUTE jobs.sp_start_job @job_name = N'j'; EXECUTE jobs.sp_start_job @job_name = N'j';`)
		agent := controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}
		term, err := c.StartTerm(ctx, agent, time.Minute)
		require.NoError(t, err)
		res, err := c.Pass(ctx, controldb.PassRequest{Term: term.ID, MaxTasks: 1, MaxConcurrentTargets: 5})
		require.NoError(t, err)
		require.Len(t, res.Tasks, 1)

		operation, err := account.On(c.Store).Delete(ctx, "a1", uuid.Nil)
		require.NoError(t, err)
		require.Equal(t, account.AgentDeleting, c.advance(t).State, "the agent holds a task")
		op, _, err := account.On(c.Store).Operation(ctx, operation)
		require.NoError(t, err)
		require.Equal(t, []any{"InProgress", 1}, []any{op.Status, op.ActiveRuns})
		c.fails(t, 50183, "EXECUTE jobs.sp_start_job @job_name = N'j';")
		// The agent disappears: its term expires.
		c.exec(t, "UPDATE jobs_internal.terms SET expires_at = DATEADD(SECOND, -1, SYSUTCDATETIME());")
		c.exec(t, noGap)
		for i := 0; c.advance(t).State == account.AgentDeleting; i++ {
			require.Less(t, i, 10)
		}
		require.Equal(t, 2, get[int](t, c, "SELECT COUNT(*) FROM jobs.job_executions WHERE step_id IS NULL AND lifecycle = N'Canceled';"))
		_, err = c.StartTerm(ctx, agent, time.Minute)
		require.ErrorIs(t, err, dberror.ErrAgentUnavailable)
		require.Equal(t, 1, get[int](t, c, "SELECT COUNT(*) FROM jobs.jobs WHERE job_name = N'j';"), "objects are left")
	})
}

// The capacity bounds the running targets over all agents.
func TestJobAgentCapacity(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		_, _, err := account.On(c.Store).Set(ctx, account.Change{Name: "a1", Capacity: ptr(3)})
		require.NoError(t, err)
		require.Equal(t, account.AgentReady, c.advance(t).State)
		c.exec(t, `EXECUTE jobs.sp_add_target_group @target_group_name = N'g';
DECLARE @i INT = 0, @name NVARCHAR(20);
WHILE @i < 9
BEGIN
    SET @name = CONCAT(N'd', @i);
    EXECUTE jobs.sp_add_target_group_member @target_group_name = N'g', @target_type = N'SqlDatabase', @server_name = N's', @database_name = @name;
    SET @i = @i + 1;
END;
EXECUTE jobs.sp_add_job @job_name = N'j';
EXECUTE jobs.sp_add_jobstep @job_name = N'j', @step_name = N's', @command = N'SELECT 1;', @target_group_name = N'g';
`)
		run := c.start(t, "j")
		var terms []controldb.TermID
		for range 2 {
			term, err := c.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5}, time.Minute)
			require.NoError(t, err)
			terms = append(terms, term.ID)
		}
		pass := func(term controldb.TermID) []controldb.Task {
			res, err := c.Pass(ctx, controldb.PassRequest{Term: term, MaxTasks: 5, MaxConcurrentTargets: 5})
			require.NoError(t, err)
			return res.Tasks
		}
		c.resolve(t, terms[0], "d0", "d1", "d2", "d3", "d4", "d5", "d6")
		first := pass(terms[0])
		require.Len(t, first, 3)
		require.Empty(t, pass(terms[1]))
		limits, err := settings.On(c.Store).Limits(ctx)
		require.NoError(t, err)
		require.Equal(t, []int{3, 3, 4}, []int{limits[0].Max, limits[0].Running, limits[0].Waiting})
		explained, err := executions.On(c.Store).Explain(ctx, run)
		require.NoError(t, err)
		require.Contains(t, fmt.Sprintf("%+v", explained), "capacity of the job agent")
		_, err = c.CompleteTasks(ctx, terms[0], []controldb.Outcome{{Task: first[0].ID, Attempt: 1, Outcome: targets.Succeeded}})
		require.NoError(t, err)
		require.Len(t, pass(terms[1]), 1)
		// With a limit of another scope, both hold.
		require.NoError(t, settings.On(c.Store).SetLimit(ctx, model.Limit{Scope: model.LimitServer, Name: "*", Max: 100}))
		require.Empty(t, pass(terms[0]))
		require.NoError(t, settings.On(c.Store).SetLimit(ctx, model.Limit{Scope: model.LimitAgent, Name: "*", Max: 5}))
		require.Len(t, pass(terms[0]), 2)
	})
}

// TestJobAgentOutsideOfTransactions: whoever changes the state of the job agent inside a
// transaction would stop all schedules and starts until it ends. This also holds for a transaction
// that IMPLICIT_TRANSACTIONS has begun. A call of such a client that begins none is committed at
// once.
func TestJobAgentOutsideOfTransactions(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.makeAgent(t)
		for _, call := range []string{"sp_disable_job_agent", "sp_enable_job_agent", "sp_delete_job_agent N'a1'", "sp_set_job_agent N'a1'"} {
			c.fails(t, 50136, "BEGIN TRANSACTION; EXECUTE jobs."+call+";")
			c.fails(t, 50136, "SET IMPLICIT_TRANSACTIONS ON; SELECT COUNT(*) FROM jobs.jobs; EXECUTE jobs."+call+";")
		}
		conn, err := c.db.Conn(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, conn.Close()) }()
		_, err = conn.ExecContext(t.Context(), "SET IMPLICIT_TRANSACTIONS ON; EXECUTE jobs.sp_disable_job_agent;")
		require.NoError(t, err)
		a, err := account.On(c.Store).Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, account.AgentDisabled, a.State, "committed, although the client has committed nothing")
	})
}

// TestRunsOfADeletedJobAgentAreStopped: a run that was started while the deletion began, by a
// transaction that committed after its end, does not run for the next job agent.
func TestRunsOfADeletedJobAgentAreStopped(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		c.makeAgent(t)
		c.job(t, "j", nil)
		id := c.start(t, "j")
		c.exec(t, `UPDATE jobs_internal.job_executions SET is_active = 0, lifecycle = N'Canceled', end_time = SYSUTCDATETIME();
EXECUTE jobs.sp_delete_job_agent N'a1';
EXECUTE jobs_internal.advance_job_agent;
UPDATE jobs_internal.job_executions SET is_active = 1, lifecycle = N'Created', end_time = NULL;`) // the commit
		a, err := account.On(c.Store).Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, account.AgentDeleted, a.State)
		c.makeAgent(t)
		require.Equal(t, 1, get[int](t, c, `SELECT COUNT(*) FROM jobs_internal.job_executions WHERE job_execution_id = @p1 AND stop_requested_at IS NOT NULL;`, id.String()))
	})
}
