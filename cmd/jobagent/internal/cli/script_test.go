package cli_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/deploy"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
)

// The output of jobagent script recreates a job in a second control database. The client splits
// batches at each line with GO, even within strings. The recreated job has the same script.
func TestScriptRecreatesAJob(t *testing.T) {
	ctx := t.Context()
	server := clitest.Server(t)
	script := func(database string) string {
		t.Helper()
		code, stdout, stderr := runContext(ctx, server.DSN(database), "", "script", "it's [j]")
		require.Zero(t, code, stderr)
		return stdout
	}
	master, err := server.Open("master")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, master.Close()) })
	_, err = master.ExecContext(ctx, "CREATE DATABASE second;")
	require.NoError(t, err)
	second, err := controldb.Open(ctx, controldb.Config{DSN: server.DSN("second")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, second.Close()) })
	require.NoError(t, deploy.On(second).Install(ctx))

	seed, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, seed.Close()) })
	command := "PRINT 'it''s $(job_name)';\r\nGO\r\nprint $(step_id)\n\tgo 2\n-- GO\nGOTO x; x:\n-- \u202e\a\n" +
		strings.Repeat("-- é日😀\n", 2000)
	_, err = seed.ExecContext(ctx, `
EXEC jobs.sp_add_target_group N'all of it''s';
EXEC jobs.sp_add_target_group_member N'all of it''s', @target_type = N'SqlServer', @server_name = N's';
EXEC jobs.sp_add_target_group_member N'all of it''s', N'Exclude', N'SqlDatabase', @server_name = N's', @database_name = N'd';
EXEC jobs.sp_add_job N'it''s [j]', @description = N'a
b', @enabled = 1, @schedule_interval_type = N'Days', @schedule_interval_count = 3, @schedule_start_time = '2990-01-02 03:04:05';
EXEC jobs.sp_add_jobstep N'it''s [j]', @command = @p1, @target_group_name = N'all of it''s', @retry_interval_backoff_multiplier = 1.5;
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'two', @command = N'SELECT 1 AS a;', @target_group_name = N'all of it''s', @credential_name = N'c',
    @output_type = N'SqlDatabase', @output_server_name = N's', @output_database_name = N'd', @output_table_name = N't', @max_parallelism = 4;
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'notify', @command_type = N'Http', @command = @p2;
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'back up', @command_type = N'Process', @command = N'{"entry": "backup"}', @target_group_name = N'all of it''s';
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'compare', @command_type = N'Drift', @command = N'{"against": "majority", "exclude": ["audit"]}', @target_group_name = N'all of it''s';
EXEC jobs.sp_set_jobstep_options N'it''s [j]', 2, @on_unknown_outcome = N'Fail', @at_most_once = 1, @retry_errors = N'transient', @tolerated_failures = N'2%';
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'it''s three, "3"', @command = N'SELECT 3;', @target_group_name = N'all of it''s', @after = N'';
EXEC jobs.sp_add_jobstep N'it''s [j]', @step_name = N'four', @command = N'SELECT 4;', @target_group_name = N'all of it''s', @run_when = N'Failed', @on_targets = N'Failed';
EXEC jobs.sp_set_jobstep_options N'it''s [j]', 1, @after = N'["four", "it''s three, \"3\""]', @run_when = N'Finished', @bind_parameters = 1;
EXEC jobs.sp_set_job_rollout N'it''s [j]', N'{"waves": [{"name": "it''s one", "targets": 1}, {"name": "rest", "targets": "rest"}], "strict": true}';
EXEC jobs.sp_set_job_parameters N'it''s [j]', N'[{"name": "tenant", "default": "it''s $(x)", "description": "why"}, {"name": "n", "type": "integer", "choices": [1, 2]}]';`, command, `{"url": "https://example.com/$(run_id)"}`)
	require.NoError(t, err)
	_, err = seed.ExecContext(ctx, `
EXEC jobs.sp_add_calendar N'it''s a holiday', N'{"dates": ["2026-12-24"]}';
EXEC jobs.sp_add_calendar N'a "b" \x', N'{"dates": ["2026-12-24"]}';
EXEC jobs.sp_add_schedule N'it''s [j]', N'escaped', N'cron5', N'{"cron": "0 1 * * *", "blackouts": {"calendars": "\u0061 \"b\" \\x"}}';
EXEC jobs.sp_add_calendar N'unused', N'{"dates": ["2026-12-24"]}';
EXEC jobs.sp_add_schedule N'it''s [j]', N'it''s one', N'cron5', N'{"cron": "0 1 * * *", "blackouts": {"calendars": ["it''s a holiday"]}}',
    @time_zone = N'Europe/Berlin', @catch_up = N'none', @overlap = N'bufferone', @pause_on_failure = 1, @parameters = N'{"n": 2}';
EXEC jobs.sp_add_schedule N'it''s [j]', N'two', N'rrule', N'DTSTART;TZID=Europe/Berlin:20260101T000000
RRULE:FREQ=DAILY', @enabled = 0;
EXEC jobs.sp_pause_schedule N'it''s [j]', N'two', 1, N'why
not';`)
	require.NoError(t, err)

	// A schedule with a single instant that has run does not run again.
	_, err = seed.ExecContext(ctx, `
EXEC jobs.sp_add_schedule N'it''s [j]', N'done', N'sap', N'{"time": "2026-01-01T00:00:00Z"}';
UPDATE jobs_internal.schedules SET state = N'Completed', awaits_verdict = 0, validated_at = SYSUTCDATETIME() WHERE name = N'done';`)
	require.NoError(t, err)
	done := script(embedded.ControlDatabase)
	require.Regexp(t, `-- It is Completed [^\n]*\nEXEC jobs.sp_add_schedule[^;]*'done'[^;]*@enabled = 0;`, done)
	_, err = seed.ExecContext(ctx, "EXEC jobs.sp_delete_schedule N'it''s [j]', N'done';")
	require.NoError(t, err)

	// A time relative to the definition becomes the instant that it meant, also where only a part
	// of the definition depends on it (D-S14).
	_, err = seed.ExecContext(ctx, `
EXEC jobs.sp_add_schedule N'it''s [j]', N'later', N'sap', N'{"description": "it''s \u00e9", "time": "2 hours from now"}';
EXEC jobs.sp_add_schedule N'it''s [j]', N'noon', N'sap', N'{"time": {"date": "12:30", "format": "HH:mm"}, "endTime": "2990-01-01"}', @time_zone = N'Asia/Tokyo';
EXEC jobs.sp_add_schedule N'it''s [j]', N'fixed', N'sap', N'{"time": {"date": "2990-01-02 12:30", "format": "YYYY-MM-DD HH:mm"}}';
UPDATE jobs_internal.schedules SET defined_at = '2026-03-04T05:06:07.8' WHERE name IN (N'later', N'noon', N'fixed');`)
	require.NoError(t, err)
	relative := script(embedded.ControlDatabase)
	require.Contains(t, relative, `N'{"description": "it''s é", "time": "2026-03-04T07:06:07Z"}'`)
	require.Contains(t, relative, `N'{"time": "2026-03-04T03:30:00Z", "endTime": "2990-01-01"}'`)
	require.Contains(t, relative, `N'{"time": {"date": "2990-01-02 12:30", "format": "YYYY-MM-DD HH:mm"}}'`)
	_, err = seed.ExecContext(ctx, "EXEC jobs.sp_delete_schedule N'it''s [j]', N'later'; EXEC jobs.sp_delete_schedule N'it''s [j]', N'noon'; EXEC jobs.sp_delete_schedule N'it''s [j]', N'fixed';")
	require.NoError(t, err)

	// A server without the jobs that a trigger watches gets the others.
	_, err = seed.ExecContext(ctx, `
EXEC jobs.sp_add_job N'load "it''s"';
EXEC jobs.sp_add_job N'rates';
EXEC jobs.sp_add_job N'only here';
EXEC jobs.sp_add_job_trigger N'it''s [j]', N'it''s after', N'["load \"it''s\"", "rates"]', N'Finished', 0;
EXEC jobs.sp_add_job_trigger N'it''s [j]', N'failed', N'["rates"]', N'Failed', @targets = N'Succeeded';
EXEC jobs.sp_add_job_trigger N'it''s [j]', N'missing', N'["rates", "only here"]';`)
	require.NoError(t, err)

	text := script(embedded.ControlDatabase)
	require.Contains(t, text, "sp_add_calendar\n    @calendar_name = N'a \"b\" \\x'", "however the text spells the name")
	require.NotContains(t, text, "$(")
	require.NotContains(t, text, "unused")
	require.Greater(t, strings.Index(text, "@enabled = 1"), strings.Index(text, "N'two'"),
		"it is enabled when its steps are there")
	other, err := server.Open("second")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	_, err = other.ExecContext(ctx, `EXEC jobs.sp_add_job N'load "it''s"'; EXEC jobs.sp_add_job N'rates';`)
	require.NoError(t, err)
	for _, batch := range clitest.Batches(text) {
		_, err := other.ExecContext(context.WithoutCancel(ctx), batch)
		require.NoError(t, err, batch)
	}
	_, err = seed.ExecContext(ctx, "EXEC jobs.sp_delete_job_trigger N'it''s [j]', N'missing';")
	require.NoError(t, err)
	text = script(embedded.ControlDatabase)
	require.Equal(t, 2, strings.Count(text, "EXEC jobs.sp_add_job_trigger"))
	again := script("second")
	require.Equal(t, text, again)
	declared := func(store *controldb.Store) string {
		detail, err := catalog.On(store).JobDetail(ctx, "it's [j]")
		require.NoError(t, err)
		return detail.Parameters
	}
	require.Equal(t, declared(server.Store), declared(second))
	require.Contains(t, declared(second), `"n"`)
	schedules, err := timetable.On(second).List(ctx, timetable.Filter{NamedOnly: true})
	require.NoError(t, err)
	require.Len(t, schedules, 3)
	require.True(t, schedules[2].Paused)
	require.Equal(t, "why\nnot", schedules[2].PauseNote)
	steps, err := catalog.On(second).JobSteps(ctx, "it's [j]", nil)
	require.NoError(t, err)
	require.Equal(t, command, steps[0].Command)
	require.Equal(t, []string{"Http", `{"url": "https://example.com/$(run_id)"}`, ""}, []string{steps[2].CommandType, steps[2].Command, steps[2].TargetGroup})
	require.Equal(t, []string{"Process", "all of it's"}, []string{steps[3].CommandType, steps[3].TargetGroup})
	type options struct {
		name  string
		after []string
		model.StepOptions
		retryErrors, tolerated string
	}
	var got []options
	for _, s := range steps {
		got = append(got, options{s.StepName, s.After, s.StepOptions, s.RetryErrors, s.ToleratedFailures})
	}
	d := model.DefaultStep.StepOptions
	bound, once, failed := d, d, d
	bound.BindParameters, bound.RunWhen = true, "Finished"
	once.OnUnknownOutcome, once.AtMostOnce = "Fail", true
	failed.RunWhen, failed.OnTargets = "Failed", "Failed"
	require.Equal(t, []options{
		{"JobStep", []string{`it's three, "3"`, "four"}, bound, "All", "0"},
		{"two", nil, once, "Transient", "2%"},
		{"notify", nil, d, "All", "0"},
		{"back up", nil, d, "All", "0"},
		{"compare", nil, d, "All", "0"},
		{`it's three, "3"`, []string{}, d, "All", "0"},
		{"four", nil, failed, "All", "0"},
	}, got)
}
