package oracle

import (
	"slices"

	"github.com/jobagent/jobagent/jobs"
)

// transitions lists, for each active lifecycle, those that may follow it. Final lifecycles are
// absent: nothing follows them (invariant I6). DESIGN.md of jobs, "States", lists the reason of
// each transition.
var transitions = map[jobs.Lifecycle][]jobs.Lifecycle{
	jobs.Created: {
		jobs.InProgress, jobs.WaitingForChildJobExecutions, jobs.Succeeded, jobs.Failed, jobs.TimedOut, jobs.Canceled, jobs.Skipped,
	},
	jobs.InProgress: {
		jobs.WaitingForChildJobExecutions, jobs.WaitingForRetry, jobs.Created,
		jobs.Succeeded, jobs.Failed, jobs.TimedOut, jobs.Canceled,
	},
	jobs.WaitingForChildJobExecutions: {jobs.Succeeded, jobs.SucceededWithSkipped, jobs.Failed, jobs.TimedOut, jobs.Canceled},
	jobs.WaitingForRetry:              {jobs.InProgress, jobs.Failed, jobs.TimedOut, jobs.Canceled},
}

// CanBecome reports whether an execution in lifecycle from may go to lifecycle to. Staying in a
// lifecycle is not a transition.
func CanBecome(from, to jobs.Lifecycle) bool { return slices.Contains(transitions[from], to) }
