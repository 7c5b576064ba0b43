package agent_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// setAsides is the number of rows of jobs.set_asides.
func (f *fixture) setAsides(t *testing.T) int {
	t.Helper()
	var n int
	f.query(t, f.Control, "SELECT COUNT(*) FROM jobs.set_asides;", &n)
	return n
}

// created is the number of runs of a job.
func (f *fixture) created(t *testing.T, job string) int {
	t.Helper()
	var n int
	f.query(t, f.Control, "SELECT COUNT(*) FROM jobs_internal.job_executions AS i WHERE "+jobIs(job)+";", &n)
	return n
}

// refuse makes the control database refuse each row of a table that is inserted or updated and
// fulfils a condition. mend ends that.
func (f *fixture) refuse(t *testing.T, table, when string) (mend func()) {
	t.Helper()
	name := "refuse_" + table
	f.exec(t, f.Control, fmt.Sprintf(`CREATE TRIGGER jobs_internal.%s ON jobs_internal.%s AFTER INSERT, UPDATE AS
IF EXISTS (SELECT 1 FROM inserted AS i WHERE %s)
    THROW 60001, N'Refused by a test.', 1;`, name, table, when))
	return func() { f.exec(t, f.Control, "DROP TRIGGER jobs_internal."+name+";") }
}

// jobIs is a condition on the job of a row of the table inserted.
func jobIs(job string) string {
	return fmt.Sprintf("i.job_id = (SELECT j.job_id FROM jobs_internal.jobs AS j WHERE j.name = N'%s')", job)
}

// A run of which the control database refuses a row holds up no other, whatever statement it is.
// When the cause is removed, the run ends, too.
func TestRunThatCannotAdvanceHoldsUpNoOther(t *testing.T) {
	const bad = 3
	for name, cause := range map[string]struct {
		table, when string
		number      int // of runs
	}{
		"Start":      {"job_executions", "i.lifecycle = N'WaitingForChildJobExecutions'", 50},
		"Resolution": {"task_executions", "i.kind = N'Resolve'", 6},
		"Claim":      {"task_executions", "i.kind = N'Run'", 6},
		"Step":       {"step_executions", "i.lifecycle = N'Succeeded'", 6},
		"End":        {"job_executions", "i.lifecycle = N'Succeeded'", 6},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, env *testenv.Env) {
				f := newFixture(t, env, 1)
				var runs []uuid.UUID
				for i := range cause.number {
					job := fmt.Sprintf("j%d", i)
					f.AddJob(t, job, []string{"SELECT 1;"})
					runs = append(runs, f.Start(t, job))
				}
				mend := f.refuse(t, cause.table, fmt.Sprintf(`%s AND i.execution_id = (
    SELECT e.execution_id FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE j.name = N'j%d')`, cause.when, bad))
				f.startAgent(t, slowPolling)
				for i, run := range runs {
					if i != bad {
						require.Equal(t, jobs.Succeeded, f.ended(t, run, time.Minute)[0].Lifecycle)
					}
				}
				rows := f.Run(t, runs[bad])
				require.True(t, rows[0].Active)
				require.Contains(t, rows[0].LastMessage, "Refused by a test.")
				require.Equal(t, 1, f.setAsides(t))
				// Later runs are not held up either, while it is tried again.
				<-time.After(4 * time.Minute)
				require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "j0"), 10*time.Second)[0].Lifecycle)
				require.Equal(t, 1, f.setAsides(t))

				mend()
				require.Equal(t, jobs.Succeeded, f.ended(t, runs[bad], 16*time.Minute)[0].Lifecycle)
				require.Zero(t, f.setAsides(t))
			})
		})
	}
}

// Several runs that are refused, side by side and far apart, and a second agent that searches at
// the same time.
func TestSeveralRunsThatCannotAdvance(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		var good, bad []uuid.UUID
		for i := range 20 {
			job := fmt.Sprintf("j%d", i)
			f.AddJob(t, job, []string{"SELECT 1;"})
			if run := f.Start(t, job); i%7 < 2 {
				bad = append(bad, run)
			} else {
				good = append(good, run)
			}
		}
		mend := f.refuse(t, "step_executions", `i.lifecycle = N'Succeeded' AND i.execution_id IN (
    SELECT e.execution_id FROM jobs_internal.job_executions AS e INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
    WHERE j.name IN (N'j0', N'j1', N'j7', N'j8', N'j14', N'j15'))`)
		f.startAgent(t, slowPolling)
		f.startAgent(t, slowPolling)
		for _, run := range good {
			require.Equal(t, jobs.Succeeded, f.ended(t, run, 2*time.Minute)[0].Lifecycle)
		}
		require.Len(t, bad, 6)
		require.Equal(t, 6, f.setAsides(t))
		mend()
		for _, run := range bad {
			require.Equal(t, jobs.Succeeded, f.ended(t, run, 16*time.Minute)[0].Lifecycle)
		}
		require.Zero(t, f.setAsides(t))
	})
}

