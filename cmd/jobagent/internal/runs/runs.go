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
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
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
	RunWatch(ctx context.Context, id uuid.UUID) (controldb.RunWatch, error)
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

// Follow waits for the end of a run and returns its rows, the run itself first. It shows the
// progress on stderr: on a terminal in one line, else in plain lines, now and then.
func Follow(ctx context.Context, a *connect.App, store *controldb.Store, id uuid.UUID) ([]controldb.Execution, error) {
	return follow(ctx, &progress{w: a.Stderr, terminal: terminal.Is(a.Stderr), shownAt: time.Now()}, store, id)
}

// follow implements Follow. It reads the rows of the targets, of which there may be thousands, only
// once, after the end; until then one call per tick reads their numbers by step and state.
func follow(ctx context.Context, show *progress, store reader, id uuid.UUID) ([]controldb.Execution, error) {
	for {
		began := time.Now()
		w, err := store.RunWatch(ctx, id)
		switch {
		case errors.Is(err, controldb.ErrExecutionNotFound):
			return nil, notFound(id)
		case err != nil:
			return nil, err
		}
		if !w.Active {
			show.clear()
			return Read(ctx, store, id)
		}
		show.update(w)
		// A server that takes long to count is asked less often.
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(max(pollInterval, 10*time.Since(began))):
		}
	}
}

// progress shows the progress of a run.
type progress struct {
	w        io.Writer
	terminal bool
	shown    string
	shownAt  time.Time
}

// plainInterval is the time between two plain lines: a log should show that a run goes on, and stay
// readable.
const plainInterval = 5 * time.Second

// clearLine moves to the beginning of the line and clears it.
const clearLine = "\r\x1b[K"

// update shows the progress if it has changed.
func (p *progress) update(w controldb.RunWatch) {
	text := progressText(w)
	switch {
	case p.terminal:
		fmt.Fprintf(p.w, "%s%s", clearLine, text)
	case text == p.shown || time.Since(p.shownAt) < plainInterval:
		return
	default:
		fmt.Fprintln(p.w, text)
	}
	p.shown, p.shownAt = text, time.Now()
}

// clear removes the line from a terminal.
func (p *progress) clear() {
	if p.terminal {
		fmt.Fprint(p.w, clearLine)
	}
}

// progressText describes a run in one line: the numbers of all targets, and the steps in progress.
func progressText(w controldb.RunWatch) string {
	text := fmt.Sprintf("%s  %s: %d of %d targets done, %d failed",
		output.OneLine(w.JobName), w.Lifecycle, w.Targets-w.ActiveTargets, w.Targets, w.FailedTargets)
	running, waiting := 0, 0
	for _, step := range w.Steps {
		for _, state := range step.States {
			switch state.Lifecycle {
			case jobs.InProgress:
				running += state.Total
			case jobs.Created, jobs.WaitingForRetry:
				waiting += state.Total
			}
		}
	}
	if running+waiting > 0 {
		text += fmt.Sprintf(", %d running, %d waiting", running, waiting)
	}
	for _, step := range w.Steps {
		if step.EndTime.IsZero() {
			text += fmt.Sprintf("; step %d %s", step.StepID, output.OneLine(step.Name))
		}
	}
	return text
}
