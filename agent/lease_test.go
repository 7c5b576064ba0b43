package agent

import (
	"context"
	"sync/atomic"
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

// The trust ends a sixth of the lease before the term, counted from before the call that renewed
// it.
func TestTrust(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	trust := newTrust(asked, time.Minute)
	require.Equal(t, asked.Add(50*time.Second), trust.end())
	trust.extend(asked.Add(20*time.Second), time.Minute)
	require.Equal(t, asked.Add(70*time.Second), trust.end())
}

// A call may take half of the trust that is left, so that there is time for a second one, and three
// seconds in any case, but never more than is left.
func TestLeaseLimitsItsCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{
			50 * time.Second: 25 * time.Second,
			6 * time.Second:  3 * time.Second,
			5 * time.Second:  3 * time.Second,
			2 * time.Second:  2 * time.Second,
			0:                0,
		} {
			l := &lease{trust: &trust{until: time.Now().Add(left)}}
			ctx, cancel := l.attempt(t.Context())
			deadline, _ := ctx.Deadline()
			cancel()
			require.Equal(t, want, time.Until(deadline), left)
		}
	})
}

// An answer that comes after the trust has ended does not bring the trust back: everything that ran
// under the term was canceled.
func TestLeaseDoesNotExtendATrustThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l := &lease{term: controldb.Term{TTL: time.Minute}, trust: newTrust(began, time.Minute)}
		var canceled atomic.Int32
		timer := time.AfterFunc(50*time.Second, func() { canceled.Add(1) })
		<-time.After(40 * time.Second)
		require.True(t, l.extend(timer, began.Add(30*time.Second)))
		require.Equal(t, began.Add(80*time.Second), l.trust.end())
		<-time.After(39 * time.Second)
		require.Zero(t, canceled.Load())
		<-time.After(2 * time.Second)
		require.Equal(t, int32(1), canceled.Load())
		require.False(t, l.extend(timer, began.Add(70*time.Second)))
		require.Equal(t, began.Add(80*time.Second), l.trust.end())
	})
}

// leased is a lease of a minute on the embedded server, behind a network that may fail.
type leased struct {
	*lease
	in      *testenv.Installation
	network *fault.Network
	// failing makes the calls that renew the term fail, and stalled leaves all calls without an
	// answer.
	failing, stalled atomic.Bool
	termCtx          context.Context
	stop             context.CancelFunc
	ended            chan error // receives what run returned
}

// startLease starts a lease in virtual time.
func startLease(t *testing.T) *leased {
	t.Helper()
	l := &leased{in: testenv.Embedded(t, testenv.Options{}).Install(t, 1), ended: make(chan error, 1)}
	l.network = fault.NewNetwork(l.in.Dialer(), func(c fault.Call) fault.Kind {
		switch {
		case l.stalled.Load():
			return fault.Stall
		case l.failing.Load() && c.Name == "jobs_internal.renew_term":
			return fault.Transient
		}
		return fault.None
	})
	connector, err := mssql.NewConnector(l.in.DSN(l.in.Control), l.network)
	require.NoError(t, err)
	store, err := controldb.New(controldb.Config{Connector: connector, ServerName: l.in.ServerName})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() }) // broken connections cause errors
	var cancelTerm context.CancelCauseFunc
	l.termCtx, cancelTerm = context.WithCancelCause(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	asked := time.Now()
	term, err := store.StartTerm(ctx, controldb.Agent{ID: uuid.New(), Host: "h", MaxConcurrentTargets: 1}, time.Minute)
	require.NoError(t, err)
	l.lease = newLease(store.WithCallLimit(callLimit), term, newTrust(asked, term.TTL), &crowd{}, cancelTerm, nil, zap.NewNop())
	go func() { l.ended <- l.run(ctx, func() {}) }()
	t.Cleanup(stop)
	return l
}

// A lease that is stopped ends its term, so that another agent need not wait for its expiry.
func TestLeaseRenewsItsTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		for range 100 {
			<-time.After(7 * time.Second)
			require.NoError(t, l.termCtx.Err())
			require.True(t, l.trust.end().After(time.Now()))
		}
		require.Equal(t, 1, l.crowd.size())
		require.Less(t, l.network.Calls(), 100, "three calls a minute, and the logins")
		l.stop()
		require.NoError(t, <-l.ended)
		require.ErrorIs(t, context.Cause(l.termCtx), ErrStopping)
		var ended bool
		require.NoError(t, l.in.DB(t, l.in.Control).QueryRowContext(t.Context(),
			"SELECT CAST(CASE WHEN t.ended_at IS NULL THEN 0 ELSE 1 END AS BIT) FROM jobs_internal.terms AS t;").Scan(&ended))
		require.True(t, ended)
	})
}

