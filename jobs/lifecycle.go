package jobs

import (
	"slices"
	"strings"
)

// Lifecycle is the state of a job, step or target execution, spelled as in the column lifecycle of
// the view jobs.job_executions. The zero value is not a lifecycle.
type Lifecycle string

// These are the values of the column lifecycle, from Azure's documentation of jobs.job_executions.
const (
	// Created means that no work has started, for example because a target waits for a free worker.
	Created Lifecycle = "Created"
	// InProgress means that an attempt is under way, or that a step's targets are being resolved.
	InProgress Lifecycle = "InProgress"
	// WaitingForChildJobExecutions is the state of a root or step that waits for its children.
	WaitingForChildJobExecutions Lifecycle = "WaitingForChildJobExecutions"
	// WaitingForRetry means that an attempt failed and that the next attempt is scheduled.
	WaitingForRetry Lifecycle = "WaitingForRetry"
	// Succeeded is terminal: all work completed without an error.
	Succeeded Lifecycle = "Succeeded"
	// SucceededWithSkipped is terminal, for parents only: no child failed, and some were Skipped.
	SucceededWithSkipped Lifecycle = "SucceededWithSkipped"
	// Failed is terminal: the last attempt ended with an error.
	Failed Lifecycle = "Failed"
	// TimedOut is terminal: the step's time limit passed. It is never retried.
	TimedOut Lifecycle = "TimedOut"
	// Canceled is terminal: the run was stopped. It is never retried.
	Canceled Lifecycle = "Canceled"
	// Skipped is terminal, for steps and targets whose work was not started; the reason is in the
	// execution's message.
	Skipped Lifecycle = "Skipped"
)

// Lifecycles returns all values. The active ones come first, in the order of a run.
func Lifecycles() []Lifecycle {
	return []Lifecycle{
		Created, InProgress, WaitingForChildJobExecutions, WaitingForRetry,
		Succeeded, SucceededWithSkipped, Failed, TimedOut, Canceled, Skipped,
	}
}

// ParseLifecycle returns the lifecycle with the name s in any case (decision 29). For any other
// text the error is an *UnknownLifecycleError.
func ParseLifecycle(s string) (Lifecycle, error) {
	for _, l := range Lifecycles() {
		if strings.EqualFold(s, string(l)) {
			return l, nil
		}
	}
	return "", &UnknownLifecycleError{Text: s}
}

// ParseLifecycles is [ParseLifecycle] for filters. Running, the word of live views and dashboards,
// stands for the active lifecycles whose work has begun.
func ParseLifecycles(s string) ([]Lifecycle, error) {
	if strings.EqualFold(s, "Running") {
		return []Lifecycle{InProgress, WaitingForChildJobExecutions, WaitingForRetry}, nil
	}
	l, err := ParseLifecycle(s)
	if err != nil {
		return nil, err
	}
	return []Lifecycle{l}, nil
}

// Class groups states for display. Pages and terminals have a colour for each class.
type Class string

// The classes.
const (
	ClassOK   Class = "ok"
	ClassBad  Class = "bad"
	ClassBusy Class = "busy" // work is under way
	ClassWait Class = "wait" // it waits for its turn, or for a report
	ClassWarn Class = "warn" // it waits because something failed or was stopped
	ClassOff  Class = "off"  // it ended without doing its work
)

// classes has the class of each lifecycle, and of [WaitingForCallback].
var classes = map[Lifecycle]Class{
	Created: ClassWait, InProgress: ClassBusy, WaitingForChildJobExecutions: ClassBusy, WaitingForRetry: ClassWarn, WaitingForCallback: ClassWait,
	Succeeded: ClassOK, SucceededWithSkipped: ClassOK, Failed: ClassBad, TimedOut: ClassBad, Canceled: ClassOff, Skipped: ClassOff,
}

// Class returns the class of a lifecycle; empty for other texts.
func (l Lifecycle) Class() Class { return classes[l] }

// Valid reports whether l is one of the ten values in their exact spelling.
func (l Lifecycle) Valid() bool { return slices.Contains(Lifecycles(), l) }

// Terminal reports whether the state never changes again (invariant I6).
func (l Lifecycle) Terminal() bool { return l.Valid() && !l.Active() }

// Active reports whether the execution still has work to do, like the column is_active. It is false
// for an invalid lifecycle.
func (l Lifecycle) Active() bool {
	switch l {
	case Created, InProgress, WaitingForChildJobExecutions, WaitingForRetry:
		return true
	default:
		return false
	}
}

// IsSuccess reports whether l is Succeeded or SucceededWithSkipped.
func (l Lifecycle) IsSuccess() bool { return l == Succeeded || l == SucceededWithSkipped }

// IsFailure reports whether l is Failed or TimedOut. Alerts, reruns and exit codes use this
// definition.
func (l Lifecycle) IsFailure() bool { return l == Failed || l == TimedOut }
