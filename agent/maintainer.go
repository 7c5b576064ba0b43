package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// maintenanceInterval is the time between two checks of the system jobs.
const maintenanceInterval = 10 * time.Minute

// maintainer creates the system jobs, such as history retention, and restores them after edits.
type maintainer struct {
	store *controldb.Store
	log   *zap.Logger
}

func newMaintainer(store *controldb.Store, log *zap.Logger) *maintainer {
	return &maintainer{store: store, log: log.With(zap.String(keyService, "maintainer"))}
}

func (m *maintainer) name() string { return "maintainer" }

// run checks the system jobs until ctx is done. It retries after every error, because the other
// services can work without system jobs.
func (m *maintainer) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: time.Second, Max: time.Minute}
	var delay time.Duration
	for sleep(ctx, delay, nil) {
		err := m.store.EnsureSystemJobs(ctx)
		switch {
		case err == nil:
			retry.Reset()
			delay = backoff.Jittered(maintenanceInterval)
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			m.log.Warn("could not check the system jobs", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	return nil
}
