package agent

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// TestOutboxReturnsWhyItsTermEnded: a term that ends during a delivery ends the outbox. The outbox
// names the cause, so that the supervisor does not report a service that returned without a reason.
func TestOutboxReturnsWhyItsTermEnded(t *testing.T) {
	t.Parallel()
	termCtx, cancelTerm := context.WithCancelCause(t.Context())
	cfg, err := Config{MaxConcurrentTargets: 1}.withDefaults()
	require.NoError(t, err)
	registry, queue := newRegistry(termCtx), newQueue(cfg, nil)
	o := newOutbox(nil, controldb.TermID{}, termCtx, queue, registry, &crowd{}, cfg, zap.NewNop())
	resume, err := o.pause(t.Context()) // the delivery waits until the term ends
	require.NoError(t, err)
	defer resume()
	o.add(report{})
	o.ready <- struct{}{}
	cancelTerm(ErrTermLost)
	require.ErrorIs(t, o.run(t.Context()), ErrTermLost)
}

// TestOutboxBoundsTheTextsOfADelivery: a delivery has one report at least, and else as many as the
// bound of texts allows.
func TestOutboxBoundsTheTextsOfADelivery(t *testing.T) {
	t.Parallel()
	cfg, err := Config{MaxConcurrentTargets: 1}.withDefaults()
	require.NoError(t, err)
	o := newOutbox(nil, controldb.TermID{}, t.Context(), newQueue(cfg, nil), newRegistry(t.Context()), &crowd{}, cfg, zap.NewNop())
	for _, size := range []int{pacing.OutcomeBytesPerCall + 1, pacing.OutcomeBytesPerCall / 2, pacing.OutcomeBytesPerCall / 2, 1} {
		o.add(report{task: controldb.TaskID(size), outcome: controldb.Outcome{
			Message: "!", Messages: []targets.Message{{Text: strings.Repeat("x", size-1)}},
		}})
	}
	for _, want := range []int{1, 2, 1} {
		batch := o.begin()
		require.Len(t, batch, want)
		o.waiting = o.waiting[want:]
	}
	require.Empty(t, o.begin())
}
