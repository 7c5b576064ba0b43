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
	require.ErrorIs(t, a.Take(1), mserr.OutOfMemory(), "one session has half of it")
	require.NoError(t, b.Hold(49*mb))
	require.ErrorIs(t, c.Take(2*mb), mserr.OutOfMemory())
	require.NoError(t, c.Take(floor), "a little is there for everybody")
	require.Equal(t, int64(100*mb), p.Used())
	a.Close()
	a.Close()
	require.Equal(t, int64(50*mb), p.Used())
	require.ErrorIs(t, a.Hold(1), mserr.OutOfMemory(), "nothing is held after the end")
	b.Drop(49 * mb)
	c.Close()
	require.Zero(t, p.Used())
}

func TestWhatIsTakenEndsWithItsScope(t *testing.T) {
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
	require.Equal(t, int64(127), m.Used(), "Release takes back what was taken, not what is kept")
	require.NoError(t, m.Keep(-5))
	require.NoError(t, m.Take(-100))
	require.Equal(t, int64(22), m.Used())
	require.Equal(t, int64(1127), m.End())
	require.Equal(t, int64(7), m.Used(), "the request is over, the session is not")
	require.Equal(t, int64(7), m.End(), "the most since the last one")
}

func TestWorkHearsTheEnd(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := NewPool(0).Session()
	m.Begin(ctx)
	require.NoError(t, m.Work(2*quantum))
	cancel(why)
	require.NoError(t, m.Work(1), "a context is not looked at for each step")
	err := m.Work(quantum)
	require.ErrorIs(t, err, why)
	var stopped *Stopped
	require.ErrorAs(t, err, &stopped)
	m.End()
	require.NoError(t, m.Work(quantum), "between requests there is nothing to end")
}

func TestNobodysMeter(t *testing.T) {
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

func TestMeterOfSeveralGoroutines(t *testing.T) {
	t.Parallel()
	p := NewPool(1 << 20)
	var wg sync.WaitGroup
	for range 8 {
		m := p.Session()
		for range 2 { // the reader and the one that executes
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
