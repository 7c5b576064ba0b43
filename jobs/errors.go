package jobs

import "fmt"

// UnknownLifecycleError says that a text is none of the lifecycles. ParseLifecycle returns it.
type UnknownLifecycleError struct {
	// Text is what was given.
	Text string
}

func (e *UnknownLifecycleError) Error() string {
	return fmt.Sprintf("%q is not a lifecycle: one of %v is needed", e.Text, Lifecycles())
}

// TransitionError says that a lifecycle may not follow another one. CheckTransition returns it.
type TransitionError struct {
	// Op is what was tried, as a verb phrase.
	Op string
	// From and To are the states; From is terminal, or To does not follow it.
	From, To Lifecycle
}

func (e *TransitionError) Error() string {
	if e.From.Terminal() {
		return fmt.Sprintf("%s: %s is final, it cannot become %s", e.Op, e.From, e.To)
	}
	return fmt.Sprintf("%s: %s cannot become %s", e.Op, e.From, e.To)
}
