package web

import (
	"context"
	"sync"
	"time"

	"github.com/jobagent/jobagent/agent/web/page"
)

const (
	// maxOperations bounds the operations that a server remembers.
	maxOperations = 5000
	// operationAge is how long an operation is remembered.
	operationAge = time.Hour
)

// operations remembers what forms have done, so that a form that is sent twice does it once. It
// is the first help: several fronts do not share it. So actions that start runs use the operation
// as the run's ID, and procedures decide. The zero value is ready.
type operations struct {
	mu    sync.Mutex
	known map[string]*operation
}

// operation is what a form does or has done.
type operation struct {
	ended chan struct{}
	at    time.Time
	done  *page.Done // nil: it failed, and may be tried again
}

// do calls act, unless it was called for the same key before and succeeded: then the result is the
// same. A call for a key that is under way is waited for.
func (o *operations) do(ctx context.Context, key string, act func() (*page.Done, error)) (*page.Done, error) {
	var one *operation
	for one == nil {
		o.mu.Lock()
		before := o.known[key]
		if before == nil {
			one = o.add(key)
		}
		o.mu.Unlock()
		if before == nil {
			break
		}
		select {
		case <-before.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if before.done != nil {
			return before.done, nil
		}
	}
	defer func() { // also if act panics
		o.mu.Lock()
		defer o.mu.Unlock()
		if one.done == nil {
			delete(o.known, key)
		}
		close(one.ended)
	}()
	done, err := act()
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	one.done = done
	return done, nil
}

// add adds an operation, and forgets old ones. o.mu must be held.
func (o *operations) add(key string) *operation {
	now := time.Now()
	if o.known == nil {
		o.known = map[string]*operation{}
	}
	if len(o.known) >= maxOperations {
		for other, one := range o.known { // half of them, so that this is rare
			if one.done != nil && (now.Sub(one.at) > operationAge || len(o.known) > maxOperations/2) {
				delete(o.known, other)
			}
		}
	}
	one := &operation{ended: make(chan struct{}), at: now}
	o.known[key] = one
	return one
}
