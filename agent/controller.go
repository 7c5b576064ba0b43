package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/agent/pacing"
	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/targets"
)

// controller makes passes. A pass is one call that advances every execution that can move, claims
// tasks for idle workers, and returns the tasks that must be canceled. After a pass the controller
// compares the tasks that the control database says this term holds with those in the registry.
type controller struct {
	store *controldb.Store
	term  controldb.Term
	crowd *crowd
	comm  *communicator
	cfg   Config
	log   *zap.Logger
	// cleanup wakes the cleaner. Size 1.
	cleanup chan<- struct{}
	// questions wakes the service that claims questions. Size 1.
	questions chan<- struct{}
	watch     *advanceWatch
	onClaim   []func() // see [Tools]

	// lastTask is the highest task ID that a pass has returned. The next pass returns claims above
	// it again, because their answer was lost.
	lastTask   controldb.TaskID
	activeAt   time.Time // when a task was last claimed, canceled or delivered; zero: never
	deliveries uint64    // deliveries that had begun at the last pass
	refused    int       // passes in a row whose data the control database has refused
	retriesDue bool      // something is set aside, and due to be tried again
	comparedAt time.Time // when the digests were last compared
	mismatches int       // comparisons in a row that found a difference
}

// driftPasses is how many comparisons in a row must differ before the difference counts as drift.
const driftPasses = 2

func newController(
	store *controldb.Store, term controldb.Term, crowd *crowd, comm *communicator, cleanup, questions chan<- struct{}, onClaim []func(), cfg Config,
	log *zap.Logger,
) *controller {
	log = log.With(zap.String(keyService, "controller"))
	return &controller{
		store: store, term: term, crowd: crowd, comm: comm, cleanup: cleanup, questions: questions, watch: newAdvanceWatch(store, log), onClaim: onClaim,
		cfg: cfg, log: log, comparedAt: time.Now(),
	}
}

func (c *controller) name() string { return "controller" }

// run makes passes until ctx is done. It returns [ErrDrift] or [ErrTermLost] if the core must be
// restarted.
func (c *controller) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 10 * time.Second}
	var delay time.Duration
	for sleep(ctx, delay, c.comm.queue.wake) {
		next, err := c.runOnce(ctx)
		if err != nil {
			err = c.passFailed(ctx, err)
		} else {
			c.refused = 0
			if c.retriesDue {
				err = c.tryAgain(ctx)
			}
		}
		c.cfg.Alive()
		switch {
		case err == nil:
			retry.Reset()
			delay = next
		case errors.Is(err, dberror.ErrTermEnded):
			return ErrTermLost
		case errors.Is(err, ErrDrift), errors.Is(err, dberror.ErrSchemaVersion):
			return err
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			c.log.Warn("pass failed", zap.Error(err), zap.Duration(keyRetryIn, delay))
			// wake must not cut this wait short, because the control database has failed.
			if !sleep(ctx, delay, nil) {
				return nil
			}
			delay = 0
		}
	}
	return nil
}

// runOnce makes one pass. It returns the time to wait before the next pass, unless a pass is
// requested.
func (c *controller) runOnce(ctx context.Context) (time.Duration, error) {
	// Under load every pass overlaps a delivery, and cannot be compared. Therefore delivery is
	// paused for one pass from time to time.
	if time.Since(c.comparedAt) >= c.cfg.polls().Slow() {
		waiting, cancel := context.WithTimeout(ctx, c.cfg.PollIdle)
		defer cancel()
		if resume, err := c.comm.outbox.pause(waiting); err == nil {
			defer resume()
			return c.pass(ctx, c.comm.outbox.answered)
		}
		// A delivery on a silent connection must not delay stop requests: make the pass without a
		// comparison.
	}
	begun, quiet := c.comm.outbox.mark()
	return c.pass(ctx, func() bool {
		begunNow, quietNow := c.comm.outbox.mark()
		return quiet && quietNow && begunNow == begun
	})
}

