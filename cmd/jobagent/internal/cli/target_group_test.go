package cli_test

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
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
	defer db.Close()
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

// import replaces the members of a group and sets tags, and asks before it removes members.
func TestImportTargetGroup(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvConfig, "")
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	run := func(want int, stdin string, args ...string) string {
		var out strings.Builder
		code := cli.Run(t.Context(), args, strings.NewReader(stdin), &out, &out)
		require.Equal(t, want, code, out.String())
		return strings.ReplaceAll(out.String(), "\r\n", "\n")
	}
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "list")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	imports := func(want int, text string, args ...string) string {
		return run(want, "", append([]string{"target-group", "import", "g", "--file", file(text)}, args...)...)
	}
	const list = "server_name,database_name,tier\ns,d1,gold\ns,d2,\n"
	require.Equal(t, "+ s/d1\n+ s/d2\ntarget group g would have 2 databases: 2 added, 0 members removed; the file has tags for 2 databases\n",
		imports(exit.CodeOK, list, "--dry-run"))
	require.Contains(t, run(exit.CodeNotFound, "", "target-group", "show", "g"), "does not exist")
	require.Equal(t, "target group g has 2 databases: 2 added, 0 members removed; tags of 1 database changed\n", imports(exit.CodeOK, list))
	ids := run(exit.CodeOK, "", "target-group", "show", "g", "--jq", ".members[] | .database_name + .target_id")
	require.Equal(t, "target group g has 2 databases: 0 added, 0 members removed; tags of 0 databases changed\n",
		imports(exit.CodeOK, "server_name,database_name\nS,D1\ntcp:s,d2\n"), "other spellings of the same databases")
	require.Equal(t, ids, run(exit.CodeOK, "", "target-group", "show", "g", "--jq", ".members[] | .database_name + .target_id"))

	run(exit.CodeOK, "", "target-group", "add", "g", "--tag-filter", "tier = 'gold'", "--exclude")
	answer := `{"count": 2, "data": [{"id": "/x/Microsoft.Sql/servers/s/databases/master"},
		{"id": "/x/Microsoft.Sql/servers/s/databases/d3", "tags": {"tier": "free", "a b": "c"}}], "skip_token": null, "total_records": 2}`
	azure := []string{"--source", "azure-resource-graph"}
	require.Equal(t, `warning: the tag "a b" is left out: a name has 1 to 128 letters, digits, _, - and . of ASCII (databases: 1)
+ s.database.windows.net/d3
- SqlDatabase s/d1
- SqlDatabase s/d2
- excluded Tag tier = 'gold'
target group g would have 1 database: 1 added, 3 members removed; the file has tags for 1 database
`, imports(exit.CodeOK, answer, append(azure, "--dry-run")...))
	require.Equal(t, ids, run(exit.CodeOK, "", "target-group", "show", "g", "--jq", `.members[] | select(.target_type == "SqlDatabase") | .database_name + .target_id`))
	require.Contains(t, imports(exit.CodeOK, answer, append(azure, "--yes", "--jq", ".removed | length")...), "\n3\n")
	require.Equal(t, "s.database.windows.net/d3\n", run(exit.CodeOK, "", "target-group", "show", "g", "--jq", `.members[] | .server_name + "/" + .database_name`))
	require.Equal(t, "s.database.windows.net/d3\n", run(exit.CodeOK, "", "target", "list", "--tag-filter", "tier = 'free'", "-o", "name"))

	many := "server_name,database_name\ns.database.windows.net,d3\n"
	for i := range command.Many + 1 {
		many += fmt.Sprintf("s,d%d\n", 100+i)
	}
	require.Contains(t, imports(exit.CodeOK, many), fmt.Sprintf("%d added, 0 members removed", command.Many+1))
	require.Contains(t, imports(exit.CodeUsage, answer, azure...), fmt.Sprintf("This removes %d members from the target group g, and adds 0; --dry-run lists them: give --yes", command.Many+1))

	for _, c := range []struct {
		text, want string
		args       []string
	}{
		{"server_name,database_name\n", "want a line with the names of the columns", nil},
		{"server_name,database_name\ns,d*\n", "would stand for others", nil},
		{"server_name,database_name\ns,d\nS,D\n", "S/D is there twice", nil},
		{list, "want the JSON that az graph query prints", azure},
		{"[]", "has no database", azure},
		{`{"data": [], "skip_token": "x"}`, "the answer is incomplete", azure},
		{list, `invalid --source "xml": want csv or azure-resource-graph`, []string{"--source", "xml"}},
	} {
		require.Contains(t, imports(exit.CodeUsage, c.text, c.args...), c.want)
	}
}
