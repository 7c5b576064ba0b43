package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// A command line that is invalid without asking a server gives exit code 2, one line on stderr and
// nothing on stdout.
func TestUsageErrors(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	for _, line := range []string{
		"nonsense",
		"job nonsense",
		"job list",
		"job start",
		"job list -o xml",
		"job list --columns nonsense --dsn sqlserver://u:p@h?database=jobs",
		"job list --columns job_name -o json --dsn sqlserver://u:p@h?database=jobs",
		"job list --sort -nonsense --dsn sqlserver://u:p@h?database=jobs",
		"job list --jq .[ --dsn sqlserver://u:p@h?database=jobs",
		"job list --jq . -o yaml --dsn sqlserver://u:p@h?database=jobs",
		"job show j -o csv --dsn sqlserver://u:p@h?database=jobs",
		"job create j -o name --dsn sqlserver://u:p@h?database=jobs",
		"execution list --trigger Cron --dsn sqlserver://u:p@h?database=jobs",
		"execution list --since yesterday --dsn sqlserver://u:p@h?database=jobs",
		"execution list --limit 0 --dsn sqlserver://u:p@h?database=jobs",
		"execution show 6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68 --step-id 0 --dsn sqlserver://u:p@h?database=jobs",
		"job list --dsn file:/nonexistent",
		"run --dsn file:/nonexistent",
		"run --dsn env:JOBAGENT_TEST_UNSET",
		"run --dsn sqlserver://u:p@h:port",
		"run --dsn sqlserver://u:p@h?database=jobs --target-user u",
		"run --dsn sqlserver://u:p@h?database=jobs --target-user u --target-servers s --target-secret env:JOBAGENT_TEST_UNSET",
		"run --dsn sqlserver://u:p@h?database=jobs --target-credential c",
		"job list --dsn sqlserver://u:p@h?database=master",
		"account show",
		"account create",
		"account create a --dsn sqlserver://u:p@h?database=jobs --tag x",
		"account create a --dsn sqlserver://u:p@h?database=jobs --database other",
		"account create a --dsn sqlserver://u:p@h?database=jobs --capacity many",
		"account list",
		"step add j",
		"step add j --target-group g",
		"target-group add g",
		"target-group remove g abc",
		"schedule preview",
		"execution show",
		"execution show abc",
		"execution show 00000000-0000-0000-0000-000000000000",
		"execution errors 00000000-0000-0000-0000-000000000000",
		"execution targets 00000000-0000-0000-0000-000000000000",
		"execution outcomes --limit 0",
		"execution outcomes --limit 20001",
		"execution outcomes --job a --job-search b",
		"execution outcomes --target a --target-group g",
		"execution watch 00000000-0000-0000-0000-000000000000",
	} {
		t.Run(line, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := Run(t.Context(), strings.Fields(line), strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, exit.CodeUsage, code, stderr.String())
			require.Empty(t, stdout.String())
			require.Regexp(t, `^error: [^\n]+\n$`, stderr.String())
		})
	}
}
