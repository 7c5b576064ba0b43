package cli_test

import (
	"database/sql"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/targets"
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

// resolve --changes compares with the last list of the group, whatever earlier lists had.
func TestResolveShowsChanges(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvConfig, "")
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	run := func(want int, args ...string) string {
		var out strings.Builder
		code := cli.Run(t.Context(), append([]string{"target-group"}, args...), strings.NewReader(""), &out, &out)
		require.Equal(t, want, code, out.String())
		return strings.ReplaceAll(out.String(), "\r\n", "\n")
	}
	run(exit.CodeOK, "create", "g")
	for _, name := range []string{"stays", "new", "back"} {
		run(exit.CodeOK, "add", "g", "--server", "s", "--database", name)
	}
	all := run(exit.CodeOK, "resolve", "g", "--changes", "-o", "csv", "--columns", "change,target")
	require.Contains(t, all, "no run has resolved this group to a database yet: 3 databases added\n")
	require.Contains(t, all, "change,target\nadded,s/back\nadded,s/new\nadded,s/stays\n")

	db, err := sql.Open("sqlserver", server.DSN(embedded.ControlDatabase))
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // of a test
	list := func(name string, gone any) {
		_, err := db.ExecContext(t.Context(), `INSERT INTO jobs_internal.targets (target_id, server_name, database_name, server_key, database_key, first_seen_at, last_seen_at)
VALUES (@p1, N'S', @p2, N's', @p2, '2026-01-01', '2026-01-01');
INSERT INTO jobs_internal.group_targets (target_group_id, target_id, found_at, gone_at)
SELECT g.target_group_id, @p1, '2026-01-01', @p3 FROM jobs_internal.target_groups AS g WHERE g.name = N'g'`,
			targets.TargetID("s", name).String(), name, gone)
		require.NoError(t, err)
	}
	list("stays", nil)
	list("lost", nil)
	list("back", "2026-01-02")
	list("never back", "2026-01-02")
	_, err = db.ExecContext(t.Context(), `INSERT INTO jobs_internal.group_lists (target_group_id, resolved_at, by_tags)
SELECT g.target_group_id, '2026-01-02T03:04:05', 0 FROM jobs_internal.target_groups AS g WHERE g.name = N'g'`)
	require.NoError(t, err)
	require.Contains(t, run(exit.CodeOK, "resolve", "g", "--changes", "-o", "csv", "--columns", "change,target"),
		"against the list of 2026-01-02T03:04:05Z with 2 databases: 2 added, 1 gone, 1 stay\nchange,target\nadded,s/back\nadded,s/new\ngone,S/lost\n")
	require.Contains(t, run(exit.CodeOK, "resolve", "g", "--changes"), "CHANGE")
	require.Contains(t, run(exit.CodeOK, "resolve", "g", "--changes", "--jq", ".[] | .change + .database_name"), "gonelost\n")
	require.NotContains(t, run(exit.CodeOK, "resolve", "g", "-o", "csv"), "change")
	require.Contains(t, run(exit.CodeUsage, "resolve", "g", "--columns", "change"), "no column")
}
