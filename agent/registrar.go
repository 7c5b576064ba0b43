package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// registrarInterval is the time between two reads of new lists of targets.
const registrarInterval = 15 * time.Second

// registrar registers the databases of lists of targets (the view jobs.targets), some seconds after
// the lists were made. No run waits for it. The agents of a control database take turns.
type registrar struct {
	store *controldb.Store
	log   *zap.Logger
}

func newRegistrar(store *controldb.Store, log *zap.Logger) *registrar {
	return &registrar{store: store, log: log.With(zap.String(keyService, "registrar"))}
}

func (r *registrar) name() string { return "registrar" }

// run registers databases until ctx is done. Between two calls that register something, run waits
// as long as the call took, so that a long history takes at most half of the time of one session.
// It retries after every error, because the other services do not need it.
func (r *registrar) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: time.Second, Max: time.Minute}
	delay := backoff.Jittered(registrarInterval)
	for sleep(ctx, delay, nil) {
		began := time.Now()
		more, err := r.store.RegisterTargets(ctx)
		switch {
		case err == nil:
			retry.Reset()
			delay = backoff.Jittered(registrarInterval)
			if more {
				delay = time.Since(began)
			}
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			r.log.Warn("could not register targets", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	return nil
}
