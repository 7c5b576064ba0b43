package main

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

// TestResolveOfAServerThatIsDown: a group with a server that nobody can reach is a matter of the connection, not of the group.
func TestResolveOfAServerThatIsDown(t *testing.T) {
	password := randomPassword()
	server, err := startEmbedded(t.Context(), "", "127.0.0.1:0", password, "disable", zap.NewNop())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.close()) })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down := strings.Replace(listener.Addr().String(), ":", ",", 1)
	require.NoError(t, listener.Close())
	dsn := server.url(controlDatabase)
	dsn.User = url.UserPassword("sa", password)
	for _, line := range [][]string{
		{"target-group", "create", "g"},
		{"target-group", "add", "g", "--server", down},
	} {
		var out strings.Builder
		require.Equal(t, exitOK, run(t.Context(), append(line, "--dsn", dsn.String()), strings.NewReader(""), &out, &out), out.String())
	}
	// The login of the control database goes to its own port only: another port of the host may be anybody's.
	var out strings.Builder
	code := run(t.Context(), []string{"target-group", "resolve", "g", "--dsn", dsn.String()}, strings.NewReader(""), &out, &out)
	require.Equal(t, exitUsage, code, out.String())
	require.Contains(t, out.String(), "may not be used on server")

	config := filepath.Join(t.TempDir(), "config.json")
	t.Setenv("JOBAGENT_TEST_PASSWORD", password)
	require.NoError(t, os.WriteFile(config, []byte(`{"targets": {"default_credential": "c"}, "credentials": [{"name": "c", "servers": ["127.0.0.1"], "user": "sa", "secret": "env:JOBAGENT_TEST_PASSWORD"}]}`), 0o600))
	out.Reset()
	code = run(t.Context(), []string{"target-group", "resolve", "g", "--dsn", dsn.String(), "--config", config}, strings.NewReader(""), &out, &out)
	require.Equal(t, exitConnection, code, out.String())
	require.Regexp(t, `^error: resolve target group "g": .*refused.*\n$`, out.String())
}
