package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/internal/backoff"
)

func TestExponentialGrowsToItsMaximumAndStartsAgain(t *testing.T) {
	t.Parallel()
	b := backoff.Exponential{Min: 100 * time.Millisecond, Max: 5 * time.Second}
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		want *= time.Millisecond
		got := b.Next()
		require.GreaterOrEqual(t, got, want/2, "delay %d", i)
		require.LessOrEqual(t, got, want+1, "delay %d", i)
	}
	b.Reset()
	require.LessOrEqual(t, b.Next(), 100*time.Millisecond)
}

func TestExponentialDoesNotOverflow(t *testing.T) {
	t.Parallel()
	b := backoff.Exponential{Min: time.Second, Max: time.Minute}
	for range 200 {
		d := b.Next()
		require.Positive(t, d)
		require.LessOrEqual(t, d, time.Minute)
	}
}

func TestJitteredStaysNear(t *testing.T) {
	t.Parallel()
	for range 1000 {
		d := backoff.Jittered(time.Second)
		require.GreaterOrEqual(t, d, 900*time.Millisecond)
		require.LessOrEqual(t, d, 1101*time.Millisecond)
	}
}
