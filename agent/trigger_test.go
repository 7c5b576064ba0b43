package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/testenv"
)

// TestTriggersStartJobsOnce: a job starts once after each run of the job that it watches, or after
// runs of all jobs that it watches, also when one agent goes and another one comes.
func TestTriggersStartJobsOnce(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 2)
		stop := f.startAgent(t, agent.Config{})
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
		f.startAgent(t, agent.Config{})
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
