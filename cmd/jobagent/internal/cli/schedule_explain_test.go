package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
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
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
)

// explainJSON runs jobagent schedule explain.
func explainJSON(t *testing.T, dsn, job, name string) (e output.ScheduleExplanation) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), []string{"schedule", "explain", job, name, "--dsn", dsn, "-o", "json"},
		strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, exit.CodeOK, code, stderr.String())
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &e))
	return e
}

// The obstacles of a schedule are explained, without an agent and with one.
func TestScheduleExplainListsObstacles(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := clitest.Server(t)
	store, dsn := server.Store, server.DSN(embedded.ControlDatabase)
	_, err := catalog.On(store).AddJob(ctx, model.JobSpec{Name: "j"})
	require.NoError(t, err)
	for name, spec := range map[string]string{"often": "* * * * * *", "faulty": "61 * * * * *",
		"over": `{"cron": "0 0 0 * * *", "endTime": "2020-01-01T00:00:00Z"}`} {
		_, err := timetable.On(store).Add(ctx, timetable.Spec{JobName: "j", Name: name, Kind: new("cron6"), Spec: new(spec)})
		require.NoError(t, err)
	}

	var stdout, stderr bytes.Buffer
	require.Equal(t, exit.CodeOK, cli.Run(ctx, []string{"schedule", "add", "j", "unvalidated", "--cron5", "0 0 * * *",
		"--wait", "--dsn", dsn}, nil, &stdout, &stderr), stderr.String())
	require.Contains(t, stdout.String(), "No live agent")
	e := explainJSON(t, dsn, "j", "often")
	require.False(t, e.WillRun)
	require.Nil(t, e.NextDue)
	text := strings.Join(e.Obstacles, "\n")
	for _, want := range []string{"Waits for an agent", "no steps", "no live agent"} {
		require.Contains(t, text, want)
	}
	// A login with read rights only gets the same explanation.
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	password := embedded.RandomPassword()
	_, err = db.ExecContext(ctx, fmt.Sprintf("CREATE LOGIN reader WITH PASSWORD = '%s'; CREATE USER reader FOR LOGIN reader; ALTER ROLE jobs_reader ADD MEMBER reader;", password))
	require.NoError(t, err)
	reader, err := url.Parse(dsn)
	require.NoError(t, err)
	reader.User = url.UserPassword("reader", password)
	require.Contains(t, strings.Join(explainJSON(t, reader.String(), "j", "often").Obstacles, "\n"), "no live agent")

	servers, err := server.OpenServers(ctx)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, servers.Close()) })
	tools, err := connect.NewTools(ctx, store, servers)
	require.NoError(t, err)
	stop, _ := daemon.Start(ctx, agent.Config{Grace: -1}, store, tools, zap.NewNop())
	t.Cleanup(func() { require.NoError(t, stop()) })

	require.Eventually(t, func() bool {
		e = explainJSON(t, dsn, "j", "often")
		return len(e.Skipped) > 0 && e.LastDue != nil // they are read one after the other
	}, 20*time.Second, 50*time.Millisecond, "what comes due for a job without steps is recorded as skipped")
	require.NotContains(t, strings.Join(e.Obstacles, "\n"), "no live agent")
	require.Contains(t, e.NotRun, "step")
	require.NotNil(t, e.LastDue)

	// The skipped instants of a backfill are shown, but do not explain why the schedule itself did
	// not run.
	_, err = timetable.On(store).Add(ctx, timetable.Spec{JobName: "j", Name: "yearly", Kind: new("cron5"), Spec: new("0 0 1 1 *")})
	require.NoError(t, err)
	_, err = timetable.On(store).Backfill(ctx, timetable.BackfillRequest{JobName: "j", Name: "yearly",
		From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		e = explainJSON(t, dsn, "j", "yearly")
		return len(e.Skipped) > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.Empty(t, e.NotRun)

	e = explainJSON(t, dsn, "j", "faulty")
	require.Equal(t, "Faulted", e.State)
	require.False(t, e.WillRun)
	require.Contains(t, e.Obstacles[0], "61")
	e = explainJSON(t, dsn, "j", "over")
	require.Equal(t, "Completed", e.State)
	require.Contains(t, strings.Join(e.Obstacles, "\n"), "no further instant is due")

	// All obstacles are listed, not only the first.
	require.NoError(t, timetable.On(store).Pause(ctx, "j", "often", true, "quiet"))
	require.NoError(t, timetable.On(store).Enable(ctx, "j", "often", false))
	require.NoError(t, timetable.On(store).Pause(ctx, "j", "faulty", true, ""))
	text = strings.Join(explainJSON(t, dsn, "j", "often").Obstacles, "\n")
	require.Contains(t, text, "quiet; to resume it, use jobagent schedule resume")
	require.Contains(t, text, "it is also disabled; to enable it, use jobagent schedule enable")
	require.Eventually(t, func() bool {
		text = strings.Join(explainJSON(t, dsn, "j", "faulty").Obstacles, "\n")
		return strings.Contains(text, "its definition has an error")
	}, 20*time.Second, 50*time.Millisecond, "it is read again when it is paused")
	require.Contains(t, text, "paused it at")

	stdout.Reset()
	require.Equal(t, exit.CodeOK, cli.Run(ctx, []string{"schedule", "explain", "j", "--dsn", dsn}, nil, &stdout,
		&stderr), stderr.String())
	require.Contains(t, stdout.String(), "last time, no run started: ")
	require.Contains(t, stdout.String(), "skipped: ")
	require.Contains(t, stdout.String(), "its definition has an error")
}

// schedule update shows no due instants of a disabled or paused schedule, and the original instants
// of a definition that is relative to its creation.
func TestScheduleUpdateShowsWhatIsDue(t *testing.T) {
	ctx := t.Context()
	server := clitest.Server(t)
	_, err := catalog.On(server.Store).AddJob(ctx, model.JobSpec{Name: "j"})
	require.NoError(t, err)
	schedule := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exit.CodeOK, cli.Run(ctx, append(append([]string{"schedule"}, args...), "--dsn",
			server.DSN(embedded.ControlDatabase)), strings.NewReader(`{"time": "2 hours from now"}`), &stdout, &stderr), stderr.String())
		return stdout.String()
	}
	require.Contains(t, schedule("add", "j", "s", "--cron5", "0 0 1 1 *"), "-01-01T00:00:00Z")
	out := schedule("update", "j", "s", "--enabled=false")
	require.NotContains(t, out, "-01-01")
	require.Contains(t, out, "The schedule is disabled")
	require.NotContains(t, schedule("update", "j", "s", "--overlap", "Skip"), "-01-01")
	require.JSONEq(t, `[]`, dueOf(t, schedule("update", "j", "s", "--overlap", "Skip", "-o", "json")))
	out = schedule("update", "j", "s", "--cron5", "0 0 1 2 *")
	require.Contains(t, out, "until jobagent schedule enable. It would then be due as follows:\n")
	require.Contains(t, out, "-02-01T00:00:00Z")
	schedule("update", "j", "s", "--cron5", "0 0 1 1 *")
	schedule("pause", "j", "s")
	out = schedule("update", "j", "s", "--enabled")
	require.NotContains(t, out, "-01-01")
	require.Contains(t, out, "The schedule is paused")
	schedule("resume", "j", "s")
	require.Contains(t, schedule("update", "j", "s", "--overlap", "Skip"), "-01-01T00:00:00Z")

	schedule("add", "j", "later", "--kind", "sap", "--spec", "-")
	db, err := server.Open(embedded.ControlDatabase)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var due string
	require.NoError(t, db.QueryRowContext(ctx, `UPDATE jobs_internal.schedules SET created_at = DATEADD(HOUR, -1, created_at) WHERE name = N'later';
SELECT CONVERT(NVARCHAR(19), DATEADD(HOUR, 2, created_at), 126) FROM jobs_internal.schedules WHERE name = N'later';`).Scan(&due))
	require.Contains(t, schedule("update", "j", "later", "--overlap", "Skip"), due+"Z")

	// After the validation, the instants are those of the agent.
	_, err = db.ExecContext(ctx, "UPDATE jobs_internal.schedules SET awaits_verdict = 0, validated_at = SYSUTCDATETIME(), upcoming = N'[\"2031-02-03T04:05:06Z\"]' WHERE name = N'later';")
	require.NoError(t, err)
	out = schedule("update", "j", "later", "--overlap", "AllowAll")
	require.Contains(t, out, "2031-02-03T04:05:06Z")
	require.NotContains(t, out, due)
	_, err = db.ExecContext(ctx, "UPDATE jobs_internal.schedules SET state = N'Completed', upcoming = NULL WHERE name = N'later';")
	require.NoError(t, err)
	require.Contains(t, schedule("update", "j", "later", "--overlap", "Skip"), "Nothing is due.")
}

