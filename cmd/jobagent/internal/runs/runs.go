// Package runs reads, follows and prints runs of jobs.
package runs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// View converts a row for -o json.
func View(e controldb.Execution) output.Execution {
	return output.Execution{
		ID: e.ID, JobName: e.JobName, JobID: e.JobID, JobVersion: e.JobVersion, StepID: e.StepID, Active: e.Active,
		Lifecycle:  e.Lifecycle,
		CreateTime: output.Optional(e.CreateTime), StartTime: output.Optional(e.StartTime),
		EndTime:  output.Optional(e.EndTime),
		Attempts: e.Attempts, AttemptStart: output.Optional(e.AttemptStart), NextAttempt: output.Optional(e.NextAttempt),
		LastMessage: e.LastMessage, TargetType: e.TargetType, TargetGroup: e.TargetGroup, Server: e.Server,
		Database: e.Database, Unknown: e.OutcomeUnknown,
	}
}

// Read reads all rows of a run. It is an error if there is no such run.
func Read(ctx context.Context, store reader, id uuid.UUID) ([]controldb.Execution, error) {
	rows, err := store.Executions(ctx, controldb.ExecutionFilter{ID: id})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, notFound(id)
	}
	return rows, nil
}

// notFound returns the error for a run that does not exist.
func notFound(id uuid.UUID) error {
	return exit.With(exit.CodeNotFound, fmt.Errorf("execution %s does not exist; jobagent execution list shows the latest runs", id))
}

// pollInterval is how often the progress of a followed run is read.
const pollInterval = 500 * time.Millisecond

// reader reads runs; a [controldb.Store] is one.
type reader interface {
	RunProgress(ctx context.Context, id uuid.UUID) (controldb.RunProgress, error)
	Executions(ctx context.Context, filter controldb.ExecutionFilter) ([]controldb.Execution, error)
}

// Watch waits for the end of a run and prints its tree. It returns an error if the run did not
// succeed.
func Watch(ctx context.Context, a *connect.App, store *controldb.Store, id uuid.UUID) error {
	rows, err := Follow(ctx, a, store, id)
	if err != nil {
		return err
	}
	if err := store.MarkUnknown(ctx, id, rows); err != nil {
		return err
	}
	root := rows[0]
	views := make([]output.Execution, 0, len(rows))
	for _, e := range rows {
		views = append(views, View(e))
	}
	if err := a.Emit(output.Executions{Executions: views}, func(w io.Writer) error {
		return PrintTree(w, rows, nil)
	}); err != nil {
		return err
	}
	if root.Lifecycle == jobs.Succeeded || root.Lifecycle == jobs.SucceededWithSkipped {
		return nil
	}
	return exit.With(exit.CodeRunFailed, fmt.Errorf("run %s of job %s ended as %s; see jobagent execution errors %s", id,
		root.JobName, root.Lifecycle, id))
}

// Follow waits for the end of a run and returns its rows, the run itself first. If stderr is a
// terminal, it shows the progress there.
func Follow(ctx context.Context, a *connect.App, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	var show io.Writer
	if output.IsTerminal(a.Stderr) {
		show = a.Stderr
	}
	return follow(ctx, show, store, id)
}

// follow implements Follow; a nil show shows no progress. It reads the rows of the targets, of
// which there may be thousands, only once, after the end.
func follow(ctx context.Context, show io.Writer, store reader, id uuid.UUID) ([]controldb.Execution, error) {
	const clearLine = "\r\x1b[K"
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		p, err := store.RunProgress(ctx, id)
		switch {
		case errors.Is(err, controldb.ErrExecutionNotFound):
			return nil, notFound(id)
		case err != nil:
			return nil, err
		}
		if show != nil {
			fmt.Fprintf(show, "%s%s  %s: %d of %d targets done, %d failed",
				clearLine, p.JobName, p.Lifecycle, p.Targets-p.ActiveTargets, p.Targets, p.FailedTargets)
		}
		if !p.Active {
			if show != nil {
				fmt.Fprint(show, clearLine)
			}
			return Read(ctx, store, id)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
