package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
)

// The doctor names secrets that cannot be read and settings that weaken actions, and no secret.
func TestDoctorExaminesActions(t *testing.T) {
	server := clitest.Server(t)
	doctor := func(config string) (int, string) {
		path := filepath.Join(t.TempDir(), "c.json")
		require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
		var out, errs strings.Builder
		code := cli.Run(t.Context(), []string{"doctor", "--config", path, "--dsn", server.DSN(embedded.ControlDatabase)}, strings.NewReader(""), &out, &errs)
		return code, out.String() + errs.String()
	}
	t.Setenv("DOCTOR_TEST_SECRET", "hunter2")
	_, text := doctor(`{"secrets": {"a": "env:DOCTOR_TEST_SECRET"}, "callbacks": {"listen": "127.0.0.1:0"}}`)
	require.Regexp(t, "runs .*Http, .*, StorageQueue, with callbacks", text)
	require.NotContains(t, text, "Process, with callbacks", "the configuration has no process")
	_, text = doctor(`{"secrets": {"a": "env:DOCTOR_TEST_SECRET", "b": "env:DOCTOR_TEST_NONE"},
		"outbound": {"servers": [{"match": "old.example.com", "tls": "insecure"}]}}`)
	require.Contains(t, text, "the secret b cannot be read: the environment variable DOCTOR_TEST_NONE is not set")
	require.Contains(t, text, "old.example.com accept any certificate")
	require.NotContains(t, text, "hunter2")
	code, text := doctor(`{"callbacks": {"listen": "nonsense"}, "secrets": {"a": "hunter2"}}`)
	require.Equal(t, 2, code)
	require.Contains(t, text, "invalid listen")
	require.NotContains(t, text, "hunter2")
}
