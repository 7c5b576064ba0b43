//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/invariant"
	"github.com/jobagent/jobagent/testenv/sim"
)

// crashRollOuts is the number of jobs that TestCrashRollOuts rolls out.
const crashRollOuts = 3

// rollOutJob returns the name of a job that is rolled out.
func rollOutJob(i int) string { return fmt.Sprintf("rolled out %d", i%crashRollOuts+1) }

// TestCrashRollOuts is TestCrash with jobs that are rolled out: processes are killed while gates
// are evaluated, waves bake and approvals wait, and people decide at random. Each roll-out must end
// as Succeeded, with each script run once on each target. TestCrash has the flags.
func TestCrashRollOuts(t *testing.T) {
	testenv.Long(t)
	c := newCrash(t, *crashSeed, externalServer(t))
	store := c.server.store(t)
	names := c.define(store)
	control := c.server.open(t, c.control)
	for i := range crashRollOuts {
		c.addJob(store, rollOutJob(i), 20, 1, "WAITFOR DELAY '00:00:00.200'; "+sim.WriteLedger, sim.WriteLedger)
		_, err := control.ExecContext(t.Context(), `EXECUTE jobs.sp_set_job_rollout @p1, N'{"waves": [
{"name": "canary", "targets": 1, "approval": true, "bake_seconds": 1},
{"name": "half", "targets": "50%", "parallelism": 1, "bake_seconds": 1, "max_unreached": 1},
{"name": "rest", "targets": "rest", "order": "random", "pace": 600}], "strict": true, "preflight": "refuse"}'`, rollOutJob(i))
		require.NoError(t, err)
	}
	c.startAgents(crashAgents)
	c.breakThings(*crashDuration, *crashPause, func() {
		c.startRun(store)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if id, err := executions.On(store).StartJob(ctx, rollOutJob(c.rng.IntN(crashRollOuts)), uuid.New()); err == nil { // none of this job is active
			c.started = append(c.started, id)
			c.counts["roll-out started"]++
		}
		switch c.rng.IntN(8) {
		case 0, 1:
			c.decide(ctx, control, "sp_approve_rollout", "WaitingForApproval")
		case 2:
			c.decide(ctx, control, "sp_pause_rollout", "Starting", "Preflight", "Running", "Baking", "Recording")
		case 3:
			c.decide(ctx, control, "sp_resume_rollout", "Paused")
		case 4:
			c.decide(ctx, control, "sp_retry_rollout_wave", "Stopped")
		}
		c.checkRollOuts(ctx, control)
	})
	c.endSchedules(store)
	eventually(t, crashSettle, "all roll-outs have ended", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		c.decide(ctx, control, "sp_approve_rollout", "WaitingForApproval")
		c.decide(ctx, control, "sp_resume_rollout", "Paused")
		c.decide(ctx, control, "sp_retry_rollout_wave", "Stopped")
		var active int
		err := control.QueryRowContext(ctx, `SELECT COUNT(*) FROM jobs.rollouts WHERE ended_at IS NULL`).Scan(&active)
		return err == nil && active == 0
	})
	c.settle(store)
	c.audit(names)
	var ended, succeeded int
	require.NoError(t, control.QueryRowContext(t.Context(),
		`SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = N'Succeeded' AND succeeded = targets THEN 1 ELSE 0 END), 0) FROM jobs.rollouts`).Scan(&ended, &succeeded))
	require.Equal(t, ended, succeeded)
	require.Positive(t, ended)
	t.Logf("events: %v; %d roll-outs", c.counts, ended)
}

// decide calls a procedure for a roll-out in one of several states. A failure of the server or a
// state that has changed is not an error.
func (c *crash) decide(ctx context.Context, control *sql.DB, procedure string, states ...string) {
	for _, state := range states {
		var done bool
		err := control.QueryRowContext(ctx, `DECLARE @id UNIQUEIDENTIFIER = (
    SELECT TOP (1) r.job_execution_id FROM jobs.rollouts AS r WHERE r.state = @p1 AND r.ended_at IS NULL ORDER BY NEWID());
IF @id IS NOT NULL EXECUTE jobs.`+procedure+` @id;
SELECT CAST(CASE WHEN @id IS NULL THEN 0 ELSE 1 END AS BIT);`, state).Scan(&done)
		if err == nil && done {
			c.counts[procedure]++
			return
		}
	}
}

// checkRollOuts looks for violations while processes are killed.
func (c *crash) checkRollOuts(ctx context.Context, control *sql.DB) {
	found, err := invariant.Find(ctx, control, false)
	if err != nil {
		return // the server is down
	}
	for _, v := range found {
		switch v.Check {
		case "I17_waves_in_order", "I18_waves_within_their_limits", "I19_rollouts_end", "I20_undos", "I21_preflights",
			"I22_waves_in_their_windows":
			c.t.Errorf("invariant violated: %s", v)
		}
	}
}
