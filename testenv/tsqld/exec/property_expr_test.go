package exec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// variables declares the variables for expressions of TestExpressionsAreIndependent.
const variables = "DECLARE @i int = 5, @j int = NULL, @d decimal(9, 2) = 1.49, @s nvarchar(20) = N'Ab ', @t varchar(20) = 'aB', @w date = '20200229', @o bit = 1, @r float = 1.5, @m datetime2(3) = '2020-03-04T15:06:07';\n"

// variableColumns describes the variables.
var variableColumns = []column{
	{name: "@i", kind: intKind}, {name: "@j", kind: intKind}, {name: "@d", kind: decimalKind},
	{name: "@s", kind: textKind}, {name: "@w", kind: dateKind}, {name: "@o", kind: bitKind},
	{name: "@r", kind: floatKind},
	{name: "@t" + binaryCollation, kind: binaryTextKind},
}

// mutate makes a minimal change in an expression, so that the result could be mistaken for the
// original: the case of a literal, a trailing blank, a collation or a type.
func (g *generator) mutate(e string) string {
	parts := strings.Split(e, "'")
	for range 3 {
		if len(parts) < 3 {
			break
		}
		i := 1 + 2*g.IntN(len(parts)/2)
		switch g.IntN(4) {
		case 0:
			parts[i] = strings.ToUpper(parts[i])
		case 1:
			parts[i] = strings.ToLower(parts[i])
		case 2:
			if !strings.HasPrefix(parts[i], "20") { // not a date
				parts[i] += " "
			}
		case 3:
			parts[i] = strings.TrimRight(parts[i], " ")
		}
	}
	e = strings.Join(parts, "'")
	switch g.IntN(8) {
	case 0:
		e = strings.Replace(e, "nvarchar(20)", "nvarchar(21)", 1)
	case 1:
		e = strings.Replace(e, "AS int)", "AS bigint)", 1)
	case 2:
		e = strings.Replace(e, "1.50", "1.5", 1)
	case 3:
		e = strings.Replace(e, "decimal(14, 2)", "decimal(15, 2)", 1)
	case 4:
		e = strings.Replace(e, "LIKE 'a%'", "LIKE 'A%'", 1)
	}
	return e
}

// special returns an expression whose value depends on the case or the blanks of a literal.
func (g *generator) special() string {
	return g.pick("FORMAT(@m, 'MM')", "FORMAT(@m, 'mm')", "FORMAT(@m, 'HH')", "FORMAT(@m, 'hh')", "CONCAT(@s, N'-on')", "CONCAT(@s, N'-ON')", "@s + N'k'", "@s + N'K'",
		"DATALENGTH(N'a')", "DATALENGTH(N'a ')", "DATALENGTH('a')", "HASHBYTES('MD5', 'a')", "HASHBYTES('MD5', 'A')",
		"HASHBYTES('MD5', N'a')", `JSON_VALUE('{"a":1,"A":2}', '$.a')`, `JSON_VALUE('{"a":1,"A":2}', '$.A')`,
		"IIF(@i = 5, 'yes', 'no')", "IIF(@i = 5, 'YES', 'NO')", "CASE WHEN 'abc' = 'ABC' THEN 1 ELSE 0 END",
		"CASE WHEN 'abc' = 'ABC'"+binaryCollation+" THEN 1 ELSE 0 END",
		"REPLACE(@s, N'a', N'x')", "REPLACE(@s, N'a'"+binaryCollation+", N'x')", "CHARINDEX('b', @t)",
		"CHARINDEX('b', @t"+binaryCollation+")", "ISNULL(@j, 1)", "ISNULL(@j, CAST(1 AS bigint))", "ISNULL(NULL, 'x')",
		"ISNULL(NULL, 'X ')",
		"CAST(@d AS decimal(9, 1))", "CAST(@d AS decimal(9, 3))", "CAST(@r AS varchar(10))",
		"CONVERT(varchar(30), @m, 120)", "CONVERT(varchar(30), @m, 121)", "@i / 2", "@i / 2.0", "@i / 2.00",
		"UPPER(@s)", "LOWER(@s)", "STRING_ESCAPE('a/A', 'json')",
		"TRANSLATE(@t, 'ab', 'xy')", "TRANSLATE(@t, 'AB', 'xy')", "CASE WHEN 'a' LIKE 'a ' THEN 1 ELSE 0 END", "CASE WHEN 'a ' LIKE 'a' THEN 1 ELSE 0 END", "LEN('a ')", "LEN('a')", "'x'", "'X'", "N'x'", "'x '", "0x61", "@t"+binaryCollation+" + 'k'", "@t"+binaryCollation+" + 'K'")
}

