package oracle

import (
	"math"
	"time"

	"github.com/jobagent/jobagent/jobs"
)

// RetryPolicy contains a step's retries and time limit per target. In production,
// jobs_internal.complete_tasks and jobs_internal.controller_pass apply them.
type RetryPolicy struct {
	// Retries is @retry_attempts: how many attempts may follow the first one. Azure's default is
	// 10.
	Retries int
	// Initial is @initial_retry_interval_seconds: the wait before the second attempt.
	Initial time.Duration
	// Maximum is @maximum_retry_interval_seconds: no wait is longer.
	Maximum time.Duration
	// Multiplier is @retry_interval_backoff_multiplier, a real: each wait is the previous one
	// multiplied by it.
	Multiplier float32
	// Timeout is @step_timeout_seconds: the time allowed on one target from the start of the first
	// attempt, waits included (decision 8). 0: no limit.
	Timeout time.Duration
}

// DefaultRetryPolicy returns the defaults of sp_add_jobstep.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{Retries: 10, Initial: time.Second, Maximum: 120 * time.Second, Multiplier: 2, Timeout: 43200 * time.Second}
}

// Wait returns the time between the end of attempt n, which failed, and the start of the next one:
// min(Maximum, Initial × Multiplier^(n-1)), n from 1, in whole milliseconds, rounded down. The
// power is computed in float64, as T-SQL's POWER on a float does.
func (p RetryPolicy) Wait(n int) time.Duration {
	if n < 1 || p.Initial <= 0 {
		return 0
	}
	ms := float64(p.Initial.Milliseconds()) * math.Pow(float64(p.Multiplier), float64(n-1))
	limit := p.Maximum.Truncate(time.Millisecond)
	if ms >= float64(limit.Milliseconds()) {
		return limit
	}
	return time.Duration(ms) * time.Millisecond
}

// Waits returns all waits of a target whose attempts all fail.
func (p RetryPolicy) Waits() []time.Duration {
	waits := make([]time.Duration, 0, max(p.Retries, 0))
	for n := 1; n <= p.Retries; n++ {
		waits = append(waits, p.Wait(n))
	}
	return waits
}

// Next is the state of a target execution after an attempt.
type Next struct {
	// Lifecycle is terminal, or WaitingForRetry.
	Lifecycle jobs.Lifecycle
	// At is when the next attempt starts; zero unless WaitingForRetry.
	At time.Time
}

// After returns what follows attempt n, which ended at now as ended: Succeeded, Failed, TimedOut or
// Canceled, of which the last two are never retried (decision 30). An attempt whose outcome is
// unknown counts as Failed (decision 31). firstStart is when the first attempt started. A wait may
// end after the time limit; the pass that finds the limit passed makes the target TimedOut.
func (p RetryPolicy) After(n int, ended jobs.Lifecycle, firstStart, now time.Time) Next {
	if ended != jobs.Failed {
		return Next{Lifecycle: ended}
	}
	if n > p.Retries {
		return Next{Lifecycle: jobs.Failed}
	}
	if p.Timeout > 0 && !now.Before(firstStart.Add(p.Timeout)) {
		return Next{Lifecycle: jobs.TimedOut}
	}
	return Next{Lifecycle: jobs.WaitingForRetry, At: now.Add(p.Wait(n))}
}
