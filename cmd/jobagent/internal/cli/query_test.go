package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// asked is what a command printed.
type asked struct {
	code     int
	out, err string
}

// askingServer starts a server with the databases app1 to app3, whose tables differ, and returns a
// function that runs commands.
func askingServer(t *testing.T) (server *embedded.Server, run func(stdin string, args ...string) asked) {
	t.Helper()
	server = clitest.Server(t)
	db, err := server.Open("master")
	require.NoError(t, err)
	defer db.Close()
	for _, text := range []string{
		"CREATE DATABASE app1; CREATE DATABASE app2; CREATE DATABASE app3;",
		"CREATE TABLE app1.dbo.o (id int, status nvarchar(20), amount decimal(9, 2)); INSERT INTO app1.dbo.o VALUES (1, N'open', 12.50), (2, NULL, 3), (3, N'', NULL);",
		"CREATE TABLE app2.dbo.o (id bigint, status nvarchar(20), amount decimal(9, 2)); INSERT INTO app2.dbo.o VALUES (4, N'open', 1);",
		"CREATE TABLE app3.dbo.o (id int, status int, amount decimal(9, 2)); INSERT INTO app3.dbo.o VALUES (5, 1, -1);",
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.NoError(t, err, text)
	}
	dir := t.TempDir()
	t.Setenv(config.EnvDSN, server.DSN(embedded.ControlDatabase))
	require.NoError(t, server.WriteConfig(dir))
	require.NoError(t, os.WriteFile(filepath.Join(dir, embedded.TargetPasswordFile), []byte(server.TargetPassword), 0o600))
	t.Setenv(config.EnvConfig, filepath.Join(dir, embedded.ConfigFile))
	run = func(stdin string, args ...string) asked {
		var out, errs strings.Builder
		code := cli.Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
		return asked{code, out.String(), errs.String()}
	}
	for _, line := range [][]string{{"target-group", "create", "tenants"}, {"target-group", "add", "tenants", "--server", server.ServerName()}} {
		require.Zero(t, run("", line...).code)
	}
	return server, run
}

// sorted returns the lines of a text in order, with the server's name as S.
func sorted(server *embedded.Server, text string) []string {
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(text, server.ServerName(), "S"), "\r\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\r")
	}
	slices.Sort(lines)
	return lines
}

func TestQuery(t *testing.T) {
	server, run := askingServer(t)
	const question = "SELECT id, status, amount FROM o ORDER BY id"

	// One shape at once, the other at the end; INT and BIGINT are the same, a number is no text.
	got := run("", "query", "--target-group", "tenants", "--parallel", "1", question, "-o", "csv")
	require.Equal(t, asked{0, strings.ReplaceAll("server_name,database_name,id,status,amount\r\n"+
		"\"S\",app1,1,open,12.50\r\n\"S\",app1,2,,3.00\r\n\"S\",app1,3,\"\",\r\n\"S\",app2,4,open,1.00\r\n"+
		"\r\nserver_name,database_name,id,status,amount\r\n\"S\",app3,5,1,-1.00\r\n", "S", server.ServerName()), ""}, got)

	got = run("", "query", "--group", "tenants", "--parallel", "1", question+"; PRINT N'done'; SELECT 7 AS x, 7 AS x, 8;")
	require.Equal(t, 0, got.code)
	require.Equal(t, strings.Join([]string{
		"SERVER S DATABASE id status amount", "S app1 1 open 12.50", "S app1 2 NULL 3.00", "S app1 3 NULL", "S app2 4 open 1.00", "",
		"Result set 2 of 3 databases:", "SERVER S DATABASE x x", "S app1 7 7 8", "S app2 7 7 8", "S app3 7 7 8", "",
		"Result set 1 with other columns, of 1 database:", "SERVER S DATABASE id status amount", "S app3 5 1 -1.00",
	}, "\n"), tidy(server, got.out))
	require.Equal(t, "3 databases said: done\n3 databases, 8 rows\n", got.err)

	got = run("", "query", "--servers", server.ServerName(), "-d", "app1", "SELECT 1 AS a, N'é' + NCHAR(0) AS b, 2 AS a, 3", "-o", "jsonl")
	require.Equal(t, asked{0, fmt.Sprintf(`{"server_name":%q,"database_name":"app1","result_set":1,"shape":1,"row":{"a":1,"b":"é\u0000","a_2":2,"column_4":3}}`+"\n", server.ServerName()), ""}, got)
	got = run(question, "query", "--servers", server.ServerName(), "-d", "app1", "-d", "app?", "-", "-o", "json")
	require.Equal(t, 0, got.code, got.err)
	var rows []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &rows))
	require.Len(t, rows, 5)
	got = run("", "query", "--group", "tenants", question, "--jq", `[.database_name, .row.id] | @csv`)
	require.Equal(t, []string{`"app1",1`, `"app1",2`, `"app1",3`, `"app2",4`, `"app3",5`}, sorted(server, got.out))
	got = run("", "query", "--group", "tenants", "SELECT TOP (1) id FROM o WHERE id = 4", "-o", "yaml")
	require.Equal(t, "- server_name: \""+server.ServerName()+"\"\n  database_name: app2\n  result_set: 1\n  shape: 1\n  row:\n    id: 4\n", got.out)
	for format, empty := range map[string]string{"json": "[]\n", "yaml": "[]\n", "jsonl": "", "csv": "server_name,database_name,id\r\n", "table": ""} {
		got = run("", "query", "--group", "tenants", "SELECT id FROM o WHERE 1 = 0", "-o", format)
		require.Equal(t, 0, got.code)
		require.Equal(t, empty, got.out, format)
	}
}

