package mssql_test

import (
	"context"
	"database/sql/driver"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// TestRead: an attempt that reads leaves nothing behind, and the reason of its end decides its
// outcome.
func TestRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int);")
	on := func(database string) targets.Attempt {
		return targets.Attempt{Target: targets.NewTarget("s", database, "")}
	}
	count := func(n *int64) func(context.Context, *mssql.Session) error {
		return func(ctx context.Context, s *mssql.Session) error {
			return s.Ask(ctx, "INSERT INTO t VALUES (1); SELECT COUNT(*) FROM t;", 1, mssql.Answers{Row: func(row []driver.Value) error {
				*n, _ = row[0].(int64)
				return nil
			}})
		}
	}
	for range 2 {
		var n int64
		res := f.runner.Read(t.Context(), on("d"), count(&n))
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
		require.True(t, res.Sent)
		require.EqualValues(t, 1, n, "rolled back")
	}
	var n int64
	res := f.runner.Read(t.Context(), on("none"), count(&n))
	require.Equal(t, targets.Failed, res.Outcome)
	require.False(t, res.Sent)
	require.EqualValues(t, 4060, res.Error.Number)
	require.Contains(t, res.Summary, "Msg 4060")
	require.True(t, res.Phases[0].Failed)

	for cause, want := range map[error]targets.Outcome{
		targets.ErrStopRequested: targets.Canceled, targets.ErrTimeout: targets.TimedOut, context.DeadlineExceeded: targets.TimedOut, context.Canceled: targets.NotSent,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		res := f.runner.Read(ctx, on("d"), func(ctx context.Context, s *mssql.Session) error {
			cancel(cause)
			return s.Ask(ctx, "SELECT 1;", 1, mssql.Answers{})
		})
		require.Equal(t, want, res.Outcome, cause)
		require.NotEmpty(t, res.Summary)
	}
}
