package sim

import (
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
)

// waiting draws a run, and all or one of what waits for a retry in it.
func (m *model) waiting(t *rapid.T) (r executions.Retries, list []*work) {
	if len(m.runs) == 0 {
		t.Skip("not applicable, so rapid draws another action: no run")
	}
	run := rapid.SampledFrom(m.runs[max(0, len(m.runs)-3):]).Draw(t, "run")
	r.Run = run.id
	if run.stopping || run.lifecycle.Terminal() {
		return r, nil
	}
	for _, s := range run.steps {
		if s.lifecycle == jobs.WaitingForRetry {
			list = append(list, s)
		}
		for _, w := range s.targets {
			if w.lifecycle == jobs.WaitingForRetry {
				list = append(list, w)
			}
		}
	}
	if len(list) > 0 && rapid.Bool().Draw(t, "one") {
		one := rapid.SampledFrom(list).Draw(t, "waiting")
		if one.database != "" {
			id := targets.NewTarget("s", one.database, "").ID
			r.StepID, r.Target, list = &one.step, &id, []*work{one}
		}
	}
	return r, list
}

// retryNow makes what waits for a retry due.
func (m *model) retryNow(t *rapid.T) {
	r, list := m.waiting(t)
	now, changed := m.clock.Now(), 0
	for _, w := range list {
		if w.next.After(now) {
			w.next = now
			changed++
		}
	}
	n, err := executions.On(m.store).RetryNow(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, changed, n)
}

// giveUp ends what waits for a retry.
func (m *model) giveUp(t *rapid.T) {
	r, list := m.waiting(t)
	for _, w := range list {
		w.become(jobs.Failed)
		w.next = time.Time{}
	}
	n, err := executions.On(m.store).GiveUp(t.Context(), r)
	require.NoError(t, err)
	require.Equal(t, len(list), n)
}

// drawClass returns the class of an error; empty: the agent does not know it.
func drawClass(t *rapid.T) targets.Class {
	return rapid.SampledFrom([]targets.Class{"", targets.ClassDeadlock, targets.ClassPermanent}).Draw(t, "class")
}
