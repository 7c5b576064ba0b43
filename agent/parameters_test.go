package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// A run's parameters reach scripts as text and, with the option, as variables. A rerun has those of
// its origin.
func TestParametersReachScripts(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "tenants", []string{
			"IF OBJECT_ID(N'dbo.t') IS NULL CREATE TABLE dbo.t (name NVARCHAR(100), n BIGINT);",
			"INSERT INTO dbo.t VALUES (N'$(param.name)', $(param.limits.n)), (@name, @n);\nIF OBJECT_ID(N'dbo.ready') IS NULL THROW 50001, N'not ready', 1;",
		}, retries(0, 1))
		on := true
		_, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "tenants", StepID: ptr(2), BindParameters: &on, AtMostOnce: &on})
		require.NoError(t, err)

		id, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: "tenants", Parameters: `{"name": "it's", "n": 7, "limits": {"n": -3}}`})
		require.NoError(t, err)
		require.Equal(t, jobs.Failed, f.ended(t, id, time.Minute)[0].Lifecycle)
		for _, db := range []string{"db1", "db2"} {
			f.exec(t, db, "CREATE TABLE dbo.ready (i INT);")
		}
		again, err := executions.On(f.Store).Rerun(t.Context(), executions.RerunRequest{Origin: id})
		require.NoError(t, err)
		require.Equal(t, jobs.Succeeded, f.ended(t, again, time.Minute)[0].Lifecycle)
		var rows string
		f.query(t, "db2", "SELECT STRING_AGG(CONCAT(name, N' ', n), N', ') WITHIN GROUP (ORDER BY n) FROM dbo.t;", &rows)
		require.Equal(t, "it's -3, it's 7", rows)
	})
}

// A parameter that a run does not have fails the attempt. It is not retried, and nothing is sent.
func TestMissingParameterIsNotRetried(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "tenants", []string{"CREATE TABLE dbo.t (i INT);\nGO\nSELECT N'$(param.tenant)';"}, retries(5, 60))
		rows := f.ended(t, f.Start(t, "tenants"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		target := rows[len(rows)-1]
		require.Equal(t, 1, target.Attempts)
		require.Contains(t, target.LastMessage, "script variable $(param.tenant) in line 3: the run has no parameters")
		var tables int
		f.query(t, "db1", "SELECT COUNT(*) FROM sys.tables;", &tables)
		require.Zero(t, tables)
	})
}

// The values of declared parameters reach the targets, with the defaults of those that are not
// given. A start that lacks one, or has a value of another type, is refused before anything runs.
func TestDeclaredParametersReachScripts(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "tenants", []string{"CREATE TABLE dbo.t (tenant NVARCHAR(100), n BIGINT, mode NVARCHAR(10));\nINSERT INTO dbo.t VALUES (N'$(param.tenant)', $(param.days), N'$(param.mode)');"}, retries(0, 1))
		require.NoError(t, catalog.On(f.Store).SetJobParameters(t.Context(), "tenants", `[{"name": "tenant", "required": true},
{"name": "days", "type": "integer", "default": 7}, {"name": "mode", "choices": ["fast", "full"], "default": "full"}]`, nil))
		for given, number := range map[string]int32{"": 50159, `{"days": 1}`: 50159, `{"tenant": "a", "days": "x"}`: 50069, `{"tenant": "a", "mode": "slow"}`: 50069, `{"tenant": "a", "other": 1}`: 50160} {
			_, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: "tenants", Parameters: given})
			require.Equal(t, number, dberror.NumberOf(err), "%s: %v", given, err)
		}
		runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "tenants"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Empty(t, runs)

		id, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: "tenants", Parameters: `{"tenant": "it's", "mode": "fast"}`})
		require.NoError(t, err)
		require.Equal(t, jobs.Succeeded, f.ended(t, id, time.Minute)[0].Lifecycle)
		for _, db := range []string{"db1", "db2"} {
			var row string
			f.query(t, db, "SELECT CONCAT(tenant, N' ', n, N' ', mode) FROM dbo.t;", &row)
			require.Equal(t, "it's 7 fast", row)
		}
	})
}
