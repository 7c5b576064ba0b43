package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// outcomesPerCall bounds one call of complete_tasks: a batch of this size is some 100 kB of JSON, and more where scripts say much.
const outcomesPerCall = 1000

// entry is a task that this term holds: queued, in a worker's hands, or done and not yet acknowledged by
// the control database.
type entry struct {
	task controldb.Task
	// deadline is when the step's time limit for this target passes, on the process's clock; zero: none.
	deadline time.Time
	// ctx ends, with a cause, when the task must not go on; cancel ends it.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// taken is set while a worker holds the task or its outcome waits. Guarded by communicator.mu.
	taken bool
}

// report is what became of a task: an outcome of an attempt, or the answer to a resolution.
type report struct {
	task       controldb.TaskID
	outcome    controldb.Outcome     // for a run, and for a resolution that was not carried out
	resolution *controldb.Resolution // for a resolution
}

// communicator stands between the Controller and the JobTaskHost. It owns the bounded queue of tasks, the
// cancel functions of everything that this term holds, and the outcomes on their way to the database.
//
// It is safe for concurrent use.
type communicator struct {
	store  *controldb.Store
	termID controldb.TermID
	log    *zap.Logger
	cfg    Config
	// termCtx is the parent of every task's context: it ends when the term does.
	termCtx context.Context

	// queue holds tasks for workers; its capacity is the most that is ever claimed, so a send never blocks.
	queue chan *entry
	// nudge tells the Controller that a pass is worth while now. Size 1: a nudge that waits is enough.
	nudge chan struct{}
	// ready tells the delivery loop that reports wait. Size 1.
	ready chan struct{}
	// delivering is held (by a value in it) while reports are being handed over, so that a pass can
	// compare memory and database while neither moves. Size 1.
	delivering chan struct{}

	mu         sync.Mutex
	entries    map[controldb.TaskID]*entry
	waiting    []report // oldest first
	unstarted  int      // entries that no worker has taken
	running    int      // entries in workers' hands
	pace       pace     // of the workers
	takenAt    time.Time
	backlog    bool   // the last pass that could claim got as many tasks as it asked for: there may be more
	wanted     bool   // a pass has been asked for that has not answered yet
	deliveries uint64 // how many deliveries have begun
	unsure     bool   // a delivery has begun whose answer has not come (yet): the database may know more than memory, or not
}

func newCommunicator(store *controldb.Store, termID controldb.TermID, termCtx context.Context, cfg Config, log *zap.Logger) *communicator {
	return &communicator{
		store:      store,
		termID:     termID,
		termCtx:    termCtx,
		log:        log.With(zap.String(keyService, "communicator")),
		cfg:        cfg,
		queue:      make(chan *entry, cfg.MaxConcurrentTargets+cfg.Prefetch),
		nudge:      make(chan struct{}, 1),
		ready:      make(chan struct{}, 1),
		delivering: make(chan struct{}, 1),
		entries:    map[controldb.TaskID]*entry{},
	}
}

// signal puts a value into a channel of size 1 unless one waits there already.
func signal(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// free is how many tasks may be claimed now: those for which a worker waits, and the prefetch (I7). It is 0
// while too many outcomes wait for the database.
func (c *communicator) free() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room()
}

// room is free for who holds mu. The database, too, lets a term hold no more than two tasks a worker.
func (c *communicator) room() int {
	if len(c.waiting) >= c.cfg.OutcomeBuffer {
		return 0
	}
	most := c.cfg.MaxConcurrentTargets
	return max(0, min(most+c.prefetch()-c.unstarted-c.running, 2*most-len(c.entries)))
}

// prefetch is how many tasks may wait for a worker: as many as workers will want soon by their pace, and none while long scripts
// keep all of them busy. A task that waits here runs into its time limit, and another agent might have had a worker for it.
// The caller holds mu.
func (c *communicator) prefetch() int { return min(c.cfg.Prefetch, c.pace.soon(time.Now())) }

// dry says whether hardly anything waits for a worker. The caller holds mu.
func (c *communicator) dry() bool { return c.unstarted <= c.prefetch()/4 }

// wantPass asks for a pass. The caller holds mu.
func (c *communicator) wantPass() {
	c.wanted = true
	signal(c.nudge)
}

