package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNative compares the expressions that SQLite computes with the functions of packages builtin
// and types. SQLite computes expressions over columns, Go computes expressions over variables.
// Values, types and errors must be the same.
func TestNative(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	values := map[string][]string{
		"bit":      {"NULL", "0", "1"},
		"tinyint":  {"NULL", "0", "1", "255"},
		"smallint": {"NULL", "0", "-1", "32767", "-32768"},
		"int":      {"NULL", "0", "1", "-1", "7", "2147483647", "-2147483648"},
		"bigint": {
			"NULL", "0", "1", "255", "256", "-1", "32768", "2147483648", "-2147483649", "9223372036854775807",
			"-9223372036854775808",
		},
		"datetime2(7)": {
			"NULL", "'0001-01-01'", "'2026-11-21T23:59:59.9999999'", "'2026-11-22'", "'9999-12-31T23:59:59.9999999'",
		},
		"datetime2(3)":  {"NULL", "'2026-11-21T23:59:59.999'"},
		"nvarchar(4)":   {"NULL", "N''", "N'aé'", "N'x '", "N'日本'"},
		"varchar(3)":    {"NULL", "''", "'ab'"},
		"nchar(3)":      {"NULL", "N'a'"},
		"nvarchar(max)": {"NULL", "N'm'", "REPLICATE(CAST(N'z' AS nvarchar(max)), 9000)"},
		"varchar(8000)": {"'v'", "REPLICATE('v', 8000)"},
	}
	for _, c := range []struct{ expr, x, y string }{
		{"{x} + {y}", "tinyint", "tinyint"}, {"{x} - {y}", "tinyint", "tinyint"}, {"{x} * {y}", "tinyint", "tinyint"},
		{"{x} + {y}", "smallint", "tinyint"}, {"{x} * {y}", "smallint", "smallint"}, {"{x} - {y}", "int", "smallint"},
		{"{x} + {y}", "int", "int"}, {"{x} - {y}", "int", "int"}, {"{x} * {y}", "int", "int"},
		{"{x} + 1", "int", "int"}, {"{x} / {y}", "int", "int"},
		{"{x} + {y}", "int", "bigint"}, {"{x} * {y}", "bigint", "bigint"}, {"{x} + 1.5", "int", "int"},
		{"CAST({x} AS bit)", "int", "int"}, {"CAST({x} AS bit)", "bigint", "int"},
		{"CAST({x} AS tinyint)", "bigint", "int"}, {"CAST({x} AS smallint)", "int", "int"},
		{"CAST({x} AS int)", "bigint", "int"}, {"CAST({x} AS tinyint)", "smallint", "int"},
		{"CAST({x} AS bigint)", "int", "int"}, {"TRY_CAST({x} AS tinyint)", "int", "int"},
		{"CAST({x} AS varchar(12))", "int", "int"}, {"CAST({x} AS nvarchar(20))", "bigint", "int"},
		{"CAST({x} AS nvarchar(max))", "bigint", "int"},
		{"CAST({x} AS varchar(3))", "int", "int"}, {"CAST({x} AS nvarchar(3))", "int", "int"},
		{"CAST({x} AS char(12))", "int", "int"}, {"CAST({x} AS varchar(1))", "bit", "int"},
		{"CONCAT({x}, {y})", "nvarchar(4)", "int"}, {"CONCAT({x}, N'-', {y}, NULL)", "nvarchar(4)", "varchar(3)"},
		{"CONCAT({x}, {y})", "nchar(3)", "bit"},
		{"CONCAT({x}, {y})", "nvarchar(max)", "bigint"}, {"CONCAT({x}, {y})", "varchar(8000)", "varchar(3)"},
		{"CONCAT({x}, {y})", "varchar(8000)", "nvarchar(4)"},
		{"CONCAT({x}, {y})", "datetime2(7)", "int"}, {"CONCAT({x}, NULL)", "varchar(3)", "int"},
		{"DATEADD(SECOND, {x}, {y})", "int", "datetime2(7)"}, {"DATEADD(day, {x}, {y})", "int", "datetime2(7)"},
		{"DATEADD(MILLISECOND, {x}, {y})", "smallint", "datetime2(7)"},
		{"DATEADD(hour, {x}, {y})", "tinyint", "datetime2(7)"}, {"DATEADD(minute, {x}, {y})", "int", "datetime2(7)"},
		{"DATEADD(month, {x}, {y})", "int", "datetime2(7)"},
		{"DATEADD(SECOND, {x}, {y})", "int", "datetime2(3)"}, {"DATEADD(week, {x}, {y})", "int", "datetime2(7)"},
		{"DATEDIFF_BIG(MILLISECOND, {x}, {y})", "datetime2(7)", "datetime2(7)"},
		{"DATEDIFF_BIG(day, {x}, {y})", "datetime2(7)", "datetime2(7)"},
		{"DATEDIFF_BIG(hour, {x}, {y})", "datetime2(7)", "datetime2(7)"},
		{"DATEDIFF_BIG(minute, {x}, {y})", "datetime2(7)", "datetime2(7)"},
		{"DATEDIFF_BIG(second, {x}, {y})", "datetime2(7)", "datetime2(3)"},
		{"DATEDIFF_BIG(nanosecond, {x}, {y})", "datetime2(7)", "datetime2(7)"},
		{"DATEDIFF(second, {x}, {y})", "datetime2(7)", "datetime2(7)"},
	} {
		t.Run(c.expr+" of "+c.x+" and "+c.y, func(t *testing.T) {
			must(t, s, fmt.Sprintf("DROP TABLE IF EXISTS dbo.v; CREATE TABLE dbo.v (x %s NULL, y %s NULL)", c.x, c.y))
			for _, x := range values[c.x] {
				for _, y := range values[c.y] {
					must(t, s, fmt.Sprintf("DELETE FROM dbo.v; INSERT INTO dbo.v VALUES (%s, %s)", x, y))
					over := func(x, y string) string { return strings.NewReplacer("{x}", x, "{y}", y).Replace(c.expr) }
					want := batchOutput(t, s,
						fmt.Sprintf("DECLARE @x %s = %s, @y %s = %s; SELECT %s AS r", c.x, x, c.y, y, over("@x", "@y")))
					got := batchOutput(t, s, fmt.Sprintf("SELECT %s AS r FROM dbo.v AS v", over("v.x", "v.y")))
					require.Equal(t, withoutNullability(want), withoutNullability(got), "%s and %s", x, y)
				}
			}
		})
	}
}

// withoutNullability removes the nullability from a result, which differs between columns and
// variables.
func withoutNullability(s string) string { return strings.ReplaceAll(s, " not null", "") }

// TestNativeRowNumber adds a column to a row number.
func TestNativeRowNumber(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s, "CREATE TABLE dbo.v (x int NULL); INSERT INTO dbo.v VALUES (2147483647), (NULL), (5)")
	require.Equal(t, "[r bigint]\nNULL\n7\n2147483650\n(3)\n",
		batchOutput(t, s, "SELECT v.x + ROW_NUMBER() OVER (ORDER BY v.x) AS r FROM dbo.v AS v ORDER BY v.x"))
}
