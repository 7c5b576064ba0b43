package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// underWay waits until n targets of a run are in progress.
func (f *fixture) underWay(t *testing.T, id uuid.UUID, n int) {
	t.Helper()
	f.until(t, id, time.Minute, func(rows []controldb.Execution) bool {
		running := 0
		for _, l := range lifecycles(rows, 1) {
			if l == jobs.InProgress {
				running++
			}
		}
		return running >= n
	})
}

// sessionsRunning counts requests that run on the server, but for the one that asks.
func (f *fixture) sessionsRunning(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, f.DB(t, "master").QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID;").Scan(&n))
	return n
}

func TestStopRequestEndsAHundredScriptsWithinTwoSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 100)
		f.startAgent(t, agent.Config{})
		f.job(t, "endless", []string{"WAITFOR DELAY '01:00:00';"})
		id := f.start(t, "endless")
		f.underWay(t, id, 100)
		require.NoError(t, f.store.StopJob(t.Context(), id))
		asked := time.Now()
		rows := f.ended(t, id, time.Minute)
		require.Less(t, time.Since(asked), 2*time.Second)
		require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
		for _, e := range rows {
			if e.TargetType == "SqlDatabase" {
				require.Equal(t, jobs.Canceled, e.Lifecycle)
				require.Equal(t, 1, e.Attempts)
			}
		}
	})
}

// What still runs when the grace of a stopping agent is over is canceled on the server; its outcome is unknown (I8), and another
// agent tries again (decision 31).
func TestStoppingAgentCancelsWhatOutlastsItsGrace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		hurry bool // a second signal comes after 3 s
		least time.Duration
		most  time.Duration
	}{
		{"grace over", false, 20 * time.Second, 24 * time.Second},
		{"told to hurry", true, 3 * time.Second, 7 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, env *testenv.Env) {
				f := newFixture(t, env, 3)
				f.job(t, "long", []string{"WAITFOR DELAY '00:01:00';"}, retries(3, 1))
				hurry := make(chan struct{})
				hosting, err := agent.New(agent.Config{Grace: 20 * time.Second}, f.store, f.Tools(t, f.store), hurry, zaptest.NewLogger(t))
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- hosting.Run(ctx) }()
				id := f.start(t, "long")
				f.underWay(t, id, 3)

				cancel()
				told := time.Now()
				if tc.hurry {
					<-time.After(3 * time.Second)
					close(hurry)
				}
				require.NoError(t, <-ended)
				took := time.Since(told)
				require.GreaterOrEqual(t, took, tc.least)
				require.Less(t, took, tc.most)
				require.Zero(t, f.sessionsRunning(t), "the scripts have ended on the server")
				for _, e := range f.run(t, id) {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, jobs.WaitingForRetry, e.Lifecycle, e.LastMessage)
						require.Contains(t, e.LastMessage, "unknown")
					}
				}
				f.startAgent(t, agent.Config{})
				rows := f.ended(t, id, time.Hour)
				require.Equal(t, jobs.Succeeded, rows[0].Lifecycle, rows[0].LastMessage)
				for _, e := range rows {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, 2, e.Attempts)
					}
				}
			})
		})
	}
}
