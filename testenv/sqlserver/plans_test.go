package sqlserver

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// samplePlan has a key lookup below a nested loop, a scan, a sort, and a seek that is no finding.
const samplePlan = `<ShowPlanXML xmlns="http://schemas.microsoft.com/sqlserver/2004/07/showplan" Version="1.539" Build="15.0.2000.5">
<BatchSequence><Batch><Statements><StmtSimple StatementText="SELECT 1" StatementType="SELECT">
<QueryPlan CachedPlanSize="64"><MemoryGrantInfo SerialRequiredMemory="512" SerialDesiredMemory="131072"/>
<Warnings><PlanAffectingConvert ConvertIssue="Seek Plan" Expression="CONVERT_IMPLICIT(nvarchar(50),[t].[c],0)=[@p]"/></Warnings>
<RelOp NodeId="0" PhysicalOp="Sort" LogicalOp="Sort" EstimateRows="20000"><Sort Distinct="0">
 <RelOp NodeId="1" PhysicalOp="Nested Loops" LogicalOp="Inner Join" EstimateRows="100"><NestedLoops Optimized="0">
  <RelOp NodeId="2" PhysicalOp="Index Seek" LogicalOp="Index Seek" EstimateRows="500000"><IndexScan Ordered="1" ForcedIndex="0">
   <Object Database="[d]" Schema="[jobs_internal]" Table="[task_executions]" Index="[IX_task_executions_held]" Alias="[k]"/></IndexScan></RelOp>
  <RelOp NodeId="4" PhysicalOp="Clustered Index Seek" LogicalOp="Clustered Index Seek" EstimateRows="1"><IndexScan Lookup="1" Ordered="1">
   <Object Database="[d]" Schema="[jobs_internal]" Table="[task_executions]" Index="[PK_task_executions]" Alias="[k]"/></IndexScan></RelOp>
 </NestedLoops></RelOp>
</Sort></RelOp></QueryPlan></StmtSimple>
<StmtSimple StatementText="UPDATE x"><QueryPlan><RelOp NodeId="0" PhysicalOp="Clustered Index Update" EstimateRows="10"><Update>
 <Object Schema="[jobs_internal]" Table="[job_executions]"/>
 <SetPredicate><ScalarOperator/></SetPredicate>
 <RelOp NodeId="1" PhysicalOp="Index Scan" LogicalOp="Index Scan" EstimateRows="5" EstimatedRowsRead="2000000"><IndexScan Ordered="0">
  <Object Schema="[jobs_internal]" Table="[job_executions]" Index="[IX_job_executions_end_time]"/></IndexScan></RelOp>
</Update></RelOp></QueryPlan></StmtSimple>
</Statements></Batch></BatchSequence></ShowPlanXML>`

func TestExamine(t *testing.T) {
	t.Parallel()
	found, err := Examine(samplePlan)
	require.NoError(t, err)
	require.Equal(t, []string{
		"conversion (Seek Plan): CONVERT_IMPLICIT(nvarchar(50),[t].[c],0)=[@p]",
		"index scan of jobs_internal.job_executions by IX_job_executions_end_time, 2000000 rows",
		"key lookup in jobs_internal.task_executions by PK_task_executions",
		"memory grant of 131072 KB",
		"sort of 20000 rows",
	}, found)

	small := strings.NewReplacer(`Lookup="1"`, `Lookup="0"`, "2000000", "2000", `EstimateRows="20000"`, `EstimateRows="20"`,
		"131072", "1024", "<Warnings>", "<None>", "</Warnings>", "</None>").Replace(samplePlan)
	found, err = Examine(small)
	require.NoError(t, err)
	require.Empty(t, found)

	_, err = Examine("<ShowPlanXML")
	require.Error(t, err)
}

func TestExpected(t *testing.T) {
	t.Parallel()
	const list = "# comment | key lookup | x\njobs.a | key lookup in jobs_internal.jobs | one row\n"
	require.True(t, expected(list, "jobs.a", "key lookup in jobs_internal.jobs by PK_jobs"))
	require.False(t, expected(list, "jobs.b", "key lookup in jobs_internal.jobs by PK_jobs"))
	require.False(t, expected(list, "jobs.a", "sort of 20000 rows"))
	require.False(t, expected(list, "# comment", "key lookup"))
	for line := range strings.Lines(expectedPlans) {
		require.True(t, strings.HasPrefix(line, "#") || strings.Count(line, "|") == 2, line)
	}
}

func TestUTF16(t *testing.T) {
	t.Parallel()
	require.Equal(t, []byte{0xFF, 0xFE, 'a', 0, 0x3D, 0xD8, 0x00, 0xDE}, UTF16("a😀"))
}
