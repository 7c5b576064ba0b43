package agent

import (
	"context"
	"sync"

	"github.com/jobagent/jobagent/controldb"
)

// cachedCommandBytes bounds the total length of cached command texts. One script has at most some
// megabytes.
const cachedCommandBytes = 32 << 20

// commandCache caches the texts of commands by their IDs. The text of an ID never changes. With the
// cache, an agent reads a script once for thousands of targets. It is safe for concurrent use.
type commandCache struct {
	store *controldb.Store

	mu    sync.Mutex
	texts map[int64]string
	bytes int
	// loading holds a channel for each ID that is being read; it is closed after the read.
	loading map[int64]chan struct{}
}

func newCommandCache(store *controldb.Store) *commandCache {
	return &commandCache{store: store, texts: map[int64]string{}, loading: map[int64]chan struct{}{}}
}

// get returns the text of a command. Concurrent calls for one ID share a single read; each returns
// early when its own ctx is done.
func (c *commandCache) get(ctx context.Context, id int64) (string, error) {
	for {
		c.mu.Lock()
		text, ok := c.texts[id]
		wait, busy := c.loading[id]
		if !ok && !busy {
			wait = make(chan struct{})
			c.loading[id] = wait
		}
		c.mu.Unlock()
		switch {
		case ok:
			return text, nil
		case !busy:
			return c.load(ctx, id, wait)
		}
		select {
		case <-wait: // the text is cached now, unless the other call failed
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// load reads a text and caches it. It closes done, even after a panic: calls that wait for this
// read then read for themselves.
func (c *commandCache) load(ctx context.Context, id int64, done chan struct{}) (string, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.loading, id)
		close(done)
	}()
	text, err := c.store.Command(ctx, id)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bytes+len(text) > cachedCommandBytes {
		clear(c.texts) // rare; each text is read again at its next use
		c.bytes = 0
	}
	c.texts[id] = text
	c.bytes += len(text)
	return text, nil
}
