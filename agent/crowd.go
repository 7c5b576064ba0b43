package agent

import (
	"sync/atomic"
	"time"
)

// crowdSize is how many agents look for new work at the configured intervals. Each of a larger
// number looks less often, so that all of them together make as many calls as crowdSize agents, and
// new work still waits for hardly longer than a tenth of an interval until one of them finds it.
const crowdSize = 10

// crowd knows how many agents share the control database. It is safe for concurrent use.
type crowd struct{ agents atomic.Int64 }

// count records how many agents there are.
func (c *crowd) count(agents int) { c.agents.Store(int64(agents)) }

// interval returns the time between two looks for new work: base, and with more than crowdSize
// agents longer in proportion, but not longer than most.
func (c *crowd) interval(base, most time.Duration) time.Duration {
	n := c.agents.Load()
	if n <= crowdSize {
		return base
	}
	return max(base, min(most, base*time.Duration(n)/crowdSize))
}
