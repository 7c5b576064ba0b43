package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// Paragraphs that are too wide are broken again; tables, examples and what fits stay.
func TestReflow(t *testing.T) {
	t.Parallel()
	text := "one two three\nfour five six seven\n\nWith:   a\nBut:    b\n\nIt exits with\n  0    if it is longer\n       than the width\n  7    else"
	require.Equal(t, text, reflow(text, 40))
	require.Equal(t, "one two three four\nfive six seven\n\nWith:   a\nBut:    b\n\nIt exits with\n  0    if it is\n       longer than\n       the width\n  7    else", reflow(text, 18))
}

// The help of a command describes its flags and its group's, and names those of all commands.
func TestHelpNamesFlagsOfAllCommands(t *testing.T) {
	t.Parallel()
	help := func(args ...string) string {
		var stdout, stderr strings.Builder
		require.Equal(t, exit.CodeOK, Run(t.Context(), append(args, "--help"), strings.NewReader(""), &stdout, &stderr), stderr.String())
		return stdout.String()
	}
	every := "Flags of every command, which jobagent --help describes:\n  --color --config --context --dsn --jq --log-level"
	create := help("token", "create")
	require.Contains(t, create, "\n\n"+every+" -o --progress\n")
	require.Contains(t, create, "Flags of jobagent token:\n      --file FILE ")
	require.NotContains(t, create, "minimum level of log entries")
	require.Contains(t, help("bench", "fanout"), every+" --progress\n", "-o of jobagent bench is its own")
	require.Contains(t, help(), "minimum level of log entries")
	require.NotContains(t, help(), every)
}
