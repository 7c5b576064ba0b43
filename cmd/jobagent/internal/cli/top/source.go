package top

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/summary"
)

// agentReads are the methods of [fleet.Store] that the program uses. Each is one call, whose
// answer does not grow with the number of targets.
type agentReads interface {
	Recent(ctx context.Context, top int) ([]fleet.Agent, error)
}

// summaries are the methods of [summary.Store] that the program uses, as agentReads.
type summaries interface {
	Overview(ctx context.Context, top int) (summary.Overview, error)
	Failures(ctx context.Context, hours int) (summary.Failures, error)
}

// rolloutReads are the methods of [rollouts.Store] that the program uses, as agentReads.
type rolloutReads interface {
	Rollouts(ctx context.Context, f rollouts.Filter, p controldb.Page[executions.Key]) ([]rollouts.Rollout, error)
}

// source reads what the program shows.
type source struct {
	agents   agentReads
	runs     runs.DetailReader
	summary  summaries
	rollouts rolloutReads
	// failures are read less often: they cost as much as what failed in 24 hours.
	failures   summary.Failures
	failuresAt time.Time
}

const (
	// readLimit bounds a read: then the page says since when there is no news.
	readLimit = 20 * time.Second
	// failuresInterval is the time between two reads of the failures.
	failuresInterval = 15 * time.Second
	listed           = 100 // rows of each list
)

// overview is what the first page shows.
type overview struct {
	summary.Overview
	agents []fleet.Agent
	// noAgents says that the login may not list agents; the numbers of Overview are known then.
	noAgents bool
	rollouts []rollouts.Rollout // that have not ended
	failures summary.Failures
	readAt   time.Time // by the process's clock
}

// overview reads the first page. failures are read again if they are old, or if fresh is set.
func (s *source) overview(ctx context.Context, fresh bool) (overview, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	head, err := s.summary.Overview(ctx, listed)
	if err != nil {
		return overview{}, err
	}
	o := overview{Overview: head, readAt: time.Now()}
	if o.agents, err = s.agents.Recent(ctx, 20); err != nil {
		if ctx.Err() != nil || errors.Is(err, dberror.ErrUnreachable) {
			return overview{}, err
		}
		o.noAgents = true
	}
	o.agents = slices.DeleteFunc(o.agents, func(a fleet.Agent) bool { return !a.Live })
	if o.rollouts, err = s.rollouts.Rollouts(ctx, rollouts.Filter{Active: true}, controldb.Page[executions.Key]{Top: listed}); err != nil {
		return overview{}, err
	}
	if fresh || time.Since(s.failuresAt) >= failuresInterval {
		if s.failures, err = s.summary.Failures(ctx, 24); err != nil {
			return overview{}, err
		}
		s.failuresAt = time.Now()
	}
	o.failures = s.failures
	return o, nil
}

// detail reads the page of a run.
func (s *source) detail(ctx context.Context, id uuid.UUID, before *runs.Detail) (*runs.Detail, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	return runs.ReadDetail(ctx, s.runs, id, before)
}
