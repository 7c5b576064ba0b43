package agent

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
)

// communicator connects the controller, which claims tasks, with the task host, whose workers carry
// them out. It has three parts, each with a lock of its own:
//
//	registry  every task that this term holds, with its cancel function
//	queue     the tasks that wait for a worker; how many to claim, and when
//	outbox    the reports that wait for the control database, and their delivery
//
// A claimed task enters the registry and the queue (accept). A worker takes it from the queue
// (take) and puts a report into the outbox (report). When the control database has acknowledged the
// report, the outbox removes it, and the task from the registry.
//
// Order of locks: at most one of registry.mu, queue.mu and outbox.mu is held at a time. A delivery
// of the outbox, and a pass that waits for one, hold outbox.delivering; they may take each of the
// three while they hold it, never the other way round. Values that a decision needs of several
// parts are read one after the other, so a decision may be based on counts that have just changed.
// That costs a call too many or a pass that comes a poll interval later, never more than the
// allowed number of tasks: only the controller adds tasks, and it is the one that reserves them.
type communicator struct {
	registry *registry
	queue    *queue
	outbox   *outbox
}

func newCommunicator(
	store *controldb.Store, termID controldb.TermID, termCtx context.Context, s *share, others *crowd, cfg Config, log *zap.Logger,
) *communicator {
	registry, queue := newRegistry(termCtx), newQueue(cfg, s)
	log = log.With(zap.String(keyService, "communicator"))
	return &communicator{
		registry: registry, queue: queue, outbox: newOutbox(store, termID, termCtx, queue, registry, others, cfg, log),
	}
}

func (c *communicator) name() string { return "communicator" }

// run delivers reports until ctx is done, and then the reports that are left, while the term lasts.
func (c *communicator) run(ctx context.Context, ready func()) error {
	ready()
	return c.outbox.run(ctx)
}

// load reads the state of the registry and the outbox that limits claims.
func (c *communicator) load() load {
	return load{held: c.registry.count(), outboxFull: c.outbox.full()}
}

// reserve returns how many tasks may be claimed now. It returns 0 while the outbox is full. The
// caller must call accept or unanswered afterwards.
func (c *communicator) reserve() int { return c.queue.reserve(c.load()) }

// unanswered records that a pass failed that asked for this many tasks.
func (c *communicator) unanswered(asked int) { c.queue.unanswered(asked) }

// low reports whether the queue is nearly empty and tasks may be claimed.
func (c *communicator) low() bool { return c.queue.low(c.load()) }

// accept registers and queues the tasks of a pass that asked for this many. claimedAt is a time
// before the call, on the process's clock.
func (c *communicator) accept(tasks []controldb.Task, claimedAt time.Time, asked int) {
	c.queue.answered(asked, len(tasks))
	for _, task := range tasks {
		c.queue.push(c.registry.add(task, claimedAt))
	}
}

// take records that a worker has received a task from the queue. If the queue needs more tasks,
// take asks for a pass. Reports that wait are delivered first, because their tasks count towards
// the limit of a term.
func (c *communicator) take() {
	if !c.queue.take() {
		return
	}
	if c.outbox.count() > 0 {
		notify(c.outbox.ready)
		return
	}
	c.queue.requestTasks(c.load())
}

// done hands over the report of a worker, which is idle again.
func (c *communicator) done(e *entry, r report) {
	c.queue.countPace()
	c.report(e, r)
}

// report puts the report on a task that was taken into the outbox. It does not count for the pace:
// returned tasks would look like tasks of fast workers, and as many would be claimed again.
func (c *communicator) report(e *entry, r report) {
	e.cancel(nil)
	r.endedAt = time.Now()
	r.outcome.Claim = e.task.Claim
	if r.resolution != nil {
		r.resolution.Claim = e.task.Claim
	}
	c.outbox.add(r)
	c.queue.finish() // after add: when the queue counts no task, all reports are in the outbox
	notify(c.outbox.ready)
}

// returnIdle returns all queued tasks, uncounted, when no worker has taken one for the claim
// timeout: long scripts keep all workers busy.
func (c *communicator) returnIdle() {
	for range c.queue.idle() {
		select {
		case e := <-c.queue.tasks:
			c.take()
			c.report(e, notSent(e.task, "no worker of the agent became free"))
		default:
			return // workers have taken the rest
		}
	}
}
