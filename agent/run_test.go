package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// skipUnderRace skips a test that simulates minutes or hours. Its cost is T-SQL in the embedded
// server, which is five times slower under the race detector, and shorter tests run the same
// goroutines.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("simulates minutes or hours, and the embedded server is five times slower under the race detector; shorter tests run the same goroutines")
	}
}

// longBubble is bubble for a test that simulates minutes or hours: it is skipped under the race
// detector.
func longBubble(t *testing.T, fn func(t *testing.T, env *testenv.Env)) {
	t.Helper()
	skipUnderRace(t)
	bubble(t, fn)
}

// bubble runs a test in virtual time on the embedded server.
func bubble(t *testing.T, fn func(t *testing.T, env *testenv.Env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { fn(t, testenv.Embedded(t, testenv.Options{})) })
}

func TestTwoStepsRunOneAfterTheOtherOnAllTargets(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 5)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "two steps", []string{"CREATE TABLE dbo.a (i INT);", "INSERT INTO dbo.a (i) VALUES ($(step_id));"})
		rows := f.ended(t, f.Start(t, "two steps"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Equal(t, "Job execution succeeded.", rows[0].LastMessage)
		require.Len(t, rows, 1+2*(1+5))
		for _, l := range lifecycles(rows, 2) {
			require.Equal(t, jobs.Succeeded, l)
		}
		var n int
		f.query(t, "db3", "SELECT i FROM dbo.a;", &n)
		require.Equal(t, 2, n)
	})
}

func TestFailedAttemptIsRetriedAfterItsWait(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, slowPolling)
		f.AddJob(t, "flaky", []string{`
IF OBJECT_ID(N'dbo.tries') IS NULL CREATE TABLE dbo.tries (at DATETIME2);
INSERT INTO dbo.tries (at) VALUES (SYSUTCDATETIME());
IF (SELECT COUNT(*) FROM dbo.tries) < 4 THROW 50001, N'not yet', 1;`}, retries(5, 60))
		rows := f.ended(t, f.Start(t, "flaky"), time.Hour)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		for _, e := range rows[2:] {
			require.Equal(t, 4, e.Attempts)
		}
		var seconds int
		f.query(t, "db1", "SELECT DATEDIFF(SECOND, MIN(at), MAX(at)) FROM dbo.tries;", &seconds)
		require.GreaterOrEqual(t, seconds, 60+120+120, "waits double up to the default maximum of 120 s")
		require.Less(t, seconds, 60+120+120+10)
	})
}

func TestStepThatFailsStopsTheRunAfterItsOtherTargets(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 3)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "partly", []string{"\nIF DB_NAME() = N'db2'\n    SELECT 1/0;", "SELECT 1;"}, retries(1, 1))
		rows := f.ended(t, f.Start(t, "partly"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Equal(t, map[string]jobs.Lifecycle{"db1": jobs.Succeeded, "db2": jobs.Failed, "db3": jobs.Succeeded}, lifecycles(rows, 1))
		require.Empty(t, lifecycles(rows, 2), "later steps do not start (decision 7)")
		for _, e := range rows {
			if e.Database == "db2" {
				require.Equal(t, 2, e.Attempts)
				for _, part := range []string{"8134", "Line 3", "Divide by zero"} {
					require.Contains(t, e.LastMessage, part)
				}
			}
		}
	})
}

func TestTimeLimitCancelsTheScriptWithoutRetry(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, slowPolling)
		f.AddJob(t, "slow", []string{"WAITFOR DELAY '02:00:00';"}, timeout(30), retries(5, 1))
		started := time.Now()
		rows := f.ended(t, f.Start(t, "slow"), time.Hour)
		require.Less(t, time.Since(started), 45*time.Second)
		require.Equal(t, jobs.TimedOut, rows[0].Lifecycle)
		require.Equal(t, map[string]jobs.Lifecycle{"db1": jobs.TimedOut, "db2": jobs.TimedOut}, lifecycles(rows, 1))
		for _, e := range rows[2:] {
			require.Equal(t, 1, e.Attempts)
		}
	})
}

func TestStopRequestEndsRunningScripts(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 10)
		f.startAgent(t, agent.Config{MaxConcurrentTargets: 4})
		f.AddJob(t, "endless", []string{"WAITFOR DELAY '01:00:00';", "SELECT 1;"})
		id := f.Start(t, "endless")
		f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
			running := 0
			for _, l := range lifecycles(rows, 1) {
				if l == jobs.InProgress {
					running++
				}
			}
			return running >= 4
		})
		require.NoError(t, executions.On(f.Store).Stop(t.Context(), id))
		asked := time.Now()
		rows := f.ended(t, id, time.Minute)
		require.Less(t, time.Since(asked), 2*time.Second)
		require.Equal(t, jobs.Canceled, rows[0].Lifecycle)
		for _, l := range lifecycles(rows, 1) {
			require.Equal(t, jobs.Canceled, l)
		}
		require.Empty(t, lifecycles(rows, 2))
	})
}

