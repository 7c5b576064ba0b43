package jobs

import (
	"fmt"
	"strings"
)

// UnknownLifecycleError is the error of ParseLifecycle for a text that is not a lifecycle.
type UnknownLifecycleError struct {
	// Text is the invalid text.
	Text string
}

// Error implements error.
func (e *UnknownLifecycleError) Error() string {
	return fmt.Sprintf("invalid lifecycle %q: want one of %s", e.Text, joined(Lifecycles()))
}

// joined returns the lifecycles with commas between them.
func joined(list []Lifecycle) string {
	texts := make([]string, len(list))
	for i, l := range list {
		texts[i] = string(l)
	}
	return strings.Join(texts, ", ")
}
