package oracle

import "github.com/jobagent/jobagent/jobs"

// Aggregate returns the lifecycle of a parent whose children have the given lifecycles (invariant
// I6): of a step by its targets, of a root by its steps. While a child is active, the parent is
// WaitingForChildJobExecutions. When all are final, the first of these that a child has decides:
//
//	Canceled              a stop of the run is the only cause of a canceled child
//	Failed                an error says more than a time limit
//	TimedOut
//	SucceededWithSkipped  also when a child is Skipped
//	Succeeded             also without children (decision 5)
//
// A child that is not a valid lifecycle gives the empty lifecycle.
func Aggregate(children ...jobs.Lifecycle) jobs.Lifecycle {
	has := make(map[jobs.Lifecycle]bool, len(children))
	for _, c := range children {
		if !c.Valid() {
			return ""
		}
		if c.Active() {
			c = jobs.WaitingForChildJobExecutions
		}
		if c == jobs.Skipped {
			c = jobs.SucceededWithSkipped
		}
		has[c] = true
	}
	for _, l := range []jobs.Lifecycle{jobs.WaitingForChildJobExecutions, jobs.Canceled, jobs.Failed, jobs.TimedOut, jobs.SucceededWithSkipped} {
		if has[l] {
			return l
		}
	}
	return jobs.Succeeded
}

// StartsNextStep reports whether the next step starts after a step that ended with l (decision 7).
func StartsNextStep(l jobs.Lifecycle) bool {
	return l.IsSuccess()
}
