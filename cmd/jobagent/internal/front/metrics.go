package front

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/measure"
)

// count returns a store whose calls are counted until the front is closed. The numbers of runs are
// read with the rights of a reader.
func (f *Front) count(o Options, d config.ControlDatabase, store *controldb.Store) *controldb.Store {
	counted := o.Metrics.Database(config.MetricsName(o.Databases, d))
	store, stop := counted.Observe(store, metrics.ClientFront)
	stopRuns := counted.CountRuns(func(ctx context.Context, since time.Time) (measure.RunCounts, error) {
		return measure.On(store).RunCounts(caller.With(ctx, caller.Caller{
			Role: "jobs_reader", Name: "metrics", Door: caller.DoorREST,
		}), since)
	})
	f.stops = append(f.stops, stop, stopRuns)
	return store
}