func TestGroupWithoutDatabasesSucceeds(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 0)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "nothing", []string{"SELECT 1;"})
		rows := f.ended(t, f.Start(t, "nothing"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		require.Contains(t, rows[1].LastMessage, "no databases")
	})
}

func TestMissingTargetFailsWithItsReason(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.exec(t, "master", "DROP DATABASE db1;")
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "gone", []string{"SELECT 1;"}, retries(0, 1))
		rows := f.ended(t, f.Start(t, "gone"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[2].LastMessage, "db1")
	})
}

func TestStoppingAgentReturnsUnsentTasks(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 8)
		stop := f.startAgent(t, agent.Config{MaxConcurrentTargets: 2, Grace: time.Minute})
		f.AddJob(t, "handed over", []string{"WAITFOR DELAY '00:00:10';"})
		id := f.Start(t, "handed over")
		f.until(t, id, time.Minute, func(rows []executions.Execution) bool {
			for _, l := range lifecycles(rows, 1) {
				if l == jobs.InProgress {
					return true
				}
			}
			return false
		})
		stop() // within the grace period: running tasks end, and the others are returned uncounted
		f.startAgent(t, agent.Config{})
		rows := f.ended(t, id, time.Hour)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		for _, e := range rows[2:] {
			require.Equal(t, 1, e.Attempts, "%s", e.Database)
		}
	})
}

func TestOverlappingRunSkipsBusyTargets(t *testing.T) {
	testenv.Long(t)
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "overlap", []string{"WAITFOR DELAY '00:00:30';"})
		first := f.Start(t, "overlap")
		f.until(t, first, time.Minute, func(rows []executions.Execution) bool { return len(lifecycles(rows, 1)) == 2 })
		rows := f.ended(t, f.Start(t, "overlap"), 20*time.Second)
		require.Equal(t, jobs.SucceededWithSkipped, rows[0].Lifecycle)
		require.Equal(t, map[string]jobs.Lifecycle{"db1": jobs.Skipped, "db2": jobs.Skipped}, lifecycles(rows, 1))
		require.Equal(t, jobs.Succeeded, f.ended(t, first, time.Minute)[0].Lifecycle)
	})
}

func TestScheduleFiresOnItsGridAndOnceDisablesItself(t *testing.T) {
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "every quarter", []string{"SELECT 1;"})
		f.AddJob(t, "one time", []string{"SELECT 1;"})
		f.every(t, "every quarter", 15)
		require.NoError(t, catalog.On(f.Store).UpdateJob(t.Context(), model.JobSpec{Name: "one time", Enabled: ptr(true)}))
		f.startAgent(t, slowPolling)
		<-time.After(time.Hour + time.Minute) // virtual time; TestDays of testenv/sim checks the grids of days

		runs, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "every quarter"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, runs, 1+4, "due at once, then every 15 minutes")
		for i, e := range runs {
			require.Equal(t, jobs.Succeeded, e.Lifecycle)
			if i > 0 {
				require.InDelta(t, 15*60, runs[i-1].CreateTime.Sub(e.CreateTime).Seconds(), 2)
			}
		}
		runs, err = executions.On(f.Store).List(t.Context(), executions.Query{JobName: "one time"}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, runs, 1)
		once, err := catalog.On(f.Store).Jobs(t.Context(), "one time")
		require.NoError(t, err)
		require.False(t, once[0].Enabled, "Once fires one time, then enabled returns to 0 (decision 12)")
		f.CheckInvariants(t, f.Control, false)
	})
}

// A report that the control database refuses must not hold up the others: here a constraint, as an
// older schema has for kinds of messages, refuses the messages of one target. Its run ends without
// them, and the other targets of the batch keep theirs.
func TestReportThatCannotBeStoredHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 8)
		f.exec(t, f.Control, "ALTER TABLE jobs_internal.task_messages ADD CONSTRAINT CK_test CHECK (message <> N'from db3');")
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "print", []string{"PRINT CONCAT(N'from ', DB_NAME());"})
		rows := f.ended(t, f.Start(t, "print"), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		for _, l := range lifecycles(rows, 1) {
			require.Equal(t, jobs.Succeeded, l)
		}
		var kept, attempts int
		f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.task_messages AS m WHERE m.message LIKE N'from db_';", &kept)
		require.Equal(t, 7, kept)
		for _, e := range rows {
			if e.Database == "db3" {
				require.Contains(t, e.LastMessage, "could not store the messages of this attempt (error 547)")
				attempts = e.Attempts
			}
		}
		require.Equal(t, 1, attempts)
	})
}

// A list of targets that cannot be stored fails its step, and no other.
func TestResolutionThatCannotBeStoredHoldsUpNoOther(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		f.exec(t, f.Control, "ALTER TABLE jobs_internal.target_executions ADD CONSTRAINT CK_test CHECK (database_name <> N'db2');")
		f.startAgent(t, agent.Config{})
		f.AddJob(t, "two", []string{"SELECT 1;"}, retries(0, 1))
		rows := f.ended(t, f.Start(t, "two"), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		require.Contains(t, rows[1].LastMessage, "could not store the answer (error 547)")
	})
}
