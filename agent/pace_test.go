package agent

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPaceForgets(t *testing.T) {
	t.Parallel()
	var p pace
	at := func(ms int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(ms) * time.Millisecond)
	}
	require.Zero(t, p.recent(at(0)))
	for ms := range 100 {
		p.add(at(ms))
	}
	require.Equal(t, 100, p.recent(at(99)))
	p.add(at(150))
	require.Equal(t, 101, p.recent(at(199)), "two spans are remembered")
	require.Equal(t, 1, p.recent(at(200)))
	p.add(at(299))
	require.Equal(t, 1, p.recent(at(300)))
	require.Zero(t, p.recent(at(500)), "nobody finished anything")
	p.add(at(1000))
	require.Equal(t, 1, p.recent(at(1099)))
}
