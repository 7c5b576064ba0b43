package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/pacing"
)

func TestPacing(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	t.Run("short scripts", func(t *testing.T) {
		t.Parallel()
		var p pacing.Pace
		require.Zero(t, p.Ahead(at(0)))
		for ms := range 1000 {
			p.Add(at(ms))
			switch {
			case ms < 2:
				require.Zero(t, p.Ahead(at(ms)), ms)
			case ms < 100:
				require.Equal(t, ms+1, p.Ahead(at(ms)), "a short count predicts no more than it has counted")
			default:
				require.InDelta(t, 100, p.Ahead(at(ms)), 2, "one per millisecond, at %d ms", ms)
			}
		}
	})
	t.Run("long scripts", func(t *testing.T) {
		t.Parallel()
		var p pacing.Pace
		for ms := 0; ms < 10_000; ms += 200 {
			p.Add(at(ms))
			p.Add(at(ms))
			require.LessOrEqual(t, p.Ahead(at(ms)), 2, "ten per second, in pairs, at %d ms", ms)
		}
	})
	t.Run("after the last task", func(t *testing.T) {
		t.Parallel()
		var p pacing.Pace
		for range 500 {
			p.Add(at(0))
		}
		require.Equal(t, 500, p.Ahead(at(0)))
		require.Equal(t, 142, p.Ahead(at(350)))
		require.Zero(t, p.Ahead(at(500)), "the count is too old")
		p.Add(at(700))
		p.Add(at(700))
		require.Zero(t, p.Ahead(at(700)), "two tasks predict nothing")
	})
}
