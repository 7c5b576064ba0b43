package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/targets"
)

// report is the result of a task: the outcome of an attempt, or the answer to a resolution.
type report struct {
	task controldb.TaskID
	// outcome is the outcome of an attempt, or of a resolution that was not carried out.
	outcome controldb.Outcome
	// resolution is the answer to a resolution that was carried out; otherwise nil.
	resolution *controldb.Resolution
	// endedAt is when the task ended, on the process's clock.
	endedAt time.Time
	// phases are the parts of an attempt, for its trace.
	phases []targets.Phase
}

// outbox holds reports until the control database has acknowledged them, and delivers them in
// batches.
//
// Concurrency: mu guards waiting, deliveries and unanswered. No method blocks or takes another lock
// while it holds mu. delivering is a semaphore: a delivery holds it from the choice of the batch
// until the batch is removed from the outbox and the registry, and the controller holds it for a
// pass that must not overlap a delivery (pause). Workers add reports at any time. Only run, on its
// one goroutine, delivers.
//
// A delivery may fail after the control database has committed it. Then unanswered stays true until
// a later delivery is answered; the batch stays in the outbox and is delivered again, and the
// control database refuses the outcomes that it has already.
type outbox struct {
	store  *controldb.Store
	termID controldb.TermID
	// termCtx ends with the term: a term that has ended delivers nothing.
	termCtx  context.Context
	queue    *queue
	registry *registry
	crowd    *crowd
	cfg      Config
	log      *zap.Logger

	// ready has a value when a delivery should be considered: a report was added, or the queue
	// needs the room that a delivery makes. Size 1.
	ready chan struct{}
	// delivering holds a value while a delivery is under way or paused. Size 1.
	delivering chan struct{}

	mu         sync.Mutex
	waiting    []report // oldest first
	deliveries uint64   // deliveries that have begun
	unanswered bool     // the last delivery has no answer yet: the control database may have committed it or not
}

func newOutbox(
	store *controldb.Store, termID controldb.TermID, termCtx context.Context,
	queue *queue, registry *registry, others *crowd, cfg Config, log *zap.Logger,
) *outbox {
	return &outbox{
		store: store, termID: termID, termCtx: termCtx, queue: queue, registry: registry, crowd: others, cfg: cfg, log: log,
		ready:      make(chan struct{}, 1),
		delivering: make(chan struct{}, 1),
	}
}

// add appends a report. The caller notifies ready.
func (o *outbox) add(r report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, r)
}

// count returns how many reports wait.
func (o *outbox) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.waiting)
}

// full reports whether so many reports wait that no more tasks may be claimed.
func (o *outbox) full() bool { return o.count() >= o.cfg.OutcomeBuffer }

// mark returns the number of deliveries that have begun, and whether the outbox is quiet: no
// delivery is under way, and the last one was answered. If two marks are equal and quiet, no report
// was delivered between them.
func (o *outbox) mark() (begun uint64, quiet bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.deliveries, len(o.delivering) == 0 && !o.unanswered
}

// answered reports whether the last delivery was answered, so that the registry holds exactly the
// tasks whose reports the control database has not accepted.
func (o *outbox) answered() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.unanswered
}

