package mssql_test

import (
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/hostile"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// limited returns a runner with limits on the fixture's server.
func (f *fixture) limited(t *testing.T, limits mssql.AnswerLimits, encrypt string) *mssql.Runner {
	t.Helper()
	cfg := f.config(t, encrypt)
	cfg.Limits = limits
	servers, err := mssql.NewServers(cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	return mssql.NewRunner(servers, targets.Limits{})
}

// An attempt that exceeds a limit is Failed when the server has ended its script. The summary names
// the limit, with every encryption.
func TestLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	output := &mssql.Output{Server: "s", Database: "out", Table: "t"}
	for _, tc := range []struct {
		name   string
		limits mssql.AnswerLimits
		script string
		output *mssql.Output
		says   string
	}{
		{"value", mssql.AnswerLimits{ValueBytes: 100_000}, "SELECT REPLICATE(CONVERT(VARCHAR(MAX), 'x'), 100001) AS v",
			output,
			"limits.value_bytes (100000 bytes) is exceeded: a value of 100001 bytes in column 1"},
		{"row", mssql.AnswerLimits{ValueBytes: 100_000, RowBytes: 150_000},
			"SELECT REPLICATE(CONVERT(VARCHAR(MAX), 'x'), 80000) AS v, REPLICATE(CONVERT(VARCHAR(MAX), 'x'), 80000) AS w",
			output,
			"limits.row_bytes (150000 bytes) is exceeded"},
		{"output", mssql.AnswerLimits{ValueBytes: 2048, RowBytes: 2048, OutputBytes: 64 << 10},
			"SELECT REPLICATE('x', 1000) AS v FROM GENERATE_SERIES(1, 100)", output, "limits.output_bytes (64KB) is exceeded"},
		{"message", mssql.AnswerLimits{MessageBytes: 4096}, "PRINT REPLICATE(N'x', 4000)", nil,
			"limits.message_bytes (4KB) is exceeded: a message of 8000 bytes"},
		{"messages", mssql.AnswerLimits{Messages: 50}, "DECLARE @i INT = 0; WHILE @i < 100 BEGIN PRINT @i; SET @i += 1; END",
			nil, "limits.messages (50) is exceeded"},
		{"result sets", mssql.AnswerLimits{ResultSets: 50},
			"DECLARE @i INT = 0; WHILE @i < 100 BEGIN SELECT @i; SET @i += 1; END", nil, "limits.result_sets (50) is exceeded"},
		{"answer", mssql.AnswerLimits{AnswerBytes: 1 << 20}, "SELECT REPLICATE('x', 8000) FROM GENERATE_SERIES(1, 1000)",
			nil, "limits.answer_bytes (1MB) is exceeded"},
	} {
		for _, encrypt := range []string{"disable", "true", "strict"} {
			res := f.limited(t, tc.limits, encrypt).Run(t.Context(),
				mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: tc.script},
					Output: tc.output})
			require.Equal(t, targets.Failed, res.Outcome, "%s %s: %s", tc.name, encrypt, res.Summary)
			require.Contains(t, res.Summary, "The target exceeded a limit; the script was canceled on the server. "+tc.says)
			require.Equal(t, targets.ClassPermanent, res.Error.Class)
			require.Zero(t, res.RowsWritten)
		}
	}
	f.exec(t, "d", "SELECT 1") // the server still answers
}

// When a limit is exceeded and the end of the script cannot be verified, the outcome is unknown
// (I8).
func TestLimitOfTargetThatCannotBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logins atomic.Int32
		runner := hostileRunner(t, hostile.Mode{Name: "chatty, then silent", Serve: func(c *hostile.Conn) error {
			if logins.Add(1) > 1 {
				return c.Wait()
			}
			if err := c.Script(); err != nil {
				return err
			}
			if err := c.Begin(hostile.Message(0, 0, strings.Repeat("x", 30000))); err != nil {
				return err
			}
			return c.Wait()
		}})
		res := runner.Run(t.Context(), onD("EXEC script"))
		require.Equal(t, targets.Unknown, res.Outcome, res.Summary)
		require.Contains(t, res.Summary, "limits.message_bytes (32KB) is exceeded")
		require.Contains(t, res.Summary, "whether session 77 has ended is not known")
	})
}

// allocated returns how many bytes this process has allocated so far.
func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// Data without a reader cost nothing: a value of 300 MB passes in constant memory, the driver's
// buffers included.
func TestNobodyReadsTheRows(t *testing.T) {
	const chunks, size = 300, 1 << 20
	chunk := hostile.Chunk(make([]byte, size))
	runner := hostileRunner(t, hostile.Mode{Name: "a value of 300 MB", Serve: func(c *hostile.Conn) error {
		if err := c.Script(); err != nil {
			return err
		}
		if err := c.Begin(hostile.MaxValue(chunks * size)); err != nil {
			return err
		}
		for range chunks {
			if err := c.Begin(chunk); err != nil {
				return err
			}
		}
		if err := c.Answer(hostile.Chunk(nil), hostile.Done(0x10, 1)); err != nil {
			return err
		}
		return c.Wait()
	}})
	before := allocated()
	res := runner.Run(t.Context(), onD("EXEC script"))
	used := allocated() - before
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, int64(1), res.RowsAffected)
	require.Less(t, used, uint64(4<<20), "nothing of the value is kept")
}
