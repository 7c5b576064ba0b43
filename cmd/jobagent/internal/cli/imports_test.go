package cli_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/daemon"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
)

// agentTablesDDL creates the tables of SQL Server Agent that are read, with their documented
// types.
const agentTablesDDL = `
CREATE TABLE dbo.syscategories (category_id INT NOT NULL, category_class INT NOT NULL, category_type TINYINT NOT NULL, name SYSNAME NOT NULL);
CREATE TABLE dbo.sysjobs (job_id UNIQUEIDENTIFIER NOT NULL, originating_server_id INT NOT NULL, name SYSNAME NOT NULL, enabled TINYINT NOT NULL,
    description NVARCHAR(512) NULL, start_step_id INT NOT NULL, category_id INT NOT NULL, owner_sid VARBINARY(85) NOT NULL, notify_level_eventlog INT NOT NULL,
    notify_level_email INT NOT NULL, notify_level_netsend INT NOT NULL, notify_level_page INT NOT NULL, notify_email_operator_id INT NOT NULL,
    notify_netsend_operator_id INT NOT NULL, notify_page_operator_id INT NOT NULL, delete_level INT NOT NULL, date_created DATETIME NOT NULL,
    date_modified DATETIME NOT NULL, version_number INT NOT NULL);
CREATE TABLE dbo.sysjobsteps (job_id UNIQUEIDENTIFIER NOT NULL, step_id INT NOT NULL, step_name SYSNAME NOT NULL, subsystem NVARCHAR(40) NOT NULL,
    command NVARCHAR(MAX) NULL, flags INT NOT NULL, additional_parameters NVARCHAR(MAX) NULL, cmdexec_success_code INT NOT NULL, on_success_action TINYINT NOT NULL,
    on_success_step_id INT NOT NULL, on_fail_action TINYINT NOT NULL, on_fail_step_id INT NOT NULL, server SYSNAME NULL, database_name SYSNAME NULL,
    database_user_name SYSNAME NULL, retry_attempts INT NOT NULL, retry_interval INT NOT NULL, os_run_priority INT NOT NULL, output_file_name NVARCHAR(200) NULL,
    last_run_outcome INT NOT NULL, last_run_duration INT NOT NULL, last_run_retries INT NOT NULL, last_run_date INT NOT NULL, last_run_time INT NOT NULL,
    proxy_id INT NULL, step_uid UNIQUEIDENTIFIER NULL);
CREATE TABLE dbo.sysschedules (schedule_id INT NOT NULL, schedule_uid UNIQUEIDENTIFIER NOT NULL, originating_server_id INT NOT NULL, name SYSNAME NOT NULL,
    owner_sid VARBINARY(85) NOT NULL, enabled INT NOT NULL, freq_type INT NOT NULL, freq_interval INT NOT NULL, freq_subday_type INT NOT NULL,
    freq_subday_interval INT NOT NULL, freq_relative_interval INT NOT NULL, freq_recurrence_factor INT NOT NULL, active_start_date INT NOT NULL,
    active_end_date INT NOT NULL, active_start_time INT NOT NULL, active_end_time INT NOT NULL, date_created DATETIME NOT NULL, date_modified DATETIME NOT NULL,
    version_number INT NOT NULL);
CREATE TABLE dbo.sysjobschedules (schedule_id INT NULL, job_id UNIQUEIDENTIFIER NULL, next_run_date INT NOT NULL, next_run_time INT NOT NULL);
CREATE TABLE dbo.sysalerts (id INT NOT NULL, name SYSNAME NOT NULL, job_id UNIQUEIDENTIFIER NOT NULL);
`

