package agent

import (
	"context"
	"sync"
	"time"

	"github.com/jobagent/jobagent/controldb"
)

// entry is a task that this term holds: it is queued, a worker carries it out, or its report waits
// for the control database to acknowledge it. The fields never change.
type entry struct {
	task controldb.Task
	// claimedAt is a time before the call that claimed the task, on the process's clock.
	claimedAt time.Time
	// deadline is the end of the step's time limit for this target, on the process's clock; zero
	// means no limit.
	deadline time.Time
	// ctx is canceled, with a cause, when the task must end early; cancel cancels it.
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// registry holds the entries of all tasks that this term holds. It cancels tasks and computes the
// digest that the controller compares with the control database's (DESIGN.md, "Drift").
//
// Concurrency: mu guards entries. No method blocks or takes another lock while it holds mu. Only
// the controller adds entries (accept), and only a delivery of the outbox removes them; therefore
// the digest is stable between two passes while no delivery is under way.
type registry struct {
	// termCtx is the parent of every task's context; it ends with the term.
	termCtx context.Context

	mu      sync.Mutex
	entries map[controldb.TaskID]*entry
}

func newRegistry(termCtx context.Context) *registry {
	return &registry{termCtx: termCtx, entries: map[controldb.TaskID]*entry{}}
}

// add registers a task that was claimed at claimedAt, on the process's clock.
func (r *registry) add(task controldb.Task, claimedAt time.Time) *entry {
	e := &entry{task: task, claimedAt: claimedAt}
	if task.Timeout > 0 {
		e.deadline = claimedAt.Add(task.Timeout)
	}
	e.ctx, e.cancel = context.WithCancelCause(r.termCtx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries[task.ID] = e
	return e
}

// remove deletes the entries of tasks whose reports the control database has acknowledged.
func (r *registry) remove(reports []report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rep := range reports {
		delete(r.entries, rep.task)
	}
}

// cancel cancels the context of a task. It returns false if there was nothing to cancel: the
// context has ended already, or the task is not registered because its report has been delivered.
func (r *registry) cancel(id controldb.TaskID, cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[id]
	if e == nil || e.ctx.Err() != nil {
		return false
	}
	e.cancel(cause)
	return true
}

// cancelAll cancels the contexts of all tasks.
func (r *registry) cancelAll(cause error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.entries {
		e.cancel(cause)
	}
}

// count returns the number of tasks.
func (r *registry) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// digest returns the fingerprint of all tasks and their attempts.
func (r *registry) digest() controldb.Digest {
	r.mu.Lock()
	defer r.mu.Unlock()
	var d controldb.Digest
	for id, e := range r.entries {
		d.Add(id, e.task.Attempt)
	}
	return d
}

// attempts returns the attempt number of each task.
func (r *registry) attempts() map[controldb.TaskID]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	attempts := make(map[controldb.TaskID]int, len(r.entries))
	for id, e := range r.entries {
		attempts[id] = e.task.Attempt
	}
	return attempts
}
