package agent

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// A cancel signal is repeated until the outcome of its task is accepted, and may come after that.
func TestRegistryCancelsOnce(t *testing.T) {
	t.Parallel()
	termCtx, endTerm := context.WithCancelCause(t.Context())
	r := newRegistry(termCtx)
	first, second := r.add(controldb.Task{ID: 1, Attempt: 1}, time.Now()), r.add(controldb.Task{ID: 2, Attempt: 3}, time.Now())
	require.True(t, r.cancel(1, targets.ErrStopRequested))
	require.False(t, r.cancel(1, targets.ErrStopRequested), "the same signal again")
	require.ErrorIs(t, context.Cause(first.ctx), targets.ErrStopRequested)
	require.NoError(t, second.ctx.Err())

	r.remove([]report{{task: 1}})
	require.False(t, r.cancel(1, targets.ErrStopRequested), "its report was accepted")
	var want controldb.Digest
	want.Add(2, 3)
	require.Equal(t, want, r.digest())
	require.Equal(t, map[controldb.TaskID]int{2: 3}, r.attempts())
	require.Equal(t, 1, r.count())

	third := r.add(controldb.Task{ID: 3, Attempt: 1}, time.Now())
	endTerm(ErrTermLost)
	require.ErrorIs(t, context.Cause(second.ctx), ErrTermLost, "each task ends with the term")
	require.False(t, r.cancel(3, targets.ErrStopRequested))
	require.ErrorIs(t, context.Cause(third.ctx), ErrTermLost)
}

func TestRegistryCancelsAll(t *testing.T) {
	t.Parallel()
	r := newRegistry(t.Context())
	claimedAt := time.Now()
	limited, unlimited := r.add(controldb.Task{ID: 1, Timeout: time.Hour}, claimedAt), r.add(controldb.Task{ID: 2}, claimedAt)
	require.Equal(t, claimedAt.Add(time.Hour), limited.deadline, "the time limit counts from the claim")
	require.Zero(t, unlimited.deadline)
	r.cancelAll(ErrStopping)
	for _, e := range []*entry{limited, unlimited} {
		require.ErrorIs(t, context.Cause(e.ctx), ErrStopping)
	}
}
