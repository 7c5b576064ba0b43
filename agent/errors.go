package agent

import "errors"

var (
	// ErrStopping is the cause of every context that the agent cancels because it is going away: a worker
	// that sees it knows that nobody canceled its job and that no time limit passed.
	ErrStopping = errors.New("agent stopping")

	// ErrTermLost is the cause under which everything is canceled when the agent's term has ended, or
	// might end before the agent would notice. Run never returns it: the core starts afresh.
	ErrTermLost = errors.New("term lost")

	// ErrDrift means that the tasks which the database says this term holds are not those in memory.
	// Run never returns it: the core starts afresh under a new term.
	ErrDrift = errors.New("in-memory state differs from the control database")
)
