package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// maintenanceInterval is how often the system jobs are looked after.
const maintenanceInterval = 10 * time.Minute

// maintainer keeps the system jobs (history retention at least) as they should be: it creates them, and restores them
// when somebody has edited them.
type maintainer struct {
	store *controldb.Store
	log   *zap.Logger
}

func newMaintainer(store *controldb.Store, log *zap.Logger) *maintainer {
	return &maintainer{store: store, log: log.With(zap.String(keyService, "maintainer"))}
}

func (m *maintainer) name() string { return "maintainer" }

// run looks after the system jobs until ctx is done. That it cannot is never a reason to stop running jobs.
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
			m.log.Warn("could not look after the system jobs", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	return nil
}