// pause waits for the delivery under way, if any, and prevents the next one until resume is called.
func (o *outbox) pause(ctx context.Context) (resume func(), err error) {
	select {
	case o.delivering <- struct{}{}:
		return func() { <-o.delivering }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// run delivers reports until ctx is done, and then the reports that are left, while the term lasts.
func (o *outbox) run(ctx context.Context) error {
	retry := backoff.Exponential{Min: 50 * time.Millisecond, Max: 5 * time.Second}
	var delay time.Duration
	for {
		if delay == 0 {
			select {
			case <-o.ready:
			case <-ctx.Done():
				return o.flush(ctx)
			}
		} else if !sleep(ctx, delay, nil) {
			return o.flush(ctx)
		}
		delay = 0
		for {
			if !o.gather(ctx) {
				return o.flush(ctx)
			}
			more, err := o.deliver(o.termCtx)
			switch {
			case err == nil:
				retry.Reset()
			case errors.Is(err, dberror.ErrTermEnded):
				return ErrTermLost
			case o.termCtx.Err() != nil: // the lease has ended the trust in the term during the call
				return context.Cause(o.termCtx)
			default:
				delay = retry.Next()
				o.log.Warn("could not deliver outcomes", zap.Error(err), zap.Duration(keyRetryIn, delay))
			}
			if !more || delay > 0 {
				break
			}
		}
	}
}

// gather waits for more reports, so that one call delivers many. It waits until most workers have
// reported, the queue needs tasks or no task is left, and at most for the active poll interval,
// which is longer with many agents. It returns false when ctx is done.
func (o *outbox) gather(ctx context.Context) bool {
	limit := time.NewTimer(o.cfg.polls().Gather(o.crowd.size()))
	defer limit.Stop()
	for !o.gathered() {
		select {
		case <-o.ready:
		case <-limit.C:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// gathered reports whether a delivery should not wait for more reports. The answer to a resolution
// never waits: its whole step depends on it.
func (o *outbox) gathered() bool {
	if o.queue.awaitsDelivery() {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return pacing.Enough(len(o.waiting), o.cfg.MaxConcurrentTargets) ||
		slices.ContainsFunc(o.waiting, func(r report) bool { return r.resolution != nil })
}

// flush delivers the remaining reports when the agent stops, for at most the length of a lease.
func (o *outbox) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), o.cfg.Lease, ErrStopping)
	defer cancel()
	retry := backoff.Exponential{Min: 50 * time.Millisecond, Max: 2 * time.Second}
	for o.termCtx.Err() == nil {
		more, err := o.deliver(ctx)
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
		case errors.Is(err, dberror.ErrTermEnded):
			return ErrTermLost
		case !sleep(ctx, retry.Next(), nil):
			o.log.Error("outcomes were not delivered before the agent stopped", zap.Error(err), zap.Int(keyCount, o.count()))
			return nil // another agent's pass records these tasks as unknown (I8)
		}
	}
	return nil
}

// deliver hands one batch of reports to the control database, and returns whether more wait. After
// an error the reports of the batch that were not acknowledged keep their place in the outbox.
func (o *outbox) deliver(ctx context.Context) (more bool, err error) {
	resume, err := o.pause(ctx)
	if err != nil {
		return true, err
	}
	defer resume()
	batch := o.begin()
	if len(batch) == 0 {
		return false, nil
	}

	var resolutions, attempts []report
	var outcomes []controldb.Outcome
	for _, r := range batch {
		if r.resolution != nil {
			resolutions = append(resolutions, r)
			continue
		}
		attempts = append(attempts, r)
		outcomes = append(outcomes, r.outcome)
	}
	if len(outcomes) > 0 {
		refusals, err := o.store.CompleteTasks(ctx, o.termID, outcomes)
		if err != nil {
			return true, err
		}
		for _, r := range refusals {
			o.log.Warn("outcome refused", zap.Int64(keyTaskID, int64(r.Task)), zap.String(keyCause, r.Reason))
		}
		o.remove(attempts)
	}
	for _, r := range resolutions {
		if err := o.store.CompleteResolution(ctx, o.termID, r.task, *r.resolution); err != nil {
			return true, err
		}
		o.remove([]report{r})
	}
	more = o.end()
	o.queue.delivered()
	return more, nil
}

// begin starts a delivery and returns its batch, which is empty if no report waits.
func (o *outbox) begin() []report {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.waiting[:min(len(o.waiting), pacing.OutcomesPerCall)]
	if len(batch) > 0 {
		o.deliveries++
		o.unanswered = true
	}
	return batch
}

// end records that all calls of a delivery were answered, and returns whether more reports wait.
func (o *outbox) end() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unanswered = false
	return len(o.waiting) > 0
}

// remove deletes reports that the control database has accepted or refused, and their tasks.
func (o *outbox) remove(reports []report) {
	acknowledged := make(map[controldb.TaskID]bool, len(reports))
	now := time.Now()
	for _, r := range reports {
		acknowledged[r.task] = true
		o.cfg.Metrics.Delivered(now.Sub(r.endedAt))
	}
	o.registry.remove(reports)
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := o.waiting[:0:0] // a new array: deliver still reads its batch from the old one
	for _, r := range o.waiting {
		if !acknowledged[r.task] {
			kept = append(kept, r)
		}
	}
	o.waiting = kept
}
