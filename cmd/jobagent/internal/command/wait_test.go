package command_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
)

func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, reads := time.Now(), 0
		count := func(end int, err error) func() (bool, error) {
			reads = 0
			return func() (bool, error) {
				reads++
				return reads == end, err
			}
		}
		require.NoError(t, command.Poll(t.Context(), time.Second, count(3, nil)))
		require.Equal(t, 3, reads)
		require.Equal(t, 2*time.Second, time.Since(began), "the first read is at once")

		broken := errors.New("broken")
		require.ErrorIs(t, command.Poll(t.Context(), time.Second, count(3, broken)), broken)
		require.Equal(t, 1, reads)

		over := errors.New("over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 90*time.Second, over)
		defer cancel()
		require.ErrorIs(t, command.Poll(ctx, time.Minute, count(100, nil)), over)
		require.Equal(t, 2, reads)
	})
}
