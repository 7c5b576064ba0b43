package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStatistics: SET STATISTICS TIME sends a message after each statement, OFF none.
func TestStatistics(t *testing.T) {
	s := workSession(t, newInstance(t))
	run := func(batch string) string {
		var r recorder
		require.NoError(t, s.Batch(t.Context(), batch, &r))
		return r.b.String()
	}
	const times = `Msg 3612, Level 10, State 1, Line \d+:\s+SQL Server Execution Times:\s+CPU time = 0 ms,  elapsed time = \d+ ms\.\n`
	require.Empty(t, run("SET STATISTICS TIME ON"))
	require.Regexp(t, `^\[a int not null\]\n1\n\(1\)\n`+times+`\[b int not null\]\n2\n\(1\)\n`+times+`$`, run("SELECT 1 AS a\nSELECT 2 AS b"))
	require.Empty(t, run("SET STATISTICS TIME OFF"))
	require.Equal(t, "[a int not null]\n1\n(1)\n", run("SELECT 1 AS a"))
	require.Contains(t, run("SET STATISTICS IO ON"), "SET STATISTICS IO has no effect")
	require.Contains(t, run("SET STATISTICS XML ON"), "Msg 40517")
}
