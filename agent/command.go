package agent

import (
	"context"
	"sync"

	"github.com/jobagent/jobagent/controldb"
)

// cachedCommandBytes bounds the command texts that an agent keeps; a script has at most some megabytes.
const cachedCommandBytes = 32 << 20

// commandCache keeps the texts of commands, which never change once they have an id. A fan-out over thousands
// of targets reads its script once. Safe for concurrent use.
type commandCache struct {
	store *controldb.Store

	mu    sync.Mutex
	texts map[int64]string
	bytes int
	// loading holds, for each id that is being read, a channel that is closed when it has been.
	loading map[int64]chan struct{}
}

func newCommandCache(store *controldb.Store) *commandCache {
	return &commandCache{store: store, texts: map[int64]string{}, loading: map[int64]chan struct{}{}}
}

// get returns a command's text. Workers that want the same one wait for a single call; each gives up when its own ctx ends.
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
		case <-wait: // it is there now, unless the other call did not succeed
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// load reads a text and keeps it.
func (c *commandCache) load(ctx context.Context, id int64, done chan struct{}) (string, error) {
	text, err := c.store.Command(ctx, id)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.loading, id)
	close(done)
	if err != nil {
		return "", err
	}
	if c.bytes+len(text) > cachedCommandBytes {
		clear(c.texts) // rare, and the next reader of each loads it again
		c.bytes = 0
	}
	c.texts[id] = text
	c.bytes += len(text)
	return text, nil
}
