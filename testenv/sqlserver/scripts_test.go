//go:build unix

package sqlserver

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// engine is a container engine that records its calls.
const engine = `#!/bin/sh
echo "$*" >> "$RECORD"
case $1 in
port) echo "127.0.0.1:4711" ;;
inspect) echo "$RUNNING" ;;
logs) echo "Signal: SIGABRT" ;;
esac
`

// containerScript runs container.sh with an engine of that name.
func containerScript(t *testing.T, name, running string, args ...string) (stdout, stderr, calls string, err error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(engine), 0o700))
	record := filepath.Join(dir, "calls")
	cmd := exec.Command("bash", append([]string{"container.sh"}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+dir+":/usr/bin:/bin", "RECORD="+record, "RUNNING="+running, "SETTLE=0", "COLLATION=Turkish_100_CI_AS", "EDITION=StandardDeveloper",
		"ENGINE="+name, "GITHUB_ACTIONS=")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	made, readErr := os.ReadFile(record)
	require.NoError(t, readErr)
	return string(out), said.String(), string(made), err
}

func TestContainerScript(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"docker", "podman"} {
		out, _, calls, err := containerScript(t, name, "true", "image:2022", "fleet")
		require.NoError(t, err)
		require.Regexp(t, `^JOBAGENT_TEST_DSN=sqlserver://sa:Aa1-[0-9a-f]{36}@127\.0\.0\.1:4711\?TrustServerCertificate=true\n`+
			`JOBAGENT_TEST_FLEET=jobserver=\S+ server1=\S+ server2=\S+ london=\S+ newyork=\S+\n$`, out)
		require.Contains(t, calls, "--env MSSQL_COLLATION=Turkish_100_CI_AS --env MSSQL_PID=StandardDeveloper image:2022\n")
		require.NotContains(t, calls, "Aa1-", "other users can read command lines")
	}
}

// A server that ends at once is reported with its log, and not after the time limit of the first
// test.
func TestContainerThatEnds(t *testing.T) {
	t.Parallel()
	out, errors, _, err := containerScript(t, "docker", "false", "image:2017")
	require.Error(t, err)
	require.Empty(t, out)
	require.Contains(t, errors, "Signal: SIGABRT")
	require.Contains(t, errors, "kernels from 6.7 on")
}