// agentRowsDDL fills them with two jobs: one with three steps, one of which is not T-SQL, and
// three schedules; and a disabled one.
const agentRowsDDL = `
INSERT INTO dbo.syscategories VALUES (0, 1, 1, N'[Uncategorized (Local)]'), (3, 1, 1, N'Database Maintenance');
INSERT INTO dbo.sysjobs VALUES
    ('11111111-1111-1111-1111-111111111111', 0, N'nightly ''index''', 1, N'No description available.', 1, 3, 0x01, 2, 2, 0, 0, 1, 0, 0, 0, '2020-01-01', '2020-01-01', 1),
    ('22222222-2222-2222-2222-222222222222', 0, N'switched off', 0, N'by hand', 1, 0, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, '2020-01-01', '2020-01-01', 1);
INSERT INTO dbo.sysjobsteps (job_id, step_id, step_name, subsystem, command, flags, cmdexec_success_code, on_success_action, on_success_step_id, on_fail_action,
    on_fail_step_id, database_name, retry_attempts, retry_interval, os_run_priority, last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time)
VALUES
    ('11111111-1111-1111-1111-111111111111', 1, N'rebuild', N'TSQL', CONCAT(N'PRINT ''it''''s $(x)'';', CHAR(13), CHAR(10), N'GO', CHAR(13), CHAR(10), N'SELECT 2;'), 0, 0, 3, 0, 2, 0, N'Sales', 3, 2, 0, 0, 0, 0, 0, 0),
    ('11111111-1111-1111-1111-111111111111', 2, N'copy', N'CmdExec', N'copy secret-file', 0, 0, 3, 0, 2, 0, NULL, 0, 0, 0, 0, 0, 0, 0, 0),
    ('11111111-1111-1111-1111-111111111111', 3, N'report', N'TSQL', N'SELECT 1;', 0, 0, 1, 0, 2, 0, N'master', 0, 0, 0, 0, 0, 0, 0, 0),
    ('22222222-2222-2222-2222-222222222222', 1, N'one', N'TSQL', N'SELECT 1;', 0, 0, 1, 0, 2, 0, N'Sales', 0, 0, 0, 0, 0, 0, 0, 0);
INSERT INTO dbo.sysschedules VALUES
    (1, NEWID(), 0, N'weekdays', 0x01, 1, 8, 62, 1, 0, 0, 1, 20200101, 99991231, 20000, 235959, '2020-01-01', '2020-01-01', 1),
    (2, NEWID(), 0, N'every 45 minutes at night', 0x01, 1, 4, 1, 4, 45, 0, 0, 20200101, 99991231, 220000, 60000, '2020-01-01', '2020-01-01', 1),
    (3, NEWID(), 0, N'at start', 0x01, 1, 64, 0, 0, 0, 0, 0, 20200101, 99991231, 0, 235959, '2020-01-01', '2020-01-01', 1);
INSERT INTO dbo.sysjobschedules VALUES (1, '11111111-1111-1111-1111-111111111111', 0, 0), (2, '11111111-1111-1111-1111-111111111111', 0, 0),
    (3, '11111111-1111-1111-1111-111111111111', 0, 0), (1, '22222222-2222-2222-2222-222222222222', 0, 0);
INSERT INTO dbo.sysalerts VALUES (1, N'disk full', '11111111-1111-1111-1111-111111111111'), (2, N'other', '00000000-0000-0000-0000-000000000000');
`

// runScript runs a script as a simple client does: it splits batches at each line with GO, and
// continues after an error.
func runScript(t *testing.T, db *sql.DB, script string) (failures []error) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	for _, batch := range clitest.Batches(script) {
		if _, err := conn.ExecContext(context.WithoutCancel(t.Context()), batch); err != nil {
			failures = append(failures, err)
		}
		var open int
		require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@TRANCOUNT;").Scan(&open))
		require.Zero(t, open, "a batch leaves a transaction open: %s", batch)
	}
	return failures
}

