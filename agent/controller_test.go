package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
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

// A pass that a delivery may have overlapped is not compared: what was accepted meanwhile may be
// missing on either side.
func TestPassesBesideDeliveriesAreNotCompared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		during := func() {}
		network := fault.NewNetwork(in.Dialer(), func(c fault.Call) fault.Kind {
			if c.Name == "jobs_internal.controller_pass" {
				during()
			}
			return fault.None
		})
		connector, err := mssql.NewConnector(in.DSN(in.Control), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: in.ServerName})
		require.NoError(t, err)
		defer func() { require.NoError(t, store.Close()) }()
		term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Hour)
		require.NoError(t, err)
		nothing := func(*outbox) {}
		for _, tc := range []struct {
			name           string
			before, during func(*outbox)
			compared       bool
		}{
			{"Undisturbed", nothing, nothing, true},
			{"Answered", func(o *outbox) { o.begin(); o.end() }, nothing, true},
			{"AnsweredDuringThePass", func(o *outbox) { o.begin() }, func(o *outbox) { o.end() }, false},
			{"WithinThePass", nothing, func(o *outbox) { o.begin(); o.end() }, false},
			{"UnderWay", nothing, func(o *outbox) { o.delivering <- struct{}{} }, false},
		} {
			c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
			c.registry.add(controldb.Task{ID: 7, Attempt: 1}, time.Now()) // only the agent holds it
			c.outbox.add(report{task: 8})
			ctl := newController(store, term, &crowd{}, c, nil, nil, nil, c.outbox.cfg, zap.NewNop())
			tc.before(c.outbox)
			during = func() { tc.during(c.outbox) }
			_, err := ctl.runOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, tc.compared, ctl.mismatches == 1, tc.name)
		}
	})
}