// TestExpressionsAreIndependent compares a statement of several expressions with statements of one
// expression each. The values must be equal byte for byte and have the same types. The expressions
// use constants and variables, or columns.
func TestExpressionsAreIndependent(t *testing.T) {
	s := propertySession(t)
	forEachStatement(t, s, func(i int, g *generator) {
		scope, from := variableColumns, ""
		if g.chance(50) {
			scope, from = append(slices.Clone(scope),
				qualified("a")...), " FROM (SELECT TOP (1) * FROM dbo.a ORDER BY id) AS a"
		}
		var list []string
		for len(list) < 8 {
			e := g.special()
			if g.chance(60) {
				e = g.expression(kind(g.IntN(kindCount)), 2, scope, nil)
			}
			list = append(list, e)
			for g.chance(70) && len(list) < 8 {
				list = append(list, g.mutate(e))
			}
		}
		list = slices.DeleteFunc(list, func(e string) bool { return strings.Contains(e, "(SELECT") && g.chance(80) })
		g.Shuffle(len(list), func(x, y int) { list[x], list[y] = list[y], list[x] })
		if len(list) == 0 {
			return
		}
		tables := sources["tables"]
		together := lastResult(t, s, variables+putTables("SELECT "+strings.Join(list, ",\n\t")+from, tables))
		stored := lastResult(t, s,
			variables+putTables(
				"SELECT "+strings.Join(numbered(list),
					",\n\t")+" INTO #kept"+from+"; SELECT * FROM #kept; DROP TABLE #kept",
				tables))
		var failures []int32
		for k, e := range list {
			alone := lastResult(t, s, variables+putTables("SELECT "+e+from, tables))
			switch {
			case alone.late || together.late || stored.late:
				return
			case alone.err != nil:
				failures = append(failures, alone.err.Number)
				continue
			case together.err != nil || stored.err != nil:
				continue
			}
			for how, other := range map[string]*lastResultSink{"with others": together, "stored with others": stored} {
				x, y := alone.cols[0].Type, other.cols[k].Type
				if alone.rows[0][0] != other.rows[0][k] || x != y {
					t.Errorf("seed %d, statement %d: %s is\n%q of type %s alone\n%q of type %s %s:\n%s", *propertySeed,
						i, e, alone.rows[0][0], x, other.rows[0][k], y, how, strings.Join(list, ",\n"))
				}
			}
		}
		if (together.err != nil) != (len(failures) > 0) ||
			together.err != nil && !slices.Contains(failures, together.err.Number) {
			t.Errorf("seed %d, statement %d: the errors of single expressions are %v, of all %v:\n%s", *propertySeed, i,
				failures, together.err, strings.Join(list, ",\n"))
		}
	})
}

// numbered appends a column name to each expression.
func numbered(list []string) []string {
	out := make([]string, len(list))
	for i, e := range list {
		out[i] = fmt.Sprintf("%s AS e%d", e, i)
	}
	return out
}

// TestRandomChanges compares the results of UPDATE, DELETE, INSERT and MERGE with queries that
// compute the expected rows before. Subqueries of the changes read the changed table, which detects
// changes that become visible too early.
func TestRandomChanges(t *testing.T) {
	s := propertySession(t)
	forEachStatement(t, s, func(i int, g *generator) {
		g.aliases, g.ctes = 0, nil
		c := randomColumns[1+g.IntN(len(randomColumns)-1)]
		scope := qualified("x")
		where := g.condition(2, scope, nil)
		value := "CAST(" + g.expression(c.kind, 2, scope, nil) + " AS " + storedAs(c) + ")"
		if c.name == "f" || c.name == "n" { // not nullable
			value = "ISNULL(" + value + ", " + g.literal(c.kind) + ")"
		}
		item := func(of column) string {
			if of.name == c.name {
				return "CASE WHEN " + where + " THEN " + value + " ELSE x." + of.name + " END"
			}
			return "x." + of.name
		}
		var items, plain []string
		for _, of := range randomColumns {
			items, plain = append(items, item(of)), append(plain, "x."+of.name)
		}
		target := g.pick("a", "b", "h")
		all := strings.Join(plain, ", ")
		left := "SELECT " + strings.Join(items, ", ") + " FROM {" + target + "} AS x"
		change := "UPDATE x SET " + c.name + " = " + value + " FROM {" + target + "} AS x WHERE " + where
		switch g.IntN(4) {
		case 0:
			left = "SELECT " + all + " FROM {" + target + "} AS x WHERE CASE WHEN " + where + " THEN 1 ELSE 0 END = 0"
			change = "DELETE x FROM {" + target + "} AS x WHERE " + where
		case 1:
			left = "SELECT " + all + " FROM {h} AS x UNION ALL SELECT " + all + " FROM {" + target + "} AS x WHERE " + where
			change = "INSERT INTO {h} SELECT " + all + " FROM {" + target + "} AS x WHERE " + where
			target = "h"
		case 2:
			target = g.pick("a", "b")
			left = "SELECT " + strings.Join(items, ", ") + " FROM {" + target + "} AS x"
			change = "MERGE {" + target + "} AS x USING {" + target + "} AS y ON x.id = y.id WHEN MATCHED AND (" + where + ") THEN UPDATE SET " + c.name + " = " + value + ";"
			// error 5324 and others: MERGE does not allow subqueries there
			if strings.Contains(where+value, "(SELECT") {
				return
			}
		}
		tables := sources["tables"]
		want, got := lastResult(t, s, putTables(left, tables)), lastResult(t, s,
			putTables("BEGIN TRAN; "+change+"; SELECT * FROM {"+target+"}; ROLLBACK", tables))
		if want.late || got.late {
			if got.late {
				lastResult(t, s, "IF @@TRANCOUNT > 0 ROLLBACK")
			}
			return
		}
		if want.err != nil || got.err != nil {
			t.Errorf("seed %d, change %d: %v, %v\n%s\n%s", *propertySeed, i, want.err, got.err, change, left)
			lastResult(t, s, "IF @@TRANCOUNT > 0 ROLLBACK")
			return
		}
		if w, g := want.multiset(nil), got.multiset(nil); !slices.Equal(w, g) {
			t.Errorf("seed %d, change %d leaves\n%s\ninstead of\n%s\n%s\n%s", *propertySeed, i, strings.Join(g, "\n"),
				strings.Join(w, "\n"), change, left)
		}
	})
}

// storedAs returns the type of a column of the tables.
func storedAs(c column) string {
	switch c.name {
	case "d":
		return "decimal(9, 2)"
	case "s":
		return "nvarchar(10)"
	case "t":
		return "varchar(10)"
	case "f":
		return "char(4)"
	}
	return castType[c.kind]
}
