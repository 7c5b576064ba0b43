package demo_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(t.Context(), []string{"demo", "--databases", "8", "-o", "json"}, nil, &stdout,
		&stderr), stderr.String())
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var got output.DemoRun
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &got))
	require.Equal(t, "Failed", string(got.Lifecycle))
	require.Equal(t, 7, got.Targets.Total)
	require.Equal(t, 6, got.Targets.Succeeded)
	require.Equal(t, 1, got.Targets.Failed)
	require.Equal(t, 7+1+7+2, got.Attempts, "step 1 with one retry, step 2 with two retries of the broken tenant")
	require.NotZero(t, got.ElapsedMS)
	var summary struct {
		Job, Run string
		Failure  struct {
			Outcome, Target, Message string
			Attempts                 int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Received), &summary), got.Received)
	require.Equal(t, "Add order totals", summary.Job)
	require.Equal(t, got.ID.String(), summary.Run)
	require.Equal(t, "Failed", summary.Failure.Outcome)
	require.Contains(t, summary.Failure.Target, "Tenant0004")
	require.Contains(t, summary.Failure.Message, "Msg 245")
	require.Equal(t, 3, summary.Failure.Attempts)
}

func TestDemoText(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(t.Context(), []string{"demo", "--databases", "6"}, nil, &stdout, &stderr),
		stderr.String())
	for _, part := range []string{"Tenant0004", "245", "n/a", "after 2 attempts", "TENANT", "step 3 on its endpoint", `"job": "Add order totals"`,
		"jobagent dev"} {
		require.Contains(t, stdout.String(), part)
	}
}
