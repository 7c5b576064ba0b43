package agent

import (
	"context"
	"sync"

	"github.com/jobagent/jobagent/agent/telemetry/metrics"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/parameters"
)

// cachedBytes bounds the size of the values in a cache. One script has at most some
// megabytes.
const cachedBytes = 32 << 20

// cache caches values of the control database by their IDs: the commands of steps, and the
// parameters of runs. The value of an ID never changes. With the cache, an agent reads a script
// once for thousands of targets. It is safe for concurrent use.
type cache[T any] struct {
	reads *metrics.Cache // counts hits and misses; nil: not
	// read reads a value. bytes is its approximate size.
	read func(ctx context.Context, id int64) (value T, bytes int, err error)

	mu     sync.Mutex
	values map[int64]T
	bytes  int
	// loading holds a channel for each ID that is being read; it is closed after the read.
	loading map[int64]chan struct{}
}

func newCache[T any](
	reads *metrics.Cache, read func(ctx context.Context, id int64) (value T, bytes int, err error),
) *cache[T] {
	return &cache[T]{reads: reads, read: read, values: map[int64]T{}, loading: map[int64]chan struct{}{}}
}

// readCommand reads the text of a command for a cache.
func readCommand(store *controldb.Store) func(ctx context.Context, id int64) (string, int, error) {
	return func(ctx context.Context, id int64) (string, int, error) {
		text, err := store.Command(ctx, id)
		return text, len(text), err
	}
}

// readParameters reads the parameters of a run for a cache.
func readParameters(store *controldb.Store) func(ctx context.Context, id int64) (*parameters.Parameters, int, error) {
	return func(ctx context.Context, id int64) (*parameters.Parameters, int, error) {
		text, err := store.Payload(ctx, id)
		if err != nil {
			return nil, 0, err
		}
		p, err := parameters.Parse(text)
		return p, 3 * len(text), err
	}
}

// get returns the value of an ID. Concurrent calls for one ID share a single read; each returns
// early when its own ctx is done.
func (c *cache[T]) get(ctx context.Context, id int64) (T, error) {
	for {
		c.mu.Lock()
		value, ok := c.values[id]
		wait, busy := c.loading[id]
		if !ok && !busy {
			wait = make(chan struct{})
			c.loading[id] = wait
		}
		c.mu.Unlock()
		switch {
		case ok:
			c.reads.Read(true)
			return value, nil
		case !busy:
			c.reads.Read(false)
			return c.load(ctx, id, wait)
		}
		select {
		case <-wait: // the value is cached now, unless the other call failed
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
}

// size returns the approximate size of the values in bytes.
func (c *cache[T]) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// load reads a value and caches it. It closes done, even after a panic: calls that wait for this
// read then read for themselves.
func (c *cache[T]) load(ctx context.Context, id int64, done chan struct{}) (T, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.loading, id)
		close(done)
	}()
	value, bytes, err := c.read(ctx, id)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+bytes > cachedBytes {
		clear(c.values) // rare; each value is read again at its next use
		c.bytes = 0
	}
	c.values[id] = value
	c.bytes += bytes
	return value, nil
}
