package cli_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
)

// The commands of a crontab and of a CronJob: a call of sqlcmd runs on its database. A step to
// write fails with a message on its target group. Without one, it would wait for an agent that
// has the program: its schedules are disabled.
func TestImportedCommandsRun(t *testing.T) {
	ctx := t.Context()
	server, control := startServer(t)
	_, err := runBatch(t, server, "master", "CREATE DATABASE shop;")
	require.NoError(t, err)
	_, err = control.ExecContext(ctx, "EXEC jobs.sp_add_target_group @target_group_name = N'written'; "+
		"EXEC jobs.sp_add_target_group_member @target_group_name = N'written', @target_type = N'SqlDatabase', @server_name = @p1, @database_name = N'shop';", server.ServerName())
	require.NoError(t, err)
	for _, source := range []struct{ system, text, group string }{
		{"crontab", "0 0 1 1 * sqlcmd -d shop -Q \"CREATE TABLE dbo.FromCron (id INT)\"\n0 0 1 1 * /opt/run.sh --key=hush\n", ""},
		{"crontab", "0 0 1 1 * /opt/dump.sh --key=hush\n", "written"},
		{"kubernetes", "{apiVersion: batch/v1, kind: CronJob, metadata: {name: pod}, spec: {schedule: '0 0 1 1 *', jobTemplate: {spec: {backoffLimit: 0, template: {spec: " +
			"{containers: [{name: c, image: i, command: [/bin/report, hush]}]}}}}}}", "written"},
	} {
		var stdout, stderr bytes.Buffer
		args := []string{"import", source.system, "-", "--server", server.ServerName()}
		if source.group != "" {
			args = append(args, "--target-group", source.group)
		}
		require.Equal(t, exit.CodeOK, cli.Run(ctx, args, strings.NewReader(source.text), &stdout, &stderr), stderr.String())
		require.Empty(t, runScript(t, control, stdout.String()))
	}
	startAgent(t, server)
	for job, want := range map[string]struct {
		lifecycle jobs.Lifecycle
		message   string
	}{
		"sqlcmd":  {jobs.Succeeded, ""},
		"dump.sh": {jobs.Failed, "Line 1 of a crontab ran the program /opt/dump.sh and could not be carried over."},
		"pod":     {jobs.Failed, "ran the program /bin/report and could not be carried over."},
	} {
		id, err := executions.On(server.Store).StartJob(ctx, job, uuid.Nil)
		require.NoError(t, err)
		var rows []executions.Execution
		require.Eventually(t, func() bool {
			rows, err = executions.On(server.Store).Rows(ctx, id)
			return err == nil && len(rows) > 0 && rows[0].Lifecycle.Terminal()
		}, 5*time.Second, 20*time.Millisecond, "%s: %+v", job, &rows)
		require.Equal(t, want.lifecycle, rows[0].Lifecycle, job)
		messages := ""
		for _, r := range rows {
			messages += r.LastMessage + "\n"
		}
		require.Contains(t, messages, want.message, job)
	}
	for job, enabled := range map[string]bool{"sqlcmd": true, "dump.sh": false, "pod": false, "run.sh": false} {
		list, err := timetable.On(server.Store).List(ctx, timetable.Filter{JobName: job, NamedOnly: true})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, enabled, list[0].Enabled, job)
	}
	_, err = runBatch(t, server, "shop", "INSERT INTO dbo.FromCron VALUES (1);")
	require.NoError(t, err)
}
