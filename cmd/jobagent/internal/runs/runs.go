package runs

import (
	"context"
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

// View turns a row into what is shown.
func View(e controldb.Execution) output.Execution {
	return output.Execution{
		ID: e.ID, JobName: e.JobName, JobID: e.JobID, JobVersion: e.JobVersion, StepID: e.StepID, Active: e.Active, Lifecycle: e.Lifecycle,
		CreateTime: output.Optional(e.CreateTime), StartTime: output.Optional(e.StartTime), EndTime: output.Optional(e.EndTime),
		Attempts: e.Attempts, AttemptStart: output.Optional(e.AttemptStart), NextAttempt: output.Optional(e.NextAttempt),
		LastMessage: e.LastMessage, TargetType: e.TargetType, TargetGroup: e.TargetGroup, Server: e.Server, Database: e.Database, Unknown: e.OutcomeUnknown,
	}
}

// Read reads all rows of a run that must exist.
func Read(ctx context.Context, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	rows, err := store.Executions(ctx, controldb.ExecutionFilter{ID: id})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, exit.With(exit.CodeNotFound, fmt.Errorf("execution %s does not exist; jobagent execution list shows the latest", id))
	}
	return rows, nil
}

// watchInterval is how often a watched run is looked at.
const watchInterval = 500 * time.Millisecond

// progress counts the target rows of a run.
type progress struct{ total, active, failed, other int }

// count adds the targets of rows up.
func count(rows []controldb.Execution) progress {
	var p progress
	for _, e := range rows {
		if e.TargetType != "SqlDatabase" {
			continue
		}
		p.total++
		switch {
		case e.Active:
			p.active++
		case e.Lifecycle == jobs.Failed || e.Lifecycle == jobs.TimedOut:
			p.failed++
		case e.Lifecycle != jobs.Succeeded:
			p.other++
		}
	}
	return p
}

// Watch follows a run to its end, on a terminal with a line of progress, and prints its tree.
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
	if err := a.Emit(output.Executions{Executions: views}, func(w io.Writer) error { return PrintTree(w, rows, nil) }); err != nil {
		return err
	}
	if root.Lifecycle == jobs.Succeeded || root.Lifecycle == jobs.SucceededWithSkipped {
		return nil
	}
	return exit.With(exit.CodeRunFailed, fmt.Errorf("run %s of job %s ended as %s; see jobagent execution errors %s", id, root.JobName, root.Lifecycle, id))
}

// Follow waits for the end of a run and returns its rows, the root first. It shows progress where stderr is a terminal.
func Follow(ctx context.Context, a *connect.App, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	live := output.IsTerminal(a.Stderr)
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		rows, err := Read(ctx, store, id)
		if err != nil {
			return nil, err
		}
		root := rows[0]
		if live {
			p := count(rows)
			fmt.Fprintf(a.Stderr, "\r\x1b[K%s  %s: %d of %d targets done, %d failed", root.JobName, root.Lifecycle, p.total-p.active, p.total, p.failed)
		}
		if !root.Active {
			if live {
				fmt.Fprint(a.Stderr, "\r\x1b[K")
			}
			return rows, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
