package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

const (
	// cleanupPause is the time between two calls, which leaves room for passes and outcomes.
	cleanupPause = 100 * time.Millisecond
	// cleanupInterval is the time between two rounds of calls. A round ends when a call deletes
	// nothing: nothing is left, another agent is deleting, or an active rerun needs the remaining
	// rows.
	cleanupInterval = 15 * time.Second
)

// cleaner deletes the rows of purged executions and deleted jobs in batches. Each batch is a
// transaction of its own, and none is part of a pass, because deletes would block the rest of the
// pass.
type cleaner struct {
	store *controldb.Store
	log   *zap.Logger
	// wake has a value when a pass has found rows to delete. Size 1.
	wake chan struct{}
}

func newCleaner(store *controldb.Store, log *zap.Logger) *cleaner {
	return &cleaner{store: store, log: log.With(zap.String(keyService, "cleaner")), wake: make(chan struct{}, 1)}
}

func (c *cleaner) name() string { return "cleaner" }

// run deletes rows, whenever wake has a value, until ctx is done. It retries after every error,
// because the other services can work without the cleaner.
func (c *cleaner) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: time.Second, Max: time.Minute}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		}
		delay := c.deleteAll(ctx, &retry)
		if !sleep(ctx, delay, nil) {
			return nil
		}
	}
}

// deleteAll deletes batches until no row can be deleted now. It returns how long to wait before the
// next round.
func (c *cleaner) deleteAll(ctx context.Context, retry *backoff.Exponential) time.Duration {
	total := 0
	for {
		deleted, remaining, err := c.store.DeleteLeftovers(ctx)
		total += deleted
		switch {
		case ctx.Err() != nil:
			return 0
		case err != nil:
			delay := retry.Next()
			c.log.Warn("could not delete rows of purged executions", zap.Error(err),
				zap.Int(keyCount, total), zap.Duration(keyRetryIn, delay))
			return delay
		}
		retry.Reset()
		if deleted == 0 || !remaining || !sleep(ctx, cleanupPause, nil) {
			if total > 0 {
				c.log.Info("rows of purged executions deleted", zap.Int(keyCount, total))
			}
			return backoff.Jittered(cleanupInterval)
		}
	}
}
