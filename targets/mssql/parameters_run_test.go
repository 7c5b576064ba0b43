package mssql_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/parameters"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// withParameters returns an attempt of a script in a run with parameters.
func withParameters(t *testing.T, script, text string, bind bool) mssql.Attempt {
	t.Helper()
	p, err := parameters.Parse(text)
	require.NoError(t, err)
	a := onD(script)
	a.Parameters, a.Options.BindParameters = p, bind
	return a
}

func TestRunExpandsParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (name nvarchar(100), n int, yes bit, none int);")
	res := f.runner.Run(t.Context(), withParameters(t,
		"INSERT INTO t VALUES (N'$(param.name)', $(param.n), $(param.yes), $(param.none));",
		`{"name": "it's; DROP TABLE t; --", "n": -5, "yes": true, "none": null}`, false))
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"it's; DROP TABLE t; --|-5|true|NULL"}, f.query(t, "d", "SELECT * FROM t"))
}

// A name that does not exist fails the attempt before the login, and no further attempt is made.
func TestMissingParameterIsNotSent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	res := f.runner.Run(t.Context(), withParameters(t, "CREATE TABLE t (i int);\nGO\nSELECT N'$(param.tenant)';", `{"x": 1}`, false))
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.Equal(t, "script variable $(param.tenant) in line 3: the run's parameters have no such name (names are compared exactly)", res.Summary)
	require.True(t, res.NoRetry)
	require.False(t, res.Sent)
	require.Zero(t, res.SPID)
	require.Equal(t, targets.ClassPermanent, res.Error.Class)
	require.Equal(t, []string{"0"}, f.query(t, "d", "SELECT COUNT(*) FROM sys.tables"))

	res = f.run(t, "RAISERROR('no', 16, 1);")
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.False(t, res.NoRetry, "errors of the server follow the step's policy")
}

func TestRunBindsParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (kind nvarchar(100), v nvarchar(max));")
	res := f.runner.Run(t.Context(), withParameters(t, `CREATE PROCEDURE p @tenant NVARCHAR(10) AS INSERT INTO t VALUES (N'procedure', @tenant);
GO
PRINT @tenant;
INSERT INTO t VALUES
    (CONVERT(nvarchar(100), SQL_VARIANT_PROPERTY(@n, 'BaseType')), CONVERT(nvarchar(max), @n)),
    (CONVERT(nvarchar(100), SQL_VARIANT_PROPERTY(@f, 'BaseType')), CONVERT(nvarchar(max), @f)),
    (CONVERT(nvarchar(100), SQL_VARIANT_PROPERTY(@yes, 'BaseType')), CONVERT(nvarchar(max), @yes)),
    (N'text', @tenant), (N'null', @none), (N'object', JSON_VALUE(@o, '$.a')), (N'whole', JSON_VALUE(@payload, '$.n'));
EXECUTE p @tenant = @tenant;
GO 2
RAISERROR(N'last', 16, 1);
`, `{"tenant": "it's", "n": -5, "f": 1.5, "yes": true, "none": null, "o": {"a": "x"}, "odd name": 1}`, true))
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.Equal(t, "last", res.Error.Text)
	require.EqualValues(t, 11, res.Error.Line)
	require.Equal(t, []string{
		"Info 0 0 1 line 3 : it's", "rows 7", "rows 1", "Info 0 0 1 line 3 : it's", "rows 7", "rows 1",
		"Error 50000 16 1 line 11 : last",
	}, brief(res.Messages))
	require.Equal(t, []string{
		"bigint|-5", "bit|1", "float|1.5", "null|NULL", "object|x", "procedure|it's", "text|it's", "whole|-5",
	}, f.query(t, "d", "SELECT DISTINCT kind, v FROM t ORDER BY kind"))
}

// Bound batches are part of the transaction of at_most_once, and their rows reach the output.
func TestBoundBatchesAtMostOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "d", "CREATE TABLE t (v nvarchar(100));")
	a := withParameters(t, "INSERT INTO t VALUES (@tenant);\nGO\nINSERT INTO t SELECT v + N'!' FROM t WHERE v = @tenant;", `{"tenant": "a"}`, true)
	a.Once = &mssql.Once{ExecutionID: uuid.New(), JobExecutionID: uuid.New(), StepID: 1}
	for range 2 {
		res := f.runner.Run(t.Context(), a)
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	}
	require.Equal(t, []string{"a", "a!"}, f.query(t, "d", "SELECT v FROM t ORDER BY v"))

	a = withParameters(t, "INSERT INTO t VALUES (@tenant);\nGO\nRAISERROR(@tenant, 16, 1);", `{"tenant": "b"}`, true)
	a.Once = &mssql.Once{ExecutionID: uuid.New(), JobExecutionID: uuid.New(), StepID: 1}
	res := f.runner.Run(t.Context(), a)
	require.Equal(t, targets.Failed, res.Outcome, res.Summary)
	require.Equal(t, "b", res.Error.Text)
	require.Equal(t, []string{"a", "a!"}, f.query(t, "d", "SELECT v FROM t ORDER BY v"))

	out := withParameters(t, "SELECT @tenant AS tenant, @n AS n;", `{"tenant": "c", "n": 3}`, true)
	out.Output = &mssql.Output{Server: "s", Database: "o", Schema: "dbo", Table: "result", ExecutionID: uuid.New()}
	f.exec(t, "master", "CREATE DATABASE o;")
	res = f.runner.Run(t.Context(), out)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"c|3"}, f.query(t, "o", "SELECT tenant, n FROM dbo.result"))
}
