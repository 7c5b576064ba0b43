package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestTrialRun: a trial of two steps ends like a run, leaves nothing on its target, and its reports
// are messages of its attempts.
func TestTrialRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		f := newFixture(t, env, 2)
		db := env.DB(t, "db1")
		_, err := db.ExecContext(t.Context(), "CREATE TABLE dbo.effects (step INT);")
		require.NoError(t, err)
		once := true
		f.AddJob(t, "j", []string{
			"INSERT INTO dbo.effects VALUES ($(step_id));", "INSERT INTO dbo.effects VALUES (2);\nGO\nTHROW 50123, 'no', 1;",
		}, retries(3, 1), func(s *model.StepSpec) { s.AtMostOnce = &once })
		f.startAgent(t, agent.Config{})
		run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{
			Job: "j", Mode: controldb.ModeTrial, OnlyTargets: []targets.Target{targets.NewTarget(env.ServerName, "db1", "")},
		})
		require.NoError(t, err)
		rows := f.ended(t, run, time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, "Msg 50123, Level 16, State 1, Line 3: no", rows[len(rows)-1].LastMessage)
		require.Equal(t, 1, rows[len(rows)-1].Attempts)
		var n int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.effects;").Scan(&n))
		require.Zero(t, n)
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.schemas WHERE name = N'jobagent';").Scan(&n))
		require.Zero(t, n, "no ledger")
		messages, err := executions.On(f.Store).Messages(t.Context(), run)
		require.NoError(t, err)
		var verdicts []targets.Verdict
		for _, m := range messages {
			if r, ok := targets.ParseReport(m.Message.Text); ok {
				verdicts = append(verdicts, r.Trial.Verdict)
			}
		}
		require.Equal(t, []targets.Verdict{targets.VerdictRan, targets.VerdictRan, targets.VerdictFailed}, verdicts)
	})
}

// TestPreflightRun: a preflight runs no script, and its findings decide about each target.
func TestPreflightRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		f := newFixture(t, env, 2)
		f.AddJob(t, "j", []string{"CREATE TABLE dbo.effects (n INT);"}, retries(3, 1))
		f.startAgent(t, agent.Config{})
		for options, want := range map[string]struct {
			lifecycle jobs.Lifecycle
			message   string
		}{
			"":                        {jobs.Succeeded, "Preflight: "},
			`{"rights": ["NOTHING"]}`: {jobs.Failed, "Preflight: rights: the login lacks NOTHING."},
			`{"warn": ["nothing"]}`:   {jobs.Failed, `unknown check "nothing"`},
		} {
			run, err := executions.On(f.Store).Start(t.Context(), executions.StartRequest{Job: "j", Mode: controldb.ModePreflight, ModeOptions: options})
			require.NoError(t, err)
			rows := f.ended(t, run, time.Minute)
			require.Equal(t, want.lifecycle, rows[0].Lifecycle, rows[0].LastMessage)
			for _, row := range rows[2:] {
				require.Contains(t, row.LastMessage, want.message)
				require.Equal(t, 1, row.Attempts)
			}
		}
		var n int
		require.NoError(t, env.DB(t, "db1").QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.tables WHERE name = N'effects';").Scan(&n))
		require.Zero(t, n)
	})
}
