package runs

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// Detail is the state of a run, with its failures by message.
type Detail struct {
	ID       uuid.UUID
	Run      executions.Run
	Failures []FailureGroup
	// Retries are the last errors of what waits for another attempt.
	Retries []FailureGroup
	// Cut says that more targets failed than were grouped.
	Cut    bool
	ReadAt time.Time // by the process's clock
}

// FailureGroup is a message with the targets of a step that have it.
type FailureGroup struct {
	Step     int
	Message  string
	Targets  int
	Examples []string // the first targets
	Waits    bool     // for another attempt
}

// groupedFailures is the number of failed targets of a run that are grouped.
const groupedFailures = 500

// DetailReader reads runs; an [executions.Store] is one. The answer of a call does not grow with
// the number of targets.
type DetailReader interface {
	Get(ctx context.Context, id uuid.UUID, parts ...executions.Part) (executions.Run, error)
	Targets(ctx context.Context, run uuid.UUID, f executions.RunTargetFilter) ([]executions.RunTarget, error)
}

// failedTargets are the first targets of a run in some states, with the beginnings of their
// messages.
func failedTargets(ctx context.Context, store DetailReader, id uuid.UUID, states ...jobs.Lifecycle) ([]executions.RunTarget, error) {
	return store.Targets(ctx, id, executions.RunTargetFilter{Lifecycles: states, Message: 400, Limit: groupedFailures})
}

// ReadDetail reads the state of a run with one call. A second one reads its failures if their
// number is not that of before, which may be nil, and a third one what waits for a retry if that
// has changed.
func ReadDetail(ctx context.Context, store DetailReader, id uuid.UUID, before *Detail) (*Detail, error) {
	run, err := store.Get(ctx, id, executions.States)
	if err != nil {
		return nil, err
	}
	d := &Detail{ID: id, Run: run, ReadAt: time.Now()}
	if before != nil && before.ID != id {
		before = nil
	}
	if err := d.readRetries(ctx, store, before); err != nil {
		return nil, err
	}
	switch {
	case d.counts().Failed == 0:
		return d, nil
	case before != nil && before.counts().Failed == d.counts().Failed:
		d.Failures, d.Cut = before.Failures, before.Cut
		return d, nil
	}
	failed, err := failedTargets(ctx, store, id, jobs.Failed, jobs.TimedOut)
	if err != nil {
		return nil, err
	}
	d.Failures, d.Cut = groupFailures(failed), len(failed) == groupedFailures
	return d, nil
}

// readRetries reads the last errors of what waits for another attempt, unless as much waits until
// the same instant as before.
func (d *Detail) readRetries(ctx context.Context, store DetailReader, before *Detail) error {
	for _, s := range d.Run.Steps {
		if s.Lifecycle == jobs.WaitingForRetry && s.LastMessage != "" {
			d.Retries = append(d.Retries, FailureGroup{Step: s.StepID, Message: wording.Clip(s.LastMessage, 400, wording.Characters), Targets: 1, Examples: []string{"target group"}, Waits: true})
		}
	}
	waiting := d.counts().Retrying
	if waiting == 0 {
		return nil
	}
	if before != nil && before.counts().Retrying == waiting && before.nextRetry().Equal(d.nextRetry()) {
		d.Retries = before.Retries
		return nil
	}
	list, err := failedTargets(ctx, store, d.ID, jobs.WaitingForRetry)
	if err != nil {
		return err
	}
	for _, g := range groupFailures(list) {
		g.Waits = true
		d.Retries = append(d.Retries, g)
	}
	return nil
}

// groupFailures puts the same message of a step together, the most frequent first.
func groupFailures(failed []executions.RunTarget) []FailureGroup {
	type key struct {
		step    int
		message string
	}
	at := map[key]int{}
	var groups []FailureGroup
	for _, f := range failed {
		// The name of the target is often the only difference.
		message := f.LastMessage
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
			groups = append(groups, FailureGroup{Step: f.StepID, Message: message})
		}
		g := &groups[i]
		g.Targets++
		if len(g.Examples) < 3 {
			g.Examples = append(g.Examples, f.Place())
		}
	}
	slices.SortStableFunc(groups, func(a, b FailureGroup) int { return b.Targets - a.Targets })
	return groups
}

// now is the database's time, as far as it is known from the last read.
func (d *Detail) now() time.Time {
	if !d.Run.Active {
		return d.Run.Now
	}
	return d.Run.Now.Add(time.Since(d.ReadAt))
}

// counts returns the targets of all steps that have begun.
func (d *Detail) counts() jobs.Counts { return d.Run.Counts() }

// nextRetry returns when the next of the waiting retries is due; zero if none waits.
func (d *Detail) nextRetry() time.Time {
	var next time.Time
	for _, s := range d.Run.Steps {
		if t := s.NextRetry(); !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

// pace returns the targets that end per second in the steps in progress, and how long these steps
// still take at this rate, at least so long while targets are held. Zero means unknown; so it is
// when the last targets wait for a retry.
func (d *Detail) pace() (rate float64, left time.Duration) {
	var c jobs.Counts
	var began time.Time
	for _, s := range d.Run.Steps {
		if !s.EndTime.IsZero() || s.StartTime.IsZero() {
			continue
		}
		c = c.Plus(s.Counts())
		if began.IsZero() || s.StartTime.Before(began) {
			began = s.StartTime
		}
	}
	if !d.Run.Active || c.Running+c.Waiting == 0 {
		return 0, 0
	}
	rate, left = jobs.Pace(c.Ended(), max(c.Active()-d.Run.Held, 0), d.Run.Now.Sub(began)) // as of the counts
	if d.Run.Held > 0 {
		left = jobs.NotBefore(left, d.Run.HeldUntil, d.Run.Now)
	}
	return rate, max(0, left-d.now().Sub(d.Run.Now))
}

// stepState returns the state that a step shows: that of its targets while they all wait for a
// retry.
func stepState(s executions.RunStep, c jobs.Counts) jobs.Lifecycle {
	if s.EndTime.IsZero() && c.Retrying > 0 && c.Running+c.Waiting+c.Callback == 0 {
		return jobs.WaitingForRetry
	}
	return s.Lifecycle
}
