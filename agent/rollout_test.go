package agent_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// rolledOut waits until a roll-out has a state. It looks every second first and then every five, as
// most of the cost of a long wait in virtual time is looking.
func (f *fixture) rolledOut(t *testing.T, id uuid.UUID, state string) {
	t.Helper()
	end, wait := time.Now().Add(time.Hour), time.Second
	db := f.DB(t, f.Control)
	for {
		var is, next string
		require.NoError(t, db.QueryRowContext(t.Context(),
			`SELECT MAX(r.state), COALESCE(MAX(r.next_event), N'') FROM jobs.rollouts AS r WHERE r.job_execution_id = @p1 HAVING COUNT(*) = 1
UNION ALL SELECT N'', N'' WHERE NOT EXISTS (SELECT 1 FROM jobs.rollouts AS r WHERE r.job_execution_id = @p1)`, id.String()).Scan(&is, &next))
		if is == state {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the roll-out is %s, not %s: %s", is, state, next)
		}
		<-time.After(wait)
		wait = min(2*wait, 5*time.Second)
	}
}

// decide calls a procedure for a roll-out.
func (f *fixture) decide(t *testing.T, procedure string, id uuid.UUID) {
	t.Helper()
	f.exec(t, f.Control, `EXECUTE jobs.`+procedure+` @p1`, id.String())
}

// changed counts the databases whose table has the new column.
func (f *fixture) changed(t *testing.T) (n int) {
	t.Helper()
	for _, name := range f.Targets {
		var has int
		f.query(t, name, `SELECT COUNT(*) FROM sys.columns AS c WHERE c.name = N'note'`, &has)
		n += has
	}
	return n
}

// TestRollOutOfFortyTenants runs the T-SQL of sql/ROLLOUTS.md: a column is added to 40 tenants. One
// of the second wave lacks the table, so the roll-out stops; the tenant is mended, the wave is
// retried, the rest is approved, and in the end all of it is undone. The agent is replaced during
// the bake.
func TestRollOutOfFortyTenants(t *testing.T) {
	testenv.Long(t)
	text, err := os.ReadFile("../sql/ROLLOUTS.md")
	require.NoError(t, err)
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, strings.ReplaceAll(m[1], "N'tenants'", "N'"+testenv.Group+"'"))
	}
	require.Len(t, blocks, 7)
	define, start, look, retry, approve, undo, approveUndo := blocks[0], blocks[1], blocks[2], blocks[3], blocks[4], blocks[5], blocks[6]
	id, undoID := uuid.MustParse("f0000000-0000-0000-0000-000000000001"), uuid.MustParse("f0000000-0000-0000-0000-000000000002")
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 40)
		const orders = `CREATE TABLE dbo.orders (id INT NOT NULL);`
		const bad = 14 // db15, the fourth of the second wave: db1, db10, db11; db12, …
		for i, name := range f.Targets {
			if i != bad {
				f.exec(t, name, orders)
			}
		}
		f.exec(t, f.Control, define)
		stop := f.startAgent(t, slowPolling)
		f.exec(t, f.Control, start)
		begin := time.Now()
		f.rolledOut(t, id, "Baking")
		require.Equal(t, 3, f.changed(t))
		f.exec(t, f.Control, look)
		stop()
		f.startAgent(t, slowPolling)
		f.rolledOut(t, id, "Stopped")
		require.GreaterOrEqual(t, time.Since(begin), 10*time.Minute)
		require.Equal(t, 6, f.changed(t), "one after the other, in the order of the group")
		var gate string
		f.query(t, f.Control, `SELECT reason FROM jobs.rollouts`, &gate)
		require.Contains(t, string(text), "| Stopped | "+gate+" |")

		f.exec(t, f.Targets[bad], orders)
		f.exec(t, f.Control, retry)
		f.rolledOut(t, id, "WaitingForApproval")
		require.Equal(t, 13, f.changed(t))
		f.exec(t, f.Control, approve)
		f.rolledOut(t, id, "Succeeded")
		require.Equal(t, 40, f.changed(t))
		f.ended(t, id, time.Minute)

		f.exec(t, f.Control, undo)
		f.rolledOut(t, undoID, "WaitingForApproval") // of the wave rest, which is the first one now
		require.Equal(t, 40, f.changed(t))
		f.exec(t, f.Control, approveUndo)
		f.rolledOut(t, undoID, "Succeeded")
		require.Zero(t, f.changed(t))
		f.ended(t, undoID, time.Minute)
	})
}