// accept takes the answer of a pass: queues the tasks that it has claimed at claimedAt (the process's clock, before the call) of those
// that it asked for.
func (c *communicator) accept(tasks []controldb.Task, claimedAt time.Time, asked int) {
	c.mu.Lock()
	c.wanted = false
	if asked > 0 {
		c.backlog = len(tasks) >= asked
	}
	if c.unstarted == 0 {
		c.takenAt = time.Now()
	}
	c.mu.Unlock()
	for _, task := range tasks {
		e := &entry{task: task}
		if task.Timeout > 0 {
			e.deadline = claimedAt.Add(task.Timeout)
		}
		e.ctx, e.cancel = context.WithCancelCause(c.termCtx)
		c.mu.Lock()
		c.entries[task.ID] = e
		c.unstarted++
		c.mu.Unlock()
		c.queue <- e
	}
}

// take marks a queued task as being in a worker's hands. When the queue runs dry although there is more, it asks for a pass; outcomes
// that wait go first, for they take the room of tasks.
func (c *communicator) take(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.taken = true
	c.takenAt = time.Now()
	c.unstarted--
	c.running++
	switch {
	case !c.backlog || c.wanted || !c.dry():
	case len(c.waiting) > 0:
		signal(c.ready)
	case c.room() > 0:
		c.wantPass()
	}
}

// low says whether the queue runs dry, and tasks may be claimed.
func (c *communicator) low() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dry() && c.room() > 0
}

// returnIdle hands queued tasks back, uncounted, when no worker has taken any for a while: all are busy with long scripts.
func (c *communicator) returnIdle() {
	c.mu.Lock()
	n := c.unstarted
	if time.Since(c.takenAt) < c.cfg.patience() {
		n = 0
	}
	c.mu.Unlock()
	for range n {
		select {
		case e := <-c.queue:
			c.take(e)
			c.report(e, notSent(e.task, "no worker of the agent became free"))
		default:
			return // workers were faster
		}
	}
}

// done hands a worker's report over: the worker is free again.
func (c *communicator) done(e *entry, r report) {
	c.mu.Lock()
	c.pace.add(time.Now())
	c.mu.Unlock()
	c.report(e, r)
}

// report hands over what became of a task that was taken, and wakes the delivery loop. It does not count for the pace: what goes back
// without having been begun would look like workers that were quick, and as many would be claimed again.
func (c *communicator) report(e *entry, r report) {
	e.cancel(nil)
	c.mu.Lock()
	c.running--
	c.waiting = append(c.waiting, r)
	c.mu.Unlock()
	signal(c.ready)
}

// cancelTask ends a task's context with cause. A task that this agent does not hold (any more) is left alone: its
// outcome is on its way.
func (c *communicator) cancelTask(id controldb.TaskID, cause error) {
	c.mu.Lock()
	e := c.entries[id]
	c.mu.Unlock()
	if e != nil {
		e.cancel(cause)
	}
}

// cancelAll ends the contexts of everything that this term holds.
func (c *communicator) cancelAll(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		e.cancel(cause)
	}
}

// held is the digest of all tasks that memory says this term holds.
func (c *communicator) held() controldb.Digest {
	c.mu.Lock()
	defer c.mu.Unlock()
	var d controldb.Digest
	for id, e := range c.entries {
		d.Add(id, e.task.Attempt)
	}
	return d
}

// attempts lists all tasks that memory says this term holds, with their attempts.
func (c *communicator) attempts() map[controldb.TaskID]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	held := make(map[controldb.TaskID]int, len(c.entries))
	for id, e := range c.entries {
		held[id] = e.task.Attempt
	}
	return held
}

// deliveryMark tells whether reports are moving: two equal marks, with quiet true, enclose a time in which none did.
func (c *communicator) deliveryMark() (begun uint64, quiet bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deliveries, len(c.delivering) == 0 && !c.unsure
}

// sure says that the last delivery was answered: memory knows which reports the database has accepted.
func (c *communicator) sure() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.unsure
}

// pauseDelivery keeps reports from being handed over until resume is called; it waits for a delivery under way.
func (c *communicator) pauseDelivery(ctx context.Context) (resume func(), err error) {
	select {
	case c.delivering <- struct{}{}:
		return func() { <-c.delivering }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (c *communicator) name() string { return "communicator" }

// run delivers reports until ctx is done, and then what is left, as long as the term lasts.
func (c *communicator) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: 50 * time.Millisecond, Max: 5 * time.Second}
	var delay time.Duration
	for {
		if delay == 0 {
			select {
			case <-c.ready:
			case <-ctx.Done():
				return c.flush(ctx)
			}
		} else if !sleep(ctx, delay, nil) {
			return c.flush(ctx)
		}
		delay = 0
		for {
			if !c.gather(ctx) {
				return c.flush(ctx)
			}
			more, err := c.deliver(c.termCtx)
			switch {
			case err == nil:
				retry.Reset()
			case errors.Is(err, controldb.ErrTermEnded):
				return ErrTermLost
			case c.termCtx.Err() != nil:
				return nil // the lease says why
			default:
				delay = retry.Next()
				c.log.Warn("could not hand over outcomes", zap.Error(err), zap.Duration(keyRetryIn, delay))
			}
			if !more || delay > 0 {
				break
			}
		}
	}
}

