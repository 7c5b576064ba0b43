package cli_test

import (
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

// Databases are paused, and their pauses are listed and ended.
func TestPausesOfTargets(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvConfig, "")
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exit.CodeOK, "paused s/größe until \"jobagent target resume\"\n", []string{"pause", "s", "größe"}},
		{exit.CodeOK, "warning: no run has had the database s/größe: jobagent target list shows", []string{"pause", "s", "größe"}},
		{exit.CodeOK, "paused tcp:S,1433/Größe until 2999-01-02T00:00:00Z\n", []string{"pause", "tcp:S,1433", "Größe", "--until", "2999-01-02", "--reason", "moves"}},
		{exit.CodeOK, "\"tcp:S,1433\",Größe,2999-01-02 00:00:00,moves\n", []string{"pauses", "-o", "csv", "--columns", "server_name,database_name,end_time,reason"}},
		{exit.CodeOK, "s/größe is not paused any more\n", []string{"resume", "s", "größe"}},
		{exit.CodeOK, "paused s/d until 2", []string{"pause", "s", "d", "--for", "2h"}},
		{exit.CodeOK, "s/d\n", []string{"pauses", "-o", "name"}},
		{exit.CodeNotFound, "is not paused", []string{"resume", "s", "größe"}},
		{exit.CodeUsage, "--for and --until cannot be combined", []string{"pause", "s", "d", "--for", "1h", "--until", "2999-01-01"}},
		{exit.CodeUsage, "invalid --for -1h: want at least 1s", []string{"pause", "s", "d", "--for", "-1h"}},
		{exit.CodeUsage, "invalid --for 0: want at least 1s", []string{"pause", "s", "d", "--for", "0"}},
		{exit.CodeUsage, "want a unit, such as 5m, 5h or 5d", []string{"pause", "s", "d", "--for", "5"}},
		{exit.CodeUsage, "want whole seconds", []string{"pause", "s", "d", "--for", "1500ms"}},
		{exit.CodeUsage, "Invalid --for: want 1 to 31622400 seconds (366 days).", []string{"pause", "s", "d", "--for", "367d"}},
		{exit.CodeUsage, "--until", []string{"pause", "s", "d", "--until", "soon"}},
		{exit.CodeUsage, "want a time in the future", []string{"pause", "s", "d", "--until", "2020-01-01"}},
		{exit.CodeUsage, "invalid SERVER", []string{"pause", "s;x", "d"}},
		{exit.CodeUsage, "invalid SERVER", []string{"resume", "s;x", "d"}},
	} {
		var out strings.Builder
		code := cli.Run(t.Context(), append([]string{"target"}, c.args...), strings.NewReader(""), &out, &out)
		require.Equal(t, c.code, code, "%v: %s", c.args, out.String())
		require.Contains(t, strings.ReplaceAll(out.String(), "\r\n", "\n"), c.want, "%v", c.args)
	}
}