// TestRollOutIsAborted: after an abort, running scripts continue to their end, or are canceled if
// the plan says so, and no other target starts.
func TestRollOutIsAborted(t *testing.T) {
	testenv.Long(t)
	for running, want := range map[string]string{"finish": "Succeeded", "cancel": "Canceled"} {
		t.Run(running, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 3)
				f.AddJob(t, "j", []string{`WAITFOR DELAY '00:01:00';`}, func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
				f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'j', @p1`,
					`{"waves": [{"name": "all", "targets": "rest", "parallelism": 1}], "running_targets": "`+running+`"}`)
				f.startAgent(t, slowPolling)
				id := f.Start(t, "j")
				f.rolledOut(t, id, "Running")
				<-time.After(10 * time.Second)
				require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
				f.rolledOut(t, id, "Aborted")
				f.ended(t, id, time.Minute)
				var state string
				f.query(t, f.Control, `SELECT STRING_AGG(t.lifecycle, N',') WITHIN GROUP (ORDER BY t.target_execution_id)
FROM jobs_internal.target_executions AS t INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = t.execution_id WHERE e.rollout_of IS NOT NULL`, &state)
				require.Equal(t, want+",Canceled,Canceled", state)
			})
		})
	}
}

// TestRollOutIsChecked: what the scripts need is checked before each wave. A database that cannot
// be changed is left out; without the rights that the plan names, no script runs anywhere.
func TestRollOutIsChecked(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 4)
		f.AddJob(t, "j", []string{`CREATE TABLE dbo.orders (note INT);`}, func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		plan := func(preflight string) {
			f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'j', @p1`,
				`{"waves": [{"name": "canary", "targets": 1}, {"name": "rest", "targets": "rest"}], `+preflight+`}`)
		}
		f.startAgent(t, agent.Config{})
		plan(`"preflight": "refuse", "preflight_options": {"rights": ["ALTER", "NOTHING"]}`)
		id := f.Start(t, "j")
		f.rolledOut(t, id, "Stopped")
		var finding string
		f.query(t, f.Control, `SELECT CONCAT(r.reason, N' ', t.preflight) FROM jobs.rollouts AS r
INNER JOIN jobs.rollout_targets AS t ON t.job_execution_id = r.job_execution_id AND t.preflight IS NOT NULL`, &finding)
		require.Equal(t, "Wave 'canary': 1 of 1 targets failed the preflight. Preflight: rights: the login lacks NOTHING.", finding)
		f.decide(t, "sp_abort_rollout", id)
		f.rolledOut(t, id, "Aborted")
		f.ended(t, id, time.Minute)
		require.Zero(t, f.changed(t))

		f.exec(t, f.Control, `ALTER DATABASE [`+f.Targets[2]+`] SET READ_ONLY WITH ROLLBACK IMMEDIATE;`)
		plan(`"preflight": "leave_out", "preflight_options": {"rights": ["ALTER"]}`)
		id = f.Start(t, "j")
		f.rolledOut(t, id, "Succeeded")
		require.Equal(t, 3, f.changed(t))
		f.query(t, f.Control, `SELECT CONCAT(t.database_name, N' ', t.state, N' ', t.preflight) FROM jobs.rollout_targets AS t WHERE t.state = N'LeftOut'`, &finding)
		require.Equal(t, f.Targets[2]+" LeftOut Preflight: writable: the database is READ_ONLY.", finding)
		f.ended(t, id, time.Minute)
	})
}

