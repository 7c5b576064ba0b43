package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/internal/backoff"
	"github.com/jobagent/jobagent/controldb"
)

// controller makes passes: one call that advances every execution that can move, claims tasks for free workers,
// and tells which tasks must be canceled. After each it compares what the database says this term holds with what memory says.
type controller struct {
	store *controldb.Store
	term  controldb.Term
	comm  *communicator
	cfg   Config
	log   *zap.Logger
	// cleanup asks the cleaner to delete what was purged. Size 1.
	cleanup chan<- struct{}
	watch   *advanceWatch

	// lastTask is the highest task id that a pass has handed over. The next pass repeats claims above it: their answer was lost.
	lastTask   controldb.TaskID
	activeAt   time.Time // when something last moved; zero: nothing ever has
	deliveries uint64    // how many deliveries had begun at the last pass
	comparedAt time.Time // when a pass could last be compared
	mismatches int       // comparisons in a row that found a difference
}

// alertTime is how long after the last thing that moved passes follow each other as if something were going on: runs that people and
// programs start often come one after the other. While a long script runs and nothing else happens, passes are as rare as those of an
// idle agent: a stop request and a new run wait for one at most PollIdle.
const alertTime = 2 * time.Second

// driftPasses is how many comparisons in a row must differ before it is called drift.
const driftPasses = 2

func newController(store *controldb.Store, term controldb.Term, comm *communicator, cleanup chan<- struct{}, cfg Config, log *zap.Logger) *controller {
	log = log.With(zap.String(keyService, "controller"))
	return &controller{
		store: store, term: term, comm: comm, cleanup: cleanup, watch: newAdvanceWatch(store, log), cfg: cfg, log: log, comparedAt: time.Now(),
	}
}

func (c *controller) name() string { return "controller" }

// run passes until ctx is done. It returns [ErrDrift] or [ErrTermLost] when the core must start afresh.
func (c *controller) run(ctx context.Context, ready func()) error {
	ready()
	retry := backoff.Exponential{Min: 100 * time.Millisecond, Max: 10 * time.Second}
	var delay time.Duration
	for sleep(ctx, delay, c.comm.nudge) {
		next, err := c.runOnce(ctx)
		switch {
		case err == nil:
			retry.Reset()
			delay = next
		case errors.Is(err, controldb.ErrTermEnded):
			return ErrTermLost
		case errors.Is(err, ErrDrift), errors.Is(err, controldb.ErrSchemaVersion):
			return err
		case ctx.Err() != nil:
		default:
			delay = retry.Next()
			c.log.Warn("pass did not succeed", zap.Error(err), zap.Duration(keyRetryIn, delay))
			// A nudge must not cut the wait short: the database is what is missing.
			if !sleep(ctx, delay, nil) {
				return nil
			}
			delay = 0
		}
	}
	return nil
}

// runOnce makes one pass. It returns how long to wait for the next one if nothing happens before.
func (c *controller) runOnce(ctx context.Context) (time.Duration, error) {
	// Under load reports move during every pass, and none could be compared; then, now and again, delivery waits for a pass.
	if time.Since(c.comparedAt) >= c.cfg.rarely() {
		waiting, cancel := context.WithTimeout(ctx, c.cfg.PollIdle)
		defer cancel()
		if resume, err := c.comm.pauseDelivery(waiting); err == nil {
			defer resume()
			return c.pass(ctx, c.comm.sure)
		}
		// A delivery on a connection that has fallen silent must not hold up stop requests until it is given up.
	}
	begun, quiet := c.comm.deliveryMark()
	return c.pass(ctx, func() bool {
		now, stillQuiet := c.comm.deliveryMark()
		return quiet && stillQuiet && now == begun
	})
}

// pass makes the call and acts on its answer. comparable says, after the call, whether no report moved meanwhile.
func (c *controller) pass(ctx context.Context, comparable func() bool) (time.Duration, error) {
	c.comm.returnIdle()
	free := c.comm.free()
	asked := time.Now()
	res, err := c.store.Pass(ctx, controldb.PassRequest{
		Term: c.term.ID, MaxTasks: free, MaxConcurrentTargets: c.cfg.MaxConcurrentTargets, LastTask: &c.lastTask,
	})
	if err != nil {
		return 0, err
	}
	if res.CleanupDue {
		signal(c.cleanup)
	}
	for _, task := range res.Tasks {
		c.lastTask = max(c.lastTask, task.ID)
	}
	full := len(res.Tasks) > 0 && len(res.Tasks) == free
	c.comm.accept(res.Tasks, asked, free)
	for _, signal := range res.Cancels {
		c.comm.cancelTask(signal.Task, cancelCause(signal))
	}
	c.watch.note(ctx, res)
	if comparable() {
		if err := c.compare(ctx, res.Held); err != nil {
			return 0, err
		}
	}
	deliveries, _ := c.comm.deliveryMark()
	if len(res.Tasks) > 0 || len(res.Cancels) > 0 || deliveries != c.deliveries {
		c.activeAt, c.deliveries = time.Now(), deliveries
	}
	switch {
	case full && c.comm.low():
		return 0, nil // there may be more
	case c.activeAt.IsZero() || time.Since(c.activeAt) >= alertTime:
	case c.comm.held().Count == 0:
		return c.cfg.PollActive / 2, nil
	default:
		return c.cfg.PollActive, nil
	}
	idle := backoff.Jittered(c.cfg.PollIdle)
	if !res.NextWake.IsZero() {
		idle = min(idle, max(c.cfg.PollActive, res.NextWake.Sub(res.Now)))
	}
	return idle, nil
}

// compare holds the database's digest against memory's. A difference that lasts is drift (design section 6).
func (c *controller) compare(ctx context.Context, inDatabase controldb.Digest) error {
	c.comparedAt = time.Now()
	inMemory := c.comm.held()
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
		fields = append(fields, zap.Error(err)) // the digests must do
	} else {
		fields = append(fields, zap.Int64s(keyOnlyInMemory, diff.onlyInMemory), zap.Int64s(keyOnlyInDatabase, diff.onlyInDatabase),
			zap.Int64s(keyOtherAttempt, diff.otherAttempt))
	}
	c.log.Error("drift: memory and control database do not hold the same tasks", fields...)
	return ErrDrift
}

// drift lists task ids by how memory and database differ on them.
type drift struct{ onlyInMemory, onlyInDatabase, otherAttempt []int64 }

// listedDrift bounds each list of a drift, for the log's sake.
const listedDrift = 20

// difference asks the database for all tasks that it says this term holds, and compares each with memory's.
func (c *controller) difference(ctx context.Context) (drift, error) {
	var none controldb.TaskID
	res, err := c.store.Pass(ctx, controldb.PassRequest{
		Term: c.term.ID, MaxTasks: 0, MaxConcurrentTargets: c.cfg.MaxConcurrentTargets, LastTask: &none,
	})
	if err != nil {
		return drift{}, err
	}
	var d drift
	add := func(list *[]int64, id controldb.TaskID) {
		if len(*list) < listedDrift {
			*list = append(*list, int64(id))
		}
	}
	inMemory := c.comm.attempts()
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
