package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/timetable"
)

// quartzDDL creates the tables that are read, with the columns of Quartz.NET for SQL Server.
const quartzDDL = `
CREATE TABLE dbo.QRTZ_JOB_DETAILS (SCHED_NAME NVARCHAR(120) NOT NULL, JOB_NAME NVARCHAR(150) NOT NULL, JOB_GROUP NVARCHAR(150) NOT NULL, DESCRIPTION NVARCHAR(250) NULL,
    JOB_CLASS_NAME NVARCHAR(250) NOT NULL, IS_DURABLE BIT NOT NULL, IS_NONCONCURRENT BIT NOT NULL, IS_UPDATE_DATA BIT NOT NULL, REQUESTS_RECOVERY BIT NOT NULL,
    JOB_DATA VARBINARY(MAX) NULL);
CREATE TABLE dbo.QRTZ_TRIGGERS (SCHED_NAME NVARCHAR(120) NOT NULL, TRIGGER_NAME NVARCHAR(150) NOT NULL, TRIGGER_GROUP NVARCHAR(150) NOT NULL,
    JOB_NAME NVARCHAR(150) NOT NULL, JOB_GROUP NVARCHAR(150) NOT NULL, DESCRIPTION NVARCHAR(250) NULL, NEXT_FIRE_TIME BIGINT NULL, PREV_FIRE_TIME BIGINT NULL,
    PRIORITY INT NULL, TRIGGER_STATE NVARCHAR(16) NOT NULL, TRIGGER_TYPE NVARCHAR(8) NOT NULL, START_TIME BIGINT NOT NULL, END_TIME BIGINT NULL,
    CALENDAR_NAME NVARCHAR(200) NULL, MISFIRE_INSTR INT NULL, JOB_DATA VARBINARY(MAX) NULL);
CREATE TABLE dbo.QRTZ_CRON_TRIGGERS (SCHED_NAME NVARCHAR(120) NOT NULL, TRIGGER_NAME NVARCHAR(150) NOT NULL, TRIGGER_GROUP NVARCHAR(150) NOT NULL,
    CRON_EXPRESSION NVARCHAR(120) NOT NULL, TIME_ZONE_ID NVARCHAR(80) NULL);
CREATE TABLE dbo.QRTZ_SIMPLE_TRIGGERS (SCHED_NAME NVARCHAR(120) NOT NULL, TRIGGER_NAME NVARCHAR(150) NOT NULL, TRIGGER_GROUP NVARCHAR(150) NOT NULL,
    REPEAT_COUNT INT NOT NULL, REPEAT_INTERVAL BIGINT NOT NULL, TIMES_TRIGGERED INT NOT NULL);
CREATE TABLE dbo.QRTZ_SIMPROP_TRIGGERS (SCHED_NAME NVARCHAR(120) NOT NULL, TRIGGER_NAME NVARCHAR(150) NOT NULL, TRIGGER_GROUP NVARCHAR(150) NOT NULL,
    STR_PROP_1 NVARCHAR(512) NULL, STR_PROP_2 NVARCHAR(512) NULL, STR_PROP_3 NVARCHAR(512) NULL, INT_PROP_1 INT NULL, INT_PROP_2 INT NULL,
    LONG_PROP_1 BIGINT NULL, LONG_PROP_2 BIGINT NULL, DEC_PROP_1 NUMERIC(13, 4) NULL, DEC_PROP_2 NUMERIC(13, 4) NULL, BOOL_PROP_1 BIT NULL, BOOL_PROP_2 BIT NULL,
    TIME_ZONE_ID NVARCHAR(80) NULL);
CREATE TABLE dbo.QRTZ_CALENDARS (SCHED_NAME NVARCHAR(120) NOT NULL, CALENDAR_NAME NVARCHAR(200) NOT NULL, CALENDAR VARBINARY(MAX) NOT NULL);
CREATE TABLE dbo.QRTZ_PAUSED_TRIGGER_GRPS (SCHED_NAME NVARCHAR(120) NOT NULL, TRIGGER_GROUP NVARCHAR(150) NOT NULL);
`

