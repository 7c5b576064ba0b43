package agent

import (
	"context"
	"strings"
	"sync"
	"time"
)

// sealedFor is how long a sealed secret is used before it is read again, unless tasks are claimed
// earlier. No clear text is cached.
const sealedFor = 5 * time.Second

// sealedCache caches sealed secrets or credentials by name in lower case. A person who changes a
// secret and then starts a run must get the new value. Therefore expire makes values expire that
// were read before the latest claim of tasks. The tasks of a claim share one read. It is safe for
// concurrent use.
type sealedCache[T any] struct {
	mu      sync.Mutex
	entries map[string]*sealedEntry[T]
}

// sealedEntry is a value that is being read, or was read.
type sealedEntry[T any] struct {
	begun time.Time
	done  chan struct{} // closed when value and err are set
	value T
	err   error
}

// expire removes all values, including those that are being read: these reads may have begun before
// a change that is confirmed by now.
func (c *sealedCache[T]) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.entries)
}

// read returns a value that fetch read at most sealedFor ago. lasting reports whether an error is
// cached like a value.
func (c *sealedCache[T]) read(ctx context.Context, name string, fetch func() (T, error), lasting func(error) bool) (T, error) {
	name = strings.ToLower(name)
	c.mu.Lock()
	if e, ok := c.entries[name]; ok && time.Since(e.begun) < sealedFor {
		c.mu.Unlock()
		select {
		case <-e.done:
		case <-ctx.Done():
			var none T
			return none, context.Cause(ctx)
		}
		if e.err == nil || lasting(e.err) {
			return e.value, e.err
		}
		return fetch() // the error may be caused by the context of the other reader
	}
	e := &sealedEntry[T]{begun: time.Now(), done: make(chan struct{})}
	if c.entries == nil {
		c.entries = map[string]*sealedEntry[T]{}
	}
	c.entries[name] = e
	c.mu.Unlock()
	e.value, e.err = fetch()
	if e.err != nil && !lasting(e.err) {
		c.mu.Lock()
		if c.entries[name] == e {
			delete(c.entries, name)
		}
		c.mu.Unlock()
	}
	close(e.done)
	return e.value, e.err
}

// change replaces a value that was read.
func (c *sealedCache[T]) change(name string, to func(*T)) {
	name = strings.ToLower(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[name]
	if !ok {
		return
	}
	select {
	case <-e.done:
		changed := &sealedEntry[T]{begun: e.begun, done: e.done, value: e.value, err: e.err}
		to(&changed.value)
		c.entries[name] = changed
	default: // it is being read again
	}
}