// Names that no run has had may have typing errors: tags, pauses and limits of them come with a
// warning.
func TestUnseenNames(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvConfig, "")
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	run := func(stdin, line string) string {
		var out strings.Builder
		require.Zero(t, cli.Run(t.Context(), strings.Fields(line), strings.NewReader(stdin), &out, &out), "%s: %s", line, &out)
		return out.String()
	}
	const table = "server_name,database_name,tier\nsql1,d1,gold\nsql1,d2,gold\nsql1,d3,gold\n"
	const shown = ": jobagent target list shows those that runs had\n"
	require.Contains(t, run("", "target tag sql1 d1 tier=gold"), "warning: no run has had the database sql1/d1"+shown)
	require.Contains(t, run(table, "target tag --file -"), "warning: no run has had 3 of 3 databases, such as sql1/d1"+shown)
	require.Contains(t, run("", "limit set Server sql1 3"), "warning: no run has had a database on the server sql1, unless actions call it")
	require.Contains(t, run("", "limit set ElasticPool pool1 3"), "warning: no run has had a database in the elastic pool pool1"+shown)

	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `UPDATE jobs_internal.targets
SET first_seen_at = '2026-01-01', last_seen_at = '2026-01-01', elastic_pool_name = N'pool1' WHERE database_name = N'd1';`)
	require.NoError(t, err)
	require.Contains(t, run(table, "target tag --file -"), "warning: no run has had 2 of 3 databases, such as sql1/d2"+shown)
	for _, line := range []string{
		"target tag tcp:SQL1,1433 D1 tier=free", "target pause sql1 d1", "limit set server tcp:SQL1 4", "limit set ElasticPool POOL1 4",
		"limit set ElasticPool pool1 4 --server sql1", "limit set Server * 5", "limit set ElasticPool * 5", "limit set Credential c 5", "limit set Agent * 5",
	} {
		require.NotContains(t, run("", line), "warning", line)
	}
	require.Contains(t, run("", "limit set ElasticPool pool1 4 --server sql2"), "warning")

	// With more databases than are read for a warning, there is none; a server is looked up by its
	// name.
	_, err = db.ExecContext(t.Context(), `INSERT INTO jobs_internal.targets (target_id, server_name, database_name, server_key, database_key)
SELECT NEWID(), N'sql3', CONCAT(N'd', s.value), N'sql3', CONCAT(N'd', s.value) FROM GENERATE_SERIES(1, 10000) AS s;`)
	require.NoError(t, err)
	require.NotContains(t, run("", "limit set ElasticPool pool2 3"), "warning")
	require.Contains(t, run("", "limit set Server sql2 3"), "warning")
}

