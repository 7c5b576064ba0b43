package tsqld

import (
	"context"
	"slices"
	"sync"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// turn lets one request of a connection at a time use the session, in the order of arrival.
type turn struct {
	mu    sync.Mutex
	held  bool
	queue []chan struct{} // of waiting requests; a closed one has the turn
	// crowded is closed while requests wait; nil until it is needed.
	crowded chan struct{}
}

// acquire waits for the turn. killed ends the wait with [session.ErrKilled].
func (t *turn) acquire(ctx context.Context, killed <-chan struct{}) error {
	t.mu.Lock()
	if !t.held {
		t.held = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	t.queue = append(t.queue, mine)
	if len(t.queue) == 1 {
		close(t.crowd())
	}
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
		t.withdraw(mine)
		return context.Cause(ctx)
	case <-killed:
		t.withdraw(mine)
		return session.ErrKilled
	}
}

// crowd returns t.crowded. t.mu must be locked.
func (t *turn) crowd() chan struct{} {
	if t.crowded == nil {
		t.crowded = make(chan struct{})
	}
	return t.crowded
}

// dequeue removes the i-th waiting request. t.mu must be locked.
func (t *turn) dequeue(i int) {
	if t.queue = slices.Delete(t.queue, i, i+1); len(t.queue) == 0 {
		t.crowded = nil
	}
}

// withdraw ends a wait. If the request has got the turn at the same time, the next one gets it.
func (t *turn) withdraw(mine chan struct{}) {
	t.mu.Lock()
	i := slices.Index(t.queue, mine)
	if i >= 0 {
		t.dequeue(i)
	}
	t.mu.Unlock()
	if i < 0 {
		t.release()
	}
}

// release gives the turn to the request that waits longest.
func (t *turn) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.held = false
		return
	}
	next := t.queue[0]
	t.dequeue(0)
	close(next)
}

// wanted returns a channel that is closed while requests wait for the turn.
func (t *turn) wanted() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.crowd()
}