// quartzRowsDDL has ticks of .NET: 639028224000000000 is 2026-01-01T00:00:00Z.
const quartzRowsDDL = `
INSERT INTO dbo.QRTZ_JOB_DETAILS VALUES
    (N'S', N'nightly', N'DEFAULT', N'cleans up', N'Shop.Jobs.Nightly, Shop', 1, 1, 0, 0, CONVERT(VARBINARY(MAX), '{"password":"hush"}')),
    (N'S', N'report', N'mail', NULL, N'Shop.Jobs.Report, Shop', 1, 0, 0, 0, NULL);
INSERT INTO dbo.QRTZ_TRIGGERS VALUES
    (N'S', N'cron', N'DEFAULT', N'nightly', N'DEFAULT', NULL, NULL, NULL, 5, N'WAITING', N'CRON', 639028224000000000, NULL, NULL, 0, NULL),
    (N'S', N'simple', N'DEFAULT', N'nightly', N'DEFAULT', NULL, NULL, NULL, 5, N'PAUSED', N'SIMPLE', 639028224000000000, NULL, NULL, 0, NULL),
    (N'S', N'calendar', N'mail', N'report', N'mail', NULL, NULL, NULL, 5, N'WAITING', N'CAL_INT', 639028224000000000, NULL, N'holidays', 2, NULL),
    (N'S', N'daily', N'mail', N'report', N'mail', NULL, NULL, NULL, 5, N'WAITING', N'DAILY_I', 639028224000000000, NULL, NULL, 0, NULL),
    (N'S', N'other', N'mail', N'report', N'mail', NULL, NULL, NULL, 5, N'WAITING', N'BLOB', 639028224000000000, NULL, NULL, 0, NULL);
INSERT INTO dbo.QRTZ_CRON_TRIGGERS VALUES (N'S', N'cron', N'DEFAULT', N'0 0 2 ? * MON-FRI', N'W. Europe Standard Time');
INSERT INTO dbo.QRTZ_SIMPLE_TRIGGERS VALUES (N'S', N'simple', N'DEFAULT', -1, 900000, 7);
INSERT INTO dbo.QRTZ_SIMPROP_TRIGGERS VALUES
    (N'S', N'calendar', N'mail', N'Day', NULL, NULL, 2, 0, 0, 0, 0, 0, 1, 0, N'Europe/Berlin'),
    (N'S', N'daily', N'mail', N'Minute', N'1,2,3,4,5', N'8,0,0,17,45,0', 45, 0, -1, 0, 0, 0, 0, 0, N'UTC');
INSERT INTO dbo.QRTZ_CALENDARS VALUES (N'S', N'holidays', 0x00);
`

// javaDDL has the tables of Quartz for Java in a schema, under another prefix: Booleans are texts,
// and times are milliseconds (1767225600000 is 2026-01-01T00:00:00Z).
const javaDDL = `
CREATE TABLE q.J_JOB_DETAILS (SCHED_NAME VARCHAR(120) NOT NULL, JOB_NAME VARCHAR(200) NOT NULL, JOB_GROUP VARCHAR(200) NOT NULL, JOB_CLASS_NAME VARCHAR(250) NOT NULL,
    IS_NONCONCURRENT VARCHAR(1) NOT NULL);
CREATE TABLE q.J_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(200) NOT NULL, TRIGGER_GROUP VARCHAR(200) NOT NULL, JOB_NAME VARCHAR(200) NOT NULL,
    JOB_GROUP VARCHAR(200) NOT NULL, TRIGGER_STATE VARCHAR(16) NOT NULL, TRIGGER_TYPE VARCHAR(8) NOT NULL, START_TIME BIGINT NOT NULL, END_TIME BIGINT NULL);
CREATE TABLE q.J_CRON_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(200) NOT NULL, TRIGGER_GROUP VARCHAR(200) NOT NULL, CRON_EXPRESSION VARCHAR(120) NOT NULL);
CREATE TABLE q.J_SIMPLE_TRIGGERS (SCHED_NAME VARCHAR(120) NOT NULL, TRIGGER_NAME VARCHAR(200) NOT NULL, TRIGGER_GROUP VARCHAR(200) NOT NULL, REPEAT_COUNT BIGINT NOT NULL,
    REPEAT_INTERVAL BIGINT NOT NULL);
INSERT INTO q.J_JOB_DETAILS VALUES ('one', 'a', 'DEFAULT', 'com.shop.Nightly', '1'), ('two', 'b', 'DEFAULT', 'com.shop.Report', '0');
INSERT INTO q.J_TRIGGERS VALUES ('one', 't', 'DEFAULT', 'a', 'DEFAULT', 'WAITING', 'SIMPLE', 1767225600000, 0), ('two', 't', 'DEFAULT', 'b', 'DEFAULT', 'WAITING', 'CRON', 1767225600000, 0);
INSERT INTO q.J_CRON_TRIGGERS VALUES ('two', 't', 'DEFAULT', '0 0/5 * * * ?');
INSERT INTO q.J_SIMPLE_TRIGGERS VALUES ('one', 't', 'DEFAULT', -1, 60000);
`

