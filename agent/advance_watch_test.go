package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

// A session with the role jobs_agent holds the lock of passes. Both agents log it after ten seconds
// and again, at growing intervals, and they log that executions advance again after its release.
// Agents that skip passes because of each other log nothing.
func TestSkippedPassesAreLogged(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:30';"})
		core, logs := observer.New(zapcore.InfoLevel)
		for range 2 {
			hosting, err := agent.New(agent.Config{}, f.Store, agents.Tools(t, f.Env, f.Store), nil, zap.New(core))
			require.NoError(t, err)
			agents.Run(t, hosting)
		}
		about := func(text string) (list []map[string]any) {
			for _, e := range logs.All() {
				if strings.Contains(e.Message, text) {
					list = append(list, e.ContextMap())
				}
			}
			return list
		}
		rows := f.ended(t, f.Start(t, "j"), 5*time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Empty(t, about("no agent can advance executions"))

		f.exec(t, "master", "CREATE LOGIN eve WITH PASSWORD = 'Pw1-of-eve';")
		f.exec(t, f.Control, "CREATE USER eve FOR LOGIN eve; ALTER ROLE jobs_agent ADD MEMBER eve;")
		conn, err := env.DBAs(t, f.Control, "eve", "Pw1-of-eve").Conn(t.Context())
		require.NoError(t, err)
		_, err = conn.ExecContext(t.Context(), "EXECUTE sp_getapplock @Resource = N'jobagent.advance', @LockMode = N'Exclusive', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent';")
		require.NoError(t, err)
		id := f.Start(t, "j")
		<-time.After(9 * time.Second)
		require.Empty(t, about("no agent can advance executions"))
		<-time.After(3 * time.Minute)
		require.Equal(t, "Created", string(f.Run(t, id)[0].Lifecycle))
		warnings := about("no agent can advance executions")
		require.Greater(t, len(warnings), 4)
		require.Less(t, len(warnings), 14, "at growing intervals")
		for _, w := range warnings {
			require.Contains(t, w["lock_holder"], "of login eve, program")
		}
		require.Empty(t, about("executions advance again"))
		_, err = conn.ExecContext(t.Context(), "EXECUTE sp_releaseapplock @Resource = N'jobagent.advance', @LockOwner = N'Session', @DbPrincipal = N'jobs_agent';")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		f.until(t, id, 10*time.Second, func(rows []executions.Execution) bool { return !rows[0].Active })
		<-time.After(time.Second)
		require.Len(t, about("executions advance again"), 2)
	})
}
