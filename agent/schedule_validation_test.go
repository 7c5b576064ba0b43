package agent_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
)

func TestScheduleIsValidatedWithinASecond(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "j", []string{"SELECT 1;"})
		zone := "W. Europe Standard Time" // of Windows
		waitUntil(t, "00:00:10")
		f.schedule(t, "j", "cron5", "30 4 * * *", func(s *timetable.Spec) { s.TimeZone = &zone })
		before := f.readSchedule(t, "j")
		require.Zero(t, before.ValidatedTime)
		require.Equal(t, "Waits for an agent to validate it.", before.Reason)
		<-time.After(time.Second)
		s := f.readSchedule(t, "j")
		require.Equal(t, "Enabled", s.State)
		require.Equal(t, "03:30:00", clockOf(s.NextDue))
		require.Len(t, s.Upcoming, 10)
		require.Equal(t, "Europe/Berlin", s.TimeZone)
		defined, err := timetable.On(f.Store).Defined(t.Context(), []string{"j"})
		require.NoError(t, err)
		given := slices.IndexFunc(defined, func(s timetable.Schedule) bool { return s.Name == "s" })
		require.Equal(t, zone, defined[given].Zone, "as it was given")
		require.Empty(t, s.Reason)

		// A change is validated as well.
		wrong := "30 4 * * * *"
		require.NoError(t, timetable.On(f.Store).Update(t.Context(), timetable.Spec{
			JobName: "j", Name: "s", Spec: &wrong,
		}))
		require.Zero(t, f.readSchedule(t, "j").NextDue)
		<-time.After(time.Second)
		s = f.readSchedule(t, "j")
		require.Equal(t, "Faulted", s.State)
		require.Zero(t, s.NextDue)
		require.Contains(t, string(s.ValidationErrors), "cron")
	})
}

// TestWarningsAreRenewedAtAChangeOfClocks: the warnings of a schedule name the next changes of
// clocks. When one has passed, they name those after it, and due instants stay.
func TestWarningsAreRenewedAtAChangeOfClocks(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		zone := "Europe/Berlin"
		wait := func(at string) {
			until, err := time.Parse(time.RFC3339, at)
			require.NoError(t, err)
			<-time.After(time.Until(until))
		}
		wait("2000-03-26T00:59:30Z")
		f.startAgent(t, agent.Config{})
		inBerlin := func(s *timetable.Spec) { s.TimeZone = &zone }
		off := false
		for _, job := range []string{"lost", "moved", "off", "utc"} {
			f.AddJob(t, job, []string{"SELECT 1;"})
		}
		f.schedule(t, "lost", "cron5", `{"cron": "30 2 * * *", "gap": "skip", "overlap": "both"}`, inBerlin)
		f.schedule(t, "moved", "cron5", "30 2 * 3 *", inBerlin)
		f.schedule(t, "off", "cron5", "30 2 * 3 *", inBerlin, func(s *timetable.Spec) { s.Enabled = &off })
		f.schedule(t, "utc", "cron5", "30 2 * * *")
		wait("2000-03-26T00:59:35Z")
		const (
			lost    = "On Sunday 26 March 2000 nothing is due: 02:30 does not exist that day in Europe/Berlin; set \"gap\" to \"shift\", or choose a time outside 02:00 to 03:00"
			doubled = "On Sunday 29 October 2000 it runs twice at 02:30, because clocks go back in Europe/Berlin; set \"overlap\" to \"first\" for one run"
			moved   = "02:30 is moved to 03:30 on Sunday 26 March 2000, when clocks go forward in Europe/Berlin"
		)
		before := f.readSchedule(t, "lost")
		require.Equal(t, []string{lost, doubled}, before.Warnings)
		require.Equal(t, "At 02:30 every day, Europe/Berlin", before.Description)
		require.Equal(t, time.Date(2000, 3, 27, 0, 30, 0, 0, time.UTC), before.NextDue)
		require.Equal(t, []string{moved}, f.readSchedule(t, "moved").Warnings)
		require.Equal(t, []string{moved}, f.readSchedule(t, "off").Warnings)
		require.Empty(t, f.readSchedule(t, "utc").Warnings)

		wait("2000-03-26T01:00:05Z")
		after := f.readSchedule(t, "lost")
		require.Equal(t, []string{doubled, strings.Replace(lost, "26 March 2000", "25 March 2001", 1)}, after.Warnings)
		require.Equal(t, []any{before.NextDue, before.Upcoming, before.State, before.Reason, before.Executions}, []any{after.NextDue, after.Upcoming, after.State, after.Reason, after.Executions})
		require.True(t, after.ValidatedTime.After(before.ValidatedTime))
		require.Equal(t, []string{strings.Replace(moved, "26 March 2000", "25 March 2001", 1)}, f.readSchedule(t, "moved").Warnings)
		require.Equal(t, []string{strings.Replace(moved, "26 March 2000", "25 March 2001", 1)}, f.readSchedule(t, "off").Warnings)
		require.Equal(t, "Disabled", f.readSchedule(t, "off").State)
		require.Equal(t, "01:30:00", clockOf(f.readSchedule(t, "moved").NextDue))

		// They are not renewed again before the next change.
		<-time.After(10 * time.Second)
		require.Equal(t, after.ValidatedTime, f.readSchedule(t, "lost").ValidatedTime)
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestFaultedScheduleNeverRuns(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "sap", `{"cron": "* * * 10:12 */30 0", "jitter": "soon", "timeZone": "Berlin"}`)
		f.startAgent(t, slowPolling)
		waitUntil(t, "03:00:00")
		s := f.readSchedule(t, "j")
		require.Equal(t, "Faulted", s.State)
		for _, path := range []string{"cron", "jitter", "timeZone"} {
			require.Contains(t, string(s.ValidationErrors), `"`+path+`"`, "all errors are reported together")
		}
		require.Empty(t, f.runs(t, "j"))
		require.Empty(t, f.skips(t, "j"))
	})
}