// tidy returns a table with one blank between the columns.
func tidy(server *embedded.Server, text string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(text, server.ServerName(), "S")) {
		lines = append(lines, strings.ReplaceAll(strings.Join(strings.Fields(line), " "), "SERVER DATABASE", "SERVER S DATABASE"))
	}
	return strings.Join(lines, "\n")
}

func TestQueryTotals(t *testing.T) {
	server, run := askingServer(t)
	const question = "SELECT id, CAST(status AS nvarchar(20)) AS status, amount FROM o"
	got := run("", "query", "--group", "tenants", question, "--group-by", "Status", "--sum", "amount,id", "-o", "csv")
	require.Equal(t, asked{0, "Status,databases,rows,sum_amount,sum_id\r\nopen,2,2,13.50,5\r\n,1,1,3.00,2\r\n1,1,1,-1.00,5\r\n\"\",1,1,,3\r\n", ""}, got)
	got = run("", "query", "--group", "tenants", question, "--sum", "id", "-o", "jsonl")
	require.Equal(t, `{"group":{},"databases":3,"rows":5,"sums":{"id":15}}`+"\n", got.out)
	got = run("", "query", "--group", "tenants", question, "--group-by", "database_name", "--limit", "1", "--jq", ".group.database_name")
	require.Equal(t, "app1\n", got.out)
	got = run("", "query", "--group", "tenants", question, "--by", "id", "--top", "2", "-o", "csv")
	require.Equal(t, strings.ReplaceAll("server_name,database_name,id,status,amount\r\n\"S\",app3,5,1,-1.00\r\n\"S\",app2,4,open,1.00\r\n", "S", server.ServerName()), got.out)
	got = run("", "query", "--group", "tenants", question, "--sum", "status")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Contains(t, got.err, `result set 1: the column "status" is NVARCHAR, which cannot be added up`)
	got = run("", "query", "--group", "tenants", question, "--group-by", "colour")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Contains(t, got.err, `3 databases: result set 1 has no column "colour": it has id, status, amount`)
}

// Errors come at the end, in groups, and the other databases have answered.
func TestQueryFailures(t *testing.T) {
	server, run := askingServer(t)
	db, err := server.Open("app2")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), "DROP TABLE o; CREATE TABLE o2 (n int);")
	require.NoError(t, err)
	got := run("", "query", "--group", "tenants", "SELECT COUNT(*) AS n FROM o")
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Equal(t, "1 database: Msg 208, Level 16, State 1, Line 1: Invalid object name 'o'.\n  "+server.ServerName()+"/app2\n3 databases, 2 rows\nerror: 1 of 3 databases failed\n", got.err)
	got = run("", "query", "--group", "tenants", "SELECT 1 AS n UNION ALL SELECT 2 ORDER BY n", "--max-rows", "1", "--max-rows-total", "2", "-o", "jsonl")
	require.Equal(t, 0, got.code)
	require.Equal(t, 2, strings.Count(got.out, "\n"))
	require.Contains(t, got.err, "There were more than 2 rows in all: --max-rows-total\n")

	for want, args := range map[string][]string{
		"want --target-group or --servers: the databases to ask":  {"SELECT 1"},
		"want the question: SQL, or --file":                       {"--group", "tenants"},
		"the question is empty":                                   {"--group", "tenants", " \nGO\n"},
		"give SQL or --file, not both":                            {"--group", "tenants", "SELECT 1", "--file", "x"},
		"line 2: CREATE DATABASE: it cannot be in a transaction":  {"--group", "tenants", "SELECT 1\nCREATE DATABASE x"},
		"--limit and --by belong together":                        {"--group", "tenants", "SELECT 1 AS a", "--limit", "2"},
		"--by is for rows":                                        {"--group", "tenants", "SELECT 1 AS a", "--sum", "a", "--by", "a"},
		"--database chooses databases of --servers":               {"--group", "tenants", "SELECT 1 AS a", "-d", "x"},
		"--parallel 0: want 1 to 32767":                           {"--group", "tenants", "SELECT 1 AS a", "--parallel", "0"},
		"has no names to print":                                   {"--group", "tenants", "SELECT 1 AS a", "-o", "name"},
		"it does not go with -o csv":                              {"--group", "tenants", "SELECT 1 AS a", "-o", "csv", "--jq", "."},
		"give --yes if that is meant":                             {"--group", "tenants", "SELECT 1 AS a", "--write"},
		"target group \"nobody\" does not exist":                  {"--group", "nobody", "SELECT 1 AS a"},
		"have no database to ask":                                 {"--servers", server.ServerName(), "-d", "nothing*", "SELECT 1 AS a"},
		"--servers \"a b\": ":                                     {"--servers", "a b", "SELECT 1 AS a"},
		"cannot be judged, because it cannot be read":             {"--group", "tenants", "SELECT 'x"},
		"--trust-server-certificate and --certificate-sha256 are": {"--group", "tenants", "SELECT 1", "--trust-server-certificate"},
	} {
		got := run("", append([]string{"query"}, args...)...)
		require.Contains(t, got.err, want)
		require.Contains(t, []int{exit.CodeUsage, exit.CodeNotFound}, got.code, want)
		require.Empty(t, got.out, want)
	}
}

