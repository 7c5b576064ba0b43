// Package runs reads, follows and prints runs of jobs.
package runs

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/executions"
)

// View converts a row for -o json.
func View(e executions.Execution) output.Execution {
	return output.Execution{Execution: e}
}

// executionReader reads the rows of runs; an [executions.Store] is one.
type executionReader interface {
	Rows(ctx context.Context, id uuid.UUID) ([]executions.Execution, error)
}

// Read reads all rows of a run. It is an error if there is no such run.
func Read(ctx context.Context, store executionReader, id uuid.UUID) ([]executions.Execution, error) {
	rows, err := store.Rows(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, NotFound(id)
	}
	return rows, nil
}

// NotFound returns the error for a run that does not exist.
func NotFound(id uuid.UUID) error {
	return exit.With(exit.CodeNotFound, fmt.Errorf("execution %s does not exist; jobagent execution list shows the latest runs", id))
}