// gather waits for more reports, so that one call hands many over: until a good part of the workers has reported, the queue runs dry or
// nothing is under way any more, or the active poll interval has passed. It returns false when ctx is done.
func (c *communicator) gather(ctx context.Context) bool {
	limit := time.NewTimer(c.cfg.PollActive)
	defer limit.Stop()
	for !c.gathered() {
		select {
		case <-c.ready:
		case <-limit.C:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// gathered says whether waiting for more reports is not worth while. The answer to a resolution never waits: it holds up a
// whole step.
func (c *communicator) gathered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unstarted+c.running == 0 || len(c.waiting) >= max(1, c.cfg.MaxConcurrentTargets*3/4) || c.backlog && c.dry() && !c.wanted {
		return true
	}
	return slices.ContainsFunc(c.waiting, func(r report) bool { return r.resolution != nil })
}

// flush delivers what waits when the agent stops, for at most the rest of a lease.
func (c *communicator) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), c.cfg.Lease, ErrStopping)
	defer cancel()
	retry := backoff.Exponential{Min: 50 * time.Millisecond, Max: 2 * time.Second}
	for c.termCtx.Err() == nil {
		more, err := c.deliver(ctx)
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
		case errors.Is(err, controldb.ErrTermEnded):
			return ErrTermLost
		case !sleep(ctx, retry.Next(), nil):
			c.mu.Lock()
			lost := len(c.waiting)
			c.mu.Unlock()
			c.log.Error("outcomes could not be handed over before the agent stopped", zap.Error(err), zap.Int(keyCount, lost))
			return nil // the database will hand the tasks over as unknown (I8)
		}
	}
	return nil
}

// deliver hands one batch of reports to the database. It says whether more wait. After an error the batch waits
// again, in its place.
func (c *communicator) deliver(ctx context.Context) (more bool, err error) {
	resume, err := c.pauseDelivery(ctx)
	if err != nil {
		return true, err
	}
	defer resume()
	c.mu.Lock()
	batch := c.waiting[:min(len(c.waiting), outcomesPerCall)]
	if len(batch) > 0 {
		c.deliveries++
		c.unsure = true
	}
	c.mu.Unlock()
	if len(batch) == 0 {
		return false, nil
	}

	var outcomes []controldb.Outcome
	for _, r := range batch {
		if r.resolution == nil {
			outcomes = append(outcomes, r.outcome)
		}
	}
	if len(outcomes) > 0 {
		refusals, err := c.store.CompleteTasks(ctx, c.termID, outcomes)
		if err != nil {
			return true, err
		}
		for _, r := range refusals {
			c.log.Warn("outcome refused", zap.Int64(keyTaskID, int64(r.Task)), zap.String(keyCause, r.Reason))
		}
	}
	delivered := batch[:0:0]
	for _, r := range batch {
		if r.resolution == nil {
			delivered = append(delivered, r)
		}
	}
	c.settle(delivered)
	for _, r := range batch {
		if r.resolution == nil {
			continue
		}
		if err := c.store.CompleteResolution(ctx, c.termID, r.task, *r.resolution); err != nil {
			return true, err
		}
		c.settle([]report{r})
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unsure = false
	if !c.backlog || c.dry() {
		c.wantPass() // parents may have ended; with a backlog the queue asks for itself
	}
	return len(c.waiting) > 0, nil
}

// settle forgets reports that the database has answered, accepted or refused.
func (c *communicator) settle(delivered []report) {
	if len(delivered) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := make(map[controldb.TaskID]bool, len(delivered))
	for _, r := range delivered {
		gone[r.task] = true
		delete(c.entries, r.task)
	}
	kept := c.waiting[:0:0] // a new array: the batch in deliver still reads the old one
	for _, r := range c.waiting {
		if !gone[r.task] {
			kept = append(kept, r)
		}
	}
	c.waiting = kept
}

// cancelCause turns the database's reason for a cancel signal into the cause that the task's context gets.
func cancelCause(controldb.CancelSignal) error { return targets.ErrStopRequested }
