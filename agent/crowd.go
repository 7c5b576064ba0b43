package agent

import "sync/atomic"

// crowd holds the number of agents that share the control database. It is safe for concurrent use.
type crowd struct{ agents atomic.Int64 }

// count records the number of agents.
func (c *crowd) count(agents int) { c.agents.Store(int64(agents)) }

// size returns the number of agents; 0 means that it is not known yet.
func (c *crowd) size() int { return int(c.agents.Load()) }
