package targets

import (
	"errors"
	"fmt"
	"strings"
)

// WithoutNames replaces the names of a target in quotation marks or brackets, and its place, by an
// ellipsis, so that the same error of several targets has the same text.
func WithoutNames(message, server, database string) string {
	place := Target{Server: server, Database: database}.String()
	if database == "" {
		place = server
	}
	var pairs []string
	for _, name := range []string{place, database, server} {
		if name != "" {
			pairs = append(pairs, "'"+name+"'", "'…'", `"`+name+`"`, `"…"`, "["+name+"]", "[…]")
		}
	}
	pairs = append(pairs, "target "+place+" ", "target … ", "connect to "+place+":", "connect to …:")
	return strings.NewReplacer(pairs...).Replace(message)
}

// The causes (context.Cause) that end an attempt on purpose. A context that ends for any other
// reason, except an expired deadline, is an interruption: NotSent if nothing was sent, otherwise
// Unknown.
var (
	// ErrStopRequested means that an operator stopped the run: the attempt becomes Canceled.
	ErrStopRequested = errors.New("stop requested")
	// ErrTimeout means that the step's time limit passed: the attempt becomes TimedOut. So does
	// context.DeadlineExceeded.
	ErrTimeout = errors.New("step time limit passed")
)

// MemberError is an error about one member of a target group. Member.Validate and the resolvers
// return it.
type MemberError struct {
	// Member is the member that is invalid or cannot be listed.
	Member Member
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *MemberError) Error() string {
	return fmt.Sprintf("target group member %s: %v", e.Member, e.Err)
}

// Unwrap returns the reason.
func (e *MemberError) Unwrap() error { return e.Err }

// ConfigError means that the agent's configuration does not allow the operation. Nothing was sent
// to any server. The message never holds a secret.
type ConfigError struct {
	// Subject names the setting, as in `credential "x"` or `server name "y"`.
	Subject string
	// Err is the reason, with the remedy.
	Err error
}

// Error implements error.
func (e *ConfigError) Error() string { return e.Subject + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ConfigError) Unwrap() error { return e.Err }
