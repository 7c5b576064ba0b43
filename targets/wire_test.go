package targets

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramName(t *testing.T) {
	t.Parallel()
	token := newToken()
	require.Len(t, token, 16)
	require.NotEqual(t, token, newToken())
	require.Equal(t, "jobagent "+token, programName("jobagent", token))
	long := make([]rune, 200)
	for i := range long {
		long[i] = 'ö'
	}
	name := []rune(programName(string(long), token))
	require.Len(t, name, 128)
	require.Equal(t, " "+token, string(name[128-17:]))
}

// Who is stopped between two batches leaves nothing behind on the server.
func TestStoppedBetweenTwoBatches(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopRequested)
	a := &attempt{sent: true, messages: &collector{}}
	res := a.result(ctx, a.batch(ctx, &session{}, "SELECT 2", 1))
	require.Equal(t, Canceled, res.Outcome)
	require.Equal(t, "The run was stopped; it had come between two batches, and the rest was not sent.", res.Summary)
}
