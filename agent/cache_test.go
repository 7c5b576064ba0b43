package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A worker that panics while it reads a value must not block later tasks of the same step.
func TestCacheAfterPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cache := newCache[string](nil, nil) // each read panics
		require.Panics(t, func() { _, _ = cache.get(t.Context(), 1) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.Panics(t, func() { _, _ = cache.get(ctx, 1) }, "the second call must not wait for the first one")
	})
}
