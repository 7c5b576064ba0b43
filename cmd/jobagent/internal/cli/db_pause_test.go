package cli_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/executions"
)

// While the control database is paused, the commands about runs and agents say so on stderr, and a
// start is refused. stdout stays as it is for scripts.
func TestPauseIsTold(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	do := func(want int, args ...string) (stdout, stderr string) {
		code, stdout, stderr := run(t, args...)
		require.Equal(t, want, code, "%v: %s%s", args, stdout, stderr)
		return stdout, stderr
	}
	do(exit.CodeOK, "target-group", "create", "g")
	do(exit.CodeOK, "target-group", "add", "g", "--server", "s", "--database", "d")
	do(exit.CodeOK, "job", "create", "j")
	do(exit.CodeOK, "step", "add", "j", "--command", "SELECT 1;", "--target-group", "g")
	id := uuid.New()
	_, err := executions.On(server.Store).StartJob(t.Context(), "j", id)
	require.NoError(t, err)
	commands := [][]string{
		{"agent", "status", "-o", "json"}, {"execution", "list", "-o", "json"}, {"execution", "explain", id.String(), "-o", "json"},
	}
	for _, args := range commands {
		_, stderr := do(exit.CodeOK, args...)
		require.NotContains(t, stderr, "paused", args)
	}
	do(exit.CodeOK, "db", "pause", "--reason", "new\ndisks")
	for _, args := range commands {
		stdout, stderr := do(exit.CodeOK, args...)
		require.Regexp(t, `^warning: the control database \(incarnation [0-9a-f-]{36}\) is paused since [^\n]+: new \| disks\. Nothing starts until: jobagent db resume\n$`, stderr, args)
		require.NotContains(t, stdout, "Nothing starts", args)
	}
	_, stderr := do(exit.CodeConflict, "job", "start", "j")
	require.Contains(t, stderr, "The control database is paused: new | disks. Nothing starts until jobagent db resume.")
	do(exit.CodeOK, "db", "resume")
	for _, args := range commands {
		_, stderr := do(exit.CodeOK, args...)
		require.NotContains(t, stderr, "paused", args)
	}
}
