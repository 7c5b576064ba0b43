package agent_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// slowPolling makes hours of virtual time cheap. Due instants are handled on time nevertheless. The
// scheduler looks for changes every 15 s.
var slowPolling = agent.Config{PollIdle: 5 * time.Second, PollActive: time.Second}

// The clock of a synctest bubble starts on 1 January 2000 at midnight. The tests write instants as
// times of that day.

// schedule adds a schedule named "s" to a job. Options change it.
func (f *fixture) schedule(t *testing.T, job, kind, spec string, options ...func(*timetable.Spec)) controldb.ScheduleID {
	t.Helper()
	s := timetable.Spec{JobName: job, Name: "s", Kind: new(kind), Spec: new(spec)}
	for _, option := range options {
		option(&s)
	}
	id, err := timetable.On(f.Store).Add(t.Context(), s)
	require.NoError(t, err)
	return id
}

func overlap(policy string) func(*timetable.Spec) {
	return func(s *timetable.Spec) { s.Overlap = &policy }
}

func catchUp(policy string) func(*timetable.Spec) {
	return func(s *timetable.Spec) { s.CatchUp = &policy }
}

// readSchedule reads the schedule "s" of a job.
func (f *fixture) readSchedule(t *testing.T, job string) timetable.Schedule {
	t.Helper()
	name := "s"
	list, err := timetable.On(f.Store).List(t.Context(), timetable.Filter{JobName: job, Name: &name})
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

// clockOf formats the time of day of an instant.
func clockOf(at time.Time) string { return at.UTC().Format("15:04:05") }

// runs lists the due instants of a job's runs. In brackets follow the time of a run's creation, if
// it is not in the same minute, and its lifecycle, if it is not Succeeded.
func (f *fixture) runs(t *testing.T, job string) []string {
	t.Helper()
	rows, err := f.DB(t, f.Control).QueryContext(t.Context(), `SELECT e.due_at, e.create_time, e.lifecycle
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.name = @p1 AND e.due_at IS NOT NULL
ORDER BY e.due_at;`, job)
	require.NoError(t, err)
	defer rows.Close()
	list := []string{}
	for rows.Next() {
		var due, created time.Time
		var lifecycle jobs.Lifecycle
		require.NoError(t, rows.Scan(&due, &created, &lifecycle))
		var more []string
		if at := created.Format("15:04"); at != due.Format("15:04") {
			more = append(more, at)
		}
		if lifecycle != jobs.Succeeded {
			more = append(more, string(lifecycle))
		}
		text := clockOf(due)
		if more != nil {
			text += " (" + strings.Join(more, " ") + ")"
		}
		list = append(list, text)
	}
	require.NoError(t, rows.Err())
	return list
}

// dues lists the due instants of a job's runs, without brackets.
func (f *fixture) dues(t *testing.T, job string) []string {
	t.Helper()
	list := f.runs(t, job)
	for i, text := range list {
		list[i], _, _ = strings.Cut(text, " ")
	}
	return list
}

// skips lists the skipped instants: the first instant, the number if more than one, and the cause.
func (f *fixture) skips(t *testing.T, job string) []string {
	t.Helper()
	rows, err := timetable.On(f.Store).Skips(t.Context(), timetable.SkipFilter{JobName: job})
	require.NoError(t, err)
	slices.Reverse(rows)
	list := []string{}
	for _, k := range rows {
		text := clockOf(k.DueAt)
		if k.Count > 1 {
			text += fmt.Sprintf(" x %d", k.Count)
		}
		list = append(list, text+" "+k.Cause)
	}
	slices.Sort(list)
	return list
}

// waitUntil waits until a time of day.
func waitUntil(t *testing.T, text string) {
	t.Helper()
	clock, err := time.Parse("2006-01-02 15:04:05", "2000-01-01 "+text)
	require.NoError(t, err)
	require.False(t, time.Now().After(clock), "the time is %s already", time.Now())
	<-time.After(time.Until(clock))
}

func TestCatchUpAfterAnOutageOfAllAgents(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		policies := []string{"last", "none", "all", "window:12m", "sap-20min"}
		for _, policy := range policies {
			f.AddJob(t, policy, []string{"SELECT 1;"})
			f.schedule(t, policy, "cron5", "*/5 * * * *", catchUp(policy), overlap("AllowAll"))
		}
		f.AddJob(t, "own", []string{"SELECT 1;"})
		f.every(t, "own", 5)
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:07:00")
		stop()
		waitUntil(t, "00:36:30") // 29.5 minutes
		stop = f.startAgent(t, slowPolling)
		waitUntil(t, "00:42:00")
		stop()
		waitUntil(t, "00:56:30") // 14.5 minutes
		f.startAgent(t, slowPolling)
		waitUntil(t, "01:01:00")

		early, late := []string{"00:00:00", "00:05:00"}, []string{"00:40:00"}
		missed := []string{"00:10:00", "00:15:00", "00:20:00", "00:25:00", "00:30:00", "00:35:00"}
		again := []string{"00:45:00", "00:50:00", "00:55:00"}
		end := []string{"01:00:00"}
		for policy, want := range map[string]struct{ dues, skips []string }{
			"last":       {slices.Concat(early, missed[5:], late, again[2:], end), []string{"00:10:00 x 5 CatchUp", "00:45:00 x 2 CatchUp"}},
			"none":       {slices.Concat(early, late, end), []string{"00:10:00 x 6 CatchUp", "00:45:00 x 3 CatchUp"}},
			"all":        {slices.Concat(early, missed, late, again, end), []string{}},
			"window:12m": {slices.Concat(early, missed[3:], late, again, end), []string{"00:10:00 x 3 CatchUp"}},
			"sap-20min":  {slices.Concat(early, missed[5:], late, again, end), []string{"00:10:00 x 5 CatchUp"}},
			// Decision 11: the first missed instant runs and stands for the others.
			"own": {slices.Concat(early, missed[:1], late, again[:1], end), []string{"00:15:00 x 5 CatchUp", "00:50:00 x 2 CatchUp"}},
		} {
			require.Equal(t, want.dues, f.dues(t, policy), policy)
			require.Equal(t, want.skips, f.skips(t, policy), policy)
		}
		require.Contains(t, f.runs(t, "last"), "00:35:00 (00:36)", "the run keeps its due instant")
		require.EqualValues(t, 7, f.readSchedule(t, "last").SkippedByCatchUp)
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestOverlapPolicies(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		policies := []string{"Skip", "BufferOne", "BufferAll", "CancelOther", "TerminateOther", "AllowAll", "Elastic"}
		for _, policy := range policies {
			f.AddJob(t, policy, []string{"WAITFOR DELAY '00:24:55';"})
			f.schedule(t, policy, "cron5", "*/10 * * * *", overlap(policy))
		}
		f.startAgent(t, slowPolling)
		waitUntil(t, "01:05:00")
		for policy, want := range map[string]struct{ made, skips []string }{
			"Skip": {
				[]string{"00:00:00", "00:30:00", "01:00:00 (WaitingForChildJobExecutions)"},
				[]string{"00:10:00 Overlap", "00:20:00 Overlap", "00:40:00 Overlap", "00:50:00 Overlap"},
			},
			// The second run begins when the first one ends, just before 00:25.
			"BufferOne": {
				[]string{"00:00:00", "00:10:00 (00:24)", "00:30:00 (00:49 WaitingForChildJobExecutions)"},
				[]string{"00:20:00 Overlap", "00:40:00 Overlap", "01:00:00 Overlap"},
			},
			"BufferAll": {
				[]string{"00:00:00", "00:10:00 (00:24)", "00:20:00 (00:49 WaitingForChildJobExecutions)"}, []string{},
			},
			"CancelOther": {
				[]string{
					"00:00:00 (Canceled)", "00:10:00 (Canceled)", "00:20:00 (Canceled)", "00:30:00 (Canceled)", "00:40:00 (Canceled)",
					"00:50:00 (Canceled)", "01:00:00 (WaitingForChildJobExecutions)",
				}, []string{},
			},
			"TerminateOther": {
				[]string{
					"00:00:00 (Canceled)", "00:10:00 (Canceled)", "00:20:00 (Canceled)", "00:30:00 (Canceled)", "00:40:00 (Canceled)",
					"00:50:00 (Canceled)", "01:00:00 (WaitingForChildJobExecutions)",
				}, []string{},
			},
			"AllowAll": {
				[]string{
					"00:00:00", "00:10:00", "00:20:00", "00:30:00", "00:40:00",
					"00:50:00 (WaitingForChildJobExecutions)", "01:00:00 (WaitingForChildJobExecutions)",
				}, []string{},
			},
			// Azure's rule: the run is created, and its targets are Skipped while an older run of
			// the job is active on them.
			"Elastic": {
				[]string{
					"00:00:00", "00:10:00 (SucceededWithSkipped)", "00:20:00 (SucceededWithSkipped)", "00:30:00", "00:40:00 (SucceededWithSkipped)", "00:50:00 (SucceededWithSkipped)",
					"01:00:00 (WaitingForChildJobExecutions)",
				}, []string{},
			},
		} {
			require.Equal(t, want.made, f.runs(t, policy), policy)
			require.Equal(t, want.skips, f.skips(t, policy), policy)
		}
		require.EqualValues(t, 4, f.readSchedule(t, "Skip").SkippedByOverlap)
		require.EqualValues(t, 4, f.readSchedule(t, "BufferAll").Buffered)
		f.CheckInvariants(t, f.Control, false)

		// Waiting instants are recorded as skipped when the schedule is disabled.
		require.NoError(t, timetable.On(f.Store).Enable(t.Context(), "BufferAll", "s", false))
		require.Equal(t, []string{"00:30:00 Disabled", "00:40:00 Disabled", "00:50:00 Disabled", "01:00:00 Disabled"}, f.skips(t, "BufferAll"))
	})
}

