package mssql_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/mssql"
	"github.com/jobagent/jobagent/testenv/tsqld"
)

// outputTo returns an output table in the database out.
func outputTo(table string) *mssql.Output {
	return &mssql.Output{Server: "s", Database: "out", Table: table, ExecutionID: uuid.New()}
}

func (f *fixture) runTo(t *testing.T, o *mssql.Output, script string) targets.Result {
	t.Helper()
	return f.runner.Run(t.Context(),
		mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: script}, Output: o})
}

// samples maps types to a value and to the value's text in the output table.
var samples = []struct{ typ, value, text string }{
	{"tinyint", "255", "255"}, {"smallint", "-32768", "-32768"}, {"int", "-2147483648", "-2147483648"},
	{"bigint", "9223372036854775807", "9223372036854775807"},
	{"bit", "1", "1"}, {"real", "1.5", "1.5"}, {"float", "-2.25", "-2.25"},
	{"decimal(38, 10)", "-1234567890123456789012345678.0123456789", "-1234567890123456789012345678.0123456789"},
	{"decimal(5, 0)", "7", "7"},
	{"money", "-922337203685477.5808", "-922337203685477.5808"}, {"smallmoney", "1.5", "1.5000"},
	{"date", "'2026-01-31'", "2026-01-31"}, {"time(7)", "'23:59:59.1234567'", "23:59:59.1234567"},
	{"time(0)", "'01:02:03'", "01:02:03"},
	{"datetime", "'2026-01-31T22:00:00.997'", "2026-01-31 22:00:00.997"},
	{"smalldatetime", "'2026-01-31T22:01:00'", "2026-01-31 22:01:00"},
	{"datetime2(7)", "'0001-01-01T00:00:00.0000001'", "0001-01-01 00:00:00.0000001"},
	{"datetime2(3)", "'9999-12-31T23:59:59.999'", "9999-12-31 23:59:59.999"},
	{"datetimeoffset(7)", "'2026-01-31T22:00:00.1234567+05:30'", "2026-01-31 22:00:00.1234567 +05:30"},
	{"char(5)", "'ab'", "ab   "}, {"varchar(20)", "'Größe'", "Größe"},
	{"varchar(max)", "REPLICATE('x', 10)", "xxxxxxxxxx"},
	{"nchar(3)", "N'→'", "→  "}, {"nvarchar(4000)", "N'→😀'", "→😀"}, {"nvarchar(max)", "N''", ""},
	{"binary(3)", "0x01", "0x010000"}, {"varbinary(8000)", "0xFF00", "0xFF00"}, {"varbinary(max)", "0x", "0x"},
	{"uniqueidentifier", "'0F8FAD5B-D9CB-469F-A165-70867728950E'", "0F8FAD5B-D9CB-469F-A165-70867728950E"},
}

// The result does not depend on the encryption: the driver's own TDS 8.0 bulk copies like SQL
// Server 2000.
func TestOutputOfEveryType(t *testing.T) {
	t.Parallel()
	for _, encrypt := range []string{"disable", "true", "strict"} {
		t.Run(encrypt, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, tsqld.Config{})
			f.encrypt(t, encrypt)
			testOutputOfEveryType(t, f)
		})
	}
}

func testOutputOfEveryType(t *testing.T, f *fixture) {
	t.Helper()
	o := outputTo("types")
	var values, nulls []string
	for i, s := range samples {
		values = append(values, fmt.Sprintf("CAST(%s AS %s) AS c%d", s.value, s.typ, i))
		nulls = append(nulls, "NULL")
	}
	res := f.runTo(t, o, "SELECT "+strings.Join(values, ", ")+"\nUNION ALL SELECT "+strings.Join(nulls, ", "))
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.EqualValues(t, 2, res.RowsWritten)
	require.Equal(t, "2 rows were written to s/out [dbo].[types].", res.Summary)

	types := f.query(t, "out", `SELECT t.name, c.max_length, c.precision, c.scale, c.is_nullable FROM sys.columns AS c
INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('dbo.types') ORDER BY c.column_id`)
	require.Equal(t, "uniqueidentifier|16|0|0|false", types[0])
	var definition []string
	for i, s := range samples {
		definition = append(definition, fmt.Sprintf("c%d %s NULL", i, s.typ))
	}
	f.exec(t, "out", "CREATE TABLE expected ("+strings.Join(definition, ", ")+")")
	require.Equal(t, f.query(t, "out",
		`SELECT t.name, c.max_length, c.precision, c.scale, c.is_nullable FROM sys.columns AS c
INNER JOIN sys.types AS t ON t.user_type_id = c.user_type_id WHERE c.object_id = OBJECT_ID('dbo.expected') ORDER BY c.column_id`), types[1:])

	for i, s := range samples {
		style := ""
		switch {
		case strings.Contains(s.typ, "binary"):
			style = ", 1"
		case strings.Contains(s.typ, "money"):
			style = ", 2"
		case strings.Contains(s.typ, "date"), strings.Contains(s.typ, "time"):
			style = ", 121"
			if s.typ == "smalldatetime" {
				style = ", 120"
			}
		}
		got := f.query(t, "out", fmt.Sprintf("SELECT CONVERT(nvarchar(max), c%d%s) FROM types WHERE internal_execution_id = '%s' ORDER BY CASE WHEN c%d IS NULL THEN 1 ELSE 0 END", i, style, o.ExecutionID, i))
		require.Equal(t, []string{s.text, "NULL"}, got, s.typ)
	}
	require.Equal(t, []string{"IX_types_Internal_Execution_ID|NONCLUSTERED"},
		f.query(t, "out", "SELECT name, type_desc FROM sys.indexes WHERE object_id = OBJECT_ID('dbo.types') AND name IS NOT NULL"))
}

