package agent

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
)

// lease renews the agent's term. If it can neither renew nor confirm the term, it cancels
// everything that runs under the term before the control database hands the tasks to another agent
// (DESIGN.md, "Trust").
type lease struct {
	store *controldb.Store
	term  controldb.Term
	log   *zap.Logger
	// cancelTerm cancels the context of the term, from which the contexts of all its tasks derive.
	cancelTerm context.CancelCauseFunc
	trust      *trust
	crowd      *crowd
	metrics    *metrics.Agent
}

// trust holds the instant at which this process must assume that its term is lost: the start of the
// last call that renewed or confirmed the term, plus the lease, minus a margin. The instant is one
// of the process's monotonic clock (I5). It is safe for concurrent use.
type trust struct {
	mu    sync.Mutex
	until time.Time // moves forward only
}

// newTrust returns the trust in a term that was requested at askedAt.
func newTrust(askedAt time.Time, ttl time.Duration) *trust {
	return &trust{until: askedAt.Add(ttl - margin(ttl))}
}

// end returns the instant at which the trust ends, unless the term is renewed before.
func (t *trust) end() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.until
}

// extend records that a call which began at askedAt has renewed or confirmed the term.
func (t *trust) extend(askedAt time.Time, ttl time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = askedAt.Add(ttl - margin(ttl))
}

// margin is the time between the end of the trust and the term's expiry. Running scripts are
// canceled within it.
func margin(ttl time.Duration) time.Duration { return ttl / 6 }

func newLease(
	store *controldb.Store, term controldb.Term, trust *trust, crowd *crowd, cancelTerm context.CancelCauseFunc,
	m *metrics.Agent, log *zap.Logger,
) *lease {
	return &lease{
		store: store, term: term, trust: trust, crowd: crowd, cancelTerm: cancelTerm, metrics: m,
		log: log.With(zap.String(keyService, "lease")),
	}
}

func (l *lease) name() string { return "lease" }

// run renews the term until ctx is done, and then ends it. It returns [ErrTermLost] if the term
// ended before.
func (l *lease) run(ctx context.Context, ready func()) error {
	ready()
	// A timer, not this loop, ends the trust. On a silent connection a call may return long after
	// its deadline, because the driver waits for the server to confirm the cancellation.
	timer := time.AfterFunc(time.Until(l.trust.end()), func() { l.cancelTerm(ErrTermLost) })
	defer timer.Stop()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: l.term.TTL / 6}
	delay := backoff.Jittered(pacing.Polls{Lease: l.term.TTL}.Renewal())
	for sleep(ctx, min(delay, time.Until(l.trust.end())), nil) {
		started := time.Now()
		if !started.Before(l.trust.end()) {
			l.cancelTerm(ErrTermLost)
			return ErrTermLost
		}
		err := l.renew(ctx)
		switch {
		case err == nil:
			left := time.Until(l.trust.end())
			if !l.extend(timer, started) {
				return ErrTermLost
			}
			l.metrics.TermRenewed(left)
			retry.Reset()
			delay = backoff.Jittered(pacing.Polls{Lease: l.term.TTL}.Renewal())
		case errors.Is(err, dberror.ErrTermEnded):
			l.cancelTerm(ErrTermLost)
			return ErrTermLost
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			started = time.Now()
			confirmed := l.confirm(ctx)
			l.log.Warn("could not renew the term", zap.Error(err), zap.Duration(keyRetryIn, delay), zap.Bool("confirmed", confirmed))
			if confirmed && !l.extend(timer, started) {
				return ErrTermLost
			}
		}
	}
	l.end(ctx)
	return nil
}

// slowAnswer is the time that a call of the lease may always take while the term is trusted,
// because a busy server answers late.
const slowAnswer = 3 * time.Second

// attempt returns ctx with the limit of one call: half of the remaining trust in the term. If the
// connection is silent, as after the loss of a server, there is time left for a second call on
// another connection, which may reach the server that took over.
func (l *lease) attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	left := time.Until(l.trust.end())
	return context.WithTimeout(ctx, max(left/2, min(left, slowAnswer)))
}

// renew renews the term.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := l.attempt(ctx)
	defer cancel()
	agents, err := l.store.RenewTerm(ctx, l.term.ID, l.term.TTL)
	if err == nil {
		l.crowd.count(agents)
	}
	return err
}

// extend extends the trust by a call that began at started. It returns false if the answer was
// late: the timer has canceled everything.
func (l *lease) extend(timer *time.Timer, started time.Time) bool {
	if !timer.Stop() {
		return false
	}
	l.trust.extend(started, l.term.TTL)
	timer.Reset(time.Until(l.trust.end()))
	return true
}

// confirm reports whether the term lasts for another lease although it cannot be renewed, because
// nobody can write to the control database (sql/DESIGN.md, "Gaps").
func (l *lease) confirm(ctx context.Context) bool {
	ctx, cancel := l.attempt(ctx)
	defer cancel()
	confirmed, err := l.store.ConfirmTerm(ctx, l.term.ID)
	if err != nil {
		l.log.Debug("could not confirm the term", zap.Error(err))
	}
	return confirmed && err == nil
}

// end ends the term, so that other agents need not wait for its expiry. A failure is only logged,
// because the term expires anyway.
func (l *lease) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.term.TTL)
	defer cancel()
	err := l.store.EndTerm(ctx, l.term.ID)
	if refusesData(err) {
		l.log.Warn("the control database refuses the end of a term that hands tasks over", zap.Error(err))
		err = l.store.LeaveTerm(ctx, l.term.ID)
	}
	if err != nil && !errors.Is(err, dberror.ErrTermEnded) {
		l.log.Warn("could not end the term", zap.Error(err))
	}
	l.cancelTerm(ErrStopping)
}
