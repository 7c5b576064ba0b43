package misses

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// work enters a gate and holds a slot for a time.
func work(ctx context.Context, g *Gate, remote string, takes time.Duration, missed bool) error {
	leave, err := g.Enter(ctx, remote)
	if err != nil {
		return err
	}
	<-time.After(takes)
	leave(missed)
	return nil
}

// Networks that miss, however many they are, delay others by no more than what is under way, also
// when they all come at once for the first time.
func TestGateKeepsMissesApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(2, 1, 1, 1)
		const hash = 150 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		for i := range 59 {
			remote := fmt.Sprintf("198.51.100.%d:1", i)
			for range 20 { // all at once, and then again and again
				go func() {
					for work(ctx, g, remote, hash, true) == nil {
					}
				}()
			}
		}
		synctest.Wait()
		for range 30 { // from the first moment on, and over several windows
			began := time.Now()
			require.NoError(t, work(t.Context(), g, "192.0.2.1:1", hash, false))
			require.LessOrEqual(t, time.Since(began), 2*hash)
			<-time.After(7 * time.Second)
		}
		stop()
		<-time.After(time.Minute)
		synctest.Wait()
		require.Equal(t, 2, g.free)
		require.Empty(t, g.waiting)
	})
}

// One network's many requests at once do not fill the slots, even before the first of them misses.
func TestGateSharesSlotsByNetwork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(16, 2, 8, 60)
		for i := range 500 {
			go func() { _ = work(t.Context(), g, fmt.Sprintf("198.51.100.1:%d", i), 5*time.Millisecond, true) }()
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, work(t.Context(), g, "192.0.2.1:1", 5*time.Millisecond, false))
		require.Equal(t, 5*time.Millisecond, time.Since(began))
		<-time.After(time.Minute / 2)
		synctest.Wait()
		require.Empty(t, g.under)
		began = time.Now()
		require.NoError(t, work(t.Context(), g, "198.51.100.1:1", 5*time.Millisecond, false), "no network is refused")
		require.Equal(t, 5*time.Millisecond, time.Since(began))
	})
}

// Two windows after its last miss, a network is treated as all others.
func TestGateForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(2, 1, 1, 1)
		const remote = "192.0.2.1:1"
		require.NoError(t, work(t.Context(), g, remote, 0, true))
		leave, err := g.Enter(t.Context(), remote)
		require.NoError(t, err)
		require.Len(t, g.few, 1)
		leave(false)
		<-time.After(2 * Window)
		leave, err = g.Enter(t.Context(), remote)
		require.NoError(t, err)
		require.Empty(t, g.few)
		leave(false)
	})
}

// A client that goes away while it waits leaves nothing behind.
func TestGateGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 1, 1, 1)
		leave, err := g.Enter(t.Context(), "192.0.2.1:1")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, remote := range []string{"192.0.2.1:1", "192.0.2.2:1"} {
			_, err = g.Enter(ctx, remote)
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		leave(true)
		require.Empty(t, g.under)
		require.Empty(t, g.waiting)
		require.Equal(t, 1, g.free)
		require.Empty(t, g.few)
		for i := range maxEntries + 100 {
			require.NoError(t, work(t.Context(), g, fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&255, i&255), 0, true))
		}
		require.Len(t, g.now, maxEntries, "memory is bounded")
	})
}
