package schedule

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func instant(t testing.TB, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	require.NoError(t, err)
	return at
}

func abs(n int64) int64 {
	if n < 0 {
		return -(n + 1)
	}
	return n
}
