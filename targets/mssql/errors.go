package mssql

import (
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// ScriptError is a fault of a script that was found before any of it was sent. SplitBatches returns
// it.
type ScriptError struct {
	// Line is the line of the fault, counted from 1.
	Line int
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *ScriptError) Error() string { return fmt.Sprintf("script line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *ScriptError) Unwrap() error { return e.Err }

// errConnectionLost marks the error of a connection that the agent did not close.
var errConnectionLost = errors.New("connection lost")

// limitError means that a target exceeded a limit while a script ran.
type limitError struct{ exceeded *tdsguard.Exceeded }

// Error implements error.
func (e *limitError) Error() string {
	return e.exceeded.Error() + ". Let the script return less, or raise the limit in the agent's configuration."
}

// Unwrap returns the limit.
func (e *limitError) Unwrap() error { return e.exceeded }