// Staged rows have tempdb's collation. A CAST to varchar would use its code page and lose
// characters that only the output table's column can hold; INSERT converts to that column's code
// page. The embedded server has one code page, so the test examines the T-SQL.
func TestOutputGoesThroughNoOtherCodePage(t *testing.T) {
	t.Parallel()
	var insert string
	f := newFixture(t, tsqld.Config{Fault: func(p tsqld.Point) error {
		if p.Kind == tsqld.BeforeStatement && p.Call != nil && len(p.Call.Params) > 0 {
			if text, ok := p.Call.Params[0].Value.(string); ok && strings.HasPrefix(text, "INSERT INTO [dbo].[coded]") {
				insert = text
			}
		}
		return nil
	}})
	res := f.runTo(t, outputTo("coded"),
		"SELECT CAST('a' AS varchar(20)) AS v, CAST('b' AS char(8)) AS c, CAST('c' AS text) AS x, CAST(N'd' AS nchar(3)) AS n")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Contains(t, insert, "SELECT @id, c0, c1, c2, CAST(c3 AS nchar(3)) FROM")
	require.Equal(t, []string{"a|b       |c|d  "}, f.query(t, "out", "SELECT v, c, x, n FROM coded"))
}

func TestOutputIsReplacedOnRetry(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	first, second := outputTo("r"), outputTo("r")
	for range 2 {
		require.Equal(t, targets.Succeeded, f.runTo(t, first, "SELECT 1 AS n UNION ALL SELECT 2").Outcome)
	}
	require.Equal(t, targets.Succeeded, f.runTo(t, second, "SELECT 3 AS n").Outcome)
	require.Equal(t, []string{"1", "2", "3"}, f.query(t, "out", "SELECT n FROM r ORDER BY n"))

	// Only the first result set is written, and the rest of the script runs.
	f.exec(t, "d", "CREATE TABLE t (n int)")
	res := f.runTo(t, first, "PRINT 'x'; INSERT INTO t VALUES (1); SELECT 9 AS n; SELECT 'other' AS m; INSERT INTO t VALUES (2)\nGO\nSELECT 10 AS n")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Equal(t, []string{"3", "9"}, f.query(t, "out", "SELECT n FROM r ORDER BY n"))
	require.Equal(t, []string{"2"}, f.query(t, "d", "SELECT COUNT(*) FROM t"))

	// A result set may have no rows.
	require.Equal(t, targets.Succeeded, f.runTo(t, first, "SELECT 1 AS n WHERE 1 = 0").Outcome)
	require.Equal(t, []string{"3"}, f.query(t, "out", "SELECT n FROM r ORDER BY n"))

	res = f.runTo(t, second, "DECLARE @x int = 1")
	require.Equal(t, targets.Succeeded, res.Outcome)
	require.Equal(t, "The script returned no result set: nothing was written to s/out [dbo].[r].", res.Summary)
	require.Equal(t, []string{"3"}, f.query(t, "out", "SELECT n FROM r ORDER BY n"))
}

