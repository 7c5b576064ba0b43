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

// errUnexplained means that a statement has failed, and that the server has sent no error about it.
// SqlClient reports such an answer as "A severe error occurred on the current command", also of
// severity 11 (TdsParser, "Surface exception for DONE_ERROR in the case we did not receive an error
// token"). For example, CREATE DATABASE has this answer when another session creates the same
// database.
var errUnexplained = errors.New("the server says that a statement has failed, and sent no error message")

// limitError means that a target exceeded a limit while a script ran.
type limitError struct{ exceeded *tdsguard.Exceeded }

// Error implements error.
func (e *limitError) Error() string {
	return e.exceeded.Error() + ". Let the script return less, or raise the limit in the agent's configuration."
}

// Unwrap returns the limit.
func (e *limitError) Unwrap() error { return e.exceeded }