func TestScheduleIsPausedByAFailure(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"IF DATEPART(MINUTE, SYSUTCDATETIME()) = 20 THROW 50001, N'no luck', 1;"}, retries(0, 1))
		f.schedule(t, "j", "cron5", "*/10 * * * *", func(s *timetable.Spec) { yes := true; s.PauseOnFailure = &yes })
		f.startAgent(t, slowPolling)
		waitUntil(t, "01:00:30")
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:20:00 (Failed)"}, f.runs(t, "j"))
		s := f.readSchedule(t, "j")
		require.Equal(t, "Disabled", s.State)
		require.True(t, s.Paused)
		require.Equal(t, "jobagent", s.PausedBy)
		require.EqualValues(t, 1, s.Faults)

		// Instants that were due during the pause are dropped (D-P7).
		require.NoError(t, timetable.On(f.Store).Pause(t.Context(), "j", "s", false, "luck is back"))
		waitUntil(t, "01:11:00")
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:20:00 (Failed)", "01:10:00"}, f.runs(t, "j"))
		require.Empty(t, f.skips(t, "j"))
	})
}

func TestBackfillRunsARangeWithItsOwnPolicy(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"WAITFOR DELAY '00:01:00';"})
		waitUntil(t, "12:30:00")
		f.schedule(t, "j", "cron5", "0 * * * *", overlap("Skip"))
		f.startAgent(t, slowPolling)
		day := func(clock string) time.Time {
			at, err := time.Parse("2006-01-02 15:04:05", "2000-01-01 "+clock)
			require.NoError(t, err)
			return at
		}
		<-time.After(time.Second)
		_, err := timetable.On(f.Store).Backfill(t.Context(), timetable.BackfillRequest{
			JobName: "j", Name: "s", From: day("09:00:00"), To: day("12:00:00"),
		})
		require.NoError(t, err)
		waitUntil(t, "13:05:00")
		got := f.runs(t, "j")
		require.Len(t, got, 5)
		for i, due := range []string{"09:00:00", "10:00:00", "11:00:00", "12:00:00"} {
			require.True(t, strings.HasPrefix(got[i], fmt.Sprintf("%s (12:3%d", due, i)), "the runs follow each other although the schedule's policy is Skip: %s", got[i])
		}
		require.Equal(t, "13:00:00", got[4], "the schedule itself fires")
		list, err := timetable.On(f.Store).Backfills(t.Context(), "j", nil, 0)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "Completed", list[0].State)

		// Many instants start at once. An instant that has a run already does not get a second one.
		quick := "SELECT 1;"
		_, err = catalog.On(f.Store).UpdateJobStep(t.Context(), model.StepSpec{JobName: "j", StepID: ptr(1), Command: &quick})
		require.NoError(t, err)
		_, err = timetable.On(f.Store).Backfill(t.Context(), timetable.BackfillRequest{
			JobName: "j", Name: "s", From: day("10:00:00").AddDate(0, 0, -10), To: day("13:00:00"), Overlap: "AllowAll",
		})
		require.NoError(t, err)
		waitUntil(t, "13:20:00")
		require.Len(t, f.runs(t, "j"), 10*24+4)
		require.Empty(t, f.skips(t, "j"))
		f.CheckInvariants(t, f.Control, false)
	})
}

