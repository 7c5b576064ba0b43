package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

const (
	// stallLimit is the time without an advance, by any agent, after which a stall is logged.
	stallLimit = 10 * time.Second
	// holderTimeout bounds the call that reads which session holds the lock; the next pass waits
	// for this call.
	holderTimeout = 2 * time.Second
)

// advanceWatch detects that passes advance no executions because another session holds their
// application lock. It logs this after [stallLimit], again at growing intervals, and when
// executions advance again. All times are of the process's clock (I5).
type advanceWatch struct {
	store *controldb.Store
	log   *zap.Logger

	// since is the time of the first of this agent's skipped passes in a row, or the last time at
	// which another agent's pass has advanced executions, whichever is later. It is zero if the
	// last pass was not skipped.
	since time.Time
	// warnAt is the time of the next log entry; logged is true after the first.
	warnAt time.Time
	logged bool
	delay  backoff.Exponential
}

func newAdvanceWatch(store *controldb.Store, log *zap.Logger) *advanceWatch {
	return &advanceWatch{store: store, log: log, delay: backoff.Exponential{Min: stallLimit, Max: 10 * time.Minute}}
}

// note records the answer of a pass.
func (w *advanceWatch) note(ctx context.Context, res controldb.PassResult) {
	now := time.Now()
	before := w.since
	if before.IsZero() {
		before = now
	}
	if res.AdvanceSkipped {
		w.since = before
		if advanced := now.Add(-res.AdvancedAgo); advanced.After(w.since) {
			w.since = advanced
		}
	} else {
		w.since = time.Time{}
	}
	if w.since.IsZero() || now.Sub(w.since) < stallLimit {
		if w.logged {
			w.log.Info("executions advance again", zap.Duration(keySkippedFor, now.Sub(before)))
		}
		w.logged, w.warnAt = false, time.Time{}
		w.delay.Reset()
		return
	}
	if now.Before(w.warnAt) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, holderTimeout)
	defer cancel()
	delay := w.delay.Next()
	w.logged, w.warnAt = true, now.Add(delay)
	w.log.Warn("no agent can advance executions: another session holds the application lock jobagent.advance",
		zap.String(keyLockHolder, w.store.DescribeAdvanceLock(ctx)), zap.Duration(keySkippedFor, now.Sub(w.since)),
		zap.Duration(keyRetryIn, delay))
}
