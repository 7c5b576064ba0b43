package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
)

// purgeBatch is how many runs one call marks for deletion. A stop request, the step's time limit
// and the end of the term take effect between two calls and during a call.
const purgeBatch = 100

// upkeep carries out the task of a system job: work of the agent itself on the control database. It
// calls procedures that take the term, over the agent's own connection. It uses no credential of a
// target and runs no script.
//
// Each call commits its work, and the next call continues from there. Therefore an attempt that the
// agent abandons is returned uncounted, as if nothing had been sent.
func (h *taskHost) upkeep(ctx context.Context, task controldb.Task, name string) report {
	started := time.Now()
	out := controldb.Outcome{Task: task.ID, Attempt: task.Attempt}
	if name != controldb.UpkeepPurgeHistory {
		out.Outcome = targets.Failed
		out.Message = fmt.Sprintf("Unknown upkeep %q: upgrade the agent.", name)
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
		out.Outcome = targets.TimedOut
		out.Message = fmt.Sprintf("The step's time limit passed, and older history is left. Executions purged before: %d.", purged)
	case cause != nil, errors.Is(err, dberror.ErrTermEnded):
		return notSent(task, "the agent stopped; another agent continues")
	default:
		out.Outcome, out.Message = targets.Failed, fmt.Sprintf("%v. Executions purged before: %d.", err, purged)
		out.Error = targets.ErrorDetail{Number: mssql.Classify(err).Number}
	}
	h.log.Info("upkeep ended", append(taskFields(task), zap.String(keyOutcome, string(out.Outcome)),
		zap.Int(keyCount, purged), zap.Duration(keyElapsed, out.Elapsed))...)
	return report{task: task.ID, outcome: out}
}

// purge deletes history that is older than the retention time, until none is left or ctx is done.
// It returns the number of purged runs.
func (h *taskHost) purge(ctx context.Context) (int, error) {
	total := 0
	for {
		if ctx.Err() != nil {
			return total, context.Cause(ctx)
		}
		n, remaining, err := h.store.PurgeBatch(ctx, h.termID, purgeBatch)
		total += n
		if err != nil || !remaining {
			return total, err
		}
	}
}

// database returns the only target of an upkeep: the control database, by the name of the task's
// one member. The target is for display; the agent does not connect to it.
func (h *taskHost) database(task controldb.Task) report {
	r := &controldb.Resolution{Attempt: task.Attempt, Targets: make([]targets.Target, 0, len(task.Members))}
	for _, m := range task.Members {
		r.Targets = append(r.Targets, targets.NewTarget(m.Server, m.Database, ""))
	}
	return report{task: task.ID, resolution: r}
}
