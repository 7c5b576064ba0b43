package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// TestRunWaitsForTheWindowsOfItsTargets: a run starts on each database when its own window opens. A
// script that runs when a window closes continues; the next attempt waits for the next window. A
// paused database waits for the end of the pause. A database whose window does not open within the
// time limit of the step is skipped.
func TestRunWaitsForTheWindowsOfItsTargets(t *testing.T) {
	testenv.Long(t)
	skipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 5)
		day := time.Now().UTC().Truncate(24 * time.Hour)
		until := func(minute int) { <-time.After(time.Until(day.Add(time.Duration(minute) * time.Minute))) }
		require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), "soon", `{"startTime": "`+day.Format(time.DateOnly)+`T00:10:00", "rrule": "FREQ=MINUTELY;INTERVAL=30;COUNT=2", "duration": "PT10M"}`))
		require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), "never", `{"dates": ["`+day.AddDate(0, 1, 0).Format(time.DateOnly)+`"]}`))
		tags := func(i int, tier string) targetgroups.TargetTags {
			return targetgroups.TargetTags{Server: f.Env.ServerName, Database: f.Targets[i], Tags: map[string]*string{"tier": &tier}}
		}
		_, err := targetgroups.On(f.Store).SetTags(t.Context(), []targetgroups.TargetTags{tags(0, "gold"), tags(1, "gold"), tags(2, "lead")}, false)
		require.NoError(t, err)
		require.NoError(t, holds.On(f.Store).SetWindow(t.Context(), holds.Window{Name: "gold", TagFilter: "tier = 'gold'", Calendar: "soon"}))
		require.NoError(t, holds.On(f.Store).SetWindow(t.Context(), holds.Window{Name: "lead", TagFilter: "tier = 'lead'", Calendar: "never"}))
		require.NoError(t, holds.On(f.Store).SetPause(t.Context(), holds.Pause{
			Server: f.Env.ServerName, Database: f.Targets[3], Reason: "moves", Until: day.Add(30 * time.Minute),
		}))
		// One attempt takes until after the end of the window, and fails on the first database.
		f.AddJob(t, "j", []string{`IF DB_NAME() = N'` + f.Targets[0] + `'
BEGIN
    WAITFOR DELAY '00:13:00';
    THROW 50001, N'too late', 1;
END;`}, func(s *model.StepSpec) {
			s.RetryAttempts, s.InitialRetryInterval, s.Timeout = ptr(1), ptr(1), ptr(3600)
		})
		stop := f.startAgent(t, slowPolling)
		f.Start(t, "j")
		states := func() (list []string) {
			rows, err := f.DB(t, f.Control).QueryContext(t.Context(), `SELECT CONCAT(v.lifecycle, N' ', v.attempts, N' ' + v.waiting_for,
    N' ' + CONVERT(NVARCHAR(5), CAST(v.waiting_until AS TIME), 108))
FROM jobs.job_execution_targets AS v ORDER BY v.target_database_name`)
			require.NoError(t, err)
			defer rows.Close()
			for rows.Next() {
				var one string
				require.NoError(t, rows.Scan(&one))
				list = append(list, one)
			}
			require.NoError(t, rows.Err())
			return list
		}
		until(1)
		require.Equal(t, []string{"Created 0 Window 00:10", "Created 0 Window 00:10", "Created 0 Window 00:00", "Created 0 Pause 00:30", "Succeeded 1"}, states())
		until(9)
		require.Equal(t, []string{"Created 0 Window 00:10", "Created 0 Window 00:10", "Created 0 Window 00:00", "Created 0 Pause 00:30", "Succeeded 1"}, states())
		until(11)
		require.Equal(t, []string{"InProgress 1", "Succeeded 1", "Created 0 Window 00:00", "Created 0 Pause 00:30", "Succeeded 1"}, states())
		until(29)
		require.Equal(t, []string{"WaitingForRetry 1 Window 00:40", "Succeeded 1", "Created 0 Window 00:00", "Created 0 Pause 00:30", "Succeeded 1"}, states())
		until(31)
		require.Equal(t, []string{"WaitingForRetry 1 Window 00:40", "Succeeded 1", "Created 0 Window 00:00", "Succeeded 1", "Succeeded 1"}, states())
		until(41)
		require.Equal(t, []string{"InProgress 2", "Succeeded 1", "Created 0 Window 00:00", "Succeeded 1", "Succeeded 1"}, states())
		until(62)
		require.Equal(t, []string{"Failed 2", "Succeeded 1", "Skipped 0", "Succeeded 1", "Succeeded 1"}, states())
		stop()
	})
}

// An answer about a window that the control database refuses to store holds up no other window, and
// no schedule.
func TestWindowThatCannotBeStoredHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 2)
		day := time.Now().UTC().Format(time.DateOnly)
		for i, calendar := range []string{"bad", "good"} {
			require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), calendar, `{"dates": ["`+day+`"]}`))
			require.NoError(t, holds.On(f.Store).SetWindow(t.Context(), holds.Window{
				Name: calendar, Server: f.Env.ServerName, Database: f.Targets[i], Target: targets.TargetID(f.Env.ServerName, f.Targets[i]), Calendar: calendar,
			}))
		}
		mend := f.refuse(t, "window_answers", "i.calendar_name = N'bad' AND i.is_open = 1")
		f.AddJob(t, "j", []string{"SELECT 1;"})
		f.startAgent(t, slowPolling)
		run := f.Start(t, "j")
		rows := f.until(t, run, 2*time.Minute, func(rows []executions.Execution) bool { return lifecycles(rows, 1)[f.Targets[1]] == jobs.Succeeded })
		require.Equal(t, jobs.Created, lifecycles(rows, 1)[f.Targets[0]])
		mend()
		require.Equal(t, jobs.Succeeded, f.ended(t, run, 2*time.Minute)[0].Lifecycle)
	})
}
