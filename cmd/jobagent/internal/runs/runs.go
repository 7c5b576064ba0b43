// Package runs reads, follows and prints runs of jobs.
package runs

import (
	"context"
	"fmt"
	"regexp"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
)

// successSentence matches what a message of success says of every target: that the step succeeded,
// and where.
var successSentence = regexp.MustCompile(`(?s)^Step \d+ succeeded execution on (?:target \(server '.*?', database '.*?'\)|endpoint '.*?')\.(?: |$)`)

// Remark returns the message of a target without what its state says anyway. A success has a remark
// if nothing was written, or a transaction was left open, for example.
func Remark(state jobs.Lifecycle, message string) string {
	if state != jobs.Succeeded {
		return message
	}
	return message[len(successSentence.FindString(message)):]
}

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

// executionReader reads the rows of runs; a [controldb.Store] is one.
type executionReader interface {
	Executions(ctx context.Context, id uuid.UUID) ([]controldb.Execution, error)
}

// Read reads all rows of a run. It is an error if there is no such run.
func Read(ctx context.Context, store executionReader, id uuid.UUID) ([]controldb.Execution, error) {
	rows, err := store.Executions(ctx, id)
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