// The scripts of all imports run on a control database. A second execution is refused for each job
// as a whole.
func TestImportedScriptsRun(t *testing.T) {
	ctx := t.Context()
	server, control := startServer(t)
	msdb, err := server.Open("msdb")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, msdb.Close()) })
	for _, ddl := range []string{agentTablesDDL, agentRowsDDL} {
		_, err = msdb.ExecContext(ctx, ddl)
		require.NoError(t, err)
	}
	testdata := filepath.Join("..", "..", "..", "..", "jobs", "importer", "testdata")

	for _, test := range []struct {
		args            []string
		jobs, schedules int
	}{
		{[]string{"azure-scheduler", filepath.Join(testdata, "azure.json")}, 9, 8},
		{[]string{"sap", filepath.Join(testdata, "sap.json")}, 3, 6},
		{[]string{"azure-scheduler", filepath.Join(testdata, "azure_documented.json")}, 8, 8},
		{[]string{"sap", filepath.Join(testdata, "sap_documented.json")}, 4, 4},
		{[]string{"task-scheduler", filepath.Join(testdata, "tasks.xml"), "--zone", "W. Europe Standard Time"}, 2, 18},
		{[]string{"crontab", filepath.Join(testdata, "crontab", "user"), "--server", "sql0"}, 9, 10},
		{[]string{"kubernetes", filepath.Join(testdata, "kubernetes", "cronjobs.yaml")}, 4, 3},
		{[]string{"icalendar", filepath.Join(testdata, "calendar.ics"), "--zone", "Europe/Berlin"}, 6, 5},
		{[]string{"sql-agent", "--dsn", server.DSN(embedded.ControlDatabase), "--time-zone", "W. Europe Standard Time"}, 2,
			7},
		{[]string{"sql-agent", filepath.Join(testdata, "sqlagent", "jobs.sql"), "--server", "sql1", "--zone", "Europe/Berlin"}, 5, 7},
	} {
		t.Run(test.args[0]+filepath.Ext(test.args[1]), func(t *testing.T) {
			before := countSchedules(t, server.Store)
			var stdout, stderr bytes.Buffer
			require.Equal(t, exit.CodeOK, cli.Run(ctx, append([]string{"import"}, test.args...), strings.NewReader(""),
				&stdout, &stderr), stderr.String())
			require.Empty(t, runScript(t, control, stdout.String()))
			require.Equal(t, before+test.schedules, countSchedules(t, server.Store))
			again := runScript(t, control, stdout.String())
			require.Len(t, again, test.jobs)
			for _, err := range again {
				require.ErrorContains(t, err, "exists")
			}
			require.Equal(t, before+test.schedules, countSchedules(t, server.Store))

			stdout.Reset()
			require.Equal(t, exit.CodeOK, cli.Run(ctx, append([]string{"import", "-o", "json"}, test.args...),
				strings.NewReader(""), &stdout, &stderr))
			var out struct {
				Script string
				Report output.ImportReport
			}
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &out))
			require.Equal(t, test.jobs, out.Report.Jobs)
			require.Equal(t, test.schedules, out.Report.Schedules)
			require.Contains(t, out.Script, "EXEC jobs.sp_add_schedule")
		})
	}

	var after, runWhen, onUnknown string
	require.NoError(t, control.QueryRowContext(ctx, `SELECT after, run_when FROM jobs.jobstep_options WHERE job_name = N'weekdays' AND step_name = N'ErrorAction' AND is_current = 1;`).
		Scan(&after, &runWhen))
	require.Equal(t, `["MainAction"]`, after)
	require.Equal(t, "Failed", runWhen)
	require.NoError(t, control.QueryRowContext(ctx, `SELECT on_unknown_outcome FROM jobs.jobstep_options WHERE job_name = N'validateSalesOrder' AND is_current = 1;`).
		Scan(&onUnknown))
	require.Equal(t, "Await", onUnknown)
	var parameters string
	require.NoError(t, control.QueryRowContext(ctx, `SELECT parameters FROM jobs.schedules WHERE job_name = N'validateOrder' AND parameters IS NOT NULL;`).Scan(&parameters))
	require.Equal(t, `{"salesOrderId":"1234"}`, parameters)

	steps, err := catalog.On(server.Store).JobSteps(ctx, "nightly 'index'", nil)
	require.NoError(t, err)
	require.Len(t, steps, 3)
	require.Equal(t, "PRINT 'it''s $(x)';\r\nGO\r\nSELECT 2;", steps[0].Command)
	require.Equal(t, 3, steps[0].RetryAttempts)
	require.Equal(t, 120, steps[0].InitialRetryInterval)
	require.Equal(t, `{"entry":"nightly-index-copy"}`, steps[1].Command)
	members, err := targetgroups.On(server.Store).Members(ctx, steps[0].TargetGroup)
	require.NoError(t, err)
	require.Equal(t, server.ServerName(), members[0].Server)
	require.Equal(t, "Sales", members[0].Database)
	named, err := timetable.On(server.Store).List(ctx, timetable.Filter{JobName: "nightly 'index'", NamedOnly: true})
	require.NoError(t, err)
	require.Len(t, named, 6)
	for _, s := range named {
		require.Equal(t, "Europe/Berlin", s.TimeZone)
		require.False(t, s.Enabled, "a step is left to write")
		require.Equal(t, "none", s.CatchUp)
	}
	off, err := timetable.On(server.Store).List(ctx, timetable.Filter{JobName: "switched off", NamedOnly: true})
	require.NoError(t, err)
	require.Len(t, off, 1)
	for _, s := range off {
		require.False(t, s.Enabled)
	}
}

