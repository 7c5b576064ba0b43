package top

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
)

// reads are the methods of [controldb.Store] that the program uses. Each is one call, whose answer
// does not grow with the number of targets.
type reads interface {
	Overview(ctx context.Context, top int) (controldb.Overview, error)
	RecentAgents(ctx context.Context, top int) ([]controldb.AgentStatus, error)
	Failures(ctx context.Context, hours int) (controldb.Failures, error)
	RunWatch(ctx context.Context, id uuid.UUID) (controldb.RunWatch, error)
	RunFailures(ctx context.Context, run uuid.UUID, top int) ([]controldb.RunFailure, error)
}

// source reads what the program shows.
type source struct {
	store reads
	// failures are read less often: they cost as much as what failed in 24 hours.
	failures   controldb.Failures
	failuresAt time.Time
}

const (
	// readLimit bounds a read: then the page says since when there is no news.
	readLimit = 20 * time.Second
	// failuresInterval is the time between two reads of the failures.
	failuresInterval = 15 * time.Second
	listed           = 100 // rows of each list
	failedListed     = 500 // failed targets of a run that are grouped
)

// overview is what the first page shows.
type overview struct {
	controldb.Overview
	agents []controldb.AgentStatus
	// noAgents says that the login may not list agents; the numbers of Overview are known then.
	noAgents bool
	failures controldb.Failures
	readAt   time.Time // by the process's clock
}

// overview reads the first page. failures are read again if they are old, or if fresh is set.
func (s *source) overview(ctx context.Context, fresh bool) (overview, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	head, err := s.store.Overview(ctx, listed)
	if err != nil {
		return overview{}, err
	}
	o := overview{Overview: head, readAt: time.Now()}
	if o.agents, err = s.store.RecentAgents(ctx, 20); err != nil {
		if ctx.Err() != nil || errors.Is(err, controldb.ErrUnreachable) {
			return overview{}, err
		}
		o.noAgents = true
	}
	o.agents = slices.DeleteFunc(o.agents, func(a controldb.AgentStatus) bool { return !a.Live })
	if fresh || time.Since(s.failuresAt) >= failuresInterval {
		if s.failures, err = s.store.Failures(ctx, 24); err != nil {
			return overview{}, err
		}
		s.failuresAt = time.Now()
	}
	o.failures = s.failures
	return o, nil
}

// detail is what the page of a run shows.
type detail struct {
	id     uuid.UUID
	run    controldb.RunWatch
	errors []errorGroup
	// cut says that more targets failed than were grouped.
	cut    bool
	readAt time.Time
}

// errorGroup is a message with the targets that have it.
type errorGroup struct {
	step     int
	message  string
	targets  int
	examples []string
}

// detail reads the page of a run.
func (s *source) detail(ctx context.Context, id uuid.UUID, before *detail) (*detail, error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	run, err := s.store.RunWatch(ctx, id)
	if err != nil {
		return nil, err
	}
	d := &detail{id: id, run: run, readAt: time.Now()}
	if before != nil && before.id == id && before.run.FailedTargets == run.FailedTargets {
		d.errors, d.cut = before.errors, before.cut
		return d, nil
	}
	if run.FailedTargets == 0 {
		return d, nil
	}
	failed, err := s.store.RunFailures(ctx, id, failedListed)
	if err != nil {
		return nil, err
	}
	d.errors, d.cut = group(failed), len(failed) == failedListed
	return d, nil
}

// group puts the same message of a step together, the most frequent first.
func group(failed []controldb.RunFailure) []errorGroup {
	type key struct {
		step    int
		message string
	}
	at := map[key]int{}
	var groups []errorGroup
	for _, f := range failed {
		// The name of the target is often the only difference.
		message := f.Message
		for _, name := range []string{f.Database, f.Server} {
			if len(name) > 2 {
				message = strings.ReplaceAll(message, name, "…")
			}
		}
		k := key{f.StepID, message}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, errorGroup{step: f.StepID, message: message})
		}
		g := &groups[i]
		g.targets++
		if len(g.examples) < 3 {
			g.examples = append(g.examples, f.Place())
		}
	}
	slices.SortStableFunc(groups, func(a, b errorGroup) int { return b.targets - a.targets })
	return groups
}
