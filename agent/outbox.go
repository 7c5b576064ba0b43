package agent

import (
	"context"
	"errors"
	"fmt"
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
//
// A report that the control database cannot store must not hold up the others: a constraint or a
// trigger refuses it, or the call takes too long. Therefore a batch that failed is delivered again
// in halves. A report that is refused alone is replaced by one without details (replace). One that
// fails alone for another reason waits behind the others.
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
	// perCall is the largest number of reports in the next delivery: half as many after a delivery
	// that failed, and twice as many after one that succeeded. Only deliver uses it.
	perCall int

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
		perCall:    pacing.OutcomesPerCall,
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
// reported, the queue needs tasks or no task is left, and at most for [pacing.Polls.Gather]. It
// returns false when ctx is done.
func (o *outbox) gather(ctx context.Context) bool {
	limit := time.NewTimer(o.cfg.polls().Gather(o.crowd.size(), o.queue.fed()))
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
// an error the reports of the batch that were not acknowledged stay in the outbox.
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
	if err := o.send(ctx, batch); err != nil {
		o.perCall = max(1, len(batch)/2)
		if len(batch) > 1 || !o.replace(ctx, batch[0], err) {
			return true, err
		}
	}
	o.perCall = min(2*o.perCall, pacing.OutcomesPerCall)
	more = o.end()
	o.queue.delivered()
	return more, nil
}

// send hands reports to the control database, and removes those that it has accepted or refused.
func (o *outbox) send(ctx context.Context, batch []report) error {
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
			return err
		}
		for _, r := range refusals {
			o.log.Warn("outcome refused", zap.Int64(keyTaskID, int64(r.Task)), zap.String(keyCause, r.Reason))
		}
		o.remove(attempts)
	}
	for _, r := range resolutions {
		if err := o.store.CompleteResolution(ctx, o.termID, r.task, *r.resolution); err != nil {
			return err
		}
		o.remove([]report{r})
	}
	return nil
}

// replace handles a report that failed alone with err. If the control database refuses its data,
// replace sends the report again without its details: the run would otherwise never end. It returns
// whether the control database accepted that. If not, the report stays as it is, behind all others:
// its call may have failed because of locked rows, which others do not need.
func (o *outbox) replace(ctx context.Context, r report, err error) bool {
	if !refusesData(err) || o.send(ctx, []report{r.withoutDetails(dberror.NumberOf(err))}) != nil {
		o.postpone(r)
		return false
	}
	o.log.Error("the control database refused a report, and has accepted it without its details",
		zap.Int64(keyTaskID, int64(r.task)), zap.Error(err))
	return true
}

// withoutDetails returns the report without anything that a target has said. A list of targets
// becomes a failure of the resolution, which the step's retry policy handles. number is the error
// with which the control database refused the report.
func (r report) withoutDetails(number int32) report {
	const text = "The control database could not store %s (error %d). See the agent's log."
	plain := report{task: r.task, endedAt: r.endedAt, phases: r.phases}
	if n := r.resolution; n != nil {
		plain.resolution = &controldb.Resolution{
			Attempt: n.Attempt, Claim: n.Claim, Elapsed: n.Elapsed, Unreached: n.Unreached,
			Failure: fmt.Sprintf(text, "the answer", number),
		}
		return plain
	}
	n := r.outcome
	plain.outcome = controldb.Outcome{
		Task: n.Task, Attempt: n.Attempt, Claim: n.Claim, Outcome: n.Outcome, Message: fmt.Sprintf(text, "the messages of this attempt", number),
		Unsent: n.Unsent, Unreached: n.Unreached, Unknown: n.Unknown, NoRetry: n.NoRetry, RetryAfter: n.RetryAfter,
		Error: targets.ErrorDetail{Class: n.Error.Class}, Elapsed: n.Elapsed,
	}
	return plain
}

// begin starts a delivery and returns its batch, which is empty if no report waits.
func (o *outbox) begin() []report {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for size := 0; n < min(len(o.waiting), o.perCall); n++ {
		if size += o.waiting[n].size(); size > pacing.OutcomeBytesPerCall && n > 0 {
			break
		}
	}
	if n > 0 {
		o.deliveries++
		o.unanswered = true
	}
	return o.waiting[:n]
}

// size returns the bytes of a report's texts. The targets of a resolution are not counted: each
// resolution is a call of its own, or several.
func (r report) size() int {
	n := len(r.outcome.Message)
	for _, m := range r.outcome.Messages {
		n += len(m.Text)
	}
	return n
}

// end records that all calls of a delivery were answered, and returns whether more reports wait.
func (o *outbox) end() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unanswered = false
	return len(o.waiting) > 0
}

// postpone moves a report behind all others.
func (o *outbox) postpone(r report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.waiting, func(w report) bool { return w.task == r.task })
	o.waiting = append(slices.Delete(slices.Clone(o.waiting), i, i+1), r)
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