// TestRollOutWaitsForItsWindow: a wave starts when its window opens, and none of its targets starts
// after its end; running scripts continue to their end, and the other targets start in the next
// window. A changed calendar counts within a minute, and without the calendar no target starts.
func TestRollOutWaitsForItsWindow(t *testing.T) {
	testenv.Long(t)
	skipUnderRace(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 5)
		day := time.Now().UTC().Truncate(24 * time.Hour)
		f.exec(t, f.Control, `EXECUTE jobs.sp_add_calendar N'nights', @p1`,
			`{"startTime": "`+day.Format(time.DateOnly)+`T00:10:00", "rrule": "FREQ=MINUTELY;INTERVAL=30;COUNT=2", "duration": "PT10M"}`)
		until := func(minute int) { <-time.After(time.Until(day.Add(time.Duration(minute) * time.Minute))) }
		f.AddJob(t, "j", []string{`WAITFOR DELAY '00:06:00';`}, func(s *model.StepSpec) { s.RetryAttempts = ptr(0) })
		f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'j', N'{"waves": [{"name": "first", "targets": 3, "parallelism": 1, "window": "nights"},
{"name": "rest", "targets": "rest", "window": "nights"}]}'`)
		stop := f.startAgent(t, slowPolling)
		id := f.Start(t, "j")
		f.rolledOut(t, id, "WaitingForWindow")
		<-time.After(20 * time.Second)
		var next string
		var at time.Time
		f.query(t, f.Control, `SELECT next_event FROM jobs.rollouts`, &next)
		f.query(t, f.Control, `SELECT next_event_at FROM jobs.rollouts`, &at)
		require.Equal(t, "The wave 'first' starts when its window (calendar 'nights') opens.", next)
		require.Equal(t, day.Add(10*time.Minute), at.UTC())
		stop() // the answer does not let the wave start on its own
		until(11)
		stop = f.startAgent(t, slowPolling)
		f.rolledOut(t, id, "Running")
		until(30)
		f.query(t, f.Control, `SELECT next_event FROM jobs.rollouts`, &next)
		require.Equal(t, "The wave 'first' goes on when its window (calendar 'nights') opens.", next)
		starts := func() (list []time.Duration) {
			rows, err := f.DB(t, f.Control).QueryContext(t.Context(), `SELECT k.claimed_at FROM jobs_internal.task_executions AS k
WHERE k.kind = N'Run' ORDER BY k.claimed_at`)
			require.NoError(t, err)
			defer rows.Close()
			for rows.Next() {
				var at time.Time
				require.NoError(t, rows.Scan(&at))
				list = append(list, at.Sub(day).Truncate(time.Minute))
			}
			require.NoError(t, rows.Err())
			return list
		}
		require.Equal(t, []time.Duration{11 * time.Minute, 17 * time.Minute}, starts())

		// The third one in the next window; then the calendar is gone.
		until(43)
		require.Equal(t, []time.Duration{11 * time.Minute, 17 * time.Minute, 40 * time.Minute}, starts())
		f.exec(t, f.Control, `DELETE FROM jobs_internal.calendars`)
		f.rolledOut(t, id, "WaitingForWindow")
		<-time.After(2 * time.Minute)
		f.query(t, f.Control, `SELECT next_event FROM jobs.rollouts`, &next)
		require.Equal(t, "The wave 'rest' waits for its window: The calendar 'nights' does not exist.", next)
		require.Len(t, starts(), 3)
		f.exec(t, f.Control, `EXECUTE jobs.sp_add_calendar N'nights', N'{"dates": ["`+day.AddDate(0, 0, -1).Format(time.DateOnly)+`"]}'`)
		<-time.After(2 * time.Minute)
		f.query(t, f.Control, `SELECT next_event FROM jobs.rollouts`, &next)
		require.Equal(t, "The wave 'rest' waits for its window: The calendar 'nights' has no window within a year.", next)
		changed := time.Now()
		f.exec(t, f.Control, `EXECUTE jobs.sp_update_calendar N'nights', N'{"dates": ["`+day.Format(time.DateOnly)+`"]}'`)
		f.rolledOut(t, id, "Running")
		require.LessOrEqual(t, time.Since(changed), time.Minute+20*time.Second, "the pace of slowPolling and of rolledOut comes on top")
		f.rolledOut(t, id, "Succeeded")
		require.Len(t, starts(), 5)
		stop()
	})
}

