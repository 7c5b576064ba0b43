package agent

import (
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/pacing"
)

// queue holds the claimed tasks that no worker has taken yet. It counts tasks and workers; from the
// counts it decides how many tasks to claim, and when to request a pass.
//
// Concurrency: tasks and wake are channels and need no lock; mu guards the counts. No method blocks
// while it holds mu, or takes another lock than that of the share; therefore reserve gets the state
// of the registry and the outbox as an argument. The controller is the only sender of tasks. A send
// never blocks, because the capacity of tasks is the largest number of tasks that may be queued
// (I7).
type queue struct {
	cfg   Config
	share *share // nil: all workers of the process
	tasks chan *entry
	// wake has a value when the controller should make a pass now. Size 1.
	wake chan struct{}

	mu            sync.Mutex
	queued        int         // tasks in the channel, or about to be sent
	running       int         // tasks that workers carry out
	pace          pacing.Pace // pace of the workers
	takenAt       time.Time   // when a worker last took a task, or the first task was queued
	backlog       bool        // the last claim got all the tasks that it asked for, so there may be more
	passRequested bool        // requestPass was called since the last answer to a pass
}

// load is the state of the registry and the outbox that limits claims.
type load struct {
	held       int  // tasks in the registry
	outboxFull bool // claiming stops until the outbox has been delivered
}

func newQueue(cfg Config, s *share) *queue {
	return &queue{
		cfg:   cfg,
		share: s,
		tasks: make(chan *entry, cfg.MaxConcurrentTargets+cfg.Prefetch),
		wake:  make(chan struct{}, 1),
	}
}

// notify sends to a channel of size 1 unless a value waits in it already.
func notify(ch chan<- struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// reserve reserves as many tasks of the share as may be claimed now, and returns the number: one
// for each idle worker, and the prefetch (I7). The caller must call answered or unanswered
// afterwards.
func (q *queue) reserve(l load) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.share.reserve(q.wantedLocked(l))
}

// unanswered records that a pass for which tasks were reserved has failed.
func (q *queue) unanswered(reserved int) { q.share.settle(reserved, 0) }

// freeLocked returns how many tasks could be reserved now. q.mu must be held.
func (q *queue) freeLocked(l load) int { return q.share.available(q.wantedLocked(l)) }

// wantedLocked is freeLocked without the limit of the share. q.mu must be held.
func (q *queue) wantedLocked(l load) int {
	c := q.claimsLocked()
	c.Held, c.OutboxFull = l.held, l.outboxFull
	return c.Wanted()
}

// claimsLocked returns the counts of the queue that decide on claims. q.mu must be held.
func (q *queue) claimsLocked() pacing.Claims {
	return pacing.Claims{
		Workers: q.cfg.MaxConcurrentTargets, Prefetch: q.cfg.Prefetch, Ahead: q.pace.Ahead(time.Now()),
		Queued: q.queued, Running: q.running, Backlog: q.backlog,
	}
}

// lowLocked reports whether the queue is nearly empty. q.mu must be held.
func (q *queue) lowLocked() bool { return q.claimsLocked().Low() }

// needsTasksLocked reports whether the queue is nearly empty although there may be more tasks to
// claim, and no pass has been requested yet. q.mu must be held.
func (q *queue) needsTasksLocked() bool { return q.backlog && !q.passRequested && q.lowLocked() }

// requestPassLocked asks the controller for a pass. q.mu must be held.
func (q *queue) requestPassLocked() {
	q.passRequested = true
	notify(q.wake)
}

// answered records the answer to a pass that asked for asked tasks and claimed claimed tasks.
func (q *queue) answered(asked, claimed int) {
	q.share.settle(asked, claimed)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.passRequested = false
	if asked > 0 {
		q.backlog = claimed >= asked
	}
	if q.queued == 0 {
		q.takenAt = time.Now()
	}
}

// push queues a task.
func (q *queue) push(e *entry) {
	q.mu.Lock()
	q.queued++
	q.mu.Unlock()
	q.tasks <- e
}

// take records that a task has left the channel. It reports whether the queue needs more tasks.
func (q *queue) take() (needsTasks bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.takenAt = time.Now()
	q.queued--
	q.running++
	return q.needsTasksLocked()
}

// requestTasks asks for a pass if the queue still needs tasks and some may be claimed.
func (q *queue) requestTasks(l load) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.needsTasksLocked() && q.freeLocked(l) > 0 {
		q.requestPassLocked()
	}
}

// delivered asks for a pass after a delivery, because parents of the delivered tasks may have
// ended. While the queue has enough tasks of a backlog, it asks for none, because take will.
func (q *queue) delivered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.claimsLocked().Fed() {
		q.requestPassLocked()
	}
}

// fed reports whether take will ask for the next pass: see [pacing.Claims.Fed].
func (q *queue) fed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.claimsLocked().Fed()
}

// finish records that a task which was taken has been reported.
func (q *queue) finish() {
	q.share.release()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
}

// countPace counts a task that a worker has carried out.
func (q *queue) countPace() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pace.Add(time.Now())
}

// low reports whether the queue is nearly empty and tasks may be claimed.
func (q *queue) low(l load) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lowLocked() && q.freeLocked(l) > 0
}

// idle returns how many tasks are queued if no worker has taken one for the claim timeout, and 0
// otherwise.
func (q *queue) idle() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Since(q.takenAt) < q.cfg.claimTimeout() {
		return 0
	}
	return q.queued
}

// counts returns the number of queued tasks and of tasks that workers carry out.
func (q *queue) counts() (queued, running int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued, q.running
}

// awaitsDelivery reports whether a delivery should not wait for more reports: no task is queued or
// running, or the queue needs tasks, which delivered reports make possible.
func (q *queue) awaitsDelivery() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.queued+q.running == 0 || q.needsTasksLocked()
}
