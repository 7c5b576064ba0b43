package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

const (
	// cleanupPause is how long the cleaner waits between two calls, so that passes and outcomes come first.
	cleanupPause = 100 * time.Millisecond
	// cleanupInterval is how long the cleaner waits after a call that has deleted nothing: another agent is at it, or an active
	// rerun keeps what is left.
	cleanupInterval = 15 * time.Second
)

// cleaner deletes the rows of purged executions and deleted jobs, in batches that are transactions of their own. It never does so
// within a pass: one that deletes is one that nothing else can go on in.
type cleaner struct {
	store *controldb.Store
	log   *zap.Logger
	// wake has a value when a pass has said that there is something to delete. Size 1.
	wake chan struct{}
}

func newCleaner(store *controldb.Store, log *zap.Logger) *cleaner {
	return &cleaner{store: store, log: log.With(zap.String(keyService, "cleaner")), wake: make(chan struct{}, 1)}
}

func (c *cleaner) name() string { return "cleaner" }

// run deletes, whenever a pass asks for it, until ctx is done. That it cannot is never a reason to stop running jobs.
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

// deleteAll calls until nothing is left that can be deleted now, and returns how long to wait before it is tried again.
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
			c.log.Warn("could not delete what was purged", zap.Error(err), zap.Int(keyCount, total), zap.Duration(keyRetryIn, delay))
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
