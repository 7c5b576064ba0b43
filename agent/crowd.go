package agent

import "sync/atomic"

// crowd knows how many agents share the control database. It is safe for concurrent use.
type crowd struct{ agents atomic.Int64 }

// count records how many agents there are.
func (c *crowd) count(agents int) { c.agents.Store(int64(agents)) }

// size returns how many agents there are; 0 if it is not known yet.
func (c *crowd) size() int { return int(c.agents.Load()) }