// A large backfill that was requested by mistake must not fill the database with waiting instants.
func TestBackfillBuffersAtMostAHundredRuns(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"WAITFOR DELAY '00:00:10';"})
		f.schedule(t, "j", "cron5", "* * * * *", func(s *timetable.Spec) { s.Enabled = ptr(false) })
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:01:00")
		from := time.Date(1999, 12, 31, 20, 0, 0, 0, time.UTC)
		_, err := timetable.On(f.Store).Backfill(t.Context(), timetable.BackfillRequest{
			JobName: "j", Name: "s", From: from, To: from.Add(229 * time.Minute),
		})
		require.NoError(t, err)
		backfill := func() timetable.Backfill {
			list, err := timetable.On(f.Store).Backfills(t.Context(), "j", nil, 0)
			require.NoError(t, err)
			require.Len(t, list, 1)
			return list[0]
		}
		waitUntil(t, "00:02:00")
		b := backfill()
		require.Equal(t, "Open", b.State)
		require.LessOrEqual(t, b.Started+b.Buffered, int64(100))
		waitUntil(t, "00:51:00")
		b = backfill()
		require.Equal(t, "Completed", b.State)
		require.EqualValues(t, 230, b.Started)
		require.Zero(t, b.Buffered)
		require.Len(t, f.runs(t, "j"), 230)
		require.Empty(t, f.skips(t, "j"))
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestJitterSpreadsRunsAndKeepsTheirInstants(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "cron5", `{"cron": "*/10 * * * *", "jitter": "5m"}`)
		f.startAgent(t, slowPolling)
		waitUntil(t, "03:59:00")
		got, late := f.runs(t, "j"), map[string]bool{}
		require.Len(t, got, 24)
		for i, text := range got {
			require.True(t, strings.HasPrefix(text, fmt.Sprintf("%02d:%d0:00", i/6, i%6)), text)
			_, made, _ := strings.Cut(text, " (")
			late[made] = true
			if made != "" {
				require.Equal(t, fmt.Sprintf("%02d:%d", i/6, i%6), made[:4], "at most five minutes later")
				require.Less(t, made[4], byte('6'))
			}
		}
		require.Greater(t, len(late), 13, "the delays differ")
		require.Empty(t, f.skips(t, "j"), "an instant that jitter delays is not missed")
	})
}

