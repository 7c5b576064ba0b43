package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/testenv"
)

// The cleaner deletes the rows that a purge has left, while other jobs run. It keeps the origin of
// an active rerun until the rerun has ended.
func TestLeftoversAreDeleted(t *testing.T) {
	testenv.Long(t)
	longBubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 3)
		db := env.DB(t, f.Control)
		count := func(table string) (n int) {
			require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM jobs_internal."+table+";").Scan(&n))
			return n
		}
		f.AddJob(t, "fails", []string{"IF DB_NAME() = N'db1' BEGIN WAITFOR DELAY '00:05:00'; THROW 50000, N'no', 1; END;"}, retries(0, 1))
		f.startAgent(t, agent.Config{})
		origin := f.Start(t, "fails")
		f.ended(t, origin, 10*time.Minute)
		rerun, err := executions.On(f.Store).Rerun(t.Context(), executions.RerunRequest{Origin: origin})
		require.NoError(t, err)
		// The state that a purge leaves if it is killed after its first statement.
		_, err = db.ExecContext(t.Context(), "UPDATE jobs_internal.job_executions SET purged_at = SYSUTCDATETIME() WHERE job_execution_id = @p1;", origin.String())
		require.NoError(t, err)
		<-time.After(3 * time.Minute)
		require.Equal(t, 2, count("job_executions"), "the rerun needs the origin's targets")
		f.ended(t, rerun, 10*time.Minute)
		<-time.After(time.Minute)
		require.Equal(t, []int{1, 1, 1}, []int{count("job_executions"), count("step_executions"), count("target_executions")})
		f.AddJob(t, "goes on", []string{"SELECT 1;"})
		f.ended(t, f.Start(t, "goes on"), time.Minute)
	})
}
