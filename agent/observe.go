package agent

import (
	"errors"
	"time"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/targets"
)

// Names of caches in metrics.
const (
	cacheCommands    = "commands"
	cacheParameters  = "parameters"
	cacheDefinitions = "definitions"
)

// commandOf returns the kind of a task's command, for metrics.
func commandOf(t controldb.Task) string {
	switch {
	case t.Upkeep:
		return metrics.CommandUpkeep
	case t.Kind == controldb.TaskResolve:
		return metrics.CommandResolve
	}
	return string(t.CommandType)
}

// outcomeOf returns the outcome of a task, for metrics.
func outcomeOf(r report) string {
	switch {
	case r.resolution == nil:
		return string(r.outcome.Outcome)
	case r.resolution.Failure != "":
		return string(targets.Failed)
	}
	return string(targets.Succeeded)
}

// statusOf returns the status of the answer to an action; 0 means that there is none.
func statusOf(res targets.Result) int {
	for _, m := range res.Messages {
		if m.Kind == targets.KindResponse {
			return int(m.Number)
		}
	}
	return 0
}

// failureCause returns the cause of the end of a core, for metrics.
func failureCause(err error) string {
	switch {
	case errors.Is(err, ErrDrift):
		return metrics.CauseDrift
	case errors.Is(err, ErrTermLost):
		return metrics.CauseTermLost
	case errors.Is(err, dberror.ErrSchemaVersion):
		return metrics.CauseSchema
	}
	return metrics.CauseUnhandled
}

// noTermCause returns the reason why a term could not be started, for metrics.
func noTermCause(err error) string {
	if errors.Is(err, dberror.ErrSchemaVersion) {
		return metrics.CauseSchema
	}
	return metrics.CauseNoTerm
}

// stateOf returns the state of a core, for metrics. It takes one lock after the other.
func stateOf(cfg Config, comm *communicator, host *taskHost, s *share, t *trust) metrics.State {
	state := metrics.State{
		Held: comm.registry.count(), Outbox: comm.outbox.count(), Workers: cfg.MaxConcurrentTargets,
		LeaseLeft: time.Until(t.end()),
		CacheBytes: map[string]int{
			cacheCommands: host.caches.commands.Weight(), cacheParameters: host.caches.payloads.Weight(),
		},
	}
	state.Queued, state.Busy = comm.queue.counts()
	state.Floor, state.Lent = s.parts(cfg.MaxConcurrentTargets)
	return state
}
