package sim

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// heldTask selects a running task, that of the first target.
const heldTask = `SELECT MIN(k.task_id) FROM jobs_internal.task_executions AS k WHERE k.kind = N'Run' AND k.ended_at IS NULL`

// TestDrift causes each kind of drift by changing rows under a working agent. The agent must detect
// it, log the difference, and restart under a new term. The run must end.
func TestDrift(t *testing.T) {
	for _, tc := range []struct {
		name   string
		inject string
		list   string // the log field that lists the task
	}{
		{"task only in memory", `
DECLARE @task BIGINT = (` + heldTask + `);
UPDATE t
SET t.lifecycle = N'WaitingForRetry', t.next_attempt_at = DATEADD(SECOND, 1, SYSUTCDATETIME())
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.task_executions AS k ON k.target_execution_id = t.target_execution_id
WHERE k.task_id = @task;
UPDATE jobs_internal.task_executions SET ended_at = SYSUTCDATETIME(), outcome = N'Unknown' WHERE task_id = @task;`, "only_in_memory"},
		{"task only in the database", `
UPDATE jobs_internal.task_executions SET ended_at = NULL, outcome = NULL WHERE kind = N'Resolve';`, "only_in_database"},
		{"other term", `
DECLARE @task BIGINT = (` + heldTask + `);
UPDATE jobs_internal.task_executions SET term_id = (SELECT MAX(term_id) FROM jobs_internal.terms) WHERE task_id = @task;`, "only_in_memory"},
		{"other attempt", `
DECLARE @task BIGINT = (` + heldTask + `);
UPDATE t
SET t.attempts = 2
FROM jobs_internal.target_executions AS t
INNER JOIN jobs_internal.task_executions AS k ON k.target_execution_id = t.target_execution_id
WHERE k.task_id = @task;
UPDATE jobs_internal.task_executions SET attempt = 2 WHERE task_id = @task;`, "other_attempt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := NewWorld(t, 2)
				w.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:10'; " + WriteLedger}, Retries(5, 1))
				a := w.StartAgent(t, agent.Config{Grace: time.Second}, nil)
				id := w.Start(t, "j")
				require.Eventually(t, func() bool { return len(running(t, w, id)) == 2 }, 10*time.Second, 100*time.Millisecond)
				other, err := w.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "other", Version: "1", MaxConcurrentTargets: 1}, 20*time.Second)
				require.NoError(t, err)
				_, err = w.DB(t, w.Control).ExecContext(t.Context(), tc.inject)
				require.NoError(t, err)
				injected := time.Now()

				root, ended := w.Ended(t, id, 10*time.Minute)
				require.True(t, ended)
				require.Equal(t, jobs.Succeeded, root.Lifecycle, root.LastMessage)
				drifts := a.Logs.FilterMessage("drift: memory and control database do not hold the same tasks").All()
				require.Len(t, drifts, 1)
				require.Less(t, drifts[0].Time.Sub(injected), 3*time.Second)
				fields := drifts[0].ContextMap()
				require.Contains(t, fields, "in_memory")
				require.Contains(t, fields, "in_database")
				require.Len(t, fields[tc.list], 1, "%v", fields)
				for _, list := range []string{"only_in_memory", "only_in_database", "other_attempt"} {
					if list != tc.list {
						require.Empty(t, fields[list], list)
					}
				}
				terms := a.Logs.FilterMessage("term started").All()
				require.Len(t, terms, 2)
				require.NotEqual(t, terms[0].ContextMap()["term_id"], terms[1].ContextMap()["term_id"])
				require.NoError(t, a.Stop())
				if err := w.Store.EndTerm(t.Context(), other.ID); err != nil {
					require.ErrorIs(t, err, dberror.ErrTermEnded)
				}
				w.CheckInvariants(t, w.Control, true)
			})
		})
	}
}

// running returns the target executions of a run that are in progress.
func running(t testing.TB, w *World, id uuid.UUID) (list []executions.Execution) {
	t.Helper()
	rows, err := executions.On(w.Store).Rows(context.WithoutCancel(t.Context()), id)
	require.NoError(t, err)
	for _, e := range rows {
		if e.TargetType == "SqlDatabase" && e.Lifecycle == jobs.InProgress {
			list = append(list, e)
		}
	}
	return list
}
