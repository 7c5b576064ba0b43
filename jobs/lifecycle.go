package jobs

import (
	"slices"
	"strings"
)

// Lifecycle is the state of a job, step or target execution, spelled as the column lifecycle of the
// view jobs.job_executions spells it. The zero value is not a lifecycle.
type Lifecycle string

// The values of the column lifecycle, from Azure's documentation of jobs.job_executions.
const (
	// Created is the state before anything was done; also a target that waits for a free worker.
	Created Lifecycle = "Created"
	// InProgress means that an attempt is under way, or that a step's targets are being resolved.
	InProgress Lifecycle = "InProgress"
	// WaitingForChildJobExecutions is the state of a root or step that waits for its children.
	WaitingForChildJobExecutions Lifecycle = "WaitingForChildJobExecutions"
	// WaitingForRetry means that an attempt failed and that another one has its time set.
	WaitingForRetry Lifecycle = "WaitingForRetry"
	// Succeeded is terminal: everything ran without an error.
	Succeeded Lifecycle = "Succeeded"
	// SucceededWithSkipped is terminal, for parents only: no child failed, and some were Skipped.
	SucceededWithSkipped Lifecycle = "SucceededWithSkipped"
	// Failed is terminal: an error was left after the last attempt.
	Failed Lifecycle = "Failed"
	// TimedOut is terminal: the step's time limit passed. It is never retried.
	TimedOut Lifecycle = "TimedOut"
	// Canceled is terminal: the run was stopped. It is never retried.
	Canceled Lifecycle = "Canceled"
	// Skipped is terminal, for targets: an earlier run of the job was still at the same step there.
	Skipped Lifecycle = "Skipped"
)

// Lifecycles returns every value, active ones first, in the order of a run.
func Lifecycles() []Lifecycle {
	return []Lifecycle{
		Created, InProgress, WaitingForChildJobExecutions, WaitingForRetry,
		Succeeded, SucceededWithSkipped, Failed, TimedOut, Canceled, Skipped,
	}
}

// ParseLifecycle finds the value that s spells in any case (decision 29 of the specification). For
// anything else the error is an *UnknownLifecycleError.
func ParseLifecycle(s string) (Lifecycle, error) {
	for _, l := range Lifecycles() {
		if strings.EqualFold(s, string(l)) {
			return l, nil
		}
	}
	return "", &UnknownLifecycleError{Text: s}
}

// Valid reports whether l is one of the ten values in their exact spelling.
func (l Lifecycle) Valid() bool { return slices.Contains(Lifecycles(), l) }

// Terminal reports whether the state never changes again (invariant I6).
func (l Lifecycle) Terminal() bool { return l.Valid() && !l.Active() }

// Active reports whether the execution still has something to do: the column is_active. It is false
// for what is not a lifecycle.
func (l Lifecycle) Active() bool {
	switch l {
	case Created, InProgress, WaitingForChildJobExecutions, WaitingForRetry:
		return true
	default:
		return false
	}
}
