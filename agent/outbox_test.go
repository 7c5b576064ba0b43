package agent

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
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
