package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
)

// newTestCommunicator returns a communicator that delivers nothing, because its outbox does not
// run.
func newTestCommunicator(t *testing.T, cfg Config) *communicator {
	t.Helper()
	cfg, err := cfg.withDefaults()
	require.NoError(t, err)
	return newCommunicator(nil, controldb.TermID{}, t.Context(), nil, &crowd{}, cfg, zap.NewNop())
}

// tasks returns tasks with the numbers from first to last.
func tasks(first, last int) (list []controldb.Task) {
	for id := first; id <= last; id++ {
		list = append(list, controldb.Task{ID: controldb.TaskID(id), Attempt: 2, Claim: uuid.UUID{15: byte(id)}})
	}
	return list
}

// asked reports whether a pass was requested, and takes the request.
func asked(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// takeOne takes a task as a worker does.
func takeOne(c *communicator) *entry {
	e := <-c.queue.tasks
	c.take()
	return e
}

func TestCommunicatorClaimsForIdleWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 4, OutcomeBuffer: 8})
		require.Equal(t, 4, c.reserve())
		c.accept(tasks(1, 4), time.Now(), 4)
		require.Zero(t, c.reserve())
		e := takeOne(c)
		require.False(t, asked(c.queue.wake), "the queue is not low")
		require.Zero(t, c.reserve(), "a task counts while its script runs")
		c.done(e, report{task: e.task.ID})
		require.Equal(t, 1, c.reserve(), "its worker is idle, although its outcome waits")

		// The last claim got all that it asked for, so there may be more. While outcomes wait, they
		// are delivered before the pass, because their tasks count towards the limit of the term.
		require.True(t, asked(c.outbox.ready))
		for range 2 {
			takeOne(c)
		}
		require.False(t, asked(c.outbox.ready))
		takeOne(c)
		require.True(t, asked(c.outbox.ready))
		require.False(t, asked(c.queue.wake))
		c.outbox.remove([]report{{task: e.task.ID}})
		c.queue.delivered()
		require.True(t, asked(c.queue.wake))
	})
}

// A pass is requested once, when the queue runs low after a claim that got all that it asked for.
func TestCommunicatorAsksForAPass(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 2, Prefetch: 2})
		c.queue.pace.Add(time.Now())
		c.accept(tasks(1, 2), time.Now(), 2)
		e := takeOne(c)
		require.False(t, asked(c.queue.wake))
		second := takeOne(c)
		require.False(t, asked(c.queue.wake), "no worker is idle")
		c.done(e, report{task: 1})
		c.outbox.remove([]report{{task: 1}})
		c.queue.delivered()
		require.True(t, asked(c.queue.wake))
		require.False(t, c.queue.awaitsDelivery(), "the pass was requested already")
		c.accept(tasks(3, 3), time.Now(), 1)
		takeOne(c)
		require.True(t, c.queue.awaitsDelivery(), "a delivery makes room for more tasks")

		c.accept(nil, time.Now(), 1) // there is no more work
		require.False(t, c.queue.awaitsDelivery())
		c.done(second, report{task: 2})
		require.True(t, asked(c.outbox.ready))
		require.False(t, asked(c.queue.wake))
		c.queue.delivered()
		require.True(t, asked(c.queue.wake), "the next step may begin")
	})
}

// No task is claimed while the outbox is full.
func TestCommunicatorStopsClaimsWhileTheOutboxIsFull(t *testing.T) {
	t.Parallel()
	c := newTestCommunicator(t, Config{MaxConcurrentTargets: 4, OutcomeBuffer: 8})
	for id := 1; id <= 8; id++ {
		require.Equal(t, 4, c.reserve(), id)
		require.True(t, c.low())
		c.outbox.add(report{task: controldb.TaskID(id)})
	}
	require.Zero(t, c.reserve())
	require.False(t, c.low())
	c.outbox.remove([]report{{task: 3}})
	require.Equal(t, 4, c.reserve())
	require.Equal(t, 7, c.outbox.count(), "the others wait for the next delivery")
}

// A term holds at most two tasks per worker, also while their outcomes wait.
func TestCommunicatorClaimsWhatATermMayHold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 4})
		for first := 1; first < 8; first += 4 {
			c.accept(tasks(first, first+3), time.Now(), 4)
			for range 4 {
				e := takeOne(c)
				c.done(e, report{task: e.task.ID})
			}
		}
		require.Zero(t, c.reserve())
		require.Equal(t, 8, c.queue.pace.Ahead(time.Now()), "each task counts for the pace")
		c.outbox.remove([]report{{task: 1}, {task: 2}})
		require.Equal(t, 2, c.reserve())
	})
}

