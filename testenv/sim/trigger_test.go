package sim

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/triggers"
)

// triggered lists the jobs of the simulation that start after others.
var triggered = []struct {
	name     string
	after    []string
	when, on string
	scripts  []string
}{
	// Now and then it takes longer than two intervals of short, so that several events wait.
	{name: "after short", after: []string{"short"}, when: "Finished", on: "All", scripts: []string{WriteLedger + " IF @@SPID % 8 = 0 WAITFOR DELAY '00:16:00';"}},
	{name: "where it worked", after: []string{"flaky"}, when: "Finished", on: "Succeeded", scripts: []string{WriteLedger + " WAITFOR DELAY '00:03:00';"}},
	{name: "after both", after: []string{"after short", "two steps"}, when: "Succeeded", on: "Succeeded", scripts: []string{WriteLedger}},
	{name: "after a failure", after: []string{"flaky", "overlapping"}, when: "Failed", on: "All", scripts: []string{WriteLedger}},
}

// addTriggered adds the jobs that start after others. They have no schedules.
func (s *simulation) addTriggered() {
	for _, j := range triggered {
		s.AddJob(s.t, j.name, j.scripts, Retries(2, 20))
		require.NoError(s.t, triggers.On(s.Store).Add(s.t.Context(), triggers.Spec{
			JobName: j.name, Name: "t", Upstreams: j.after, RunWhen: &j.when, Targets: &j.on,
		}))
	}
}

// ready returns the number of triggers that can start their jobs.
func (s *simulation) ready() (n int) {
	require.NoError(s.t, s.DB(s.t, s.Control).QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM jobs_internal.ready_triggers;").Scan(&n))
	return n
}

// auditTriggers finds events that are missing and runs that nobody asked for (I26), from the runs
// alone: it does not read what a trigger has waited for. It returns the number of runs that
// triggers started.
func auditTriggers(t *testing.T, control *sql.DB) (runs int) {
	t.Helper()
	for what, query := range map[string]string{
		"runs without an event of a trigger that watches them": `SELECT COUNT(*)
FROM jobs_internal.job_triggers AS t
INNER JOIN jobs_internal.job_trigger_upstreams AS u ON u.trigger_id = t.trigger_id
INNER JOIN jobs_internal.job_executions AS e ON e.job_id = u.upstream_job_id
WHERE e.is_active = 0
    AND (
        t.run_when = N'Finished'
        OR (t.run_when = N'Succeeded' AND e.lifecycle IN (N'Succeeded', N'SucceededWithSkipped'))
        OR (t.run_when = N'Failed' AND e.lifecycle IN (N'Failed', N'TimedOut'))
    )
    AND 1 <> (
        SELECT COUNT(*)
        FROM jobs_internal.trigger_events AS v
        WHERE v.trigger_id = t.trigger_id AND v.upstream_execution_id = e.execution_id
    )`,
		"events of runs that the trigger does not watch": `SELECT COUNT(*)
FROM jobs_internal.trigger_events AS v
INNER JOIN jobs_internal.job_triggers AS t ON t.trigger_id = v.trigger_id
INNER JOIN jobs_internal.job_executions AS e ON e.execution_id = v.upstream_execution_id
WHERE (t.run_when = N'Succeeded' AND e.lifecycle NOT IN (N'Succeeded', N'SucceededWithSkipped'))
    OR (t.run_when = N'Failed' AND e.lifecycle NOT IN (N'Failed', N'TimedOut'))
    OR NOT EXISTS (SELECT 1 FROM jobs_internal.job_trigger_upstreams AS u WHERE u.trigger_id = t.trigger_id AND u.upstream_job_id = e.job_id)`,
		"runs of triggered jobs without an event": `SELECT COUNT(*)
FROM jobs_internal.job_executions AS e
WHERE e.job_id IN (SELECT t.job_id FROM jobs_internal.job_triggers AS t)
    AND NOT EXISTS (SELECT 1 FROM jobs_internal.trigger_events AS v WHERE v.execution_id = e.execution_id)`,
		"runs after several runs of a single job": `SELECT COUNT(*)
FROM (
    SELECT v.execution_id
    FROM jobs_internal.trigger_events AS v
    WHERE v.execution_id IS NOT NULL
        AND 1 = (SELECT COUNT(*) FROM jobs_internal.job_trigger_upstreams AS u WHERE u.trigger_id = v.trigger_id)
    GROUP BY v.execution_id
    HAVING COUNT(*) > 1
) AS d`,
		"runs after only some of their upstream jobs": `SELECT COUNT(*)
FROM (
    SELECT v.execution_id
    FROM jobs_internal.trigger_events AS v
    WHERE v.execution_id IS NOT NULL
    GROUP BY v.execution_id, v.trigger_id
    HAVING COUNT(DISTINCT v.upstream_job_id) <> (SELECT COUNT(*) FROM jobs_internal.job_trigger_upstreams AS u WHERE u.trigger_id = v.trigger_id)
) AS d`,
		"runs of a triggered job at the same time": `SELECT COUNT(*)
FROM jobs_internal.job_executions AS e
INNER JOIN jobs_internal.job_executions AS o ON o.job_id = e.job_id
    AND o.execution_id > e.execution_id
    AND o.create_time < COALESCE(e.end_time, '9999-12-31')
WHERE e.job_id IN (SELECT t.job_id FROM jobs_internal.job_triggers AS t)`,
		"events that could start a run": `SELECT COUNT(*) FROM jobs_internal.ready_triggers`,
	} {
		var n int
		require.NoError(t, control.QueryRowContext(t.Context(), query+";").Scan(&n), what)
		require.Zero(t, n, what)
	}
	require.NoError(t, control.QueryRowContext(t.Context(),
		"SELECT COUNT(DISTINCT v.execution_id) FROM jobs_internal.trigger_events AS v WHERE v.execution_id IS NOT NULL;").Scan(&runs))
	return runs
}