func TestScheduleOfUnknownKindIsLeftToOtherAgents(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.AddJob(t, "known", []string{"SELECT 1;"})
		id := f.schedule(t, "j", "cron5", "*/10 * * * *")
		f.schedule(t, "known", "cron5", "*/10 * * * *")
		// The procedures of a newer version could store such a kind.
		f.exec(t, f.Control, "UPDATE jobs_internal.schedules SET kind = N'moon' WHERE schedule_id = @p1;", int64(id))
		core, logs := observer.New(zapcore.InfoLevel)
		hosting, err := agent.New(slowPolling, f.Store, agents.Tools(t, f.Env, f.Store), nil, zap.New(core))
		require.NoError(t, err)
		agents.Run(t, hosting)
		waitUntil(t, "00:25:00")
		require.Zero(t, logs.FilterMessageSnippet("schedules are due and do not fire").Len())
		s := f.readSchedule(t, "j")
		require.Equal(t, "Enabled", s.State)
		require.Equal(t, "Waits for an agent to validate it.", s.Reason)
		require.Empty(t, f.runs(t, "j"))
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:20:00"}, f.dues(t, "known"), "other schedules fire")

		// A newer agent has validated the schedule, and this agent finds it due.
		f.exec(t, f.Control, `UPDATE jobs_internal.schedules
SET awaits_verdict = 0, next_due_at = DATEADD(MINUTE, 5, SYSUTCDATETIME()), next_fire_at = DATEADD(MINUTE, 5, SYSUTCDATETIME()) WHERE schedule_id = @p1;`, int64(id))
		waitUntil(t, "00:45:00")
		require.Empty(t, f.runs(t, "j"))
		require.Empty(t, f.skips(t, "j"), "the instant stays due")
		require.Equal(t, "00:30:00", clockOf(f.readSchedule(t, "j").NextDue))
		require.Len(t, f.runs(t, "known"), 5)
		warnings := logs.FilterMessageSnippet("schedules are due and do not fire").All()
		require.Greater(t, len(warnings), 5)
		require.Less(t, len(warnings), 16, "once a minute")
		require.Equal(t, "00:30:00", clockOf(warnings[0].ContextMap()["due_at"].(time.Time)))
		require.True(t, warnings[0].Time.After(f.readSchedule(t, "j").NextDue.Add(time.Minute)))
		f.exec(t, f.Control, "UPDATE jobs_internal.schedules SET next_fire_at = NULL WHERE schedule_id = @p1;", int64(id))
		waitUntil(t, "00:48:00")
		require.Equal(t, 1, logs.FilterMessageSnippet("schedules fire again").Len())
	})
}

func TestManySchedulesOfUnknownKindsHideNoOthers(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		// 500 due schedules and 500 that wait for validation: as many as a list holds. The
		// procedures of a newer version could store their kinds.
		f.exec(t, f.Control, `WITH d AS (SELECT v.n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n))
INSERT INTO jobs_internal.schedules (job_id, name, kind, spec, overlap, enabled, state, awaits_verdict, next_due_at, next_fire_at)
SELECT j.job_id, CONCAT(N'm', 100 * a.n + 10 * b.n + c.n), CASE WHEN c.n < 5 THEN N'moon' ELSE N'tide' END, N'full', N'AllowAll', 1, N'Enabled',
    c.n % 2, CASE WHEN c.n % 2 = 0 THEN '1999-12-31' END, CASE WHEN c.n % 2 = 0 THEN '1999-12-31' END
FROM jobs_internal.jobs AS j
CROSS JOIN d AS a
CROSS JOIN d AS b
CROSS JOIN d AS c
WHERE j.name = N'j';`)
		f.AddJob(t, "known", []string{"SELECT 1;"})
		f.schedule(t, "known", "cron5", "*/10 * * * *")
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:00:02")
		require.Equal(t, []string{"00:00:00"}, f.dues(t, "known"), "within a second and the time of a pass")
		waitUntil(t, "00:20:30")
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:20:00"}, f.dues(t, "known"))
		require.Empty(t, f.runs(t, "j"))
	})
}

func TestChangedEngineValidatesSchedulesAgain(t *testing.T) {
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		for job, text := range map[string][2]string{
			"kept": {"sap", `{"repeatInterval": "7 minutes"}`}, "jitter": {"cron5", `{"cron": "0 12 * * *", "jitter": "PT1H"}`}, "refused": {"cron5", "0 12 * * *"},
		} {
			f.AddJob(t, job, []string{"SELECT 1;"})
			f.schedule(t, job, text[0], text[1])
		}
		fire := func() (at time.Time) {
			f.query(t, f.Control, "SELECT s.next_fire_at FROM jobs_internal.schedules AS s WHERE s.spec LIKE N'%jitter%';", &at)
			return at
		}
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:08:00")
		before := fire()
		require.Equal(t, "00:14:00", clockOf(f.readSchedule(t, "kept").NextDue))
		stop()
		// The second statement stores a text that an earlier program accepted.
		f.exec(t, f.Control, `UPDATE jobs_internal.schedules SET engine = N'old' WHERE name = N's';
UPDATE jobs_internal.schedules SET spec = N'0 24 * * *' WHERE spec = N'0 12 * * *';`)
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:09:00")
		require.Equal(t, "Faulted", f.readSchedule(t, "refused").State, "although the rules of UTC never change")
		require.Equal(t, "00:14:00", clockOf(f.readSchedule(t, "kept").NextDue), "a correct instant is kept")
		require.Equal(t, before, fire())
	})
}