// pass makes the call and applies its answer. After the call, undisturbed reports whether no
// delivery overlapped the pass, so that the digests may be compared.
func (c *controller) pass(ctx context.Context, undisturbed func() bool) (time.Duration, error) {
	c.comm.returnIdle()
	free := c.comm.reserve()
	asked := time.Now()
	res, err := c.store.Pass(ctx, controldb.PassRequest{
		Term: c.term.ID, MaxTasks: free, MaxConcurrentTargets: c.cfg.MaxConcurrentTargets, LastTask: &c.lastTask,
	})
	if err != nil {
		c.cfg.Metrics.PassFailed(time.Since(asked))
		c.comm.unanswered(free)
		return 0, err
	}
	c.cfg.Metrics.PassAnswered(metrics.Pass{
		Elapsed: time.Since(asked), Tasks: len(res.Tasks), Cancels: len(res.Cancels),
		Skipped: res.AdvanceSkipped, AdvancedAgo: res.AdvancedAgo,
	})
	if res.CleanupDue {
		notify(c.cleanup)
	}
	if res.QuestionsDue {
		notify(c.questions)
	}
	for _, task := range res.Tasks {
		c.lastTask = max(c.lastTask, task.ID)
	}
	if len(res.Tasks) > 0 {
		for _, claimed := range c.onClaim {
			claimed()
		}
	}
	full := len(res.Tasks) > 0 && len(res.Tasks) == free
	c.comm.accept(res.Tasks, asked, free)
	c.cancel(res.Cancels)
	c.watch.note(ctx, res)
	c.retriesDue = res.SetAsidesDue
	inMemory := c.comm.registry.digest() // before undisturbed: a delivery that begins now must not be compared
	if undisturbed() {
		if err := c.compare(ctx, inMemory, res.Held); err != nil {
			return 0, err
		}
	}
	deliveries, _ := c.comm.outbox.mark()
	if len(res.Tasks) > 0 || len(res.Cancels) > 0 || deliveries != c.deliveries {
		c.activeAt, c.deliveries = time.Now(), deliveries
	}
	return c.cfg.polls().AfterPass(pacing.Passed{
		Full: full, Low: c.comm.low(), Fed: c.comm.queue.fed(), More: res.More(),
		Active: !c.activeAt.IsZero(), SinceActive: time.Since(c.activeAt),
		Held: c.comm.registry.count(), Agents: c.crowd.size(),
		Wakes: !res.NextWake.IsZero(), WakesIn: res.NextWake.Sub(res.Now),
	}, backoff.Jittered), nil
}

// cancel cancels the tasks of stopped runs. A signal is repeated until its task ends, so cancel
// logs only the first one, counted by reason.
func (c *controller) cancel(signals []controldb.CancelSignal) {
	canceled := map[string]int{}
	for _, s := range signals {
		if c.comm.registry.cancel(s.Task, targets.ErrStopRequested) {
			canceled[s.Reason]++
		}
	}
	for reason, n := range canceled {
		c.log.Info("canceling tasks", zap.String(keyCause, reason), zap.Int(keyCount, n))
	}
}

// compare compares the digests of memory and control database. A difference in [driftPasses]
// comparisons in a row is drift (DESIGN.md, "Drift").
func (c *controller) compare(ctx context.Context, inMemory, inDatabase controldb.Digest) error {
	c.comparedAt = time.Now()
	if inMemory == inDatabase {
		c.mismatches = 0
		return nil
	}
	c.mismatches++
	if c.mismatches < driftPasses {
		return nil
	}
	fields := []zap.Field{zap.Stringer(keyInMemory, inMemory), zap.Stringer(keyInDatabase, inDatabase)}
	if diff, err := c.difference(ctx); err != nil {
		fields = append(fields, zap.Error(err)) // the log has the digests only
	} else {
		fields = append(fields, zap.Int64s(keyOnlyInMemory, diff.onlyInMemory),
			zap.Int64s(keyOnlyInDatabase, diff.onlyInDatabase), zap.Int64s(keyOtherAttempt, diff.otherAttempt))
	}
	c.log.Error("drift: memory and control database do not hold the same tasks", fields...)
	return ErrDrift
}

// mismatch lists the IDs of tasks on which memory and control database differ, by kind of
// difference.
type mismatch struct{ onlyInMemory, onlyInDatabase, otherAttempt []int64 }

// listedDrift bounds each list of a mismatch, to keep the log entry short.
const listedDrift = 20

// difference reads all tasks that the control database says this term holds, and compares them with
// the registry.
func (c *controller) difference(ctx context.Context) (mismatch, error) {
	var none controldb.TaskID
	res, err := c.store.Pass(ctx, controldb.PassRequest{
		Term: c.term.ID, MaxTasks: 0, MaxConcurrentTargets: c.cfg.MaxConcurrentTargets, LastTask: &none,
	})
	if err != nil {
		return mismatch{}, err
	}
	var d mismatch
	add := func(list *[]int64, id controldb.TaskID) {
		if len(*list) < listedDrift {
			*list = append(*list, int64(id))
		}
	}
	inMemory := c.comm.registry.attempts()
	for _, task := range res.Tasks {
		attempt, ok := inMemory[task.ID]
		switch {
		case !ok:
			add(&d.onlyInDatabase, task.ID)
		case attempt != task.Attempt:
			add(&d.otherAttempt, task.ID)
		}
		delete(inMemory, task.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(inMemory)) {
		add(&d.onlyInMemory, id)
	}
	return d, nil
}
