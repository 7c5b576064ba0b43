package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// inProgress waits until n targets of a run are in progress.
func (f *fixture) inProgress(t *testing.T, id uuid.UUID, n int) {
	t.Helper()
	f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
		running := 0
		for _, l := range lifecycles(rows, 1) {
			if l == jobs.InProgress {
				running++
			}
		}
		return running >= n
	})
}

// sessionsRunning counts the other requests that run on the server.
func (f *fixture) sessionsRunning(t *testing.T) (n int) {
	t.Helper()
	f.query(t, "master", "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE session_id <> @@SPID;", &n)
	return n
}

func TestStopRequestEndsAHundredScriptsWithinTwoSeconds(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 100)
		core, logs := observer.New(zapcore.InfoLevel)
		hosting, err := agent.New(agent.Config{}, f.Store, agents.Tools(t, f.Env, f.Store), nil, zap.New(core))
		require.NoError(t, err)
		agents.Run(t, hosting)
		f.AddJob(t, "endless", []string{"WAITFOR DELAY '01:00:00';"})
		id := f.Start(t, "endless")
		f.inProgress(t, id, 100)
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		asked := time.Now()
		rows := f.ended(t, id, time.Minute)
		require.Less(t, time.Since(asked), 2*time.Second)
		require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
		require.Zero(t, f.sessionsRunning(t), "the scripts have ended on the server")
		for _, e := range rows {
			if e.TargetType == "SqlDatabase" {
				require.Equal(t, jobs.Canceled, e.Lifecycle)
				require.Equal(t, 1, e.Attempts)
			}
		}
		canceled := 0
		for _, entry := range logs.FilterMessage("canceling tasks").All() {
			fields := entry.ContextMap()
			require.Equal(t, "stop requested by sa", fields["cause"])
			canceled += int(fields["count"].(int64))
		}
		require.Equal(t, 100, canceled, "each task is logged once, with the login that stopped the run")
	})
}

// A script that does not respond to attention is ended with KILL, and the target's message says so.
// One login has no permission for KILL: the outcome of its script is unknown (I8), the run is
// Canceled nevertheless, and the worker becomes free.
func TestStopRequestForAnUnresponsiveScript(t *testing.T) {
	for _, tc := range []struct {
		name, login, outcome, message string
	}{
		{"KILL", "sa", "Canceled", "was ended with KILL"},
		{"no permission", "robot", "Unknown", "grant it VIEW SERVER STATE"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, testenv.Embedded(t, testenv.Options{Fault: func(p tsqld.Point) error {
					if p.Kind == tsqld.OnAttention && strings.Contains(p.Request, "unresponsive") {
						return errors.New("unresponsive")
					}
					return nil
				}}), 1)
				f.exec(t, "master", "CREATE LOGIN robot WITH PASSWORD = 'Only-4-tests';")
				f.exec(t, "db1", "CREATE USER robot;")
				tools := agents.Tools(t, f.Env, f.Store)
				if tc.login == "robot" {
					set, err := mssql.NewCredentialSet(mssql.LoginCredential(targets.DefaultCredential, "robot", "Only-4-tests", "*"))
					require.NoError(t, err)
					servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.Server.Dialer()})
					require.NoError(t, err)
					defer servers.Close()
					tools.Runner = mssql.NewRunner(servers, targets.Limits{})
				}
				hosting, err := agent.New(agent.Config{MaxConcurrentTargets: 1, Grace: -1, PollIdle: time.Second}, f.Store, tools, nil, zaptest.NewLogger(t))
				require.NoError(t, err)
				stop := agents.Run(t, hosting)

				f.AddJob(t, "unresponsive", []string{"/* unresponsive */ WAITFOR DELAY '01:00:00';"}, retries(5, 1))
				f.AddJob(t, "next", []string{"SELECT 1;"})
				id := f.Start(t, "unresponsive")
				f.inProgress(t, id, 1)
				require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
				rows := f.ended(t, id, 25*time.Second)
				require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
				require.Contains(t, rows[len(rows)-1].LastMessage, tc.message)
				var outcome string
				f.query(t, f.Control, "SELECT outcome FROM jobs_internal.task_executions WHERE target_execution_id IS NOT NULL;", &outcome)
				require.Equal(t, tc.outcome, outcome)
				require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "next"), time.Minute)[0].Lifecycle, "the only worker is free again")
				stop()
			})
		})
	}
}

// A script that still runs when the grace period of a stopping agent is over is canceled on the
// server. Its outcome is unknown (I8), and another agent retries it (decision 31).
func TestStoppingAgentCancelsScriptsAfterItsGrace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		skip  bool // a second signal comes after 3 s
		least time.Duration
		most  time.Duration
	}{
		{"grace over", false, 20 * time.Second, 24 * time.Second},
		{"grace skipped", true, 3 * time.Second, 7 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, env *testenv.Env) {
				f := newFixture(t, env, 3)
				f.AddJob(t, "long", []string{"WAITFOR DELAY '00:01:00';"}, retries(3, 1))
				skipGrace := make(chan struct{})
				hosting, err := agent.New(agent.Config{Grace: 20 * time.Second, PollIdle: 2 * time.Second}, f.Store, agents.Tools(t, f.Env, f.Store), skipGrace, zaptest.NewLogger(t))
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- hosting.Run(ctx) }()
				id := f.Start(t, "long")
				f.inProgress(t, id, 3)

				cancel()
				canceled := time.Now()
				if tc.skip {
					<-time.After(3 * time.Second)
					close(skipGrace)
				}
				require.NoError(t, <-ended)
				took := time.Since(canceled)
				require.GreaterOrEqual(t, took, tc.least)
				require.Less(t, took, tc.most)
				require.Zero(t, f.sessionsRunning(t), "the scripts have ended on the server")
				for _, e := range f.Run(t, id) {
					if e.TargetType == "SqlDatabase" {
						require.Equal(t, jobs.WaitingForRetry, e.Lifecycle, e.LastMessage)
						require.Contains(t, e.LastMessage, "unknown")
					}
				}
				f.startAgent(t, slowPolling)
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