// TestRollOutIsProbed: the probe of a wave runs on its targets, during the bake and at its end; one
// that fails stops the roll-out.
func TestRollOutIsProbed(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 4)
		once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
		for _, name := range f.Targets {
			f.exec(t, name, `CREATE TABLE dbo.probes (n INT NOT NULL); CREATE TABLE dbo.sick (n INT NOT NULL);`)
		}
		f.AddJob(t, "probe", []string{`INSERT INTO dbo.probes (n) VALUES (1); IF EXISTS (SELECT 1 FROM dbo.sick) THROW 50000, N'sick', 1; SELECT 100;`,
			`SELECT COUNT(*) AS n FROM dbo.probes;`}, once)
		f.AddJob(t, "j", []string{`SELECT 1;`}, once)
		f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'j', N'{"waves": [
{"name": "canary", "targets": 2, "bake_seconds": 300, "probe_job": "probe", "probe_every_seconds": 60},
{"name": "rest", "targets": "rest"}]}'`)
		f.startAgent(t, slowPolling)
		id := f.Start(t, "j")
		f.rolledOut(t, id, "Succeeded")
		var probes int
		f.query(t, f.Targets[0], `SELECT COUNT(*) FROM dbo.probes`, &probes)
		require.Equal(t, 5, probes)
		f.query(t, f.Targets[2], `SELECT COUNT(*) FROM dbo.probes`, &probes)
		require.Zero(t, probes, "it is not in the wave")
		var values string
		f.query(t, f.Control, `SELECT STRING_AGG(CONCAT(v.row_count, N' ', CAST(v.value AS INT)), N', ') WITHIN GROUP (ORDER BY v.execution_id)
FROM jobs_internal.rollout_probe_values AS v`, &values)
		require.Equal(t, "1 1, 1 1, 1 2, 1 2, 1 3, 1 3, 1 4, 1 4, 1 5, 1 5", values, "of the last step")

		f.exec(t, f.Targets[1], `INSERT INTO dbo.sick (n) VALUES (1);`)
		id = f.Start(t, "j")
		f.rolledOut(t, id, "Stopped")
		var reason string
		f.query(t, f.Control, `SELECT TOP (1) reason FROM jobs.rollouts ORDER BY created_at DESC`, &reason)
		require.Equal(t, "Wave 'canary': its probe ended as Failed.", reason)
		f.decide(t, "sp_abort_rollout", id)
		f.rolledOut(t, id, "Aborted")
		f.ended(t, id, time.Minute)
	})
}

// TestProbesAreComparedWithBefore: the probe runs before the wave, and the number that it returns
// after it is compared with the one before, on each database.
func TestProbesAreComparedWithBefore(t *testing.T) {
	testenv.Long(t)
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, testenv.Embedded(t, testenv.Options{}), 3)
		once := func(s *model.StepSpec) { s.RetryAttempts = ptr(0) }
		for i, name := range f.Targets {
			f.exec(t, name, `CREATE TABLE dbo.orders (n INT NOT NULL);`)
			for range 10 * (i + 1) {
				f.exec(t, name, `INSERT INTO dbo.orders (n) VALUES (1);`)
			}
		}
		f.AddJob(t, "count", []string{`SELECT COUNT(*) AS n FROM dbo.orders;`}, once)
		f.AddJob(t, "j", []string{`DELETE TOP (2) FROM dbo.orders;`}, once)
		f.exec(t, f.Control, `EXECUTE jobs.sp_set_job_rollout N'j', N'{"waves": [
{"name": "canary", "targets": 2, "bake_seconds": 60, "probe_job": "count", "probe_every_seconds": 30, "probe_min_percent": 85, "probe_max_percent": 100},
{"name": "rest", "targets": "rest"}]}'`)
		f.startAgent(t, slowPolling)
		id := f.Start(t, "j")
		f.rolledOut(t, id, "Stopped")
		var reason, gate string
		var after int
		f.query(t, f.Control, `SELECT reason FROM jobs.rollouts`, &reason)
		require.Regexp(t, `^Wave 'canary': its probe: 1 of 2 targets broke the limits \(85 to 100 % of the number before the wave\); '\S+/\S+': 8 after 10\.$`, reason)
		f.exec(t, f.Targets[0], `INSERT INTO dbo.orders (n) VALUES (1);`)
		f.decide(t, "sp_retry_rollout_wave", id)
		f.rolledOut(t, id, "Succeeded")
		f.query(t, f.Control, `SELECT gate FROM jobs.rollout_waves WHERE wave = 1`, &gate)
		require.Equal(t, "2 of 2 targets succeeded. The probe returned 9 to 18 on 2 targets.", gate)
		f.query(t, f.Targets[2], `SELECT COUNT(*) FROM dbo.orders`, &after)
		require.Equal(t, 28, after)
		f.ended(t, id, time.Minute)
	})
}
