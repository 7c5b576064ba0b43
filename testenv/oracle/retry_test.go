package oracle

import (
	"math"
	"testing"
	"time"

	"github.com/jobagent/jobagent/jobs"
	"github.com/stretchr/testify/require"
)

// The specification lists these waits in section 3.7.
func TestDefaultWaits(t *testing.T) {
	t.Parallel()
	var seconds []int
	for _, w := range DefaultRetryPolicy().Waits() {
		seconds = append(seconds, int(w/time.Second))
	}
	require.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 120, 120, 120}, seconds)
}

func TestWait(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		policy RetryPolicy
		n      int
		want   time.Duration
	}{
		"FiveTenTwenty":     {RetryPolicy{Initial: 5 * time.Second, Maximum: time.Hour, Multiplier: 2}, 3, 20 * time.Second},
		"Constant":          {RetryPolicy{Initial: 3 * time.Second, Maximum: time.Hour, Multiplier: 1}, 9, 3 * time.Second},
		"Fraction":          {RetryPolicy{Initial: time.Second, Maximum: time.Hour, Multiplier: 1.5}, 3, 2250 * time.Millisecond},
		"RealIsNotDecimal":  {RetryPolicy{Initial: 100 * time.Second, Maximum: time.Hour, Multiplier: 1.1}, 2, 110 * time.Second},
		"CapBelowInitial":   {RetryPolicy{Initial: 10 * time.Second, Maximum: 4 * time.Second, Multiplier: 2}, 1, 4 * time.Second},
		"PowerOverflows":    {RetryPolicy{Initial: time.Second, Maximum: time.Minute, Multiplier: math.MaxFloat32}, 2147483647, time.Minute},
		"NoInitialOverflow": {RetryPolicy{Initial: 0, Maximum: time.Minute, Multiplier: math.MaxFloat32}, 2147483647, 0},
		"NoInitial":         {RetryPolicy{Initial: 0, Maximum: time.Minute, Multiplier: 2}, 3, 0},
		"BeforeTheFirst":    {DefaultRetryPolicy(), 0, 0},
		"LargestInt":        {RetryPolicy{Initial: 2147483 * time.Second, Maximum: 2147483647 * time.Second, Multiplier: 10}, 100, 2147483647 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, c.policy.Wait(c.n))
		})
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	p := RetryPolicy{Retries: 2, Initial: 10 * time.Second, Maximum: time.Minute, Multiplier: 2, Timeout: 100 * time.Second}
	now := start.Add(30 * time.Second)
	cases := map[string]struct {
		n     int
		ended jobs.Lifecycle
		now   time.Time
		want  Next
	}{
		"Succeeded":        {1, jobs.Succeeded, now, Next{Lifecycle: jobs.Succeeded}},
		"Canceled":         {1, jobs.Canceled, now, Next{Lifecycle: jobs.Canceled}},
		"TimedOut":         {1, jobs.TimedOut, now, Next{Lifecycle: jobs.TimedOut}},
		"FirstFailed":      {1, jobs.Failed, now, Next{jobs.WaitingForRetry, now.Add(10 * time.Second)}},
		"SecondFailed":     {2, jobs.Failed, now, Next{jobs.WaitingForRetry, now.Add(20 * time.Second)}},
		"LastFailed":       {3, jobs.Failed, now, Next{Lifecycle: jobs.Failed}},
		"FailedAtTheLimit": {1, jobs.Failed, start.Add(100 * time.Second), Next{Lifecycle: jobs.TimedOut}},
		"LastOutranks":     {3, jobs.Failed, start.Add(200 * time.Second), Next{Lifecycle: jobs.Failed}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, p.After(c.n, c.ended, start, c.now))
		})
	}
	unlimited := RetryPolicy{Retries: 2, Maximum: time.Minute}
	require.Equal(t, jobs.WaitingForRetry, unlimited.After(1, jobs.Failed, start, start.AddDate(10, 0, 0)).Lifecycle)
}
