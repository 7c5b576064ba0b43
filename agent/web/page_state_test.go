package web_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/jobs"
)

// The pages show each lifecycle in its class.
func TestClassesOfLifecycles(t *testing.T) {
	t.Parallel()
	for _, l := range append(jobs.Lifecycles(), jobs.WaitingForCallback) {
		require.Equal(t, string(l.Class()), page.StateClass(l), l)
		require.Contains(t, page.State(l), "s-"+string(l.Class()), l)
	}
	require.Equal(t, "wait", page.StateClass("something new"))
}
