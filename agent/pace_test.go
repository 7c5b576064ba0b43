package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	t.Run("short scripts", func(t *testing.T) {
		t.Parallel()
		var p pace
		require.Zero(t, p.ahead(at(0)))
		for ms := range 1000 {
			p.add(at(ms))
			switch {
			case ms < 2:
				require.Zero(t, p.ahead(at(ms)), ms)
			case ms < 100:
				require.Equal(t, ms+1, p.ahead(at(ms)), "a short count predicts no more than it has counted")
			default:
				require.InDelta(t, 100, p.ahead(at(ms)), 2, "one per millisecond, at %d ms", ms)
			}
		}
	})
	t.Run("long scripts", func(t *testing.T) {
		t.Parallel()
		var p pace
		for ms := 0; ms < 10_000; ms += 200 {
			p.add(at(ms))
			p.add(at(ms))
			require.LessOrEqual(t, p.ahead(at(ms)), 2, "ten per second, in pairs, at %d ms", ms)
		}
	})
	t.Run("after the last task", func(t *testing.T) {
		t.Parallel()
		var p pace
		for range 500 {
			p.add(at(0))
		}
		require.Equal(t, 500, p.ahead(at(0)))
		require.Equal(t, 142, p.ahead(at(350)))
		require.Zero(t, p.ahead(at(500)), "the count is too old")
		p.add(at(700))
		p.add(at(700))
		require.Zero(t, p.ahead(at(700)), "two tasks predict nothing")
	})
}