func TestChangingAScheduleWhileItIsDue(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "cron5", "*/10 * * * *")
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:05:00")
		stop()
		waitUntil(t, "00:15:00") // 00:10 is due, and no agent has handled it
		spec := "*/7 * * * *"
		require.NoError(t, timetable.On(f.Store).Update(t.Context(), timetable.Spec{
			JobName: "j", Name: "s", Spec: &spec,
		}))
		waitUntil(t, "00:16:00")
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:30:00")
		require.Equal(t, []string{"00:00:00", "00:21:00", "00:28:00"}, f.dues(t, "j"), "instants before the change are dropped (D-P7)")
		require.Empty(t, f.skips(t, "j"))

		// A change at the exact time of a due instant.
		waitUntil(t, "00:35:00")
		require.NoError(t, timetable.On(f.Store).Update(t.Context(), timetable.Spec{
			JobName: "j", Name: "s", Kind: ptr("cron6"), Spec: ptr("0 */5 * * * *"),
		}))
		waitUntil(t, "00:41:00")
		require.Equal(t, []string{"00:00:00", "00:21:00", "00:28:00", "00:35:00", "00:40:00"}, f.dues(t, "j"), "once")
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestRelativeTextCountsFromItsDefinition(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "sap", `{"time": "20 minutes from now"}`)
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:10:00")
		require.NoError(t, timetable.On(f.Store).Enable(t.Context(), "j", "s", false))
		waitUntil(t, "00:12:00")
		require.NoError(t, timetable.On(f.Store).Enable(t.Context(), "j", "s", true))
		waitUntil(t, "01:00:00")
		require.Equal(t, []string{"00:20:00"}, f.dues(t, "j"), "D-S14")
		require.Equal(t, "Completed", f.readSchedule(t, "j").State)
		require.NoError(t, timetable.On(f.Store).Update(t.Context(), timetable.Spec{JobName: "j", Name: "s", Spec: ptr(`{"time": "in 30 minutes"}`)}))
		waitUntil(t, "02:00:00")
		require.Equal(t, []string{"00:20:00", "01:30:00"}, f.dues(t, "j"), "a new text counts from the change")
	})
}