// A run that is set aside is tried at once after a stop request.
func TestRunThatIsSetAsideIsStopped(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.AddJob(t, "bad", []string{"SELECT 1;"})
		f.refuse(t, "task_executions", "i.kind = N'Run'")
		f.startAgent(t, slowPolling)
		run := f.Start(t, "bad")
		<-time.After(5 * time.Minute)
		require.Equal(t, 1, f.setAsides(t))
		f.exec(t, f.Control, "EXEC jobs.sp_stop_job @p1;", run.String())
		require.Equal(t, jobs.Canceled, f.ended(t, run, 15*time.Second)[0].Lifecycle)
		require.Zero(t, f.setAsides(t))
	})
}

// A trigger and a schedule whose runs cannot be created, and a roll-out that cannot move on, hold
// up nobody else, and go on when the cause is gone.
func TestTriggerScheduleAndRollOutThatCannotAdvance(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		for _, job := range []string{"first", "triggered", "other", "rolled out"} {
			f.AddJob(t, job, []string{"SELECT 1;"})
		}
		f.AddJob(t, "buffered", []string{"WAITFOR DELAY '00:01:30';"})
		f.exec(t, f.Control, `EXEC jobs.sp_add_job_trigger N'triggered', N'refused', N'["first"]';`)
		f.exec(t, f.Control, `EXEC jobs.sp_add_job_trigger N'other', N'good', N'["first"]';`)
		f.exec(t, f.Control, `EXEC jobs.sp_set_job_rollout N'rolled out', N'{"waves": [{"name": "canary", "targets": 1}, {"name": "rest", "targets": "rest"}]}';`)
		f.schedule(t, "buffered", "cron5", "* * * * *", overlap("BufferOne"))
		mends := []func(){
			f.refuse(t, "trigger_events", "i.is_waiting = 0 AND "+jobIs("triggered")),
			f.refuse(t, "rollouts", "i.state = N'Running'"),
		}
		f.startAgent(t, slowPolling)
		rollOut := f.Start(t, "rolled out")
		f.ended(t, f.Start(t, "first"), time.Minute)
		<-time.After(time.Minute)
		require.Equal(t, 1, f.created(t, "other"))
		require.Zero(t, f.created(t, "triggered"))
		mends = append(mends, f.refuse(t, "job_executions", "i.lifecycle = N'Created' AND "+jobIs("buffered")+" AND i.due_at < DATEADD(SECOND, -20, i.create_time)"))
		<-time.After(5 * time.Minute)
		require.Equal(t, jobs.Succeeded, f.ended(t, f.Start(t, "first"), time.Minute)[0].Lifecycle)
		<-time.After(time.Minute)
		require.Equal(t, 2, f.created(t, "other"))
		require.Zero(t, f.created(t, "triggered"))
		var kinds string
		f.query(t, f.Control, "SELECT STRING_AGG(CONCAT(v.kind, N' ', v.job_name), N', ') WITHIN GROUP (ORDER BY v.kind) FROM jobs.set_asides AS v;", &kinds)
		require.Equal(t, "Run rolled out, Schedule buffered, Trigger triggered", kinds)

		before := f.created(t, "buffered")
		for _, mend := range mends {
			mend()
		}
		f.rolledOut(t, rollOut, "Succeeded")
		<-time.After(16 * time.Minute)
		require.Zero(t, f.setAsides(t))
		require.Equal(t, 2, f.created(t, "triggered"))
		require.Greater(t, f.created(t, "buffered"), before)
		f.CheckInvariants(t, f.Control, false)
	})
}

// An agent starts although the tasks of its earlier term cannot be handed over, because a row of
// one run is refused. The other runs end.
func TestAgentStartsAlthoughHandOverIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		id := uuid.New()
		f.AddJob(t, "bad", []string{"SELECT 1;"}, retries(3, 1))
		f.AddJob(t, "good", []string{"SELECT 1;"}, retries(3, 1))
		bad := f.Start(t, "bad")
		good := f.Start(t, "good")
		// The agent died when it had claimed a resolution of each run.
		term, err := f.Store.StartTerm(t.Context(), controldb.Agent{ID: id, Host: "h", MaxConcurrentTargets: 10}, time.Minute)
		require.NoError(t, err)
		var tasks int
		for range 3 {
			res, err := f.Store.Pass(t.Context(), controldb.PassRequest{Term: term.ID, MaxTasks: 10, MaxConcurrentTargets: 10})
			require.NoError(t, err)
			tasks += len(res.Tasks)
		}
		require.Equal(t, 2, tasks)
		mend := f.refuse(t, "step_executions", "i.lifecycle = N'WaitingForRetry' AND "+jobIs("bad"))
		cfg := slowPolling
		cfg.AgentID = id
		f.startAgent(t, cfg)
		require.Equal(t, jobs.Succeeded, f.ended(t, good, time.Minute)[0].Lifecycle)
		require.Equal(t, 1, f.setAsides(t))
		mend()
		f.exec(t, f.Control, "EXEC jobs.sp_retry_job_execution_now @p1;", bad.String())
		require.Equal(t, jobs.Succeeded, f.ended(t, bad, 30*time.Second)[0].Lifecycle)
	})
}
