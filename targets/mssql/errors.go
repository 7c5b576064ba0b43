package mssql

import (
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/targets/mssql/internal/tdsguard"
)

// ScriptError says what is wrong with a script before any of it is sent. SplitBatches returns it.
type ScriptError struct {
	// Line is the number of the line at fault, from 1.
	Line int
	// Err is why.
	Err error
}

func (e *ScriptError) Error() string { return fmt.Sprintf("script line %d: %v", e.Line, e.Err) }

// Unwrap gives the reason.
func (e *ScriptError) Unwrap() error { return e.Err }

// errConnectionLost marks errors of a connection that ended by itself.
var errConnectionLost = errors.New("connection lost")

// limitError says that a target has sent more than the agent takes, while a script ran.
type limitError struct{ exceeded *tdsguard.Exceeded }

func (e *limitError) Error() string {
	return e.exceeded.Error() + ". Let the script return less, or raise the limit in the agent's configuration."
}

// Unwrap gives the limit.
func (e *limitError) Unwrap() error { return e.exceeded }
