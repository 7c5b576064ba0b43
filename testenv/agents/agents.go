// Package agents runs agents for tests. It is not part of testenv, so that tests without an agent
// link none: it brings the clients of all actions and the exporter of traces.
package agents

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv"
)

// Tools returns the runner and the resolver of an agent whose targets are the databases of a
// server.
func Tools(t testing.TB, env *testenv.Env, store *controldb.Store) agent.Tools {
	t.Helper()
	return tools(t, store, env.Servers(t))
}

// ToolsWithStored is Tools with the credentials that are stored in the control database, for all
// servers. keys are references to private keys.
func ToolsWithStored(t testing.TB, env *testenv.Env, store *controldb.Store, keys ...string) agent.Tools {
	t.Helper()
	stored := agent.NewStoredCredentials(store, keys, zap.NewNop())
	set, err := env.Credentials(t).WithStored(stored.Login, "*")
	require.NoError(t, err)
	tools := tools(t, store, env.ServersWith(t, set))
	tools.OnClaim = append(tools.OnClaim, stored.Expire)
	return tools
}

func tools(t testing.TB, store *controldb.Store, servers *mssql.Servers) agent.Tools {
	t.Helper()
	instance, err := store.Instance(t.Context())
	require.NoError(t, err)
	return agent.Tools{Runner: mssql.NewRunner(servers, targets.Limits{}), Resolver: mssql.NewResolver(servers, instance)}
}

// Run runs an agent until the returned function is called, which waits for the agent and fails the
// test if [agent.Hosting.Run] returned an error. The function may be called again; the test's
// cleanup calls it too.
func Run(t testing.TB, hosting *agent.Hosting) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- hosting.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	t.Cleanup(stop)
	return stop
}
