package targets

import (
	"errors"
	"fmt"

	"github.com/jobagent/jobagent/targets/internal/tdsguard"
)

// The causes (context.Cause) that Run maps to outcomes. A context that ended for any other reason, an
// expired deadline aside, is an interruption: NotSent when nothing was sent, else Unknown.
var (
	// ErrStopRequested means that somebody stopped the run: the attempt becomes Canceled.
	ErrStopRequested = errors.New("stop requested")
	// ErrTimeout means that the step's time limit passed: the attempt becomes TimedOut. So does
	// context.DeadlineExceeded.
	ErrTimeout = errors.New("step time limit passed")
)

// MemberError says which member of a target group something went wrong with. Resolve and
// Member.Validate return it.
type MemberError struct {
	// Member is the member at fault.
	Member Member
	// Err is why.
	Err error
}

func (e *MemberError) Error() string {
	return fmt.Sprintf("target group member %s: %v", e.Member, e.Err)
}

// Unwrap gives the reason.
func (e *MemberError) Unwrap() error { return e.Err }

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

// ConfigError says that the agent's configuration does not allow what was asked for; nothing was sent
// to any server. The messages never hold a secret.
type ConfigError struct {
	// Subject is what is wrong, as "credential \"x\"" or "server name \"y\"".
	Subject string
	// Err is why, and what to do.
	Err error
}

func (e *ConfigError) Error() string { return e.Subject + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *ConfigError) Unwrap() error { return e.Err }