// On a silent connection the trust ends at its instant, although a call is under way, and an answer
// that comes after it does not bring the trust back.
func TestLeaseOnASilentConnection(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]func(l *leased) (heal func()){
		"NoAnswer": func(l *leased) func() {
			l.stalled.Store(true)
			return func() {}
		},
		"LateAnswer": func(l *leased) func() {
			l.network.Silence()
			return l.network.Heal
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := startLease(t)
				<-time.After(2 * time.Minute)
				heal := silence(l)
				end := l.trust.end()
				<-time.After(time.Until(end) - time.Millisecond)
				require.NoError(t, l.termCtx.Err())
				<-time.After(time.Millisecond)
				synctest.Wait()
				require.ErrorIs(t, context.Cause(l.termCtx), ErrTermLost)
				<-time.After(time.Second)
				heal()
				require.ErrorIs(t, <-l.ended, ErrTermLost)
				require.Equal(t, end, l.trust.end())
			})
		})
	}
}

// A server that vanishes without a word leaves time for a second call on another connection.
func TestLeaseOnALostConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		<-time.After(2 * time.Minute)
		l.network.Lose()
		<-time.After(5 * time.Minute)
		require.NoError(t, l.termCtx.Err())
		require.True(t, l.trust.end().After(time.Now()))
	})
}

// A lease ends its term although the control database refuses to store the outcome of a task that
// another lost term holds.
func TestLeaseEndsItsTermAlthoughHandOverIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		db := l.in.DB(t, l.in.Control)
		l.in.AddJob(t, "j", []string{"SELECT 1;"})
		l.in.Start(t, "j")
		lost, err := l.in.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "o", MaxConcurrentTargets: 1}, time.Minute)
		require.NoError(t, err)
		for tasks := 0; tasks == 0; {
			res, err := l.in.Store.Pass(t.Context(), controldb.PassRequest{Term: lost.ID, MaxTasks: 1, MaxConcurrentTargets: 1})
			require.NoError(t, err)
			tasks = len(res.Tasks)
		}
		_, err = db.ExecContext(t.Context(), `UPDATE jobs_internal.terms SET ended_at = SYSUTCDATETIME(), end_reason = N'Expired' WHERE term_id = @p1;`, lost.ID.Number)
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `CREATE TRIGGER jobs_internal.refuse ON jobs_internal.task_executions AFTER UPDATE AS THROW 60001, N'Refused by a test.', 1;`)
		require.NoError(t, err)
		l.stop()
		require.NoError(t, <-l.ended)
		var reason string
		require.NoError(t, db.QueryRowContext(t.Context(), `SELECT t.end_reason FROM jobs_internal.terms AS t WHERE t.term_id = @p1;`, l.term.ID.Number).Scan(&reason))
		require.Equal(t, "Ended", reason)
		_, err = db.ExecContext(t.Context(), `DROP TRIGGER jobs_internal.refuse;`)
		require.NoError(t, err)
	})
}

// A term that the control database has ended is lost at the next renewal.
func TestLeaseOfAnEndedTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		<-time.After(2 * time.Minute)
		ended := time.Now()
		require.NoError(t, l.in.Store.EndTerm(t.Context(), l.term.ID))
		require.ErrorIs(t, <-l.ended, ErrTermLost)
		require.ErrorIs(t, context.Cause(l.termCtx), ErrTermLost)
		require.Less(t, time.Since(ended), 30*time.Second)
	})
}

// While nobody can write, the term is confirmed instead of renewed, and its scripts go on. If
// another agent makes passes, the term is not confirmed, and its trust ends.
func TestLeaseConfirmsItsTerm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		l.failing.Store(true)
		<-time.After(10 * time.Minute)
		require.NoError(t, l.termCtx.Err())

		end := l.trust.end()
		other, err := l.in.Store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "o", MaxConcurrentTargets: 1}, time.Minute)
		require.NoError(t, err)
		for l.termCtx.Err() == nil {
			<-time.After(time.Second)
			_, err = l.in.Store.RenewTerm(t.Context(), other.ID, time.Minute)
			require.NoError(t, err)
			_, err = l.in.Store.Pass(t.Context(), controldb.PassRequest{Term: other.ID, MaxConcurrentTargets: 1, LastTask: new(controldb.TaskID)})
			require.NoError(t, err)
			require.Less(t, time.Since(end), time.Minute)
		}
		require.ErrorIs(t, <-l.ended, ErrTermLost)
		require.ErrorIs(t, context.Cause(l.termCtx), ErrTermLost)
	})
}

// A renewal that fails is repeated soon, long before the trust ends.
func TestLeaseRepeatsAFailedRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := startLease(t)
		<-time.After(2 * time.Minute)
		l.failing.Store(true)
		<-time.After(25 * time.Second)
		before := l.network.Calls()
		<-time.After(50 * time.Second) // two calls each 10 s at least; each 20 s at the usual interval
		require.Greater(t, l.network.Calls()-before, 7)
		l.failing.Store(false)
		<-time.After(15 * time.Second)
		require.Greater(t, time.Until(l.trust.end()), 25*time.Second)
		before = l.network.Calls()
		<-time.After(5 * time.Minute)
		require.Less(t, l.network.Calls()-before, 20, "the usual interval again")
	})
}
