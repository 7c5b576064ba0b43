package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// purgeBatch is how many runs one call of an upkeep gives up for deletion. A stop request, the step's time limit and the end of the
// term are heard between two calls, and during one.
const purgeBatch = 100

// upkeep carries out work of the agent's own on the control database: the task of a system job. It goes through the agent's
// connection to the control database and through procedures that name the term; no credential of a target is used, and no text is run.
//
// What a call has done stays done, and the next call goes on from there. So an attempt that the agent has to let go of is handed
// back uncounted, as if nothing had been sent.
func (h *taskHost) upkeep(ctx context.Context, task controldb.Task, name string) report {
	started := time.Now()
	out := controldb.Outcome{Task: task.ID, Attempt: task.Attempt}
	if name != controldb.UpkeepPurgeHistory {
		out.Outcome = targets.Failed
		out.Message = fmt.Sprintf("This agent does not know the upkeep %q: upgrade the agent.", name)
		return report{task: task.ID, outcome: out}
	}
	purged, err := h.purge(ctx)
	out.Elapsed, out.RowsAffected = time.Since(started), int64(purged)
	switch cause := context.Cause(ctx); {
	case err == nil:
		out.Outcome, out.Message = targets.Succeeded, fmt.Sprintf("Executions purged: %d.", purged)
	case errors.Is(cause, targets.ErrStopRequested):
		out.Outcome, out.Message = targets.Canceled, fmt.Sprintf("Canceled. Executions purged before: %d.", purged)
	case errors.Is(cause, targets.ErrTimeout):
		out.Outcome, out.Message = targets.TimedOut, fmt.Sprintf("The step's time limit passed. Executions purged before: %d.", purged)
	case cause != nil, errors.Is(err, controldb.ErrTermEnded):
		return notSent(task, "the agent stopped, and another one goes on")
	default:
		out.Outcome, out.Message = targets.Failed, fmt.Sprintf("%v. Executions purged before: %d.", err, purged)
		out.Error = targets.ErrorDetail{Number: mssql.Classify(err).Number}
	}
	h.log.Info("upkeep ended", append(taskFields(task), zap.String(keyOutcome, string(out.Outcome)), zap.Int(keyCount, purged),
		zap.Duration(keyElapsed, out.Elapsed))...)
	return report{task: task.ID, outcome: out}
}

// purge deletes history until nothing is left that is older than the retention time, or until ctx is done. It returns how many runs
// were purged.
func (h *taskHost) purge(ctx context.Context) (int, error) {
	total := 0
	for {
		if ctx.Err() != nil {
			return total, context.Cause(ctx)
		}
		n, err := h.store.PurgeBatch(ctx, h.comm.termID, purgeBatch)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// database is the only target of an upkeep: the control database, by the name that the task's one member has. It is for display;
// nothing is connected to.
func (h *taskHost) database(task controldb.Task) report {
	r := &controldb.Resolution{Attempt: task.Attempt, Targets: make([]targets.Target, 0, len(task.Members))}
	for _, m := range task.Members {
		r.Targets = append(r.Targets, targets.NewTarget(m.Server, m.Database, ""))
	}
	return report{task: task.ID, resolution: r}
}