// An import needs only a few columns of SQL Server Agent's tables, in a database of any name.
func TestImportSQLAgentNeedsFewColumns(t *testing.T) {
	ctx := t.Context()
	server := clitest.Server(t)
	_, err := runBatch(t, server, "master", "CREATE DATABASE standin;")
	require.NoError(t, err)
	_, err = runBatch(t, server, "standin", `
CREATE TABLE dbo.sysjobs (job_id INT, name SYSNAME);
CREATE TABLE dbo.sysjobsteps (job_id INT, step_id INT, subsystem NVARCHAR(40), command NVARCHAR(MAX));
CREATE TABLE dbo.sysschedules (schedule_id INT, name SYSNAME, freq_type INT, freq_interval INT, active_start_date INT);
CREATE TABLE dbo.sysjobschedules (job_id INT, schedule_id INT);
INSERT INTO dbo.sysjobs VALUES (1, N'b'), (2, N'a');
INSERT INTO dbo.sysjobsteps VALUES (1, 1, N'TSQL', N'SELECT 1;'), (1, 2, N'TSQL', N'SELECT 2;');
INSERT INTO dbo.sysschedules VALUES (7, N'every third day', 4, 3, 20260101);
INSERT INTO dbo.sysjobschedules VALUES (1, 7), (2, 7);`)
	require.NoError(t, err)
	importing := func(args ...string) (code int, stdout, stderr string) {
		var out, errors bytes.Buffer
		code = cli.Run(ctx, append([]string{"import", "sql-agent", "--dsn", server.DSN("master"), "--database", "standin"},
			args...), nil, &out, &errors)
		return code, out.String(), errors.String()
	}
	code, stdout, stderr := importing("--job", "B", "--server", "sql1", "--target-group", "g")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Contains(t, stdout, "1 job, 2 steps, 1 schedule")
	require.Contains(t, stdout, "FREQ=DAILY;INTERVAL=3;BYHOUR=0;BYMINUTE=0;BYSECOND=0")
	require.NotContains(t, stdout, "N'a'")
	require.Contains(t, stderr, "UTC is taken")
	code, stdout, stderr = importing("--job", "c")
	require.Equal(t, exit.CodeNotFound, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, `has no job "c"`)

	_, err = runBatch(t, server, "standin", "DROP TABLE dbo.sysjobsteps; CREATE TABLE dbo.sysjobsteps (job_id INT, step_id INT);")
	require.NoError(t, err)
	code, _, stderr = importing()
	require.Equal(t, exit.CodeFailure, code)
	require.Contains(t, stderr, "the table dbo.sysjobsteps has no column subsystem")
}

// runBatch runs a batch in a database of a server.
func runBatch(t *testing.T, server *embedded.Server, database, batch string) (sql.Result, error) {
	t.Helper()
	db, err := server.Open(database)
	require.NoError(t, err)
	defer db.Close()
	return db.ExecContext(t.Context(), batch)
}

// startServer starts an embedded server and opens its control database.
func startServer(t *testing.T) (*embedded.Server, *sql.DB) {
	t.Helper()
	server := clitest.Server(t)
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	return server, control
}