func TestOutputFaults(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	f.exec(t, "out", "CREATE TABLE plain (n int); CREATE TABLE noindex (internal_execution_id uniqueidentifier, n int); "+
		"CREATE TABLE wrong (internal_execution_id int, n int); CREATE TABLE strict (internal_execution_id uniqueidentifier, n int, must int NOT NULL);")
	cases := map[string]struct{ table, script, want string }{
		"Unnamed":       {"new", "SELECT 1 AS a, 2", "column 2 of the result set has no name"},
		"Duplicate":     {"new", "SELECT 1 AS a, 2 AS A", "columns 1 and 2"},
		"OwnName":       {"new", "SELECT 1 AS Internal_Execution_Id", "reserved for the output table"},
		"Lacks":         {"noindex", "SELECT 1 AS n, 2 AS [a b], 3 AS c", "lacks: [a b], [c]"},
		"NoId":          {"plain", "SELECT 1 AS n", "no column internal_execution_id"},
		"IdOfOtherType": {"wrong", "SELECT 1 AS n", "is int: it must be uniqueidentifier"},
		"Inconvertible": {"noindex", "SELECT 'x' AS n", "insert the rows"},
		"NotNull":       {"strict", "SELECT 1 AS n", "insert the rows"},
		"ErrorInRows":   {"noindex", "SELECT 1/n AS n FROM (VALUES (1), (0)) AS x(n)", "zero"},
		"NoSchema":      {"new", "SELECT 1 AS n", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := outputTo(c.table)
			if name == "NoSchema" {
				o.Schema = "nowhere"
			}
			res := f.runTo(t, o, c.script)
			require.Equal(t, targets.Failed, res.Outcome, res.Summary)
			require.Contains(t, res.Summary, c.want)
			require.Zero(t, res.RowsWritten)
		})
	}
	require.Equal(t, []string{"0|0"},
		f.query(t, "out", "SELECT (SELECT COUNT(*) FROM noindex), (SELECT COUNT(*) FROM strict)"))
	require.Equal(t, []string{"NULL"}, f.query(t, "out", "SELECT OBJECT_ID('dbo.new')"))

	res := f.runTo(t, outputTo("noindex"), "SELECT '7' AS N")
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.Contains(t, strings.Join(brief(res.Messages), "\n"), "has no index on internal_execution_id")
	require.Equal(t, []string{"7"}, f.query(t, "out", "SELECT n FROM noindex"))
}

// The output's server has a credential of its own, which is not sent to other servers.
func TestOutputCredential(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	set, err := mssql.NewCredentialSet(
		mssql.LoginCredential("default", "sa", "secret", "s"), mssql.LoginCredential("writer", "sa", "secret", "elsewhere"))
	require.NoError(t, err)
	servers, err := mssql.NewServers(mssql.Config{Credentials: set, Encrypt: "disable", Dialer: f.server.Dialer()})
	require.NoError(t, err)
	defer servers.Close()
	runner := mssql.NewRunner(servers, targets.Limits{})
	run := func(server, credential string) targets.Result {
		return runner.Run(t.Context(),
			mssql.Attempt{Attempt: targets.Attempt{Target: targets.NewTarget("s", "d", ""), Command: "SELECT 1 AS n"},
				Output: &mssql.Output{
					Server: server, Database: "out", Table: "o", Credential: credential, ExecutionID: uuid.New()}})
	}
	for _, res := range []targets.Result{run("elsewhere", ""), run("s", "writer"), run("s", "missing")} {
		require.Equal(t, targets.Failed, res.Outcome)
		require.Equal(t, targets.ClassConfig, res.Error.Class)
		require.Contains(t, res.Summary, "output table")
	}
	require.Equal(t, targets.Succeeded, run("elsewhere", "writer").Outcome)
	require.Equal(t, []string{"1"}, f.query(t, "out", "SELECT n FROM o"))
}

// Many targets that create the same table at once all succeed, and no row is lost.
func TestOutputTableIsMadeOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	var wg sync.WaitGroup
	results := make([]targets.Result, 8)
	for i := range results {
		wg.Go(func() {
			results[i] = f.runTo(t, outputTo("shared table]"), fmt.Sprintf("SELECT %d AS [n]]x]", i))
		})
	}
	wg.Wait()
	for _, res := range results {
		require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	}
	require.Equal(t, []string{"8"}, f.query(t, "out", "SELECT COUNT(DISTINCT [n]]x]) FROM [shared table]]]"))
}

func TestLargeOutput(t *testing.T) {
	t.Parallel()
	f := newFixture(t, tsqld.Config{})
	const digits = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
	res := f.runTo(t, outputTo("big"), `SELECT a.n + 10 * b.n + 100 * c.n + 1000 * d.n AS n, REPLICATE(N'x', 500) AS pad
FROM `+digits+` AS a(n) CROSS JOIN `+digits+` AS b(n) CROSS JOIN `+digits+` AS c(n) CROSS JOIN `+digits+` AS d(n)`)
	require.Equal(t, targets.Succeeded, res.Outcome, res.Summary)
	require.EqualValues(t, 10000, res.RowsWritten)
	require.Equal(t, []string{"10000|49995000"},
		f.query(t, "out", "SELECT COUNT(*), SUM(n) FROM big WHERE LEN(pad) = 500"))
}
