package meter

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

func TestSessionsShareThePool(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	p := NewPool(100 * mb)
	a, b, c := p.Session(), p.Session(), p.Session()
	require.NoError(t, a.Take(50*mb))
	require.ErrorIs(t, a.Take(1), mserr.OutOfMemory(), "one session may use half of the pool")
	require.NoError(t, b.Hold(49*mb))
	require.ErrorIs(t, c.Take(2*mb), mserr.OutOfMemory())
	require.NoError(t, c.Take(floor), "each session gets floor bytes")
	require.Equal(t, int64(100*mb), p.Used())
	a.Close()
	a.Close()
	require.Equal(t, int64(50*mb), p.Used())
	require.ErrorIs(t, a.Hold(1), mserr.OutOfMemory(), "a closed meter reserves nothing")
	b.Drop(49 * mb)
	c.Close()
	require.Zero(t, p.Used())
}

func TestReleaseAndEnd(t *testing.T) {
	t.Parallel()
	p := NewPool(1 << 30)
	m := p.Session()
	m.Begin(t.Context())
	require.NoError(t, m.Hold(7))
	require.NoError(t, m.Take(100))
	mark := m.Mark()
	require.NoError(t, m.Take(1000))
	require.NoError(t, m.Keep(20))
	m.Release(mark)
	require.Equal(t, int64(127), m.Used(), "Release affects Take, not Keep and Hold")
	require.NoError(t, m.Keep(-5))
	require.NoError(t, m.Take(-100))
	require.Equal(t, int64(22), m.Used())
	require.Equal(t, int64(1127), m.End())
	require.Equal(t, int64(7), m.Used(), "End does not affect Hold")
	require.Equal(t, int64(7), m.End(), "the peak since the last End")
}

func TestWorkReportsCancellation(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	ctx, cancel := context.WithCancelCause(t.Context())
	p := NewPool(0)
	var steps []int
	p.OnCheck = func(n int) { steps = append(steps, n) }
	m := p.Session()
	m.Begin(ctx)
	require.NoError(t, m.Work(2*quantum))
	cancel(cause)
	require.NoError(t, m.Work(1), "the context is checked once a quantum only")
	err := m.Work(quantum)
	require.ErrorIs(t, err, cause)
	var stopped *Stopped
	require.ErrorAs(t, err, &stopped)
	m.End()
	require.Equal(t, []int{2 * quantum, quantum + 1, 0}, steps)
	require.NoError(t, m.Work(quantum), "there is no context between requests")
}

func TestNilMeter(t *testing.T) {
	t.Parallel()
	var m *Meter
	m.Begin(t.Context())
	require.NoError(t, errors.Join(m.Take(1<<40), m.Keep(1<<40), m.Hold(1<<40), m.Work(1<<30), m.Err()))
	m.Release(m.Mark())
	m.Drop(1)
	require.Zero(t, m.End())
	require.Zero(t, m.Used())
	m.Close()
}

func TestConcurrentHold(t *testing.T) {
	t.Parallel()
	p := NewPool(1 << 20)
	var wg sync.WaitGroup
	for range 8 {
		m := p.Session()
		for range 2 { // the goroutines that read and execute requests
			wg.Go(func() {
				for n := range int64(1000) {
					if m.Hold(n) == nil {
						m.Drop(n)
					}
				}
			})
		}
	}
	wg.Wait()
	require.Zero(t, p.Used())
}
