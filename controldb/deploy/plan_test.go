package deploy

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/doctor"
	sqlfs "github.com/jobagent/jobagent/sql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	standard := doctor.Facts{EngineEdition: 2, ProductVersion: "15.0.1"}
	enterprise := doctor.Facts{EngineEdition: doctor.EditionEnterprise, ProductVersion: "14.0.1"}
	newer := doctor.Facts{EngineEdition: doctor.EditionEnterprise, ProductVersion: "16.0.1"}
	azure := doctor.Facts{EngineEdition: doctor.EditionAzureDatabase, ProductVersion: "12.0.2000.8"}
	grows := func(f doctor.Facts) (list []bool) {
		for _, s := range steps {
			_, g := lockOf(s.Statements[0], f)
			list = append(list, g)
		}
		return list
	}
	require.Equal(t, []bool{true, false, true, false, true}, grows(standard))
	for _, f := range []doctor.Facts{enterprise, newer, azure} {
		require.Equal(t, []bool{false, false, false, false, false}, grows(f))
	}
	require.Equal(t, []bool{false, false, true, true}, []bool{standard.Online(), enterprise.LowPriority(), newer.LowPriority(), azure.LowPriority()})
	index := steps[2].Statements[0]
	require.Equal(t, "CREATE INDEX IX ON jobs_internal.job_executions (a) WITH (DROP_EXISTING = ON, ONLINE = ON);", index.Online(false))
	require.Equal(t, "CREATE INDEX IX ON jobs_internal.job_executions (a) WITH (DROP_EXISTING = ON, ONLINE = ON (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF)));", index.Online(true))

	require.Equal(t, "ALTER INDEX UQ ON jobs_internal.job_executions REBUILD WITH (FILLFACTOR = 85, ONLINE = ON);", steps[4].Statements[0].Online(false))

	p := Plan{Steps: []PlannedStep{{
		Migration: "m", Step: 1, Of: 4, Table: "jobs_internal.job_executions", Rows: offlineRows,
		Statements: []PlannedStatement{{Grows: true}},
	}}, Agents: []PlannedAgent{{Host: "h", Protocol: controldb.AgentProtocol + 1}}}
	p.warn()
	require.Len(t, p.Warnings, 2)
	require.Contains(t, p.Warnings[0], "m step 1 (jobs_internal.job_executions, 1000000 rows)")
	require.Contains(t, p.Warnings[1], "the agent on h is newer")
}
