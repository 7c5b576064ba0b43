package agent_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv"
)

// A script ends as soon as a pass learns that the control database has ended the term, because
// another agent may run the script from then on. The grace period is for a stop, and the next
// renewal of the lease may be minutes away.
func TestScriptsEndWhenAPassFindsTheTermEnded(t *testing.T) {
	bubble(t, func(t *testing.T, env *testenv.Env) {
		f := newFixture(t, env, 1)
		f.exec(t, "db1", "CREATE TABLE dbo.log (event NVARCHAR(10) NOT NULL);")
		f.AddJob(t, "j", []string{"INSERT INTO dbo.log VALUES (N'begin');\nGO\nWAITFOR DELAY '00:00:20';\nGO\nINSERT INTO dbo.log VALUES (N'end');"}, retries(3, 1))
		f.startAgent(t, agent.Config{Lease: 10 * time.Minute, Grace: time.Minute})
		run := f.Start(t, "j")
		f.until(t, run, time.Minute, func(rows []executions.Execution) bool { return lifecycles(rows, 1)["db1"] == jobs.InProgress })
		f.exec(t, f.Control, endTerm)
		f.ended(t, run, 5*time.Minute)
		var begun, ended int
		f.query(t, "db1", "SELECT SUM(CASE WHEN l.event = N'begin' THEN 1 ELSE 0 END), SUM(CASE WHEN l.event = N'end' THEN 1 ELSE 0 END) FROM dbo.log AS l;", &begun, &ended)
		require.Equal(t, []int{2, 1}, []int{begun, ended})
	})
}
