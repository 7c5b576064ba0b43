package cli_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// scripted is a file of jobs as SSMS scripts them.
var scripted = filepath.Join("..", "..", "..", "..", "jobs", "importer", "testdata", "sqlagent", "jobs.sql")

// jobagent runs a command, and returns what it prints.
func jobagent(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	require.Equal(t, want, cli.Run(t.Context(), args, nil, &out, &errors), errors.String())
	return out.String(), errors.String()
}

// startingIn2099 is a copy of the file whose schedules are not due while a test runs: the job
// "Shop - hourly totals" would start by itself in a test that runs at a full hour.
func startingIn2099(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	const date = "@active_start_date=20240101"
	require.Contains(t, string(text), date)
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte(date), []byte("@active_start_date=20990101")), 0o600))
	return path
}

// shop starts a server and an agent, with a database that the job "Shop - hourly totals" works on.
func shop(t *testing.T) (server *embedded.Server, control, trail *sql.DB) {
	t.Helper()
	server, control = startServer(t)
	_, err := runBatch(t, server, "master", "CREATE DATABASE Shop;")
	require.NoError(t, err)
	_, err = runBatch(t, server, "Shop", "CREATE TABLE dbo.Trail (id INT IDENTITY NOT NULL PRIMARY KEY, step NVARCHAR(20) NOT NULL); CREATE TABLE dbo.Broken (id INT NOT NULL);")
	require.NoError(t, err)
	trail, err = server.Open("Shop")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, trail.Close()) })
	startAgent(t, server)
	return server, control, trail
}

// runShop starts the job and returns its steps in the order in which they ran.
func runShop(t *testing.T, server *embedded.Server, trail *sql.DB, want int) (steps []string) {
	t.Helper()
	_, err := trail.ExecContext(t.Context(), "DELETE FROM dbo.Trail;")
	require.NoError(t, err)
	jobagent(t, want, "job", "start", "Shop - hourly totals", "--wait", "--wait-timeout", time.Minute.String(), "--dsn", server.DSN(embedded.ControlDatabase))
	rows, err := trail.QueryContext(t.Context(), "SELECT step FROM dbo.Trail ORDER BY id;")
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var step string
		require.NoError(t, rows.Scan(&step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// An imported job runs its steps as SQL Server Agent does: the path of the failure, too. The job
// comes from a script, and its definition from T-SQL or from files.
func TestImportedAgentJobRuns(t *testing.T) {
	t.Parallel()
	server, control, trail := shop(t)
	dsn := server.DSN(embedded.ControlDatabase)
	scripted := startingIn2099(t, scripted)
	script, report := jobagent(t, exit.CodeOK, "import", "sql-agent", scripted, "--server", server.ServerName(), "--zone", "UTC")
	require.Contains(t, report, "5 jobs, 20 steps, 7 schedules; 3 steps to write")
	require.Empty(t, runScript(t, control, script))
	require.Equal(t, []string{"totals", "risky", "close"}, runShop(t, server, trail, exit.CodeOK))
	_, err := trail.ExecContext(t.Context(), "INSERT INTO dbo.Broken VALUES (1);")
	require.NoError(t, err)
	require.Equal(t, []string{"totals", "risky", "repair"}, runShop(t, server, trail, exit.CodeRunFailed))

	// The files define the same.
	dir := filepath.Join(t.TempDir(), "imported")
	out, _ := jobagent(t, exit.CodeOK, "import", "sql-agent", scripted, "--server", server.ServerName(), "--zone", "UTC", "--dir", dir)
	require.Contains(t, out, "wrote 17 objects as 35 files into ")
	text, err := os.ReadFile(filepath.Join(dir, "jobs", "Warehouse-nightly-load.yaml"))
	require.NoError(t, err)
	require.Contains(t, string(text), "# The step \"fetch rates\" was:\n#     $ErrorActionPreference = 'Stop'\n")
	difference, _ := jobagent(t, exit.CodeOK, "diff", "-f", dir, "--dsn", dsn)
	require.Equal(t, "no differences\n", difference)
	_, message := jobagent(t, exit.CodeUsage, "import", "sql-agent", scripted, "--server", "other", "--dir", dir)
	require.Contains(t, message, "would be replaced")
	definitions, _ := jobagent(t, exit.CodeOK, "import", "sql-agent", scripted, "--server", server.ServerName(), "--zone", "UTC", "--as", "yaml", "--report", filepath.Join(t.TempDir(), "report"))
	file := filepath.Join(t.TempDir(), "all.yaml")
	require.NoError(t, os.WriteFile(file, []byte(definitions), 0o600))
	jobagent(t, exit.CodeOK, "diff", "-f", file, "--dsn", dsn)
}

// A file needs the server's name, and the flags of the result exclude each other.
func TestImportSQLAgentFlags(t *testing.T) {
	for args, want := range map[[3]string]string{
		{scripted}:                           "give --server with its name for agents",
		{scripted, "--server=s", "--as=xml"}: `invalid --as "xml"`,
		{scripted, "--dir=x", "--as=yaml"}:   "--dir and --as are both given",
	} {
		list := []string{"import", "sql-agent"}
		for _, a := range args {
			if a != "" {
				list = append(list, a)
			}
		}
		_, stderr := jobagent(t, exit.CodeUsage, list...)
		require.Contains(t, stderr, want)
	}
	_, stderr := jobagent(t, exit.CodeNotFound, "import", "sql-agent", scripted, "--server=s", "--job=none")
	require.Contains(t, stderr, `the scripts have no job "none"`)
}
