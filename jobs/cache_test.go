package jobs_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/cache"
)

// A cache keeps values up to their weight, and then forgets all.
func TestCacheWeights(t *testing.T) {
	t.Parallel()
	c := cache.Cache[string, int]{Most: 10}
	get := func(key string, weight int) (kept bool) {
		value, kept, err := c.Get(t.Context(), key, func(context.Context) (int, int, error) { return len(key), weight, nil })
		require.NoError(t, err)
		require.Equal(t, len(key), value)
		return kept
	}
	require.False(t, get("a", 4))
	require.False(t, get("bb", 6))
	require.True(t, get("a", 4))
	require.Equal(t, 10, c.Weight())
	require.False(t, get("ccc", 1))
	require.Equal(t, 1, c.Weight())
	require.False(t, get("a", 4), "it was forgotten")
	require.True(t, get("ccc", 1))
}

// Concurrent calls share one call of create, unless it fails.
func TestCacheConcurrentCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.Cache[int, string]{Most: 1}
		calls := 0
		slow := func(context.Context) (string, int, error) {
			calls++
			time.Sleep(time.Second)
			if calls == 1 {
				return "", 0, errors.New("broken")
			}
			return "made", 1, nil
		}
		errs := make(chan error, 3)
		for range 3 {
			go func() {
				_, _, err := c.Get(t.Context(), 1, slow)
				errs <- err
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, _, err := c.Get(ctx, 1, slow)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.EqualError(t, <-errs, "broken")
		require.NoError(t, <-errs)
		require.NoError(t, <-errs)
		require.Equal(t, 2, calls)
	})
}

// A panic must not block later calls.
func TestCachePanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c cache.Cache[int, string]
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			require.Panics(t, func() { _, _, _ = c.Get(ctx, 1, nil) }, "the second call must not wait for the first one")
		}
	})
}
