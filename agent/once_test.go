package agent_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// The connection is cut after the script's effect is durable and before the answer arrives. The
// step's options decide what follows.
func TestAnswerLostAfterCommit(t *testing.T) {
	fail, retry, yes := "Fail", "Retry", true
	for name, c := range map[string]struct {
		options   model.StepSpec
		lifecycle jobs.Lifecycle
		attempts  int
		effects   int
		message   string
	}{
		"Retried": {
			options: model.StepSpec{OnUnknownOutcome: &retry}, lifecycle: jobs.Succeeded, attempts: 2, effects: 2,
			message: "succeeded",
		},
		"Failed": {
			options: model.StepSpec{OnUnknownOutcome: &fail}, lifecycle: jobs.Failed, attempts: 1, effects: 1,
			message: "is unknown, and the step is not retried after that (on_unknown_outcome is Fail)",
		},
		"AtMostOnce": {
			options: model.StepSpec{AtMostOnce: &yes}, lifecycle: jobs.Succeeded, attempts: 2, effects: 1,
			message: "An earlier attempt had run the script and committed: it was not run again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lost atomic.Int32
				env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
					commits := strings.Contains(p.Request, "SET @state = N'Committed'") ||
						c.options.AtMostOnce == nil && strings.Contains(p.Request, "INSERT INTO dbo.effects")
					if p.Kind == tsqld.AfterCommitBeforeReply && commits && lost.Add(1) == 1 {
						return tsqld.ErrClose
					}
					return nil
				}})
				f := newFixture(t, env, 1)
				db := env.DB(t, "db1")
				_, err := db.ExecContext(t.Context(), "CREATE TABLE dbo.effects (step INT);")
				require.NoError(t, err)
				f.AddJob(t, "j", []string{"INSERT INTO dbo.effects (step)\nVALUES ($(step_id));"}, retries(3, 1))
				c.options.JobName = "j"
				_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), c.options)
				require.NoError(t, err)
				f.startAgent(t, agent.Config{})
				rows := f.ended(t, f.Start(t, "j"), time.Minute)
				require.Equal(t, c.lifecycle, rows[0].Lifecycle, rows[0].LastMessage)
				require.NotZero(t, lost.Load(), "the answer was lost")
				require.Equal(t, c.attempts, rows[2].Attempts)
				require.Contains(t, rows[2].LastMessage, c.message)
				var effects int
				require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.effects;").Scan(&effects))
				require.Equal(t, c.effects, effects)
			})
		})
	}
}

// No attempt is left when the answer is lost, so the run fails. A rerun of the unknown outcome
// recognizes that the script has run.
func TestRerunRecognizesCommittedScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost atomic.Int32
		env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
			if p.Kind == tsqld.AfterCommitBeforeReply && strings.Contains(p.Request, "SET @state = N'Committed'") && lost.Add(1) == 1 {
				return tsqld.ErrClose
			}
			return nil
		}})
		f := newFixture(t, env, 1)
		db := env.DB(t, "db1")
		_, err := db.ExecContext(t.Context(), "CREATE TABLE dbo.effects (step INT);")
		require.NoError(t, err)
		f.AddJob(t, "j", []string{"INSERT INTO dbo.effects (step)\nVALUES ($(step_id));"}, retries(0, 1))
		yes := true
		_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", AtMostOnce: &yes})
		require.NoError(t, err)
		f.startAgent(t, agent.Config{})
		origin := f.Start(t, "j")
		require.Equal(t, jobs.Failed, f.ended(t, origin, time.Minute)[0].Lifecycle)

		id, err := executions.On(f.Store).Rerun(t.Context(), executions.RerunRequest{Origin: origin, Only: "Unknown"})
		require.NoError(t, err)
		rows := f.ended(t, id, time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "it was not run again")
		var effects int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.effects;").Scan(&effects))
		require.Equal(t, 1, effects)
	})
}

// TestAtMostOnceUnderEveryFault cuts the connection at the n-th fault point of the script sessions,
// for every n. Each batch has exactly one effect on each target, and the run succeeds.
func TestAtMostOnceUnderEveryFault(t *testing.T) {
	testenv.Long(t)
	if testing.Short() {
		t.Skip("-short is set, and the test runs a job for each fault point")
	}
	skipUnderRace(t)
	recognised := 0
	for n := 1; ; n++ {
		var seen atomic.Int32
		synctest.Test(t, func(t *testing.T) {
			var armed atomic.Bool
			env := testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
				// The program_name of a script session names its run.
				if armed.Load() && strings.Contains(p.App, " run=") && int(seen.Add(1)) == n {
					return tsqld.ErrClose
				}
				return nil
			}})
			f := newFixture(t, env, 2)
			for _, name := range []string{"db1", "db2"} {
				f.exec(t, name, "CREATE TABLE dbo.effects (part INT);")
			}
			f.AddJob(t, "j", []string{`INSERT INTO dbo.effects (part) VALUES (1);
SELECT part FROM dbo.effects;
GO
INSERT INTO dbo.effects (part) VALUES (2);`}, retries(1, 1))
			yes := true
			_, err := catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", AtMostOnce: &yes})
			require.NoError(t, err)
			armed.Store(true)
			f.startAgent(t, agent.Config{MaxConcurrentTargets: 1})
			rows := f.ended(t, f.Start(t, "j"), time.Minute)
			require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, "point %d: %s", n, rows[0].LastMessage)
			for _, e := range rows {
				if strings.Contains(e.LastMessage, "it was not run again") {
					recognised++
				}
			}
			for _, name := range []string{"db1", "db2"} {
				var count, sum int
				f.query(t, name, "SELECT COUNT(*), SUM(part) FROM dbo.effects;", &count, &sum)
				require.Equal(t, []int{2, 3}, []int{count, sum}, "point %d, %s", n, name)
			}
		})
		if t.Failed() {
			return
		}
		if int(seen.Load()) < n {
			require.Equal(t, 4, recognised, "each target has two fault points after the commit: the row of the answer, and its end")
			t.Logf("%d points", n-1)
			return
		}
	}
}
