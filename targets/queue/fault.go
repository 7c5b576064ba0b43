package queue

import (
	"fmt"

	"github.com/jobagent/jobagent/targets"
)

// failure is an error with what it means for the attempt.
type failure struct {
	text  string
	class targets.Class
	// noRetry says that another attempt cannot help.
	noRetry bool
	err     error // the cause; may be nil
}

// Error implements error.
func (f *failure) Error() string { return f.text }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

// faultf returns the error of a definition that cannot be sent. Another attempt cannot help.
func faultf(format string, args ...any) error {
	return &failure{text: fmt.Sprintf(format, args...), class: targets.ClassPermanent, noRetry: true}
}
