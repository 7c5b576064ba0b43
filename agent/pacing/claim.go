package pacing

// OutcomesPerCall bounds the outcomes of one delivery. A batch of this size is some 100 kB of JSON.
const OutcomesPerCall = 1000

// OutcomeBytesPerCall bounds the texts of one delivery, for scripts that print much: each attempt
// may have 256 KiB of messages, and a call must end within a minute.
const OutcomeBytesPerCall = 4 << 20

// Claims is the state that decides how many tasks an agent may claim.
type Claims struct {
	Workers  int // workers of the agent
	Prefetch int // the largest number of tasks that are claimed beyond the idle workers
	Ahead    int // how many tasks the workers finish soon ([Pace.Ahead])

	Queued     int  // tasks that no worker has taken
	Running    int  // tasks that workers carry out
	Held       int  // tasks of the term: queued, running, and those whose outcomes are not delivered
	OutboxFull bool // too many outcomes wait
	Backlog    bool // the last claim got all the tasks that it asked for, so there may be more
}

// Wanted returns how many tasks to claim: one for each idle worker, and the prefetch (I7). A term
// holds at most two tasks per worker; controller_pass has the same limit.
func (c Claims) Wanted() int {
	if c.OutboxFull {
		return 0
	}
	return max(0, min(c.Workers+c.prefetch()-c.Queued-c.Running, 2*c.Workers-c.Held))
}

// Low reports whether the queue is nearly empty.
func (c Claims) Low() bool { return c.Queued <= c.prefetch()/4 }

// Fed reports whether the workers have enough tasks of a backlog: the control database has more,
// and the queue is not nearly empty.
func (c Claims) Fed() bool { return c.Backlog && !c.Low() }

// prefetch returns how many tasks may be queued beyond the idle workers: as many as the workers are
// about to finish at their pace, and none while long scripts keep all workers busy. A queued task
// uses up its time limit, and another agent may have an idle worker for it.
func (c Claims) prefetch() int { return min(c.Prefetch, c.Ahead) }

// Enough reports whether so many outcomes wait that a delivery should not wait for more: most
// workers have reported.
func Enough(waiting, workers int) bool { return waiting >= max(1, workers*3/4) }
