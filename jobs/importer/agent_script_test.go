package importer

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

// The jobs that SSMS has scripted: maintenance, an ETL with a path for failures, and one that is
// all T-SQL.
func TestSQLAgentScript(t *testing.T) {
	t.Parallel()
	r, err := SQLAgentScripts([]Document{{"jobs.sql", read(t, "sqlagent/jobs.sql")}}, nil, Options{Now: now, Zone: "Europe/Berlin", Server: "sql1"})
	require.NoError(t, err)
	golden(t, r, "sqlagent/jobs")
	_, toWrite, _ := r.Totals()
	require.Equal(t, 3, toWrite, "cmd, SSIS and PowerShell")
	for _, j := range r.Jobs {
		for _, s := range j.Schedules {
			complete := j.Name == "Maintenance - indexes and statistics" || j.Name == "Shop - hourly totals"
			require.Equal(t, complete, s.Enabled, j.Name)
		}
	}

	// With a database for what ran in master and msdb, less is left to do.
	r, err = SQLAgentScripts([]Document{{"jobs.sql", read(t, "sqlagent/jobs.sql")}}, []string{"maintenance - integrity OF SYSTEM databases"},
		Options{Now: now, Zone: "Europe/Berlin", Server: "sql1", AdminDatabase: "DBA"})
	require.NoError(t, err)
	require.Len(t, r.Jobs, 1)
	require.Equal(t, "DBA", r.Jobs[0].Steps[0].TargetGroup.Database)
	require.True(t, r.Jobs[0].Schedules[0].Enabled)
}

// scripted converts a script, and returns its only job.
func scripted(t *testing.T, text string) (*Result, Job) {
	t.Helper()
	r, err := SQLAgentScripts([]Document{{"x.sql", []byte(text)}}, nil, Options{Now: now, Zone: "UTC", Server: "s"})
	require.NoError(t, err)
	require.Len(t, r.Jobs, 1)
	return r, r.Jobs[0]
}

// Scripts that people write have other forms than those of SSMS.
func TestSQLAgentScriptForms(t *testing.T) {
	t.Parallel()
	r, j := scripted(t, `
/* nested /* comment */ with N'text */
DECLARE @name sysname = N'it''s ' + 'a job', @id UNIQUEIDENTIFIER, @at int;
SET @at = 93000
IF EXISTS (SELECT 1 FROM msdb.dbo.sysjobs WHERE name = @name) EXEC msdb.dbo.sp_delete_job @job_name = @name;
EXECUTE msdb..sp_add_job @name, @enabled = 0, @description = NULL, @job_id = @id OUT;
exec [msdb].[dbo].[sp_add_jobstep] @job_name = N'IT''S a job', @step_name = N'one', @database_name = "Shop", @command = N'PRINT 1;
GO
PRINT ''2'';', @on_success_action = 3
EXEC msdb.dbo.sp_add_jobstep @job_id = @id, @step_name = N'three', @command = N'PRINT 3', @database_name = N'Shop'
EXEC msdb.dbo.sp_add_jobstep @job_id = @id, @step_id = 2, @step_name = N'two', @command = N'PRINT 2', @database_name = N'Shop', @on_success_action = 3
EXEC msdb.dbo.sp_update_jobstep @job_id = @id, @step_id = 3, @retry_attempts = 4, @retry_interval = 1;
EXEC dbo.sp_add_schedule @schedule_name = N'daily', @freq_type = 4, @freq_interval = 1, @freq_subday_type = 1, @active_start_time = @at;
EXEC dbo.sp_attach_schedule @job_id = @id, @schedule_name = N'Daily'
EXEC dbo.sp_update_job @job_name = @name, @new_name = N'renamed', @enabled = 1
EXEC dbo.sp_add_alert @name = N'full', @job_id = @id
EXEC dbo.sp_add_jobserver @job_id = @id
EXEC dbo.sp_purge_jobhistory
GO
EXEC msdb.dbo.sp_add_jobstep @job_id = @id, @step_name = N'lost', @command = N''
`)
	require.Equal(t, "renamed", j.Name)
	require.Equal(t, []string{"one", "two", "three"}, []string{j.Steps[0].Name, j.Steps[1].Name, j.Steps[2].Name})
	require.Equal(t, "PRINT 1;\nGO\nPRINT '2';", j.Steps[0].Command)
	require.Equal(t, 4, j.Steps[2].Attempts)
	require.Equal(t, 60, j.Steps[2].Interval)
	require.Contains(t, j.Schedules[0].Spec, "BYHOUR=9;BYMINUTE=30")
	require.True(t, j.Schedules[0].Enabled)
	found(t, r, Lost, "renamed", "sysalerts", "full")
	found(t, r, Note, "", "line 18", "sp_purge_jobhistory is not read")
	found(t, r, Lost, "", "line 20", "has not made this job")

	r, _ = scripted(t, "EXEC sp_add_job @job_name = N'j', @description = @unknown")
	found(t, r, Lost, "", "line 1", "@description is not known")
	for text, message := range map[string]string{
		"SELECT 1;":                      "the text has no job of SQL Server Agent",
		"EXEC sp_add_job @job_name = N'": "x.sql: line 1: the string has no end",
		"/* a":                           "x.sql: line 1: the comment has no end",
		"EXEC sp_add_job 'j';" + strings.Repeat("EXEC sp_add_jobstep @job_name='j'\n", 501): "more than 500 steps",
	} {
		_, err := SQLAgentScripts([]Document{{"x.sql", []byte(text)}}, nil, Options{Now: now, Server: "s"})
		require.ErrorContains(t, err, message)
	}
	_, err := SQLAgentScripts([]Document{{"x.sql", []byte("EXEC sp_add_job 'j'")}}, []string{"k"}, Options{Now: now, Server: "s"})
	require.EqualError(t, err, `the scripts have no job "k"`)
}