func TestCountIncludesOnlyStartedRuns(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "sap", `{"cron": "* * * * * */10 0", "count": 5}`, overlap("Skip"))
		f.AddJob(t, "slow", []string{"WAITFOR DELAY '00:15:00';"})
		f.schedule(t, "slow", "sap", `{"cron": "* * * * * */10 0", "count": 3}`, overlap("Skip"))
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:05:00")
		stop()
		waitUntil(t, "00:35:00")
		f.startAgent(t, slowPolling)
		waitUntil(t, "01:01:00")
		require.Equal(t, []string{"00:00:00", "00:30:00", "00:40:00", "00:50:00", "01:00:00"}, f.dues(t, "j"), "skipped instants do not count (D-P3)")
		require.Equal(t, []string{"00:10:00 x 2 CatchUp"}, f.skips(t, "j"))
		s := f.readSchedule(t, "j")
		require.Equal(t, "Completed", s.State, "completed by its last run")
		require.Zero(t, s.NextDue)
		waitUntil(t, "02:00:00")
		require.Len(t, f.dues(t, "slow"), 3)
		require.NotEmpty(t, f.skips(t, "slow"))
		require.Equal(t, "Completed", f.readSchedule(t, "slow").State)
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestRepeatIntervalCountsFromTheStartOfTheRunBefore(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "sap", `{"repeatInterval": "10 minutes"}`)
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:15:00")
		stop()
		waitUntil(t, "00:34:17")
		f.startAgent(t, slowPolling)
		waitUntil(t, "01:00:00")
		require.Equal(t, []string{"00:00:00", "00:10:00", "00:20:00 (00:34)", "00:44:17", "00:54:17"}, f.runs(t, "j"))
		require.Empty(t, f.skips(t, "j"))
		// A schedule that is enabled after its planned start runs at once.
		require.NoError(t, timetable.On(f.Store).Pause(t.Context(), "j", "s", true, ""))
		waitUntil(t, "01:30:30")
		require.NoError(t, timetable.On(f.Store).Pause(t.Context(), "j", "s", false, ""))
		waitUntil(t, "01:41:00")
		again := f.dues(t, "j")[5:]
		require.Len(t, again, 2)
		require.Equal(t, "01:30:30", again[0])
		require.True(t, strings.HasPrefix(again[1], "01:40:"), "ten minutes after the run, which waited for the validation: %s", again[1])
	})
}

func TestOneTimeScheduleCompletesItself(t *testing.T) {
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		for i, spec := range []struct{ kind, text string }{
			{"sap", `{"time": "2000-01-01T00:10:00Z"}`}, {"azure-scheduler", `{"startTime": "2000-01-01T00:10:00Z"}`},
			{"elastic", `{"schedule_interval_type": "Once", "schedule_start_time": "2000-01-01T00:10:00"}`},
		} {
			job := fmt.Sprint("j", i)
			f.AddJob(t, job, []string{"SELECT 1;"})
			f.schedule(t, job, spec.kind, spec.text)
		}
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:11:00")
		for i := range 3 {
			job := fmt.Sprint("j", i)
			require.Equal(t, []string{"00:10:00"}, f.dues(t, job))
			s := f.readSchedule(t, job)
			require.Equal(t, "Completed", s.State, s.Spec)
			require.Equal(t, "No due instant is left.", s.Reason)
		}
	})
}

