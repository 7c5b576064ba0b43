package oracle

import (
	"maps"
	"slices"

	"github.com/jobagent/jobagent/jobs"
)

// Condition is a step's option @run_when.
type Condition string

// The conditions: what the results of the steps that come before must be.
const (
	WhenSucceeded Condition = "Succeeded" // all of them succeeded
	WhenFailed    Condition = "Failed"    // at least one failed
	WhenFinished  Condition = "Finished"
)

// State is how a step ended on a target, as @only of jobs.sp_rerun_job_execution names it.
type State string

// The states. Runs of the oracle are never stopped.
const (
	StateSucceeded State = "Succeeded"
	StateFailed    State = "Failed"
	StateTimedOut  State = "TimedOut"
	StateUnknown   State = "Unknown" // its lifecycle is Failed
)

// Lifecycle returns the lifecycle of a target in this state.
func (s State) Lifecycle() jobs.Lifecycle {
	if s == StateUnknown {
		return jobs.Failed
	}
	return jobs.Lifecycle(s)
}

// failed reports whether the state is a failure.
func (s State) failed() bool { return s != StateSucceeded }

// Step is a step with its dependencies.
type Step struct {
	// After are the indices of the steps that come before it; nil means the step before.
	After []int
	When  Condition
	// OnFailed is @on_targets = Failed, OnSucceeded is @on_targets = Succeeded.
	OnFailed, OnSucceeded bool
}

// Graph is the list of the steps of a job's version. It has no cycles.
type Graph []Step

// World decides what happens to targets.
type World struct {
	// Targets are the databases of the target group.
	Targets []string
	// Resolves reports whether the target group of a step can be resolved.
	Resolves func(step int) bool
	// Outcome returns how a step ends on a target.
	Outcome func(step int, target string) State
}

// StepRun is what became of a step.
type StepRun struct {
	Lifecycle jobs.Lifecycle
	// Targets is nil if the list of targets was never known.
	Targets map[string]State
	// byCondition means that it was skipped by its condition.
	byCondition bool
	// failed is its result for the steps that come after it.
	failed bool
	// excluded means that a rerun, or its origin, left a failure as it is.
	excluded bool
	// nowhere means that it had no targets although it did not succeed.
	nowhere bool
	// causes are the steps that decided about it.
	causes []int
}

// Run is what became of a run.
type Run struct {
	Lifecycle jobs.Lifecycle
	Steps     []StepRun
	// origin is the run that it repeats, and only are the states in which it repeats its targets.
	origin *Run
	only   []State
}

// HasOptions reports whether a step has dependencies other than the default. Without any, nothing
// is recorded for the steps after a failure.
func (g Graph) HasOptions() bool {
	return slices.ContainsFunc(g, func(s Step) bool { return s.After != nil || s.When != WhenSucceeded || s.OnFailed || s.OnSucceeded })
}

// Run returns what becomes of a run. The lifecycle of a step that has no row is empty.
func (g Graph) Run(w World) Run {
	r := g.run(w, nil, nil)
	for i := range r.Steps {
		if !g.HasOptions() && r.Steps[i].byCondition {
			r.Steps[i] = StepRun{}
		}
	}
	return r
}

// Rerun returns what becomes of a rerun of origin that repeats the targets in the states only. The
// graph must have options.
func (g Graph) Rerun(w World, origin Run, only []State) Run { return g.run(w, &origin, only) }

// after returns the steps that come before step i.
func (g Graph) after(i int) []int {
	if g[i].After == nil && i > 0 {
		return []int{i - 1}
	}
	return g[i].After
}

// run decides on the steps one by one, each after those that come before it.
func (g Graph) run(w World, origin *Run, only []State) Run {
	r := Run{Steps: make([]StepRun, len(g)), origin: origin, only: only}
	done := make([]bool, len(g))
	for range g {
		for i := range g {
			if !done[i] && !slices.ContainsFunc(g.after(i), func(p int) bool { return !done[p] }) {
				r.Steps[i] = g.step(i, w, r, origin, only)
				done[i] = true
			}
		}
	}
	var counted []jobs.Lifecycle
	excluded := false
	for _, s := range r.Steps {
		if !s.byCondition {
			counted = append(counted, s.Lifecycle)
		}
		excluded = excluded || s.failed
	}
	r.Lifecycle = Aggregate(counted...)
	if r.Lifecycle == jobs.Succeeded && excluded {
		r.Lifecycle = jobs.SucceededWithSkipped // a rerun that leaves a failure as it is
	}
	return r
}

