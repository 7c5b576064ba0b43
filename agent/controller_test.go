package agent

import (
	"context"
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

// Each pass names the last task that has arrived. So a task is queued once, whether its answer came
// or was lost.
func TestPassesQueueATaskOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range []fault.Kind{fault.None, fault.AfterSending} {
		synctest.Test(t, func(t *testing.T) {
			in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
			in.AddJob(t, "a", []string{"SELECT 1;"})
			in.AddJob(t, "b", []string{"SELECT 1;"})
			next := fault.None
			network := fault.NewNetwork(in.Dialer(), func(c fault.Call) fault.Kind {
				if c.Name == "jobs_internal.controller_pass" {
					return next
				}
				return fault.None
			})
			connector, err := mssql.NewConnector(in.DSN(in.Control), network)
			require.NoError(t, err)
			store, err := controldb.New(controldb.Config{Connector: connector, ServerName: in.ServerName})
			require.NoError(t, err)
			t.Cleanup(func() { _ = store.Close() }) // broken connections cause errors
			term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 4}, time.Hour)
			require.NoError(t, err)
			c := newTestCommunicator(t, Config{MaxConcurrentTargets: 4})
			ctl := newController(store, term, &crowd{}, c, nil, nil, nil, c.outbox.cfg, zap.NewNop())
			for i, job := range []string{"a", "b"} {
				in.Start(t, job)
				for range 3 {
					next = kind
					_, err := ctl.runOnce(t.Context())
					require.Equal(t, kind == fault.None, err == nil)
				}
				next = fault.None
				for range 3 {
					_, err := ctl.runOnce(t.Context())
					require.NoError(t, err)
				}
				queued, _ := c.queue.counts()
				require.Equal(t, i+1, queued, kind)
				require.Equal(t, i+1, c.registry.count(), kind)
			}
		})
	}
}

// Two comparisons in a row that differ are drift. When no pass was compared for long, because each
// overlaps a delivery, deliveries are paused for one pass.
func TestDriftUnderLoad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		term, err := in.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Hour)
		require.NoError(t, err)
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
		c.registry.add(controldb.Task{ID: 7, Attempt: 1}, time.Now()) // only the agent holds it
		ctl := newController(in.Store, term, &crowd{}, c, nil, nil, nil, c.outbox.cfg, zap.NewNop())
		c.outbox.unanswered = true // no pass may be compared
		_, err = ctl.runOnce(t.Context())
		require.NoError(t, err)
		require.Zero(t, ctl.mismatches)
		<-time.After(c.outbox.cfg.polls().Slow())
		c.outbox.unanswered = false
		waited := false
		resume, err := c.outbox.pause(t.Context())
		require.NoError(t, err)
		time.AfterFunc(c.outbox.cfg.PollIdle/2, func() { waited = true; resume() })
		_, err = ctl.runOnce(t.Context()) // waits for the delivery under way
		require.NoError(t, err)
		require.True(t, waited)
		require.Equal(t, 1, ctl.mismatches)
		_, err = ctl.runOnce(t.Context())
		require.ErrorIs(t, err, ErrDrift)
	})
}

// After a pass that failed, a request for a pass does not cut the wait for the next one short.
func TestFailedPassesAreNotHurried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		passes := 0
		network := fault.NewNetwork(in.Dialer(), func(c fault.Call) fault.Kind {
			if c.Name == "jobs_internal.controller_pass" {
				passes++
				return fault.Transient
			}
			return fault.None
		})
		connector, err := mssql.NewConnector(in.DSN(in.Control), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: in.ServerName})
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Hour)
		require.NoError(t, err)
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1})
		ctl := newController(store, term, &crowd{}, c, nil, nil, nil, c.outbox.cfg, zap.NewNop())
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- ctl.run(ctx, func() {}) }()
		for range 600 {
			<-time.After(100 * time.Millisecond)
			notify(c.queue.wake)
		}
		stop()
		require.NoError(t, <-ended)
		require.Less(t, passes, 25, "the wait grows to some seconds")
		require.Greater(t, passes, 5)
	})
}