func TestCalendarsOfTheDatabase(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, slowPolling)
		require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), "lunch", `{"weekly": [{"day": "saturday", "from": "02:00", "to": "03:00"}]}`))
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "cron5", `{"cron": "*/30 0-4 * * *", "blackouts": {"calendars": ["lunch"]}}`)
		waitUntil(t, "01:35:00")
		require.Equal(t, "03:00:00", clockOf(f.readSchedule(t, "j").NextDue))
		// After a change of the calendar, the stored instant is computed again.
		require.NoError(t, timetable.On(f.Store).UpdateCalendar(t.Context(), "lunch", `{"weekly": [{"day": "saturday", "from": "02:00", "to": "04:00"}]}`))
		waitUntil(t, "01:36:00")
		require.Equal(t, "04:00:00", clockOf(f.readSchedule(t, "j").NextDue))
		waitUntil(t, "05:00:00")
		require.Equal(t, []string{"00:00:00", "00:30:00", "01:00:00", "01:30:00", "04:00:00", "04:30:00"}, f.dues(t, "j"))
		require.NoError(t, timetable.On(f.Store).UpdateCalendar(t.Context(), "lunch", `{"weekly": 7}`))
		waitUntil(t, "05:01:00")
		s := f.readSchedule(t, "j")
		require.Equal(t, "Faulted", s.State)
		require.Contains(t, string(s.ValidationErrors), "calendar lunch")
	})
}

func TestChangedZoneRulesMoveStoredInstants(t *testing.T) {
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		for _, zone := range []string{"Asia/Tokyo", "UTC"} {
			f.AddJob(t, zone, []string{"SELECT 1;"})
			f.schedule(t, zone, "cron5", "0 12 * * *", func(s *timetable.Spec) { s.TimeZone = &zone })
		}
		stop := f.startAgent(t, slowPolling)
		waitUntil(t, "00:01:00")
		require.Equal(t, "03:00:00", clockOf(f.readSchedule(t, "Asia/Tokyo").NextDue))
		stop()
		// The state that an agent with older time-zone data would leave.
		f.exec(t, f.Control, `UPDATE jobs_internal.schedules
SET engine = N'old', next_due_at = DATEADD(HOUR, 1, next_due_at), next_fire_at = DATEADD(HOUR, 1, next_fire_at) WHERE name = N's';`)
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:02:00")
		require.Equal(t, "03:00:00", clockOf(f.readSchedule(t, "Asia/Tokyo").NextDue), "D-Z1")
		require.Equal(t, "12:00:00", clockOf(f.readSchedule(t, "UTC").NextDue), "another version may compute another instant in UTC as well")
	})
}

func TestTwoAgentsRaceForEachInstant(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.startAgent(t, slowPolling)
		f.startAgent(t, slowPolling)
		f.startAgent(t, slowPolling)
		for i := range 20 {
			job := fmt.Sprint("j", i)
			f.AddJob(t, job, []string{"SELECT 1;"})
			f.schedule(t, job, "cron6", "*/30 * * * * *")
		}
		waitUntil(t, "00:10:20")
		for i := range 20 {
			require.Len(t, f.runs(t, fmt.Sprint("j", i)), 21)
			require.Empty(t, f.skips(t, fmt.Sprint("j", i)))
		}
		f.CheckInvariants(t, f.Control, false)
	})
}

func TestMoreMissedInstantsThanOneCallHandles(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "named", []string{"SELECT 1;"})
		f.schedule(t, "named", "cron5", "* * * * *")
		f.AddJob(t, "own", []string{"SELECT 1;"})
		f.every(t, "own", 1)
		f.AddJob(t, "all", nil) // a job without steps: its instants are only recorded, which is cheap
		for i := range 13 {
			f.schedule(t, "all", "cron5", "0 * * * *", catchUp("all"), func(s *timetable.Spec) { s.Name = fmt.Sprint("s", i) })
		}
		stop := f.startAgent(t, slowPolling)
		<-time.After(30 * time.Second)
		stop()
		<-time.After(8*24*time.Hour + 30*time.Second)
		f.startAgent(t, slowPolling)
		<-time.After(90 * time.Second)
		const instants = 8*24*60 + 3 // from the first minute to the current one
		answered := func(job string) (n int) {
			rows, err := timetable.On(f.Store).Skips(t.Context(), timetable.SkipFilter{JobName: job})
			require.NoError(t, err)
			for _, k := range rows {
				n += k.Count
			}
			return n + len(f.runs(t, job))
		}
		require.Equal(t, instants, answered("named"))
		require.Equal(t, instants, answered("own"))
		require.Subset(t, f.skips(t, "named"), []string{"00:01:00 x 10000 CatchUp", "22:41:00 x 1519 CatchUp"}, "as many as one call examines, and the rest")
		require.Equal(t, 13*(8*24+1), answered("all"))
		f.CheckInvariants(t, f.Control, false)
	})
}