// step decides on step i, when all steps that come before it have ended in r.
func (g Graph) step(i int, w World, r Run, origin *Run, only []State) StepRun {
	s := g[i]
	failures, nowhere := false, false
	causes := map[int]bool{}
	for _, p := range g.after(i) {
		failures = failures || r.Steps[p].failed
		nowhere = nowhere || r.Steps[p].failed && r.Steps[p].nowhere
		if !r.Steps[p].byCondition {
			causes[p] = true
			continue
		}
		for _, c := range r.Steps[p].causes {
			causes[c] = true
		}
	}
	ended := StepRun{causes: slices.Sorted(maps.Keys(causes))}
	blocked := s.When == WhenSucceeded && failures && !(s.OnSucceeded && !nowhere)
	if blocked || s.When == WhenFailed && !failures {
		ended.Lifecycle, ended.byCondition, ended.failed, ended.nowhere = jobs.Skipped, true, failures, true
		return ended
	}
	// Each target goes on by itself, but the steps after this one see that some did not.
	carried := s.When == WhenSucceeded && failures

	var before StepRun
	if origin != nil {
		before = origin.Steps[i]
	}
	wanted := func(state State) bool { return slices.Contains(only, state) }
	var list []string
	excluded := false
	switch {
	case s.OnSucceeded:
		list, excluded = g.succeeded(i, w, r, ended.causes, wanted)
	case s.OnFailed:
		ran := map[string]bool{}
		chosen := map[string]bool{}
		for _, c := range ended.causes {
			for target, state := range r.Steps[c].Targets {
				ran[target] = true
				if state.failed() {
					chosen[target] = true
				}
			}
		}
		for target, state := range before.Targets {
			if ran[target] {
				continue
			}
			if wanted(state) {
				chosen[target] = true
			} else if state.failed() {
				excluded = true
			}
		}
		list = slices.Sorted(maps.Keys(chosen))
		if list == nil {
			list = []string{}
		}
	case origin == nil:
		list = g.resolve(i, w)
	case g.reacts(s, r, ended.causes) && len(before.Targets) > 0:
		list = slices.Sorted(maps.Keys(before.Targets))
	case g.reacts(s, r, ended.causes):
		list = g.resolve(i, w)
	case before.Targets != nil, before.byCondition,
		before.Lifecycle != jobs.Skipped && wanted(StateFailed): // its target group could not be resolved
		// A rerun that had no list would have had some of the targets of the run that it repeats.
		for run := origin; before.Targets == nil && run.origin != nil; run = run.origin {
			before, only = run.origin.Steps[i], run.only
		}
		if before.Targets == nil {
			list = g.resolve(i, w)
			break
		}
		excluded = before.excluded
		list = []string{}
		for target, state := range before.Targets {
			if wanted(state) {
				list = append(list, target)
			} else if state.failed() {
				excluded = true
			}
		}
	default:
		ended.Lifecycle, ended.failed, ended.excluded, ended.nowhere = jobs.Skipped, true, true, true
		return ended
	}

	if list == nil {
		ended.Lifecycle, ended.failed, ended.nowhere = jobs.Failed, true, true
		return ended
	}
	ended.Targets = map[string]State{}
	var children []jobs.Lifecycle
	for _, target := range list {
		state := w.Outcome(i, target)
		ended.Targets[target] = state
		children = append(children, state.Lifecycle())
	}
	ended.Lifecycle = Aggregate(children...)
	ended.excluded = excluded
	ended.failed = excluded || carried || !StartsNextStep(ended.Lifecycle)
	return ended
}

// succeeded returns the targets on which the causes of step i succeeded when they last ran there,
// in r or a run that it repeats. A rerun leaves out those on which no cause ran in r and the step
// itself is not wanted again; excluded reports whether one of these had failed.
func (g Graph) succeeded(i int, w World, r Run, causes []int, wanted func(State) bool) (list []string, excluded bool) {
	// latest returns the state of a step on a target, and how many runs before r; -1 is none.
	latest := func(step int, target string) (State, int) {
		level := 0
		for run := &r; run != nil; run = run.origin {
			if state, ok := run.Steps[step].Targets[target]; ok {
				return state, level
			}
			level++
		}
		return "", -1
	}
	list = []string{}
	for _, target := range w.Targets {
		some, all, ran := false, true, false
		for _, c := range causes {
			state, level := latest(c, target)
			some = some || level >= 0
			all = all && (level < 0 || state == StateSucceeded)
			ran = ran || level == 0
		}
		if !some || !all {
			continue
		}
		state, level := latest(i, target)
		switch {
		case ran || level < 0 || level == 1 && wanted(state):
			list = append(list, target)
		case state.failed():
			excluded = true
		}
	}
	return list, excluded
}

// resolve returns the targets of a step's target group; nil if it cannot be resolved.
func (g Graph) resolve(i int, w World) []string {
	if !w.Resolves(i) {
		return nil
	}
	return w.Targets
}

// reacts reports whether a step of a rerun has to run again because of what its causes did there.
func (g Graph) reacts(s Step, r Run, causes []int) bool {
	return slices.ContainsFunc(causes, func(c int) bool {
		failed := r.Steps[c].Lifecycle.IsFailure()
		switch s.When {
		case WhenFailed:
			return failed
		case WhenFinished:
			return failed || len(r.Steps[c].Targets) > 0
		default:
			return false
		}
	})
}