// The tables of Quartz.NET and of Quartz for Java are imported, and the script creates the jobs
// once. The database has names of its own.
func TestImportQuartz(t *testing.T) {
	ctx := t.Context()
	server := clitest.Server(t)
	for _, batch := range [][2]string{{"master", "CREATE DATABASE quartz;"}, {"quartz", quartzDDL}, {"quartz", quartzRowsDDL}, {"quartz", "CREATE SCHEMA q;"}, {"quartz", javaDDL}} {
		_, err := runBatch(t, server, batch[0], batch[1])
		require.NoError(t, err)
	}
	importing := func(args ...string) (code int, stdout, stderr string) {
		var out, errors bytes.Buffer
		code = cli.Run(ctx, append([]string{"import", "quartz", "--dsn", server.DSN(embedded.ControlDatabase)}, args...), nil, &out, &errors)
		return code, out.String(), errors.String()
	}
	code, script, stderr := importing("--zone", "Europe/Berlin", "--target-group", "written")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.NotContains(t, script+stderr, "hush")
	require.Contains(t, stderr, `the values of "password", which are not shown`)
	require.Contains(t, stderr, "2 jobs, 2 steps, ")
	control, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, control.Close()) })
	require.Empty(t, runScript(t, control, script))
	require.Len(t, runScript(t, control, script), 2, "both jobs exist")
	list, err := timetable.On(server.Store).List(ctx, timetable.Filter{NamedOnly: true})
	require.NoError(t, err)
	var got []string
	for _, s := range list {
		line := s.JobName + " " + s.Name + " " + string(s.Kind) + " " + s.Spec
		if !s.Enabled {
			line += " disabled"
		}
		got = append(got, line)
	}
	require.ElementsMatch(t, []string{
		`nightly cron quartz {"cron":"0 0 2 ? * MON-FRI"} disabled`,
		`nightly simple rrule {"rrule":"FREQ=MINUTELY;INTERVAL=15","startTime":"2026-01-01T00:00:00Z"} disabled`,
		`mail.report mail.calendar rrule {"rrule":"FREQ=DAILY;INTERVAL=2","startTime":"2026-01-01T00:00:00Z","gap":"at_end"} disabled`,
		`mail.report mail.daily [1 of 3] rrule {"rrule":"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=8,11,14,17;BYMINUTE=0,45;BYSECOND=0","startTime":"2026-01-01T00:00:00Z"} disabled`,
		`mail.report mail.daily [2 of 3] rrule {"rrule":"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=9,12,15;BYMINUTE=30;BYSECOND=0","startTime":"2026-01-01T00:00:00Z"} disabled`,
		`mail.report mail.daily [3 of 3] rrule {"rrule":"FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=10,13,16;BYMINUTE=15;BYSECOND=0","startTime":"2026-01-01T00:00:00Z"} disabled`,
	}, got)

	code, script, stderr = importing("--prefix", "q.J_", "--scheduler", "one", "--target-group", "shops")
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Contains(t, script, `"rrule":"FREQ=MINUTELY;INTERVAL=1","startTime":"2026-01-01T00:00:00Z"`)
	require.Contains(t, script, "@overlap = N'BufferOne'")
	require.Contains(t, script, "THROW 50000, ")
	require.NotContains(t, script, "N'b'")
	code, script, stderr = importing("--prefix", "q.J_", "--scheduler", "two", "--strict")
	require.Equal(t, exit.CodeRunFailed, code, stderr)
	require.Contains(t, script, `{"cron":"0 0/5 * * * ?"}`)

	for args, want := range map[string]struct {
		code int
		text string
	}{
		"--prefix q.J_":                     {exit.CodeUsage, "choose one with --scheduler: one, two"},
		"--prefix q.J_ --scheduler three":   {exit.CodeNotFound, `no jobs of the scheduler "three"`},
		"--prefix X_":                       {exit.CodeNotFound, "no tables of Quartz"},
		"--prefix x];--":                    {exit.CodeUsage, "invalid --prefix"},
		"--database master":                 {exit.CodeNotFound, "no tables of Quartz"},
		"--zone Mars":                       {exit.CodeUsage, "--zone"},
		"--database nowhere --prefix QRTZ_": {exit.CodeConnection, "nowhere"},
	} {
		code, script, stderr := importing(strings.Fields(args)...)
		require.Equal(t, want.code, code, "%s: %s", args, stderr)
		require.Empty(t, script)
		require.Contains(t, stderr, want.text)
	}
}
