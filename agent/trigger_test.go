package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// TestTriggersStartJobsOnce: a job starts once after each run of the job that it watches, or after
// runs of all jobs that it watches, also when one agent goes and another one comes.
func TestTriggersStartJobsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		stop := f.startAgent(t, slowPolling)
		f.AddJob(t, "load", []string{"SELECT 1;"})
		f.AddJob(t, "clean", []string{"SELECT 1;"})
		f.AddJob(t, "report", []string{"WAITFOR DELAY '00:00:30';"})
		f.AddJob(t, "mail", []string{"SELECT 1;"})
		f.AddJob(t, "mend", []string{"SELECT 1;"})
		for _, arguments := range []string{
			`N'report', N'after load', N'["load"]'`,
			`N'mail', N'after both', N'["report", "clean"]', N'Finished'`,
			`N'mend', N'after a failure', N'["load"]', N'Failed'`,
		} {
			f.exec(t, f.Control, "EXEC jobs.sp_add_job_trigger "+arguments+";")
		}
		// reaches waits until so many runs of a job have succeeded; it has no others then.
		reaches := func(job string, want int) {
			t.Helper()
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			var all, succeeded int
			for range 600 {
				f.query(t, f.Control, `SELECT COUNT(*), COALESCE(SUM(CASE WHEN e.lifecycle = N'Succeeded' THEN 1 ELSE 0 END), 0)
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.jobs AS j ON j.job_id = e.job_id
WHERE j.name = N'`+job+`';`, &all, &succeeded)
				if succeeded == want {
					break
				}
				<-tick.C
			}
			require.Equal(t, []int{want, want}, []int{all, succeeded}, job)
		}
		for range 3 { // while the first run of report lasts, two events wait
			f.ended(t, f.Start(t, "load"), time.Minute)
		}
		stop()
		f.startAgent(t, slowPolling)
		reaches("report", 3)
		reaches("mail", 0) // no run of clean has ended
		f.ended(t, f.Start(t, "clean"), time.Minute)
		reaches("mail", 1) // it uses the three runs of report
		f.ended(t, f.Start(t, "clean"), time.Minute)
		f.ended(t, f.Start(t, "load"), time.Minute)
		reaches("report", 4)
		reaches("mail", 2)
		reaches("mend", 0)

		f.exec(t, f.Control, "EXEC jobs.sp_update_jobstep N'load', @step_id = 1, @command = N'SELECT 1/0;', @retry_attempts = 0;")
		f.ended(t, f.Start(t, "load"), time.Minute)
		reaches("mend", 1)
		reaches("report", 4)
		f.CheckInvariants(t, f.Control, true)
	})
}

// TestTriggeredRunsHaveTheTargetsThatSucceeded: a job runs on the databases on which the upstream
// job succeeded, also if that was rolled out in waves.
func TestTriggeredRunsHaveTheTargetsThatSucceeded(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 3)
		f.startAgent(t, slowPolling)
		command := "IF DB_NAME() = N'" + f.Targets[1] + "' THROW 50001, N'no', 1;"
		for _, name := range []string{"plain", "rolled"} {
			f.AddJob(t, name, []string{command})
			f.exec(t, f.Control, "EXEC jobs.sp_update_jobstep N'"+name+"', @step_id = 1, @retry_attempts = 0;")
			next := "after " + name
			f.AddJob(t, next, []string{"SELECT 1;"})
			f.exec(t, f.Control, "EXEC jobs.sp_add_job_trigger N'"+next+"', N't', N'[\""+name+"\"]', N'Finished', @targets = N'Succeeded';")
		}
		f.exec(t, f.Control, `EXEC jobs.sp_set_job_rollout N'rolled', N'{"waves": [{"name": "one", "targets": 1}, {"name": "rest", "targets": "rest", "max_failed": "100%"}]}';`)
		for _, name := range []string{"plain", "rolled"} {
			f.ended(t, f.Start(t, name), 10*time.Minute)
			tick := time.NewTicker(time.Second)
			defer tick.Stop()
			var ended int
			for range 600 {
				f.query(t, f.Control, "SELECT COUNT(*) FROM jobs.job_executions WHERE job_name = N'after "+name+"' AND step_id IS NULL AND is_active = 0;", &ended)
				if ended > 0 {
					break
				}
				<-tick.C
			}
			require.Equal(t, 1, ended, name)
			var has, lacks int
			f.query(t, f.Control, `SELECT
    (SELECT COUNT(*) FROM jobs.job_execution_targets WHERE job_name = N'after `+name+`' AND lifecycle = N'Succeeded'),
    (SELECT COUNT(*) FROM jobs.job_execution_targets WHERE job_name = N'after `+name+`' AND target_database_name = N'`+f.Targets[1]+`');`, &has, &lacks)
			require.Equal(t, []int{2, 0}, []int{has, lacks}, name)
		}
		f.CheckInvariants(t, f.Control, true)
	})
}
