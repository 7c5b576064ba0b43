package controldb

import (
	"testing"

	"github.com/stretchr/testify/require"

	sqlfs "github.com/jobagent/jobagent/sql"
)

// TestPlanOfOtherEditions: an edition without online operations reads or writes each row while
// others wait, and the plan warns of it if there are many.
func TestPlanOfOtherEditions(t *testing.T) {
	m := sqlfs.Migration{Version: 1, Name: "m", Text: `ALTER TABLE jobs_internal.job_executions ADD a INT NOT NULL DEFAULT 0;
ALTER TABLE jobs_internal.step_executions ADD a INT NULL;
-- size: a second a million rows.
CREATE INDEX IX ON jobs_internal.job_executions (a) WITH (DROP_EXISTING = ON);
-- batches: ten.
UPDATE TOP (10) jobs_internal.task_executions SET a = 1 WHERE a IS NULL;
ALTER INDEX UQ ON jobs_internal.job_executions REBUILD WITH (FILLFACTOR = 85);
`}
	steps, err := m.Steps()
	require.NoError(t, err)
	require.Len(t, steps, 5)
	standard := databaseFacts{EngineEdition: 2, ProductVersion: "15.0.1"}
	enterprise := databaseFacts{EngineEdition: editionEnterprise, ProductVersion: "14.0.1"}
	newer := databaseFacts{EngineEdition: editionEnterprise, ProductVersion: "16.0.1"}
	azure := databaseFacts{EngineEdition: editionAzureDatabase, ProductVersion: "12.0.2000.8"}
	grows := func(f databaseFacts) (list []bool) {
		for _, s := range steps {
			_, g := lockOf(s.Statements[0], f)
			list = append(list, g)
		}
		return list
	}
	require.Equal(t, []bool{true, false, true, false, true}, grows(standard))
	for _, f := range []databaseFacts{enterprise, newer, azure} {
		require.Equal(t, []bool{false, false, false, false, false}, grows(f))
	}
	require.Equal(t, []bool{false, false, true, true}, []bool{standard.online(), enterprise.lowPriority(), newer.lowPriority(), azure.lowPriority()})
	index := steps[2].Statements[0]
	require.Equal(t, "CREATE INDEX IX ON jobs_internal.job_executions (a) WITH (DROP_EXISTING = ON, ONLINE = ON);", index.Online(false))
	require.Equal(t, "CREATE INDEX IX ON jobs_internal.job_executions (a) WITH (DROP_EXISTING = ON, ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF)));", index.Online(true))

	require.Equal(t, "ALTER INDEX UQ ON jobs_internal.job_executions REBUILD WITH (FILLFACTOR = 85, ONLINE = ON);", steps[4].Statements[0].Online(false))

	p := MigrationPlan{Steps: []PlannedStep{{
		Migration: "m", Step: 1, Of: 4, Table: "jobs_internal.job_executions", Rows: offlineRows,
		Statements: []PlannedStatement{{Grows: true}},
	}}, Agents: []PlannedAgent{{Host: "h", Protocol: AgentProtocol + 1}}}
	p.warn()
	require.Len(t, p.Warnings, 2)
	require.Contains(t, p.Warnings[0], "m step 1 (jobs_internal.job_executions, 1000000 rows)")
	require.Contains(t, p.Warnings[1], "the agent on h is newer")
}
