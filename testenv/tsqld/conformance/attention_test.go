package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client ends a result set early with an attention. The next request is answered, whenever the
// attention arrives.
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

// GENERATE_SERIES produces its rows on demand: the first row of a series of all int values comes at
// once, and the statement ends when its reader is closed.
func TestLongSeriesAreStreamed(t *testing.T) {
	conn := open(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var value int64
	rows, err := conn.QueryContext(ctx, "SELECT value, REPLICATE('x', 100) FROM GENERATE_SERIES(-2147483648, 2147483647)")
	require.NoError(t, err)
	for want := range int64(1000) {
		var s string
		require.True(t, rows.Next())
		require.NoError(t, rows.Scan(&value, &s))
		require.Equal(t, want-2147483648, value)
	}
	require.NoError(t, rows.Close())
	require.NoError(t, conn.QueryRowContext(ctx, "SELECT TOP (1) value FROM GENERATE_SERIES(CAST(1 AS bigint), 9223372036854775807)").Scan(&value))
	require.EqualValues(t, 1, value)
	// The inner side of a join is read again from its first row.
	require.NoError(t, conn.QueryRowContext(ctx, "SELECT SUM(a.value * b.value) FROM GENERATE_SERIES(1, 4) a CROSS JOIN GENERATE_SERIES(1, 3) b").Scan(&value))
	require.EqualValues(t, 60, value)
}
