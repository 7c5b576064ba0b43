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
