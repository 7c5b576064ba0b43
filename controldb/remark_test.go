package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// What a success says beyond its state is a remark, such as that nothing was written.
func TestRemark(t *testing.T) {
	t.Parallel()
	const on = "Step 1 succeeded execution on target (server 's', database 'it's'). "
	left := "The script left a transaction open (@@TRANCOUNT 1)."
	for message, want := range map[string]string{
		"": "", on[:len(on)-1]: "", on + left: left,
		"Step 12 succeeded execution on endpoint 'a.example.com'. 200": "200",
	} {
		require.Equal(t, want, executions.Remark(jobs.Succeeded, message))
	}
	require.Equal(t, "Cannot.", executions.Remark(jobs.Failed, "Cannot."))
	longest := "Step 2147483647 succeeded execution on target (server '" + strings.Repeat("s", 256) + "', database '" + strings.Repeat("d", 128) + "'). "
	require.Less(t, len(longest), executions.MaxSuccessSentence)
}
