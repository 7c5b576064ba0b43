package mssql_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// A probe counts the rows of all result sets, and its value is the first number.
func TestProbe(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (n int NULL); INSERT INTO t VALUES (7), (8), (9);")
	f.exec(t, "d", "CREATE PROCEDURE p AS\nBEGIN\n  INSERT INTO t VALUES (1);\n  SELECT 5 AS n;\n  SELECT n FROM t;\nEND")
	for script, want := range map[string]targets.Probed{
		"SELECT COUNT(*) AS n FROM t":                                     {Rows: 1, Value: "3"},
		"SELECT n, N'x' AS x FROM t ORDER BY n":                           {Rows: 3, Value: "7"},
		"SELECT n FROM t WHERE n > 100":                                   {},
		"DECLARE @n int = 1":                                              {},
		"SELECT n FROM t WHERE n > 100; SELECT 4":                         {Rows: 1},
		"SELECT 4; SELECT n FROM t\nGO\nSELECT 5\nGO 2":                   {Rows: 6, Value: "4"},
		"UPDATE t SET n = n; SELECT -1; UPDATE t SET n = n; SELECT 2":     {Rows: 2, Value: "-1"},
		"PRINT 'a'; IF 1 = 0 SELECT 1":                                    {},
		"SELECT CAST(NULL AS int)":                                        {Rows: 1},
		"SELECT N'12'":                                                    {Rows: 1},
		"SELECT 0x0102":                                                   {Rows: 1},
		"SELECT CAST('2026-01-31' AS date)":                               {Rows: 1},
		"SELECT CAST(1 AS bit)":                                           {Rows: 1, Value: "1"},
		"SELECT CAST(0 AS bit)":                                           {Rows: 1, Value: "0"},
		"SELECT CAST(9223372036854775807 AS bigint)":                      {Rows: 1, Value: "9223372036854775807"},
		"SELECT CAST(-12.50 AS decimal(9, 2))":                            {Rows: 1, Value: "-12.50"},
		"SELECT CAST(-922337203685477.5808 AS money)":                     {Rows: 1, Value: "-922337203685477.5808"},
		"SELECT CAST(1.5 AS smallmoney)":                                  {Rows: 1, Value: "1.5000"},
		"SELECT CAST(2.5E3 AS float)":                                     {Rows: 1, Value: "2500.000000"},
		"SELECT CAST(1E300 AS float)":                                     {Rows: 1},
		"SELECT CAST(0.5 AS real)":                                        {Rows: 1, Value: "0.500000"},
		"SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 100000); SELECT 1": {Rows: 2},
	} {
		a := onD(script)
		a.Probes = true
		res := f.runner.Run(t.Context(), a)
		require.Equal(t, targets.Succeeded, res.Outcome, "%s: %s", script, res.Summary)
		require.NotNil(t, res.Probed, script)
		require.Equal(t, want, *res.Probed, script)
	}
	a := onD("EXEC p; EXEC p")
	a.Probes = true
	res := f.runner.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, targets.Probed{Rows: 1 + 4 + 1 + 5, Value: "5"}, *res.Probed)
}

// A script that failed, and one that did not run, have returned nothing that counts.
func TestProbeWithoutAValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	for _, script := range []string{"SELECT 1; THROW 50000, N'x', 1;", "SELECT 1/n FROM (VALUES (1), (0)) AS x(n)", "SELECT 1\nGO\nSELECT 1/0"} {
		a := onD(script)
		a.Probes = true
		res := f.runner.Run(t.Context(), a)
		require.Equal(t, targets.Failed, res.Outcome, script)
		require.Nil(t, res.Probed, script)
	}
	require.Nil(t, f.run(t, "SELECT 1").Probed, "it is no probe")
	a := onD("SELECT 1 AS n")
	a.Probes, a.Once = true, &mssql.Once{ExecutionID: uuid.New(), JobExecutionID: uuid.New(), StepID: 1}
	require.Equal(t, "1", f.runner.Run(t.Context(), a).Probed.Value)
	res := f.runner.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Nil(t, res.Probed, "an earlier attempt ran the script")
}

// The rows of a probe are counted while they are written to its output table, and its parameters
// may be bound.
func TestProbeWithOutput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	a := onD("SELECT 3 AS n UNION ALL SELECT 4; SELECT 5 AS n; SELECT 6 AS n")
	a.Probes, a.Output, a.Options = true, outputTo("probed"), model.AgentOptions{BindParameters: true}
	res := f.runner.Run(t.Context(), a)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.EqualValues(t, 2, res.RowsWritten)
	require.Equal(t, targets.Probed{Rows: 4, Value: "3"}, *res.Probed)
	require.Equal(t, []string{"3", "4"}, f.query(t, "out", "SELECT n FROM probed ORDER BY n"))
	require.True(t, strings.HasPrefix(res.Summary, "2 rows were written"), res.Summary)
}
