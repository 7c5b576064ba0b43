package targets

import (
	"errors"
	"fmt"
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

// ErrNoTargets is never returned by Resolve: an empty list is a valid answer (decision 5). It is the
// error of callers that need at least one target.
var ErrNoTargets = errors.New("the target group resolved to no databases")

// MemberError says which member of a target group something went wrong with. Resolve and
// Member.Validate return it.
type MemberError struct {
	// Member is the member at fault.
	Member Member
	// Err is why.
	Err error
}

func (e *MemberError) Error() string { return fmt.Sprintf("target group member %s: %v", e.Member, e.Err) }

// Unwrap gives the reason.
func (e *MemberError) Unwrap() error { return e.Err }
