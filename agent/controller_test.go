package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
)

// One comparison that differs is no drift: the next one may agree again.
func TestOneMismatchIsNoDrift(t *testing.T) {
	t.Parallel()
	c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
	ctl := newController(nil, controldb.Term{}, &crowd{}, c, nil, nil, nil, c.outbox.cfg, zap.NewNop())
	one, none := controldb.Digest{Count: 1, Sum: 7}, controldb.Digest{}
	for range 3 {
		ctl.comparedAt = time.Time{}
		require.NoError(t, ctl.compare(t.Context(), one, none))
		require.False(t, ctl.comparedAt.IsZero())
		require.NoError(t, ctl.compare(t.Context(), one, one))
	}
}