// FuzzSQLAgentScript checks that no script makes the import panic, or splits what it makes.
func FuzzSQLAgentScript(f *testing.F) {
	text, err := os.ReadFile("testdata/sqlagent/jobs.sql")
	require.NoError(f, err)
	f.Add(text)
	f.Add([]byte("DECLARE @a INT = -1, @b VARCHAR(MAX) = CHAR(10) + N'x' SELECT @a = job_id FROM sysjobs WHERE name = 'x' EXEC @r = sp_add_job 'x', 1, @job_id = @a OUTPUT, EXEC"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r *Result
		var err error
		var script string
		bounds.Allocations(t, len(text), fuzzFixed, fuzzPerByte, func() {
			if r, err = SQLAgentScripts([]Document{{"x.sql", text}}, nil, Options{Now: now, Server: "s"}); err == nil {
				script = r.Script()
			}
		})
		if err != nil {
			return
		}
		require.NotContains(t, script, "$(")
		require.Equal(t, len(r.Jobs), strings.Count(script, "\nBEGIN TRANSACTION;\n"), script)
	})
}

// The command of a step of another subsystem is a comment, unless it may hold a password.
func TestSQLAgentOriginals(t *testing.T) {
	t.Parallel()
	for command, shown := range map[string]bool{
		`copy a b`: true, `export.exe --all "two words"`: true, `sqlcmd -U sa -P hush -q "x"`: false, `bcp x out y -Uu -Phush`: false, `curl https://u:hush@h/`: false,
		"net use z: hush": false, "$cred = ConvertTo-SecureString 'hush'": false, "x --api-key=hush": false, `x /password:hush`: false, `x /p hush`: false,
	} {
		for _, keep := range []bool{false, true} {
			r := SQLAgent([]AgentJob{{Name: "j", StartStepID: 1, Steps: []AgentStep{{ID: 1, Name: "s", Subsystem: "CmdExec", Command: command, OnSuccess: 1, OnFail: 2}}}},
				Options{Now: now, Server: "s", KeepCommands: keep})
			require.Equal(t, shown || keep, strings.Contains(r.Script(), "--     "+command), command)
			if !keep {
				noSecrets(t, r)
			}
		}
	}
}