// startAgent starts an agent on the server.
func startAgent(t *testing.T, server *embedded.Server) {
	t.Helper()
	ctx := t.Context()
	servers, err := server.OpenServers(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := connect.NewTools(ctx, server.Store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(ctx, agent.Config{Grace: -1}, server.Store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })
}

// An agent validates the imported schedules: those that are over are Completed, disabled ones stay
// disabled, and all others are due as specified.
func TestImportedSchedulesAreValidated(t *testing.T) {
	ctx := t.Context()
	server, control := startServer(t)
	for _, system := range []string{"azure-scheduler", "sap"} {
		var stdout, stderr bytes.Buffer
		file := filepath.Join("..", "..", "..", "..", "jobs", "importer", "testdata",
			strings.TrimSuffix(system, "-scheduler")+".json")
		require.Equal(t, exit.CodeOK, cli.Run(ctx, []string{"import", system, file}, nil, &stdout, &stderr), stderr.String())
		require.Empty(t, runScript(t, control, stdout.String()))
	}
	startAgent(t, server)
	var list []timetable.Schedule
	var err error
	require.Eventually(t, func() bool {
		list, err = timetable.On(server.Store).List(ctx, timetable.Filter{NamedOnly: true})
		return err == nil && !slices.ContainsFunc(list, func(s timetable.Schedule) bool { return s.ValidatedTime.IsZero() })
	}, 20*time.Second, 50*time.Millisecond)

	completed := map[string]bool{"counted out": true, "ended": true, "once done": true, "completed": true}
	require.Len(t, list, 14)
	for _, s := range list {
		want := "Enabled"
		switch {
		case completed[s.JobName]:
			want = "Completed"
		case !s.Enabled:
			want = "Disabled"
		}
		if s.JobName == "validateSalesOrder" && (s.Name == "c" || s.Name == "once") || s.JobName == "off" {
			continue // due once on a fixed day, which may be past
		}
		require.Equal(t, want, s.State, "%s %s: %s", s.JobName, s.Name, s.Reason)
		if want == "Enabled" {
			require.False(t, s.NextDue.IsZero(), "%s %s", s.JobName, s.Name)
		} else {
			require.Zero(t, s.Executions+s.SkippedOtherwise, "%s %s", s.JobName, s.Name)
		}
	}
}

func countSchedules(t *testing.T, store *controldb.Store) int {
	t.Helper()
	list, err := timetable.On(store).List(t.Context(), timetable.Filter{NamedOnly: true})
	require.NoError(t, err)
	return len(list)
}

// With --strict, an import that lost something ends with 7. The script and the report are those of
// an import without the flag, and a report in a file leaves the counts on stderr.
func TestImportStrict(t *testing.T) {
	importing := func(args ...string) (code int, stdout, stderr string) {
		var out, errors bytes.Buffer
		code = cli.Run(t.Context(), append([]string{"import"}, args...), nil, &out, &errors)
		return code, out.String(), errors.String()
	}
	testdata := filepath.Join("..", "..", "..", "..", "jobs", "importer", "testdata")
	lossy := filepath.Join(testdata, "azure.json")
	report := filepath.Join(t.TempDir(), "report.txt")
	code, script, stderr := importing("azure-scheduler", lossy, "--strict", "--report", report)
	require.Equal(t, exit.CodeRunFailed, code)
	require.Contains(t, script, "EXEC jobs.sp_add_job")
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	require.Len(t, lines, 2, stderr)
	require.Regexp(t, `^9 jobs, .*; [1-9]\d* elements not imported, \d+ changed, \d+ to set$`, lines[0])
	require.Regexp(t, `^error: --strict: [1-9]\d* elements? lost`, lines[1])
	text, err := os.ReadFile(report)
	require.NoError(t, err)
	require.Contains(t, string(text), "lost: ")
	require.True(t, strings.HasSuffix(string(text), lines[0]+"\n"))

	code, _, stderr = importing("azure-scheduler", lossy)
	require.Equal(t, exit.CodeOK, code, stderr)
	whole := filepath.Join(t.TempDir(), "job.json")
	require.NoError(t, os.WriteFile(whole, []byte(`{"id": "subscriptions/a/resourceGroups/b/providers/Microsoft.Scheduler/jobCollections/c/jobs/d", "properties": {
		"startTime": "2030-01-01T00:00:00Z", "action": {"type": "Http", "request": {"uri": "https://example.com/", "method": "GET"}},
		"recurrence": {"frequency": "Day", "interval": 1}, "state": "Enabled"}}`), 0o600))
	code, _, stderr = importing("azure-scheduler", whole, "--strict")
	require.Equal(t, exit.CodeOK, code, stderr)
	code, _, stderr = importing("azure-scheduler", filepath.Join(t.TempDir(), "missing.json"), "--strict")
	require.Equal(t, exit.CodeUsage, code, stderr)
}
