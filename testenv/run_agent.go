package testenv

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
)

// RunAgent runs an agent until the returned function is called, which waits for the agent and fails
// the test if [agent.Hosting.Run] returned an error. The function may be called again; the test's
// cleanup calls it too.
func RunAgent(t testing.TB, hosting *agent.Hosting) (stop func()) {
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
