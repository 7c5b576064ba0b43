package output_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 runs", output.Count(0, "run"))
	require.Equal(t, "1 run", output.Count(1, "run"))
	require.Equal(t, "2 keys", output.Count(2, "key"))
	require.Equal(t, "3 retries", output.Count(3, "retry"))
	require.Equal(t, "1 retry", output.Count(int64(1), "retry"))
	require.Equal(t, "10 days", output.CountUpTo(10, 10, "day"))
	require.Equal(t, "more than 10 runs", output.CountUpTo(11, 10, "run"))
}
