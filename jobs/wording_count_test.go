package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/wording"
)

func TestCount(t *testing.T) {
	t.Parallel()
	require.Equal(t, "0 runs", wording.Count(0, "run"))
	require.Equal(t, "1 run", wording.Count(1, "run"))
	require.Equal(t, "2 keys", wording.Count(2, "key"))
	require.Equal(t, "3 retries", wording.Count(3, "retry"))
	require.Equal(t, "1 retry", wording.Count(int64(1), "retry"))
	require.Equal(t, "10 days", wording.CountUpTo(10, 10, "day"))
	require.Equal(t, "more than 10 runs", wording.CountUpTo(11, 10, "run"))
}
