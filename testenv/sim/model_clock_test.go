package sim

import (
	"sync"
	"time"
)

// modelClock is the clock of the model and its server. It advances only when the test moves it.
type modelClock struct {
	mu   sync.Mutex
	now  time.Time
	real time.Duration // that has passed
}

// elapsed returns the time that has passed, whatever the clock shows.
func (c *modelClock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real
}

// jump sets the clock.
func (c *modelClock) jump(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// Now returns the time.
func (c *modelClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass moves the clock forward.
func (c *modelClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.real = c.now.Add(d), c.real+d
}
