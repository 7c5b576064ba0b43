package jobs

import "time"

// WaitingForCallback is the state of a target whose action waits for a report. Only
// jobs.job_execution_targets and the procedures that read a run return it; elsewhere such a target
// is InProgress. It is not one of [Lifecycles].
const WaitingForCallback Lifecycle = "WaitingForCallback"

// Counts are the numbers of targets of one or several steps, by state. Failed counts targets that
// ended as Failed or TimedOut, Waiting those that have not begun, Retrying those that wait for
// their next attempt, and Callback those whose action waits for a report.
type Counts struct{ Succeeded, Failed, Skipped, Canceled, Running, Retrying, Waiting, Callback int }

// Add counts n targets in a state: a lifecycle, or [WaitingForCallback]. An unknown state, of a
// later control database, does not count as ended.
func (c *Counts) Add(state Lifecycle, n int) {
	switch state {
	case Succeeded, SucceededWithSkipped:
		c.Succeeded += n
	case Failed, TimedOut:
		c.Failed += n
	case Skipped:
		c.Skipped += n
	case Canceled:
		c.Canceled += n
	case InProgress:
		c.Running += n
	case WaitingForCallback:
		c.Callback += n
	case WaitingForRetry:
		c.Retrying += n
	default: // Created, WaitingForChildJobExecutions
		c.Waiting += n
	}
}

// Plus returns the sums of two counts.
func (c Counts) Plus(d Counts) Counts {
	return Counts{
		Succeeded: c.Succeeded + d.Succeeded, Failed: c.Failed + d.Failed, Skipped: c.Skipped + d.Skipped, Canceled: c.Canceled + d.Canceled,
		Running: c.Running + d.Running, Retrying: c.Retrying + d.Retrying, Waiting: c.Waiting + d.Waiting, Callback: c.Callback + d.Callback,
	}
}

// Ended is the number of targets in a final state.
func (c Counts) Ended() int { return c.Succeeded + c.Failed + c.Off() }

// Off is the number of targets that were skipped or canceled.
func (c Counts) Off() int { return c.Skipped + c.Canceled }

// Busy is the number of targets that have an attempt: it runs, or waits for a report.
func (c Counts) Busy() int { return c.Running + c.Callback }

// Active is the number of targets that are not final.
func (c Counts) Active() int { return c.Busy() + c.Retrying + c.Waiting }

// Total is the number of all targets.
func (c Counts) Total() int { return c.Ended() + c.Active() }

// ToleratedBy is the function [ToleratedBy] for these counts.
func (c Counts) ToleratedBy(l Lifecycle) string { return ToleratedBy(l, c.Failed, c.Total()) }

// Pace returns how many of the targets have ended per second since an instant, and how long the
// others still take at this rate. Both are 0 while that is unknown: in the first second, and until
// a target has ended.
func Pace(ended, left int, elapsed time.Duration) (rate float64, still time.Duration) {
	if ended <= 0 || elapsed < time.Second {
		return 0, 0
	}
	rate = float64(ended) / elapsed.Seconds()
	return rate, time.Duration(float64(left) / rate * float64(time.Second))
}

// NotBefore returns how long targets still take if some of them wait until a time, when windows of
// their databases open. The result is at least the time until then, and 0 (unknown) if that time is
// unknown.
func NotBefore(still time.Duration, until, now time.Time) time.Duration {
	if until.IsZero() {
		return 0
	}
	return max(still, until.Sub(now))
}