// Queued tasks go back uncounted, with their claims, when no worker has taken a task for a while.
func TestCommunicatorReturnsIdleTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 1, Prefetch: 2, PollIdle: time.Second})
		c.accept(tasks(1, 3), time.Now(), 3)
		<-time.After(8 * time.Second)
		takeOne(c)
		<-time.After(9 * time.Second)
		c.returnIdle()
		require.Zero(t, c.outbox.count())
		<-time.After(time.Second)
		c.returnIdle()
		require.Equal(t, 2, c.outbox.count())
		for i, r := range c.outbox.waiting {
			require.Equal(t, targets.NotSent, r.outcome.Outcome)
			require.Equal(t, 2, r.outcome.Attempt)
			require.Equal(t, uuid.UUID{15: byte(i + 2)}, r.outcome.Claim)
			require.ErrorIs(t, c.registry.entries[r.task].ctx.Err(), context.Canceled)
		}
		queued, running := c.queue.counts()
		require.Equal(t, []int{0, 1}, []int{queued, running})
		require.Zero(t, c.queue.pace.Ahead(time.Now()), "returned tasks are no tasks of fast workers")

		// An empty queue is not idle: the time counts from the first task in it.
		<-time.After(time.Minute)
		c.accept(tasks(4, 4), time.Now(), 1)
		c.returnIdle()
		require.Equal(t, 2, c.outbox.count())
	})
}

// A report names the claim of its task, whether it is an outcome or a resolution.
func TestCommunicatorNamesTheClaim(t *testing.T) {
	t.Parallel()
	c := newTestCommunicator(t, Config{MaxConcurrentTargets: 2})
	c.accept(tasks(1, 2), time.Now(), 2)
	c.done(takeOne(c), report{task: 1, resolution: &controldb.Resolution{}})
	c.done(takeOne(c), report{task: 2})
	require.Equal(t, uuid.UUID{15: 1}, c.outbox.waiting[0].resolution.Claim)
	require.Equal(t, uuid.UUID{15: 2}, c.outbox.waiting[1].outcome.Claim)
}

// While a queue has enough tasks, a pass is requested when a worker takes the one that makes the
// queue low, not when outcomes are delivered.
func TestCommunicatorAsksForAPassWhenTheQueueIsLow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCommunicator(t, Config{MaxConcurrentTargets: 2, Prefetch: 8})
		for range 100 {
			c.queue.pace.Add(time.Now())
		}
		require.Equal(t, 4, c.reserve(), "two tasks per worker")
		c.accept(tasks(1, 4), time.Now(), 4)
		c.done(takeOne(c), report{task: 1})
		c.outbox.remove([]report{{task: 1}})
		c.queue.delivered()
		require.False(t, asked(c.queue.wake))
		require.False(t, c.low(), "there is room for a task, but the queue has three")
		takeOne(c)
		require.True(t, asked(c.queue.wake))
		require.True(t, c.low())
		takeOne(c)
		require.False(t, asked(c.queue.wake), "once")
	})
}

// Without a backlog each delivery is followed by a pass, because the next step may begin.
func TestCommunicatorAsksForAPassAfterADelivery(t *testing.T) {
	t.Parallel()
	c := newTestCommunicator(t, Config{MaxConcurrentTargets: 4})
	c.accept(tasks(1, 3), time.Now(), 4)
	c.done(takeOne(c), report{task: 1})
	c.outbox.remove([]report{{task: 1}})
	require.False(t, asked(c.queue.wake))
	c.queue.delivered()
	require.True(t, asked(c.queue.wake))
}

// A task uses the budget from the request for it until it is reported.
func TestCommunicatorUsesItsShare(t *testing.T) {
	t.Parallel()
	cfg, err := Config{MaxConcurrentTargets: 4}.withDefaults()
	require.NoError(t, err)
	s := newTestBudget(t, 3).join()
	c := newCommunicator(nil, controldb.TermID{}, t.Context(), s, &crowd{}, cfg, zap.NewNop())
	require.Equal(t, 3, c.reserve())
	require.Equal(t, 3, s.used)
	c.unanswered(3)
	require.Zero(t, s.used)
	require.Equal(t, 3, c.reserve())
	c.accept(tasks(1, 2), time.Now(), 3)
	require.Equal(t, 2, s.used)
	e := takeOne(c)
	require.Equal(t, 2, s.used)
	c.done(e, report{task: 1})
	require.Equal(t, 1, s.used)
	require.Equal(t, 2, c.reserve())
}
