// Package cache keeps values that take long to make and never change.
package cache

import (
	"context"
	"sync"
)

// Cache keeps values by keys, until their weights exceed Most. Then it forgets all: that is rare,
// and each value is made again at its next use. The zero value keeps one value. It is safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	Most int // sum of the weights; it does not change after the first use

	mu     sync.Mutex
	values map[K]V
	weight int
	// making holds a channel for each key whose value is being made; it is closed afterwards.
	making map[K]chan struct{}
}

// Get returns the value of a key, and whether it was kept. Otherwise it calls create, which returns
// the value and its weight, and keeps the value unless create fails. Concurrent calls for one key
// share a single call of create, unless that fails; each returns early when its own ctx is done.
func (c *Cache[K, V]) Get(
	ctx context.Context, key K, create func(ctx context.Context) (value V, weight int, err error),
) (value V, kept bool, err error) {
	for {
		value, kept, wait, own := c.look(key)
		switch {
		case kept:
			return value, true, nil
		case own:
			value, err := c.fill(ctx, key, wait, create)
			return value, false, err
		}
		select {
		case <-wait: // the value is kept now, unless the other call failed
		case <-ctx.Done():
			return value, false, context.Cause(ctx)
		}
	}
}

// look returns the value of a key, or the channel that is closed when the value was made. own says
// that the caller is to make it.
func (c *Cache[K, V]) look(key K) (value V, kept bool, wait chan struct{}, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, kept = c.values[key]; kept {
		return value, true, nil, false
	}
	wait, busy := c.making[key]
	if !busy {
		if c.making == nil {
			c.making, c.values = map[K]chan struct{}{}, map[K]V{}
		}
		wait = make(chan struct{})
		c.making[key] = wait
	}
	return value, false, wait, !busy
}

// fill makes a value and keeps it. It closes done, even after a panic: calls that wait for the
// value then make it for themselves.
func (c *Cache[K, V]) fill(
	ctx context.Context, key K, done chan struct{}, create func(ctx context.Context) (V, int, error),
) (V, error) {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.making, key)
		close(done)
	}()
	value, weight, err := create(ctx)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.weight+weight > c.Most {
		clear(c.values)
		c.weight = 0
	}
	c.values[key] = value
	c.weight += weight
	return value, nil
}

// Weight returns the sum of the weights of the values.
func (c *Cache[K, V]) Weight() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight
}
