package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
)

// Sizes of the outage of a server.
const (
	outageJobs  = 1000 // maximum number of jobs that have a run
	outageBatch = 100  // attempts of one call, as many as an agent makes at a time by default
	outageCalls = 20
)

const (
	// lastTask counts the tasks that were ever created, as lastTarget does targets.
	lastTask = `SELECT CASE WHEN EXISTS (SELECT 1 FROM jobs_internal.task_executions)
    THEN CAST(IDENT_CURRENT(N'jobs_internal.task_executions') AS BIGINT) ELSE 0 END;`
	activeTargets = "SELECT -COUNT(*) FROM jobs_internal.target_executions WHERE is_active = 1;"
)

// outageAttempts returns the number of attempts that are made with n targets.
func outageAttempts(n int) int { return min(n, outageBatch*outageCalls) }

// outage ends the run at hand. Then it starts one run of each of at most 1,000 jobs, with n targets
// together, which have failed once because their server is down, and are due again.
func (w *boundsWork) outage(ctx context.Context, n int) error {
	if err := executions.On(w.store).Stop(ctx, w.run); err != nil {
		return err
	}
	if err := finish(ctx, w.pass); err != nil {
		return err
	}
	w.attempts = outageAttempts(n)
	runs := min(n, outageJobs)
	retries, wait := 10, 3600
	for ; w.jobs < runs; w.jobs++ {
		name := outageJob(w.jobs)
		if _, err := catalog.On(w.store).AddJob(ctx, model.JobSpec{Name: name}); err != nil {
			return err
		}
		_, err := catalog.On(w.store).AddJobStep(ctx, model.StepSpec{JobName: name, Command: new("SELECT 1;"), TargetGroup: new(boundsJob),
			RetryAttempts: &retries, InitialRetryInterval: &wait, MaximumRetryInterval: &wait})
		if err != nil {
			return err
		}
	}
	for i := range runs {
		if _, err := executions.On(w.store).StartJob(ctx, outageJob(i), uuid.Nil); err != nil {
			return err
		}
	}
	for done := 0; done < runs; {
		// Resolutions are claimed before targets.
		pass, err := w.store.Pass(ctx, controldb.PassRequest{Term: w.term.ID, MaxTasks: min(outageBatch, runs-done), MaxConcurrentTargets: outageBatch})
		if err != nil {
			return err
		}
		for _, task := range pass.Tasks {
			if task.Kind != controldb.TaskResolve {
				return fmt.Errorf("task %d of the job %q is not a resolution", task.ID, task.JobName)
			}
			var list []targets.Target
			for i := done * n / runs; i < (done+1)*n/runs; i++ {
				list = append(list, targets.Target{ID: uuid.New(), Server: "down.invalid", Database: fmt.Sprint("d", i)})
			}
			if err := w.store.CompleteResolution(ctx, w.term.ID, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}); err != nil {
				return err
			}
			done++
		}
	}
	_, err := w.control.ExecContext(ctx, `UPDATE t
SET t.lifecycle = N'WaitingForRetry', t.attempts = 1, t.deadline_at = DATEADD(DAY, 1, t.next_attempt_at)
FROM jobs_internal.target_executions AS t
WHERE t.is_active = 1;`)
	if err != nil {
		return fmt.Errorf("let targets wait: %w", err)
	}
	return nil
}

// outageJob returns the name of the i-th job.
func outageJob(i int) string { return fmt.Sprintf("bench outage %04d", i) }

// attempt makes the pass that claims attempts, and reports that the server is down.
func (w *boundsWork) attempt(ctx context.Context) (more bool, err error) {
	pass, err := w.store.Pass(ctx, controldb.PassRequest{Term: w.term.ID, MaxTasks: min(outageBatch, w.attempts), MaxConcurrentTargets: outageBatch})
	if err != nil {
		return false, err
	}
	if len(pass.Tasks) == 0 {
		return false, errors.New("no target is attempted again")
	}
	outcomes := make([]controldb.Outcome, 0, len(pass.Tasks))
	for _, task := range pass.Tasks {
		outcomes = append(outcomes, controldb.Outcome{Task: task.ID, Attempt: task.Attempt, Outcome: targets.Failed, Unreached: true,
			Message: "The server is down."})
	}
	refused, err := w.store.CompleteTasks(ctx, w.term.ID, outcomes)
	if err != nil {
		return false, err
	}
	if len(refused) > 0 {
		return false, fmt.Errorf("outcome of task %d was refused: %s", refused[0].Task, refused[0].Reason)
	}
	w.attempts -= len(outcomes)
	return w.attempts > 0, nil
}

// endOutage lets the time limits of all targets pass at once.
func (w *boundsWork) endOutage(ctx context.Context, _ int) error {
	_, err := w.control.ExecContext(ctx, `UPDATE t
SET t.deadline_at = DATEADD(SECOND, -1, SYSUTCDATETIME())
FROM jobs_internal.target_executions AS t
WHERE t.is_active = 1;`)
	if err != nil {
		return fmt.Errorf("set time limits: %w", err)
	}
	return nil
}