// The errors of a stored calendar that cannot be parsed are listed.
func TestScheduleAddListsErrorsOfCalendar(t *testing.T) {
	ctx := t.Context()
	server := clitest.Server(t)
	_, err := catalog.On(server.Store).AddJob(ctx, model.JobSpec{Name: "j"})
	require.NoError(t, err)
	require.NoError(t, timetable.On(server.Store).AddCalendar(ctx, "holidays", `{"dates": 7}`))
	var stdout, stderr bytes.Buffer
	code := cli.Run(ctx, []string{"schedule", "add", "j", "s", "--kind", "cron5", "--spec", "-", "--overlap", "bufferon",
		"--dsn", server.DSN(embedded.ControlDatabase)},
		strings.NewReader(`{"cron": "0 1 * * *", "blackouts": {"calendars": ["holidays"]}}`), &stdout, &stderr)
	require.Equal(t, exit.CodeUsage, code)
	require.Contains(t, stderr.String(), "error: invalid calendar holidays: dates 7")
	require.NotContains(t, stderr.String(), "blackouts.calendars")
	require.Contains(t, stderr.String(), "try BufferOne", "and the nearest policy is proposed")
}

// dueOf returns the field due of a JSON object.
func dueOf(t *testing.T, text string) string {
	t.Helper()
	var v struct{ Due json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(text), &v))
	return string(v.Due)
}

// job disable concerns the job's own schedule only: it says that others go on.
func TestJobDisableTellsActiveSchedules(t *testing.T) {
	t.Parallel()
	server := clitest.Server(t)
	run := func(args ...string) string {
		code, stdout, stderr := runContext(t.Context(), server.DSN(embedded.ControlDatabase), "", args...)
		require.Equal(t, exit.CodeOK, code, stderr)
		return stdout + stderr
	}
	run("job", "create", "j", "--enabled", "--interval-type", "Days", "--interval-count", "1")
	require.NotContains(t, run("job", "disable", "j"), "named schedule")
	run("schedule", "add", "j", "s", "--cron5", "0 2 * * *")
	require.Contains(t, run("job", "disable", "j"), "warning: job j still has 1 active named schedule: jobagent schedule list --job JOB")
}