// With --write the text runs as it is; a control database is refused.
func TestQueryWrites(t *testing.T) {
	server, run := askingServer(t)
	require.Zero(t, run("", "query", "--group", "tenants", "DELETE FROM o").code)
	got := run("", "query", "--group", "tenants", "SELECT id FROM o", "--sum", "id", "-o", "jsonl")
	require.Contains(t, got.out, `"rows":5`)
	require.Zero(t, run("", "query", "--group", "tenants", "DELETE FROM o", "--write", "--yes").code)
	got = run("", "query", "--group", "tenants", "SELECT id FROM o", "--sum", "id", "-o", "jsonl")
	require.Empty(t, got.out)

	t.Setenv("JOBAGENT_TARGET_PASSWORD", server.Password)
	control := []string{"query", "--servers", server.ServerName(), "-d", embedded.ControlDatabase, "--target-user", "sa", "SELECT COUNT(*) AS n FROM jobs.jobs"}
	got = run("", control...)
	require.Equal(t, 0, got.code, "a person reads with the own login: %s", got.err)
	got = run("", append(control, "--write", "--yes")...)
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Contains(t, got.err, "on which no script of a job may have rights")
}

// Without a control database, a login and a certificate are all that is needed.
func TestQueryWithoutControlDatabase(t *testing.T) {
	server, run := askingServer(t)
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("JOBAGENT_TARGET_PASSWORD", server.Password)
	line := []string{"query", "--servers", server.ServerName(), "-d", "app1", "--target-user", "sa", "SELECT COUNT(*) AS n FROM o", "--jq", ".row.n"}
	got := run("", append(line, "--trust-server-certificate")...)
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, "3\n", got.out)
	require.Contains(t, got.err, "any certificate is accepted")
	got = run("", line...)
	require.Equal(t, exit.CodeRunFailed, got.code)
	require.Contains(t, got.err, "certificate")
	require.NotContains(t, got.err, server.Password)
	got = run("", line[:5]...)
	require.NotZero(t, got.code)
}

// Ctrl-C cancels the queries on the server.
func TestQueryIsInterrupted(t *testing.T) {
	server, _ := askingServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	var code int
	var errs strings.Builder
	var done sync.WaitGroup
	done.Go(func() {
		// The second row fills packets, so that the first one arrives before the wait.
		code = cli.Run(ctx, []string{"query", "--group", "tenants", "-o", "jsonl", "SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 100000) AS x UNION ALL SELECT REPLICATE(CAST(N'y' AS nvarchar(max)), 100000); WAITFOR DELAY '01:00:00';"},
			strings.NewReader(""), out, &errs)
		_ = out.Close()
	})
	_, err := in.Read(make([]byte, 100))
	require.NoError(t, err)
	cancel()
	_, err = io.Copy(io.Discard, in)
	require.NoError(t, err)
	done.Wait()
	require.Equal(t, exit.CodeInterrupted, code)
	require.Contains(t, errs.String(), "error: interrupted: 0 of 3 databases have answered")
	db, err := server.Open("master")
	require.NoError(t, err)
	defer db.Close()
	waiting := 1
	for waiting > 0 { // the end of the test's time is the limit
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command LIKE N'WAIT%'").Scan(&waiting))
	}
}
