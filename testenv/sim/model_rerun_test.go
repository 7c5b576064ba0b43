package sim

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// modelRerun contains what a rerun of the model has beyond a run.
type modelRerun struct {
	origin  *modelRun
	only    []string
	partial bool // some target that failed is left out
}

// allStates are the final states of targets that a rerun may select.
var allStates = []string{"Failed", "TimedOut", "Canceled", "Skipped", "Unknown"}

// state returns the final state of a target, or of a step that was not resolved. Such a step is
// Unknown if it failed, or was given up, after an attempt whose outcome is unknown.
func (w *work) state() string {
	if w.unknown && (w.database != "" || w.lifecycle == jobs.Failed) {
		return "Unknown"
	}
	return string(w.lifecycle)
}

// wrong reports whether the end of w prevents later steps.
func (w *work) wrong() bool {
	return slices.Contains([]jobs.Lifecycle{jobs.Failed, jobs.TimedOut, jobs.Canceled}, w.lifecycle)
}

// rerun starts a rerun of the failed targets of a random run that has ended, if there are any.
func (m *model) rerun(t *rapid.T) {
	if len(m.runs) == 0 {
		t.Skip("not applicable, so rapid draws another action: no run to rerun")
	}
	list := m.runs
	wrong := slices.DeleteFunc(slices.Clone(m.runs), func(r *modelRun) bool { return !r.lifecycle.Terminal() || r.lifecycle == jobs.Succeeded })
	if len(wrong) > 0 && rapid.IntRange(0, 3).Draw(t, "any") > 0 {
		list = wrong
	}
	origin := rapid.SampledFrom(list).Draw(t, "run")
	only := slices.DeleteFunc(slices.Clone(allStates), func(string) bool { return rapid.Bool().Draw(t, "left out") })
	if len(only) == 0 {
		only = allStates
	}
	id, err := executions.On(m.store).Rerun(t.Context(), executions.RerunRequest{
		Origin: origin.id, Only: strings.Join(only, ","),
	})
	if !origin.lifecycle.Terminal() {
		require.Equal(t, dberror.KindConflict, dberror.KindOf(err))
		return
	}
	wanted := func(state string) bool { return slices.Contains(only, state) }
	partial := origin.rerun != nil && origin.rerun.partial
	some, canceled := false, false
	for _, s := range origin.steps {
		ends := s.targets
		if !s.resolved {
			ends = []*work{s}
		}
		for _, w := range ends {
			canceled = canceled || w.lifecycle == jobs.Canceled
			partial = partial || w.wrong() && !wanted(w.state()) && !s.tolerated
			some = some || wanted(w.state()) && (w.database != "" || w.lifecycle != jobs.Skipped)
		}
	}
	if origin.lifecycle == jobs.Canceled && !canceled { // stopped between two steps
		partial = partial || !wanted("Canceled")
		some = some || !partial
	}
	if !some {
		require.Equal(t, dberror.KindConflict, dberror.KindOf(err), "no target to rerun")
		return
	}
	require.NoError(t, err)
	require.NotEqual(t, uuid.Nil, id)
	m.runs = append(m.runs, &modelRun{id: id, job: origin.job, only: origin.only, lifecycle: jobs.Created, rerun: &modelRerun{origin, only, partial}})
}

// waitForRerun queues the step of a rerun, which waits for its targets.
func (m *model) waitForRerun(step *work) {
	step.next = time.Time{}
	m.reruns = append(m.reruns, step)
}

// startRerunSteps creates the targets of the queued steps, or decides that a step needs none.
func (m *model) startRerunSteps() {
	for _, s := range m.reruns {
		if !s.run.stopping && s.active() {
			m.startRerunStep(s)
		}
	}
	m.reruns = nil
}

// startRerunStep creates the targets of one step.
func (m *model) startRerunStep(s *work) {
	r := s.run.rerun
	var before *work // the same step of the origin
	if len(r.origin.steps) >= s.step {
		before = r.origin.steps[s.step-1]
	}
	switch {
	case before == nil && !r.partial, before != nil && !before.resolved && before.wrong() && slices.Contains(r.only, before.state()):
		s.next = m.clock.Now()
	case before == nil, !before.resolved:
		s.become(jobs.Skipped)
	default:
		s.resolved = true
		for _, o := range before.targets {
			if !slices.Contains(r.only, o.state()) {
				continue
			}
			w := &work{run: s.run, step: s.step, database: o.database, lifecycle: jobs.Created, next: m.clock.Now()}
			if m.busy(w) {
				w.become(jobs.Skipped)
				w.next = time.Time{}
			}
			s.targets = append(s.targets, w)
		}
		s.become(jobs.WaitingForChildJobExecutions)
		if len(s.targets) == 0 {
			s.become(jobs.Succeeded)
		}
	}
}
