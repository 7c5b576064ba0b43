package jobs

import "fmt"

// Tolerated says how many targets failed in steps that succeeded with them: "3 of 400 failed
// (tolerated)". It is the text behind a lifecycle wherever the outcome of a run or a step is shown,
// and jobs_internal.advance writes the same; empty: none failed.
func Tolerated(failed, targets int) string {
	switch {
	case failed <= 0:
		return ""
	case targets <= 0: // not known
		return fmt.Sprintf("%d failed (tolerated)", failed)
	}
	return fmt.Sprintf("%d of %d failed (tolerated)", failed, targets)
}

// Outcome is a lifecycle with what was tolerated: "Succeeded, 3 of 400 failed (tolerated)".
func Outcome(l Lifecycle, failed, targets int) string {
	if text := ToleratedBy(l, failed, targets); text != "" {
		return string(l) + ", " + text
	}
	return string(l)
}

// ToleratedBy is [Tolerated] of a step or run with a lifecycle: one that succeeded tolerates what
// failed.
func ToleratedBy(l Lifecycle, failed, targets int) string {
	if !l.IsSuccess() {
		return ""
	}
	return Tolerated(failed, targets)
}