// Databases get tags from the command line and from a file, and groups have members by tags.
func TestTagsOfTargets(t *testing.T) {
	server := clitest.Server(t)
	t.Setenv(config.EnvConfig, "")
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	run := func(stdin string, args ...string) (code int, output string) {
		var out strings.Builder
		code = cli.Run(t.Context(), args, strings.NewReader(stdin), &out, &out)
		return code, out.String()
	}
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "tenants.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exit.CodeOK, "1 database of 1 changed\n", []string{"tag", "s", "größe", "tier=gold", "note=a=b c", "empty="}},
		{exit.CodeOK, "0 databases of 1 changed\n", []string{"tag", "tcp:S,1433", "Größe", "tier=gold"}},
		{exit.CodeOK, "1 database of 1 changed\n", []string{"tag", "s", "größe", "--remove", "empty"}},
		{exit.CodeOK, "2 databases of 2 changed\n", []string{"tag", "--file", file("\ufeffdatabase_name,tier,server_name,region\nd1,gold,s,eu\n\"d,2\",free,s,\n")}},
		{exit.CodeOK, "1 database of 2 changed\n", []string{"tag", "--file", file("server_name,database_name,region\ns,d1,\ns,\"d,2\",\n")}},
		{exit.CodeUsage, "want SERVER and DATABASE, or --file", []string{"tag", "s"}},
		{exit.CodeUsage, "want a tag NAME=VALUE, or --remove NAME", []string{"tag", "s", "d"}},
		{exit.CodeUsage, "want NAME=VALUE", []string{"tag", "s", "d", "tier"}},
		{exit.CodeUsage, "each name once", []string{"tag", "s", "d", "tier=a", "tier=b"}},
		{exit.CodeUsage, "want the name of another tag", []string{"tag", "s", "d", "tier=a", "--remove", "tier"}},
		{exit.CodeUsage, "no arguments and no --remove", []string{"tag", "s", "--file", "x"}},
		{exit.CodeUsage, "invalid SERVER", []string{"tag", "s;x", "d", "tier=a"}},
		{exit.CodeUsage, "want a name of 1 to 128 characters", []string{"tag", "s", "d", "a b=c"}},
		{exit.CodeUsage, "want a line with the names of the columns", []string{"tag", "--file", file("server_name,database_name,tier\n")}},
		{exit.CodeUsage, "want the columns server_name and database_name", []string{"tag", "--file", file("server,database_name,tier\na,b,c\n")}},
		{exit.CodeUsage, `line 3: want the names of a server and a database, not "s" and ""`, []string{"tag", "--file", file("server_name,database_name,tier\ns,b,c\ns,,c\n")}},
		{exit.CodeUsage, `the column "tier" is there twice`, []string{"tag", "--file", file("server_name,database_name,tier,tier\ns,b,c,d\n")}},
		{exit.CodeUsage, "wrong number of fields", []string{"tag", "--file", file("server_name,database_name,tier\ns,b\n")}},
		{exit.CodeUsage, "at character 8: want a value in single quotes", []string{"list", "--tag-filter", "tier = gold"}},
		{exit.CodeUsage, "--limit 0", []string{"list", "--limit", "0"}},
	} {
		code, out := run("", append([]string{"target"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, out)
		require.Contains(t, out, c.want, "%v", c.args)
	}
	code, out := run("server_name,database_name,tier\ns,d3,gold\n", "target", "tag", "--file", "-", "--replace")
	require.Equal(t, exit.CodeOK, code, out)
	code, out = run("", "target", "list", "-o", "csv", "--columns", "server_name,database_name,tags,is_gone")
	require.Equal(t, exit.CodeOK, code, out)
	require.Equal(t, "server_name,database_name,tags,is_gone\ns,\"d,2\",tier=free,false\ns,d1,tier=gold,false\ns,d3,tier=gold,false\ns,größe,note=a=b c tier=gold,false\n", strings.ReplaceAll(out, "\r\n", "\n"))
	code, out = run("", "target", "list", "--limit", "2", "-o", "name", "--search", "d?", "--tag-filter", "tier IS NOT NULL")
	require.Equal(t, exit.CodeOK, code, out)
	require.Equal(t, "s/d,2\ns/d1\nThere are more databases: --limit shows more than 2, --search chooses.\n", out)
	code, out = run("", "target", "list", "--tag-filter", "note IS NOT NULL", "--jq", ".[].target_id")
	require.Equal(t, exit.CodeOK, code, out)
	require.Equal(t, targets.TargetID("s", "größe").String()+"\n", out)

	for _, args := range [][]string{
		{"target-group", "create", "g"},
		{"target-group", "add", "g", "--tag-filter", "tier = 'gold'"},
		{"target-group", "add", "g", "--tag-filter", "note LIKE 'a%'", "--exclude"},
	} {
		code, out := run("", args...)
		require.Equal(t, exit.CodeOK, code, out)
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exit.CodeConflict, "has the member Tag tier = 'gold' already", []string{"add", "g", "--tag-filter", "tier = 'gold'"}},
		{exit.CodeUsage, "at character 6", []string{"add", "g", "--tag-filter", "tier gold"}},
		{exit.CodeUsage, "tag-filter", []string{"add", "g"}},
		{exit.CodeUsage, "tag-filter", []string{"add", "g", "--server", "s", "--tag-filter", "a = 'b'"}},
		{exit.CodeOK, "excluded Tag note LIKE 'a%': 1 database\n", []string{"resolve", "g"}},
	} {
		code, out := run("", append([]string{"target-group"}, c.args...)...)
		require.Equal(t, c.code, code, "%v: %s", c.args, out)
		require.Contains(t, out, c.want, "%v", c.args)
	}
	code, out = run("", "target-group", "resolve", "g", "-o", "name")
	require.Equal(t, exit.CodeOK, code, out)
	require.Equal(t, "Tag tier = 'gold': 3 databases\nexcluded Tag note LIKE 'a%': 1 database\ns/d1\ns/d3\n", out)
	code, out = run("", "target-group", "show", "g")
	require.Equal(t, exit.CodeOK, code, out)
	require.Contains(t, out, "tier = 'gold'")
}
