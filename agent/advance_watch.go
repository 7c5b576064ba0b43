package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

const (
	// skippedLong is how long no pass of any agent may have moved executions on until it is logged.
	skippedLong = 10 * time.Second
	// holderTime bounds the call that asks who holds the lock of passes: passes wait for it.
	holderTime = 2 * time.Second
)

// advanceWatch notices that passes move nothing on because another session holds their application lock, and logs it: after
// [skippedLong], again with growing distances, and when executions move on again. Times are of the process's clock (I5).
type advanceWatch struct {
	store *controldb.Store
	log   *zap.Logger

	// since is when this agent's first skipped pass in a row was, or when another agent's pass has moved executions on after that;
	// zero: the last pass did, or had nothing to.
	since time.Time
	// warnAt is when it is logged next; logged says that it has been.
	warnAt time.Time
	logged bool
	delay  backoff.Exponential
}

func newAdvanceWatch(store *controldb.Store, log *zap.Logger) *advanceWatch {
	return &advanceWatch{store: store, log: log, delay: backoff.Exponential{Min: skippedLong, Max: 10 * time.Minute}}
}

// note takes the answer of a pass.
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
	if w.since.IsZero() || now.Sub(w.since) < skippedLong {
		if w.logged {
			w.log.Info("executions move on again", zap.Duration(keySkippedFor, now.Sub(before)))
		}
		w.logged, w.warnAt = false, time.Time{}
		w.delay.Reset()
		return
	}
	if now.Before(w.warnAt) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, holderTime)
	defer cancel()
	delay := w.delay.Next()
	w.logged, w.warnAt = true, now.Add(delay)
	w.log.Warn("no pass of any agent moves executions on: another session holds the application lock jobagent.advance",
		zap.String(keyLockHolder, w.store.DescribeAdvanceLock(ctx)), zap.Duration(keySkippedFor, now.Sub(w.since)), zap.Duration(keyRetryIn, delay))
}
