package agent

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// lease renews the agent's term. If it cannot renew the term, it cancels everything that runs under
// the term before the control database hands the tasks to another agent (DESIGN.md, "Trust").
type lease struct {
	store *controldb.Store
	term  controldb.Term
	log   *zap.Logger
	// cancelTerm cancels the context of the term, from which the contexts of all its tasks derive.
	cancelTerm context.CancelCauseFunc
	// trustUntil is when this process must assume that the term is lost: the start of the last
	// call that renewed the term, plus the lease, minus a margin. It is a time of the process's
	// monotonic clock (I5).
	trustUntil time.Time
}

// margin returns how long before the term's expiry this process gives the term up. The margin is
// for canceling the running scripts.
func margin(ttl time.Duration) time.Duration { return ttl / 6 }

// newLease returns the lease of a term. The call that started the term began at askedAt, on the
// process's clock.
func newLease(
	store *controldb.Store, term controldb.Term, askedAt time.Time, cancelTerm context.CancelCauseFunc, log *zap.Logger,
) *lease {
	return &lease{
		store: store, term: term, cancelTerm: cancelTerm,
		log:        log.With(zap.String(keyService, "lease")),
		trustUntil: askedAt.Add(term.TTL - margin(term.TTL)),
	}
}

func (l *lease) name() string { return "lease" }

// run renews the term until ctx is done, and then ends it. It returns [ErrTermLost] if the term
// ended before.
func (l *lease) run(ctx context.Context, ready func()) error {
	ready()
	// A timer, not this loop, ends the trust. On a silent connection a call may return long after
	// its deadline, because the driver waits for the server to confirm the cancellation.
	trust := time.AfterFunc(time.Until(l.trustUntil), func() { l.cancelTerm(ErrTermLost) })
	defer trust.Stop()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: l.term.TTL / 6}
	delay := backoff.Jittered(l.term.TTL / 3)
	for sleep(ctx, min(delay, time.Until(l.trustUntil)), nil) {
		started := time.Now()
		if !started.Before(l.trustUntil) {
			l.cancelTerm(ErrTermLost)
			return ErrTermLost
		}
		err := l.renew(ctx)
		switch {
		case err == nil:
			if !trust.Stop() {
				return ErrTermLost // the answer was late: the timer has canceled everything
			}
			l.trustUntil = started.Add(l.term.TTL - margin(l.term.TTL))
			trust.Reset(time.Until(l.trustUntil))
			retry.Reset()
			delay = backoff.Jittered(l.term.TTL / 3)
		case errors.Is(err, controldb.ErrTermEnded):
			l.cancelTerm(ErrTermLost)
			return ErrTermLost
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			l.log.Warn("could not renew the term", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	l.end(ctx)
	return nil
}

// renew renews the term. The call ends when the term can no longer be trusted.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithDeadlineCause(ctx, l.trustUntil, ErrTermLost)
	defer cancel()
	return l.store.RenewTerm(ctx, l.term.ID, l.term.TTL)
}

// end ends the term, so that other agents need not wait for its expiry. A failure is only logged,
// because the term expires anyway.
func (l *lease) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.term.TTL)
	defer cancel()
	if err := l.store.EndTerm(ctx, l.term.ID); err != nil && !errors.Is(err, controldb.ErrTermEnded) {
		l.log.Warn("could not end the term", zap.Error(err))
	}
	l.cancelTerm(ErrStopping)
}
