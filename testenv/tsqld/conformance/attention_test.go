package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A result set that is given up half-way ends with an attention. Whenever it arrives, the next request is answered.
func TestGivenUpResultSets(t *testing.T) {
	conn := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for i := range 60 {
		rows, err := conn.QueryContext(ctx, "SELECT value, @@VERSION FROM GENERATE_SERIES(1, 1000)")
		require.NoError(t, err)
		require.True(t, rows.Next())
		require.NoError(t, rows.Close())
		var n int
		require.NoError(t, conn.QueryRowContext(ctx, "SELECT 7").Scan(&n), "round %d", i)
		require.Equal(t, 7, n)
	}
}
