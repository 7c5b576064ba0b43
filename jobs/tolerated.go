package jobs

import "fmt"

// Tolerated describes the failed targets of a step that succeeded: "3 of 400 failed (tolerated)".
// The text follows the lifecycle wherever the outcome of a run or a step is shown;
// jobs_internal.advance writes the same text. It is empty if no target failed.
func Tolerated(failed, targets int) string {
	switch {
	case failed <= 0:
		return ""
	case targets <= 0: // the number of targets is not known
		return fmt.Sprintf("%d failed (tolerated)", failed)
	}
	return fmt.Sprintf("%d of %d failed (tolerated)", failed, targets)
}

// Outcome returns a lifecycle with the tolerated failures: "Succeeded, 3 of 400 failed
// (tolerated)".
func Outcome(l Lifecycle, failed, targets int) string {
	if text := ToleratedBy(l, failed, targets); text != "" {
		return string(l) + ", " + text
	}
	return string(l)
}

// ToleratedBy is [Tolerated] for a step or run with a lifecycle; it is empty unless the step or run
// succeeded.
func ToleratedBy(l Lifecycle, failed, targets int) string {
	if !l.IsSuccess() {
		return ""
	}
	return Tolerated(failed, targets)
}
