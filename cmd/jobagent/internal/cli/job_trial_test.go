package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// TestJobTrial tries a job on a database, prints the reports, and leaves nothing there.
func TestJobTrial(t *testing.T) {
	t.Parallel()
	server, _, trail := shop(t)
	dsn := server.DSN(embedded.ControlDatabase)
	host := server.ServerName()
	jobagent(t, exit.CodeOK, "target-group", "create", "g", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "target-group", "add", "g", "--server", host, "--database", "Shop", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "job", "create", "j", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "step", "add", "j", "--target-group", "g", "--command",
		"INSERT INTO dbo.Trail (step) VALUES (N'tried');\nPRINT N'hello'\nGO\nALTER DATABASE Shop SET RECOVERY SIMPLE;", "--dsn", dsn)

	stdout, _ := jobagent(t, exit.CodeRunFailed, "job", "trial", "j", "--on", host+"/Shop", "--dsn", dsn)
	require.Contains(t, stdout, "/Shop, step 1: Failed\n  The script cannot be tried, and nothing was sent: line 4: ALTER DATABASE: it cannot be in a transaction.")
	stdout, stderr := jobagent(t, exit.CodeOK, "job", "trial", "j", "--on", host+"/Shop", "--skip-unsupported", "--dsn", dsn)
	require.Contains(t, stderr, " of job j started on 1 chosen database\n")
	for _, want := range []string{
		"/Shop, step 1: Succeeded\n  Trial: 1 batch ran, and everything was rolled back. 1 batch that cannot be tried did not run.\n  batch 1, line 1: Ran, ", ", 1 row\n", "    not read: locks: VIEW SERVER PERFORMANCE STATE permission was denied",
		"  batch 2, line 4: Skipped\n    reason: line 4: ALTER DATABASE: ", "  info: hello\n",
	} {
		require.Contains(t, stdout, want)
	}
	stdout, _ = jobagent(t, exit.CodeOK, "job", "trial", "j", "--on", "Shop", "--skip-unsupported", "-o", "json", "--dsn", dsn)
	var trial output.Trial
	require.NoError(t, json.Unmarshal([]byte(stdout), &trial), stdout)
	require.Equal(t, "Succeeded", trial.Lifecycle)
	require.Len(t, trial.Targets, 1)
	require.Len(t, trial.Targets[0].Batches, 2)
	require.Equal(t, "Ran", trial.Targets[0].Batches[0].Verdict)
	require.EqualValues(t, 1, trial.Targets[0].Batches[0].Rows)

	require.NotContains(t, stdout, "plan")
	jobagent(t, exit.CodeOK, "step", "add", "j", "--name", "two", "--target-group", "g", "--command", "SELECT 1/0;", "--dsn", dsn)
	stdout, _ = jobagent(t, exit.CodeRunFailed, "job", "trial", "j", "--on", "Shop", "--skip-unsupported", "--dsn", dsn)
	require.Regexp(t, `/Shop, step 2: Failed\n  batch 1, line 1: Failed, \d+ ms, .*\n    reason: Msg 8134, .*Divide by zero`, stdout, "the reason once")
	jobagent(t, exit.CodeOK, "step", "delete", "j", "--step-id", "2", "--dsn", dsn)
	stdout, _ = jobagent(t, exit.CodeOK, "job", "trial", "j", "--on", "Shop", "--skip-unsupported", "--plan", "--dsn", dsn)
	require.Contains(t, stdout, "    plan: 2 statements, without estimates\n")
	require.NotContains(t, stdout, "plan file")
	dir := filepath.Join(t.TempDir(), "plans")
	stdout, _ = jobagent(t, exit.CodeOK, "job", "trial", "j", "--on", "Shop", "--skip-unsupported", "--plan-dir", dir, "--dsn", dsn)
	require.Contains(t, stdout, "    plan: 2 statements, without estimates\n    plan file: "+dir)
	files, err := filepath.Glob(filepath.Join(dir, "step1_*_Shop_*_batch1.sqlplan"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	plan, err := os.ReadFile(files[0])
	require.NoError(t, err)
	require.Contains(t, string(plan), `StatementType="INSERT"`)

	_, stderr = jobagent(t, exit.CodeUsage, "job", "trial", "j", "--dsn", dsn)
	require.Contains(t, stderr, "a trial needs --on")
	var n int
	require.NoError(t, trail.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM dbo.Trail;").Scan(&n))
	require.Zero(t, n)
}

// TestJobPreflight groups the findings of targets.
func TestJobPreflight(t *testing.T) {
	t.Parallel()
	server, _, _ := shop(t)
	dsn := server.DSN(embedded.ControlDatabase)
	host := server.ServerName()
	jobagent(t, exit.CodeOK, "target-group", "create", "g", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "target-group", "add", "g", "--server", host, "--database", "Shop", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "target-group", "add", "g", "--server", host, "--database", "missing", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "job", "create", "j", "--dsn", dsn)
	jobagent(t, exit.CodeOK, "step", "add", "j", "--target-group", "g", "--command", "SELECT 1;", "--dsn", dsn)
	stdout, _ := jobagent(t, exit.CodeRunFailed, "job", "preflight", "j", "--needs", `{"rights": ["NOTHING"]}`, "--dsn", dsn)
	for _, want := range []string{
		"1 target checked: Failed\n", "failure rights on 1 target: the login lacks NOTHING\n  " + host + "/Shop\n", "failure reached on 1 target: ",
	} {
		require.Contains(t, stdout, want)
	}
	stdout, _ = jobagent(t, exit.CodeOK, "job", "preflight", "j", "--on", "Shop", "-o", "json", "--dsn", dsn)
	var result output.Preflight
	require.NoError(t, json.Unmarshal([]byte(stdout), &result), stdout)
	require.Equal(t, 1, result.Checked)
	_, stderr := jobagent(t, exit.CodeUsage, "job", "preflight", "j", "--needs", `{"right": []}`, "--dsn", dsn)
	require.Contains(t, stderr, `unknown field "right"`)
}
