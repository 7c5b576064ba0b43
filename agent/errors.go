package agent

import "errors"

var (
	// ErrStopping is the cause of every context that a stopping agent cancels. It distinguishes the
	// stop of the agent from the stop of a run and from a time limit.
	ErrStopping = errors.New("agent stopping")

	// ErrTermLost is the cause of every context that the agent cancels because its term has ended,
	// or might end before the agent detects it. Run never returns it: the core is restarted.
	ErrTermLost = errors.New("term lost")

	// ErrDrift means that the control database and the agent's memory disagree about the tasks that
	// the term holds. Run never returns it: the core is restarted under a new term.
	ErrDrift = errors.New("in-memory state differs from the control database")
)