var many = flag.Int("agent.many", 1000, "schedules that are due at the same second; a multiple of 1000, at most 10000")

func TestManySchedulesDueAtTheSameSecond(t *testing.T) {
	testenv.Long(t)
	number := *many
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.exec(t, f.Control, `WITH d AS (SELECT v.n FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS v (n))
INSERT INTO jobs_internal.schedules (job_id, name, kind, spec, overlap, enabled, state, awaits_verdict, created_at, activated_at, updated_at)
SELECT j.job_id, CONCAT(N's', 1000 * a.n + 100 * b.n + 10 * c.n + e.n), N'cron5', N'0 1 * * *', N'AllowAll', 1, N'Enabled', 1, SYSUTCDATETIME(), SYSUTCDATETIME(), SYSUTCDATETIME()
FROM jobs_internal.jobs AS j
CROSS JOIN d AS a
CROSS JOIN d AS b
CROSS JOIN d AS c
CROSS JOIN d AS e
WHERE a.n < @p1 AND j.name = N'j';`, number/1000)
		f.startAgent(t, slowPolling)
		waitUntil(t, "00:59:00")
		var waiting int
		f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.schedules WHERE awaits_verdict = 1;", &waiting)
		require.Zero(t, waiting)
		waitUntil(t, "01:30:00")
		got := f.runs(t, "j")
		require.Len(t, got, number)
		for _, text := range got {
			require.Equal(t, "01:00:00", text)
		}
		require.Empty(t, f.skips(t, "j"))
	})
}

// Schedules that the control database refuses to validate or to fire hold up no others.
func TestScheduleThatCannotBeStoredHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		f.exec(t, f.Control, `ALTER TABLE jobs_internal.schedules ADD
CONSTRAINT CK_validation CHECK (NOT (spec = N'*/3 * * * *' AND validated_at IS NOT NULL)),
CONSTRAINT CK_firing CHECK (NOT (spec = N'*/2 * * * *' AND last_due_at IS NOT NULL));`)
		<-time.After(10 * time.Second) // no instant is due at once
		for minutes := range 5 {
			job := fmt.Sprintf("every %d", minutes+1)
			f.AddJob(t, job, []string{"SELECT 1;"})
			f.schedule(t, job, "cron5", fmt.Sprintf("*/%d * * * *", minutes+1))
		}
		f.startAgent(t, slowPolling)
		<-time.After(5*time.Minute + 10*time.Second)
		for job, want := range map[string]int{"every 1": 5, "every 2": 0, "every 3": 0, "every 4": 1, "every 5": 1} {
			require.Len(t, f.runs(t, job), want, job)
		}
	})
}

// A schedule whose firing is refused waits for the next round, although more of its instants are
// due: virtual time would not pass otherwise.
func TestRefusedFiringIsNotRepeatedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.schedule(t, "j", "cron5", "* * * * *", catchUp("all"))
		stop := f.startAgent(t, slowPolling)
		<-time.After(30 * time.Second)
		stop()
		before := len(f.runs(t, "j"))
		mend := f.refuse(t, "schedules", "i.kind = N'cron5'")
		<-time.After(4 * time.Hour) // 100 instants are run in one call
		f.startAgent(t, slowPolling)
		<-time.After(30 * time.Second)
		require.Len(t, f.runs(t, "j"), before)
		mend()
		<-time.After(30 * time.Second)
		require.Greater(t, len(f.runs(t, "j")), before)
	})
}
