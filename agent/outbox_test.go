package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
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

// An outbox whose term the control database has ended says so, also while the agent stops. Nothing
// is delivered under a term that the agent itself no longer trusts.
func TestOutboxOfAnEndedTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		term, err := in.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Minute)
		require.NoError(t, err)
		require.NoError(t, in.Store.EndTerm(t.Context(), term.ID))
		cfg, err := Config{MaxConcurrentTargets: 1}.withDefaults()
		require.NoError(t, err)
		stopping, stop := context.WithCancel(t.Context())
		stop()
		untrusted, cancelTerm := context.WithCancelCause(t.Context())
		cancelTerm(ErrTermLost)
		run := func(store *controldb.Store, ctx, termCtx context.Context) error {
			o := newOutbox(store, term.ID, termCtx, newQueue(cfg, nil), newRegistry(termCtx), &crowd{}, cfg, zap.NewNop())
			o.add(report{task: 1, outcome: controldb.Outcome{Task: 1, Attempt: 1, Outcome: targets.Succeeded}})
			o.ready <- struct{}{}
			return o.run(ctx)
		}
		started := time.Now()
		require.ErrorIs(t, run(in.Store, t.Context(), t.Context()), ErrTermLost)
		require.ErrorIs(t, run(in.Store, stopping, t.Context()), ErrTermLost)
		require.NoError(t, run(nil, stopping, untrusted)) // there is no store to call
		require.Less(t, time.Since(started), time.Second, "no call is repeated")
	})
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

// The digests may be compared only if no delivery has begun between two marks, none is under way,
// and the last one was answered.
func TestOutboxMarksDeliveries(t *testing.T) {
	t.Parallel()
	o := newTestCommunicator(t, Config{MaxConcurrentTargets: 1}).outbox
	begun, quiet := o.mark()
	require.True(t, quiet)
	require.Empty(t, o.begin())
	same, quiet := o.mark()
	require.Equal(t, begun, same, "an outbox without a report delivers nothing")
	require.True(t, quiet)

	resume, err := o.pause(t.Context())
	require.NoError(t, err)
	_, quiet = o.mark()
	require.False(t, quiet)
	resume()
	o.add(report{task: 1})
	require.Len(t, o.begin(), 1)
	next, quiet := o.mark()
	require.Equal(t, begun+1, next)
	require.False(t, quiet, "it has no answer yet")
	require.False(t, o.answered())
	require.True(t, o.end(), "the report was not acknowledged")
	o.remove([]report{{task: 1}})
	require.False(t, o.end())
	_, quiet = o.mark()
	require.True(t, quiet)
	require.True(t, o.answered())
}

// A delivery that is under way makes a pass wait only as long as its context lasts.
func TestOutboxPauseEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newTestCommunicator(t, Config{MaxConcurrentTargets: 1}).outbox
		resume, err := o.pause(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = o.pause(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		resume()
		resume, err = o.pause(t.Context())
		require.NoError(t, err)
		resume()
	})
}

// A delivery waits for more outcomes for the active poll interval at most, and not at all for a
// resolution, for three quarters of the workers, or when no task is left.
func TestOutboxGathers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tasks, reports int // the first ones are reported
		running        int // of the others
		resolution     bool
		waits          bool
	}{
		"Few":        {tasks: 8, reports: 5, waits: true},
		"HalfTaken":  {tasks: 8, reports: 2, running: 3, waits: true},
		"Most":       {tasks: 8, reports: 6},
		"Resolution": {tasks: 8, reports: 2, resolution: true},
		"Last":       {tasks: 2, reports: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newTestCommunicator(t, Config{MaxConcurrentTargets: 8, PollActive: 50 * time.Millisecond, PollIdle: time.Second})
				c.accept(tasks(1, tc.tasks), time.Now(), 9) // there is no more work
				for i := range tc.reports {
					r := report{task: controldb.TaskID(i + 1)}
					if tc.resolution && i == 0 {
						r.resolution = &controldb.Resolution{}
					}
					c.done(takeOne(c), r)
				}
				for range tc.running {
					takeOne(c)
				}
				started := time.Now()
				require.True(t, c.outbox.gather(t.Context()))
				want := time.Duration(0)
				if tc.waits {
					want = 50 * time.Millisecond
				}
				require.Equal(t, want, time.Since(started))
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 8, PollActive: 50 * time.Millisecond, PollIdle: time.Second})
		c.accept(tasks(1, 8), time.Now(), 9)
		started := time.Now()
		time.AfterFunc(20*time.Millisecond, func() {
			for id := 1; id <= 6; id++ {
				c.done(takeOne(c), report{task: controldb.TaskID(id)})
			}
		})
		require.True(t, c.outbox.gather(t.Context()))
		require.Equal(t, 20*time.Millisecond, time.Since(started))
	})
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 8})
		c.accept(tasks(1, 8), time.Now(), 9)
		c.done(takeOne(c), report{task: 1})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		started := time.Now()
		require.False(t, c.outbox.gather(ctx))
		require.Zero(t, time.Since(started))
	})
}

