package agent

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// lease renews the agent's term, and ends everything that runs under it before the database would give it
// away (DESIGN.md, "Trust").
type lease struct {
	store *controldb.Store
	term  controldb.Term
	log   *zap.Logger
	// lose ends the context of everything that the term holds.
	lose context.CancelCauseFunc
	// trustUntil is when this process stops believing that it holds the term: the start of the last call that
	// renewed it, plus the lease, minus a margin. On the process's monotonic clock (I5).
	trustUntil time.Time
}

// margin is how much earlier than the database this process gives its term up: time to cancel what runs.
func margin(ttl time.Duration) time.Duration { return ttl / 6 }

// newLease wraps a term whose start was asked for at askedAt, on this process's clock.
func newLease(store *controldb.Store, term controldb.Term, askedAt time.Time, lose context.CancelCauseFunc, log *zap.Logger) *lease {
	return &lease{
		store: store, term: term, lose: lose,
		log:        log.With(zap.String(keyService, "lease")),
		trustUntil: askedAt.Add(term.TTL - margin(term.TTL)),
	}
}

func (l *lease) name() string { return "lease" }

// run renews until ctx is done, then gives the term back. It returns [ErrTermLost] when the term has ended.
func (l *lease) run(ctx context.Context, ready func()) error {
	ready()
	// A timer, not this loop, ends the trust: on a connection that has fallen silent, a call may return long after its
	// deadline, since the driver waits for the server to confirm the cancellation.
	trust := time.AfterFunc(time.Until(l.trustUntil), func() { l.lose(ErrTermLost) })
	defer trust.Stop()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: l.term.TTL / 6}
	delay := backoff.Jittered(l.term.TTL / 3)
	for sleep(ctx, min(delay, time.Until(l.trustUntil)), nil) {
		started := time.Now()
		if !started.Before(l.trustUntil) {
			l.lose(ErrTermLost)
			return ErrTermLost
		}
		err := l.renew(ctx)
		switch {
		case err == nil:
			if !trust.Stop() {
				return ErrTermLost // the answer came too late: everything has been canceled already
			}
			l.trustUntil = started.Add(l.term.TTL - margin(l.term.TTL))
			trust.Reset(time.Until(l.trustUntil))
			retry.Reset()
			delay = backoff.Jittered(l.term.TTL / 3)
		case errors.Is(err, controldb.ErrTermEnded):
			l.lose(ErrTermLost)
			return ErrTermLost
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			l.log.Warn("could not renew the term", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	l.giveBack(ctx)
	return nil
}

// renew asks for more time, but not longer than the term can be trusted.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithDeadlineCause(ctx, l.trustUntil, ErrTermLost)
	defer cancel()
	return l.store.RenewTerm(ctx, l.term.ID, l.term.TTL)
}

// giveBack ends the term, so that nobody has to wait for its expiry. That it cannot be given back is no error: it expires.
func (l *lease) giveBack(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.term.TTL)
	defer cancel()
	if err := l.store.EndTerm(ctx, l.term.ID); err != nil && !errors.Is(err, controldb.ErrTermEnded) {
		l.log.Warn("could not give the term back", zap.Error(err))
	}
	l.lose(ErrStopping)
}
