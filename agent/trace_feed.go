package agent

import (
	"context"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/telemetry/tracing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/measure"
)

const (
	// traceInterval is the time between two reads of the runs that have ended.
	traceInterval = 2 * time.Second
	// traceHold is how long a term has the sole right to read after its last call.
	traceHold = 30 * time.Second
	// traceOverlap is the time span that a look back reads again. It is longer than a call of the
	// agents may take (callLimit), because the end of a run may become visible that much later than
	// its time.
	traceOverlap = 2 * callLimit
	// traceLookBack is the time between two looks back.
	traceLookBack = 30 * time.Second
	// tracePage is the number of runs that a call lists.
	tracePage = 1000
	// traceTargets is the number of targets that a call reads. Each page skips the targets of the
	// pages before, so there should be few pages; the queue of the recorder has room for one.
	traceTargets = 5000
	// traceRuns is the number of runs whose spans one call reads.
	traceRuns = 50
)

// traceFeed records the spans of runs, steps and targets once their run has ended, for all agents.
// One agent of a control database reads at a time. A run that is read twice, by two agents or after
// a restart, gives the same spans.
type traceFeed struct {
	store  *controldb.Store
	termID controldb.TermID
	traces *tracing.Recorder
	log    *zap.Logger

	// seen are the recorded runs with their ends, as far as a look back can find them.
	seen map[uuid.UUID]time.Time
	// last is the last run that was read; lookedBack is the start of the last look back, on the
	// process's clock.
	last       measure.EndedRun
	lookedBack time.Time
}

func newTraceFeed(store *controldb.Store, termID controldb.TermID, traces *tracing.Recorder, log *zap.Logger) *traceFeed {
	return &traceFeed{
		store: store, termID: termID, traces: traces, log: log.With(zap.String(keyService, "traceFeed")),
		seen: map[uuid.UUID]time.Time{},
	}
}

func (f *traceFeed) name() string { return "traceFeed" }

// run records runs until ctx is done, and then once more, so that the last runs of this agent are
// in their traces when it stops. It retries after every error, because the other services do not
// need traces.
func (f *traceFeed) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: time.Second, Max: time.Minute}
	var delay time.Duration
	for sleep(ctx, delay, nil) {
		err := f.look(ctx)
		switch {
		case err == nil:
			retry.Reset()
			delay = traceInterval
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			f.log.Warn("could not read the runs that have ended", zap.Error(err), zap.Duration(keyRetryIn, delay))
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceInterval)
	defer cancel()
	if err := f.look(last); err != nil {
		f.log.Debug("the last runs are left to the next reader", zap.Error(err))
	}
	return nil
}

// look records the runs that have ended since the last look. Every traceLookBack, it begins
// earlier, at the stored instant, and then moves this instant.
func (f *traceFeed) look(ctx context.Context) error {
	request := measure.EndedRunsRequest{Term: f.termID, Hold: traceHold, Limit: tracePage, After: f.last}
	back := time.Since(f.lookedBack) >= traceLookBack
	if back {
		request.After = measure.EndedRun{}
		f.lookedBack = time.Now()
	}
	var began time.Time // on the database's clock
	for {
		found, err := measure.On(f.store).EndedRuns(ctx, request)
		if err != nil {
			return err
		}
		if !found.Held {
			f.last = measure.EndedRun{} // the next reader begins at the stored instant
			return nil
		}
		if began.IsZero() {
			began = found.Now
		}
		if err := f.record(ctx, found.Runs); err != nil {
			return err
		}
		if n := len(found.Runs); n > 0 {
			request.After = found.Runs[n-1]
			if request.After.EndTime.After(f.last.EndTime) || f.last.Key == 0 {
				f.last = request.After
			}
		}
		if len(found.Runs) < tracePage {
			break
		}
	}
	if !back {
		return nil
	}
	through := began.Add(-traceOverlap)
	for id, ended := range f.seen {
		if ended.Before(through) {
			delete(f.seen, id)
		}
	}
	_, err := measure.On(f.store).EndedRuns(ctx, measure.EndedRunsRequest{
		Term: f.termID, Hold: traceHold, Limit: 1, ReadThrough: through, From: began.Add(time.Hour), // no runs
	})
	return err
}

// record reads and records the spans of runs that were not recorded yet.
func (f *traceFeed) record(ctx context.Context, runs []measure.EndedRun) error {
	ids := make(map[int64]uuid.UUID, traceRuns)
	var keys []int64
	flush := func() error {
		if len(keys) == 0 {
			return nil
		}
		if err := f.recordSpans(ctx, keys, ids); err != nil {
			return err
		}
		for _, run := range runs {
			if _, ok := ids[run.Key]; ok {
				f.seen[run.ID] = run.EndTime
			}
		}
		keys = keys[:0]
		clear(ids)
		return nil
	}
	for _, run := range runs {
		if _, done := f.seen[run.ID]; done || !f.traces.Sampled(run.ID) {
			continue
		}
		keys, ids[run.Key] = append(keys, run.Key), run.ID
		if len(keys) == traceRuns {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// recordSpans reads and records the spans of some runs, page by page. It waits while the queue of
// the recorder is full, so that no span of a run is lost while the receiver does not answer.
func (f *traceFeed) recordSpans(ctx context.Context, keys []int64, ids map[int64]uuid.UUID) error {
	var after measure.TracedTarget
	for {
		if err := f.traces.Wait(ctx); err != nil {
			return err
		}
		page, err := measure.On(f.store).RunSpans(ctx, keys, after, traceTargets)
		if err != nil {
			return err
		}
		f.traces.Ended(page, ids)
		if len(page.Targets) < traceTargets {
			return nil
		}
		after = page.Targets[len(page.Targets)-1]
	}
}