// A report whose call is never answered, as when another session has locked its rows, waits behind
// the others.
func TestOutboxDeliversBesideAReportThatIsNotAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		calls := 0
		network := fault.NewNetwork(in.Dialer(), func(c fault.Call) fault.Kind {
			switch c.Name {
			case "jobs_internal.complete_resolution":
				return fault.Stall
			case "jobs_internal.complete_tasks":
				calls++
			}
			return fault.None
		})
		connector, err := mssql.NewConnector(in.DSN(in.Control), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: in.ServerName})
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() }) // broken connections cause errors
		term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Hour)
		require.NoError(t, err)
		cfg, err := Config{MaxConcurrentTargets: 1}.withDefaults()
		require.NoError(t, err)
		o := newOutbox(store.WithCallLimit(callLimit), term.ID, t.Context(), newQueue(cfg, nil), newRegistry(t.Context()), &crowd{}, cfg, zap.NewNop())
		o.add(report{task: 1, resolution: &controldb.Resolution{Attempt: 1}})
		o.ready <- struct{}{}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- o.run(ctx) }()
		<-time.After(30 * time.Second) // the call is under way
		for id := controldb.TaskID(2); id <= 10; id++ {
			o.add(report{task: id, outcome: controldb.Outcome{Task: id, Attempt: 1, Outcome: targets.Succeeded}})
		}
		<-time.After(5 * time.Minute)
		require.Equal(t, 1, o.count())
		require.Equal(t, controldb.TaskID(1), o.waiting[0].task)
		require.Less(t, calls, 7, "the deliveries grow again")
		require.True(t, asked(o.queue.wake), "parents of the delivered tasks may have ended")
		stop()
		require.NoError(t, <-ended)
	})
}

// A stopping agent tries for the length of a lease to deliver its last outcomes, and then gives up:
// its term has expired by then.
func TestOutboxGivesUpAfterALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := testenv.Embedded(t, testenv.Options{}).Install(t, 1)
		network := fault.NewNetwork(in.Dialer(), nil)
		connector, err := mssql.NewConnector(in.DSN(in.Control), network)
		require.NoError(t, err)
		store, err := controldb.New(controldb.Config{Connector: connector, ServerName: in.ServerName})
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() }) // broken connections cause errors
		term, err := store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Minute)
		require.NoError(t, err)
		network.Cut()
		cfg, err := Config{MaxConcurrentTargets: 1, Lease: 40 * time.Second}.withDefaults()
		require.NoError(t, err)
		o := newOutbox(store, term.ID, t.Context(), newQueue(cfg, nil), newRegistry(t.Context()), &crowd{}, cfg, zap.NewNop())
		o.add(report{task: 1, outcome: controldb.Outcome{Task: 1, Attempt: 1, Outcome: targets.Succeeded}})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		started := time.Now()
		require.NoError(t, o.run(ctx))
		require.Equal(t, 40*time.Second, time.Since(started))
		require.Equal(t, 1, o.count())
	})
}

// A report without its details leads to the same decisions: what follows the attempt, and when.
func TestReportWithoutDetailsDecidesTheSame(t *testing.T) {
	t.Parallel()
	decides := controldb.Outcome{
		Task: 7, Attempt: 2, Claim: uuid.New(), Outcome: targets.Failed, Error: targets.ErrorDetail{Class: targets.ClassTransient}, Unreached: true,
		NoRetry: true, RetryAfter: time.Minute, Unsent: true, Unknown: true, Elapsed: time.Second,
	}
	whole := decides
	whole.Message, whole.Endpoint, whole.RowsAffected, whole.SPID = "said", "host", 3, 4
	whole.Messages = []targets.Message{{Text: "said"}}
	whole.Error.Number, whole.Error.Text = 50000, "said"
	plain := report{task: 7, outcome: whole}.withoutDetails(547)
	require.Contains(t, plain.outcome.Message, "(error 547)")
	decides.Message = plain.outcome.Message
	require.Equal(t, report{task: 7, outcome: decides}, plain)

	resolved := controldb.Resolution{
		Attempt: 2, Claim: uuid.New(), Elapsed: time.Second, Unreached: true,
		Targets: []targets.Target{targets.NewTarget("s", "d", "")}, LimitServers: []string{"s"}, Error: targets.ErrorDetail{Text: "said"},
	}
	plain = report{task: 7, resolution: &resolved}.withoutDetails(547)
	require.Contains(t, plain.resolution.Failure, "(error 547)")
	require.Equal(t, &controldb.Resolution{
		Attempt: 2, Claim: resolved.Claim, Elapsed: time.Second, Unreached: true, Failure: plain.resolution.Failure,
	}, plain.resolution)
}
