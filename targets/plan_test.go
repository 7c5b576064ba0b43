package targets_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

// examplePlan has an IF with a procedure in a branch, a missing index and warnings, in the form of
// https://schemas.microsoft.com/sqlserver/2004/07/showplan/showplanxml.xsd.
const examplePlan = `<?xml version="1.0" encoding="utf-16"?>
<ShowPlanXML xmlns="http://schemas.microsoft.com/sqlserver/2004/07/showplan" Version="1.539" Build="15.0.2000.5">
<BatchSequence><Batch><Statements>
<StmtCond StatementText="IF 1 = 1" StatementType="COND"><Condition/><Then><Statements>
 <StmtSimple StatementText="EXEC p" StatementType="EXECUTE PROC"><StoredProc ProcName="p"><Statements>
  <StmtSimple StatementText="UPDATE t SET n = 1 WHERE c = @p" StatementType="UPDATE" StatementEstRows="20000" StatementSubTreeCost="12.5"><QueryPlan>
   <MissingIndexes><MissingIndexGroup Impact="93.1"><MissingIndex Database="[d]" Schema="[dbo]" Table="[t]">
    <ColumnGroup Usage="EQUALITY"><Column Name="[c]" ColumnId="1"/></ColumnGroup><ColumnGroup Usage="INEQUALITY"><Column Name="[e]" ColumnId="3"/></ColumnGroup>
    <ColumnGroup Usage="INCLUDE"><Column Name="[n]" ColumnId="2"/></ColumnGroup></MissingIndex></MissingIndexGroup></MissingIndexes>
   <Warnings><PlanAffectingConvert ConvertIssue="Seek Plan" Expression="CONVERT_IMPLICIT(nvarchar(50),[t].[c],0)=[@p]"/></Warnings>
   <RelOp PhysicalOp="Nested Loops"><Warnings NoJoinPredicate="1"><ColumnsWithNoStatistics><ColumnReference Column="c"/></ColumnsWithNoStatistics></Warnings></RelOp>
  </QueryPlan></StmtSimple></Statements></StoredProc></StmtSimple>
</Statements></Then></StmtCond>
<StmtSimple StatementText="SELECT" StatementType="SELECT" StatementEstRows="NaN" StatementSubTreeCost="0.5"><QueryPlan><Warnings><PlanAffectingConvert ConvertIssue="Seek Plan" Expression="CONVERT_IMPLICIT(nvarchar(50),[t].[c],0)=[@p]"/></Warnings></QueryPlan></StmtSimple>
</Statements></Batch></BatchSequence></ShowPlanXML>`

func TestTrialPlan(t *testing.T) {
	t.Parallel()
	var p targets.TrialPlan
	require.NoError(t, p.Add(examplePlan))
	rows, cost, other := 20000.0, 12.5, 0.5
	require.Equal(t, targets.TrialPlan{
		Count: 4, Cost: 13,
		Statements: []targets.PlanStatement{
			{Type: "COND"}, {Type: "EXECUTE PROC"}, {Type: "UPDATE", Rows: &rows, Cost: &cost}, {Type: "SELECT", Cost: &other},
		},
		Warnings: []string{
			"missing index on [dbo].[t] ([c], [e]) include ([n]), impact 93.1 %",
			"conversion affects the seek plan: CONVERT_IMPLICIT(nvarchar(50),[t].[c],0)=[@p]",
			"a join has no condition", "columns without statistics",
		},
	}, p)
	text := targets.Report{Trial: &targets.TrialBatch{Plan: &p}}.Text()
	require.NotContains(t, text, "SET n = 1", "no text of the script")
	again, ok := targets.ParseReport(text)
	require.True(t, ok)
	require.Equal(t, &p, again.Trial.Plan)
}

// TestTrialPlanIsBounded: the report on a plan stays small, and a text that is no plan is an error.
func TestTrialPlanIsBounded(t *testing.T) {
	t.Parallel()
	var p targets.TrialPlan
	long := strings.Repeat("x", 10_000)
	require.NoError(t, p.Add("<ShowPlanXML>"+strings.Repeat(`<StmtSimple StatementType="`+long+`" StatementSubTreeCost="1e307"/><PlanAffectingConvert Expression="`+long+`"/>`+
		`<MissingIndex Table="`+long+`">`+strings.Repeat(`<Column Name="n"/>`, 1000)+`</MissingIndex>`, 100)+"</ShowPlanXML>"))
	require.Equal(t, 100, p.Count)
	require.Len(t, p.Statements, targets.MaxPlanStatements)
	text := targets.Report{Trial: &targets.TrialBatch{Plan: &p}}.Text()
	require.Less(t, len(text), 20_000)
	require.Contains(t, text, `"count":100`)
	require.NoError(t, p.Add(`<ShowPlanXML><StmtSimple StatementSubTreeCost="1.7e308"/></ShowPlanXML>`))
	require.NoError(t, p.Add(`<ShowPlanXML><StmtSimple StatementSubTreeCost="1.7e308"/></ShowPlanXML>`))
	require.Contains(t, targets.Report{Trial: &targets.TrialBatch{Plan: &p}}.Text(), `"count":102`, "the sum of costs is a number")
	for _, bad := range []string{"", "x", "<html></html>", "<ShowPlanXML>", "<ShowPlanXML></Batch>", examplePlan[:900]} {
		require.Error(t, new(targets.TrialPlan).Add(bad), bad)
	}
}

func TestPackPlan(t *testing.T) {
	t.Parallel()
	packed, err := targets.PackPlan(examplePlan)
	require.NoError(t, err)
	require.Less(t, len(packed), len(examplePlan))
	text, err := targets.UnpackPlan(packed)
	require.NoError(t, err)
	require.Equal(t, examplePlan[strings.Index(examplePlan, "<ShowPlanXML"):], text)
	bomb, err := targets.PackPlan(strings.Repeat(" ", 65<<20))
	require.NoError(t, err)
	for _, bad := range []string{"", "x", packed[:100], bomb} {
		_, err = targets.UnpackPlan(bad)
		require.ErrorContains(t, err, "unpack a plan")
	}
}
