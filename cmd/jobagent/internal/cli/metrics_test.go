package cli_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/metrics"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

func TestFilesArePrinted(t *testing.T) {
	t.Parallel()
	run := func(name string) []byte {
		var out bytes.Buffer
		cmd := metrics.NewCommand(&connect.New(nil, &out, nil).Printer)
		cmd.SetArgs([]string{name})
		require.NoError(t, cmd.ExecuteContext(t.Context()))
		return out.Bytes()
	}
	require.Contains(t, string(run("rules")), "- alert: JobAgentNoTerm")
	require.True(t, json.Valid(run("dashboard")))
}
