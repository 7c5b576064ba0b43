package cli_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// An unreachable server of a group is a connection error, not an error of the group.
func TestResolveOfAServerThatIsDown(t *testing.T) {
	password := embedded.RandomPassword()
	server := clitest.ServerWith(t, password, "disable")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	down := strings.Replace(listener.Addr().String(), ":", ",", 1)
	require.NoError(t, listener.Close())
	dsn := server.URL(embedded.ControlDatabase)
	dsn.User = url.UserPassword("sa", password)
	t.Setenv("JOBAGENT_TEST_CONTROL", dsn.String())
	for _, line := range [][]string{
		{"target-group", "create", "g"},
		{"target-group", "add", "g", "--server", down},
	} {
		var out strings.Builder
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), append(line, "--dsn", "env:JOBAGENT_TEST_CONTROL"), strings.NewReader(""), &out,
			&out), out.String())
	}
	// The login of the control database is not used on targets.
	resolve := func(args ...string) (code int, output string) {
		var out strings.Builder
		code = cli.Run(t.Context(), append([]string{"target-group", "resolve", "g", "--dsn", "env:JOBAGENT_TEST_CONTROL"}, args...),
			strings.NewReader(""), &out, &out)
		return code, out.String()
	}
	code, out := resolve()
	require.Equal(t, exit.CodeUsage, code, out)
	require.Contains(t, out, "give the agent --target-credential NAME, or --target-user LOGIN with --target-secret and --target-servers")
	t.Setenv("JOBAGENT_TEST_PASSWORD", password)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--target-user", "sa"}, "--target-user requires --target-servers"},
		{[]string{"--target-servers", "*"}, "--target-secret and --target-servers require --target-user"},
		{[]string{"--target-user", "sa", "--target-servers", "*", "--target-secret", "hunter2"}, "invalid secret: want a reference"},
		{[]string{"--target-user", "sa", "--target-servers", "*"}, "JOBAGENT_TARGET_PASSWORD is not set"},
		{[]string{"--target-user", "sa", "--target-servers", server.ServerName(), "--target-secret",
			"env:JOBAGENT_TEST_PASSWORD"}, "may not be used on server"},
		{[]string{"--target-credential", "c"}, `--target-credential names "c", but the configuration file has no such credential`},
		{[]string{"--target-credential", "c", "--target-user", "sa", "--target-servers", "*"}, "cannot be combined"},
	} {
		code, out := resolve(c.args...)
		require.Equal(t, exit.CodeUsage, code, out)
		require.Contains(t, out, c.want)
		require.NotContains(t, out, "hunter2")
	}
	code, out = resolve("--target-user", "sa", "--target-servers", "127.0.0.1", "--target-secret",
		"env:JOBAGENT_TEST_PASSWORD")
	require.Equal(t, exit.CodeConnection, code, out)

	config := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"targets": {"default_credential": "c"}, "credentials": [{"name": "c", "servers": ["127.0.0.1"], "user": "sa", "secret": "env:JOBAGENT_TEST_PASSWORD"}]}`), 0o600))
	for _, args := range [][]string{{"--config", config}, {"--config", config, "--target-credential", "C"}} {
		code, out = resolve(args...)
		require.Equal(t, exit.CodeConnection, code, out)
		require.Regexp(t, `^error: resolve target group "g": .*refused.*\n$`, out)
	}
}

// resolve counts what each member adds or excludes, and warns of those that have no effect.
func TestResolveCountsMembers(t *testing.T) {
	password := embedded.RandomPassword()
	server := clitest.ServerWith(t, password, "disable")
	dsn := server.URL(embedded.ControlDatabase)
	dsn.User = url.UserPassword("sa", password)
	t.Setenv("JOBAGENT_TEST_CONTROL", dsn.String())
	t.Setenv("JOBAGENT_TEST_PASSWORD", password)
	run := func(line ...string) string {
		var out strings.Builder
		require.Equal(t, exit.CodeOK, cli.Run(t.Context(), append(line, "--dsn", "env:JOBAGENT_TEST_CONTROL"), strings.NewReader(""), &out, &out), out.String())
		return out.String()
	}
	name := server.ServerName()
	run("target-group", "create", "g")
	run("target-group", "add", "g", "--server", name, "--database", "Tenant1")
	require.Contains(t, run("target-group", "add", "g", "--server", name, "--database", "Tenant*", "--exclude"),
		"jobagent target-group resolve \"g\" shows what it leaves")
	run("target-group", "add", "g", "--server", name, "--database", "Tennant1", "--exclude")
	out := run("target-group", "resolve", "g", "--target-user", "sa", "--target-servers", "127.0.0.1", "--target-secret", "env:JOBAGENT_TEST_PASSWORD")
	require.Contains(t, out, "\nexcluded SqlDatabase "+name+"/Tenant*: 1 database\n")
	require.Contains(t, out, "warning: the member excluded SqlDatabase "+name+"/Tennant1 excludes no database now\n")
}
