package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/pacing"
)

func TestPollAfterPass(t *testing.T) {
	t.Parallel()
	p := pacing.Polls{Active: 50 * time.Millisecond, Idle: 300 * time.Millisecond, Lease: 30 * time.Second}
	exact := func(d time.Duration) time.Duration { return d }
	for name, c := range map[string]struct {
		passed pacing.Passed
		want   time.Duration
	}{
		"it claimed all that it asked for": {pacing.Passed{Full: true, Low: true}, 0},
		"the queue has enough":             {pacing.Passed{Full: true}, p.Idle},
		"the queue is nearly empty":        {pacing.Passed{Low: true}, p.Idle},
		"there is more to do":              {pacing.Passed{More: true}, 0},
		"tasks run":                        {pacing.Passed{Active: true, SinceActive: time.Second, Held: 1}, p.Active},
		"the queue feeds the workers":      {pacing.Passed{Active: true, Fed: true, Held: 1}, p.Idle},
		"… of one of a hundred":            {pacing.Passed{Active: true, Fed: true, Held: 1, Agents: 100}, p.Idle},
		"… and a retry comes due":          {pacing.Passed{Active: true, Fed: true, Held: 1, Wakes: true, WakesIn: p.Active}, p.Active},
		"a run has just ended":             {pacing.Passed{Active: true, SinceActive: time.Second}, p.Active / 2},
		"tasks of one of twenty run":       {pacing.Passed{Active: true, Held: 1, Agents: 20}, 2 * p.Active},
		"tasks of one of a hundred run":    {pacing.Passed{Active: true, Held: 1, Agents: 100}, p.Idle},
		"a run of a hundred has ended":     {pacing.Passed{Active: true, Agents: 100}, 5 * p.Active},
		"a long script runs":               {pacing.Passed{Active: true, SinceActive: 2 * time.Second, Held: 1}, p.Idle},
		"a long script of a hundred runs":  {pacing.Passed{Active: true, SinceActive: 2 * time.Second, Held: 1, Agents: 100}, p.Idle},
		"idle":                             {pacing.Passed{}, p.Idle},
		"one of ten idle agents":           {pacing.Passed{Agents: 10}, p.Idle},
		"one of a hundred":                 {pacing.Passed{Agents: 100}, 10 * p.Idle},
		"one of ten thousand":              {pacing.Passed{Agents: 10_000}, p.Lease / 3},
		"a retry comes due":                {pacing.Passed{Agents: 100, Wakes: true, WakesIn: time.Second}, time.Second},
		"a retry has come due":             {pacing.Passed{Wakes: true, WakesIn: -time.Second}, p.Active},
	} {
		require.Equal(t, c.want, p.AfterPass(c.passed, exact), name)
	}
	require.Equal(t, 150*time.Millisecond, p.AfterPass(pacing.Passed{}, func(d time.Duration) time.Duration { return d / 2 }))
}

func TestPollIntervals(t *testing.T) {
	t.Parallel()
	p := pacing.Polls{Active: 50 * time.Millisecond, Idle: 300 * time.Millisecond, Lease: 30 * time.Second}
	require.Equal(t, p.Active, p.Gather(10, false))
	require.Equal(t, 2*p.Active, p.Gather(20, false))
	require.Equal(t, p.Idle, p.Gather(1000, false))
	require.Equal(t, 3*p.Active, p.Gather(10, true))
	require.Equal(t, 4*p.Active, p.Gather(40, true))
	require.Equal(t, p.Idle, p.Gather(1000, true))
	require.Equal(t, 2*p.Active, pacing.Polls{Active: p.Active, Idle: 2 * p.Active}.Gather(10, true))
	require.Equal(t, time.Second, p.Schedules(0))
	require.Equal(t, 10*time.Second, p.Schedules(100))
	require.Equal(t, p.Lease, p.Schedules(1000))
	require.Equal(t, 10*time.Second, p.Renewal())
	require.Equal(t, 5*time.Second, pacing.Evaluation(0))
	require.Equal(t, 15*time.Second, pacing.Evaluation(100))
	require.Equal(t, 2*time.Second, pacing.AlertClaim(10))
	require.Equal(t, 20*time.Second, pacing.AlertClaim(100))
	require.Equal(t, 20*time.Second, pacing.AlertClaim(1000))
}

func TestPollClaims(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claims pacing.Claims
		want   int
		low    bool
	}{
		"idle":                           {pacing.Claims{Workers: 100, Prefetch: 100}, 100, true},
		"fast workers":                   {pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Running: 100, Held: 100}, 40, true},
		"very fast workers":              {pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 900, Running: 100, Held: 100}, 100, true},
		"the queue has a quarter":        {pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Queued: 11, Running: 100, Held: 111}, 29, false},
		"outcomes wait":                  {pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Held: 170}, 30, true},
		"the outbox is full":             {pacing.Claims{Workers: 100, Prefetch: 100, OutboxFull: true}, 0, true},
		"long scripts, and a full queue": {pacing.Claims{Workers: 2, Prefetch: 2, Queued: 2, Running: 2, Held: 4}, 0, false},
	} {
		require.Equal(t, c.want, c.claims.Wanted(), name)
		require.Equal(t, c.low, c.claims.Low(), name)
	}
	require.True(t, pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Queued: 11, Backlog: true}.Fed())
	require.False(t, pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Queued: 10, Backlog: true}.Fed(), "nearly empty")
	require.False(t, pacing.Claims{Workers: 100, Prefetch: 100, Ahead: 40, Queued: 11}.Fed(), "no backlog")
	require.False(t, pacing.Enough(74, 100))
	require.True(t, pacing.Enough(75, 100))
	require.False(t, pacing.Enough(0, 1))
	require.True(t, pacing.Enough(1, 1))
}
