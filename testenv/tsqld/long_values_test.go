package tsqld

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/jobagent/jobagent/testenv/tsqld/builtin"
)

// repeated returns n copies of a part with a separator between them. In each copy, # is its number.
func repeated(n int, part, separator string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(separator)
		}
		b.WriteString(strings.ReplaceAll(part, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// longValues are batches whose lists are not in the syntax tree: within tokens, strings and values.
// The text of each has n elements.
var longValues = []longList{
	{"blanks", func(n int) string { return "SELECT" + strings.Repeat(" \t\r\n", n) + "1" }},
	{"semicolons", func(n int) string { return "SELECT 1" + strings.Repeat(";", n) }},
	{"line comments", func(n int) string { return repeated(n, "-- #\n", "") + "SELECT 1" }},
	{"comments", func(n int) string { return repeated(n, "/* # */", "") + "SELECT 1" }},
	{"nested comments", func(n int) string { return strings.Repeat("/*", n) + strings.Repeat("*/", n) + "SELECT 1" }},
	{"open comments", func(n int) string { return strings.Repeat("/*", n) + "SELECT 1" }},
	{"quotes in a string", func(n int) string { return "SELECT '" + strings.Repeat("''", n) + "'" }},
	{"open string", func(n int) string { return "SELECT '" + strings.Repeat("''", n) }},
	{"continued string", func(n int) string { return "SELECT '" + strings.Repeat("a\\\n", n) + "'" }},
	{"brackets in a name", func(n int) string { return "SELECT 1 AS [" + strings.Repeat("]]", n) + "]" }},
	{"long name", func(n int) string { return "SELECT " + strings.Repeat("a", n) }},
	{"long variable", func(n int) string { return "SELECT @" + strings.Repeat("a", n) }},
	{"digits", func(n int) string { return "SELECT " + strings.Repeat("9", n) }},
	{"digits after the point", func(n int) string { return "SELECT 0." + strings.Repeat("9", n) }},
	{"digits of an exponent", func(n int) string { return "SELECT 1e" + strings.Repeat("9", n) }},
	{"digits of money", func(n int) string { return "SELECT $" + strings.Repeat("9", n) }},
	{"binary", func(n int) string { return "SELECT 0x" + strings.Repeat("AB", n) }},
	{"continued binary", func(n int) string { return "SELECT 0x" + strings.Repeat("AB\\\n", n) }},
	{"string to numbers", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat("9", n) + "'; SELECT TRY_CAST(@x AS INT), TRY_CAST(@x AS FLOAT), TRY_CAST(@x AS DECIMAL(38, 10)), TRY_CAST(@x AS MONEY), ISNUMERIC(@x)"
	}},
	{"string to dates", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'2020-" + strings.Repeat("01-", n) + "'; SELECT TRY_CAST(@x AS DATETIME2), TRY_CAST(@x AS TIME), ISDATE(@x)"
	}},
	{"JSON array", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'[" + repeated(n, "#", ",") + "]'; SELECT ISJSON(@x), JSON_VALUE(@x, '$[1]'), JSON_QUERY(@x, '$[2]'), JSON_MODIFY(@x, 'append $', 1), (SELECT COUNT(*) FROM OPENJSON(@x))"
	}},
	{"JSON object", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'{" + repeated(n, `"a#":#`, ",") + "}'; SELECT ISJSON(@x), JSON_VALUE(@x, '$.a1'), JSON_MODIFY(@x, '$.b', 1), (SELECT COUNT(*) FROM OPENJSON(@x))"
	}},
	{"JSON arrays in arrays", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat("[", n) + strings.Repeat("]", n) + "'; SELECT ISJSON(@x), JSON_VALUE(@x, '$[0]'), JSON_QUERY(@x, '$[0]'); SELECT * FROM OPENJSON(@x)"
	}},
	{"JSON objects in objects", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) + "'; SELECT ISJSON(@x), JSON_VALUE(@x, '$.a.a'), JSON_QUERY(@x, '$.a.a'); SELECT * FROM OPENJSON(@x)"
	}},
	{"JSON path", func(n int) string {
		return "DECLARE @p NVARCHAR(MAX) = N'$" + strings.Repeat(".a", n) + "'; DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat(`{"a":`, min(n, 100)) + "1" + strings.Repeat("}", min(n, 100)) + "'; SELECT JSON_VALUE(@x, @p), JSON_QUERY(@x, @p), JSON_MODIFY(@x, @p, 1)"
	}},
	{"JSON path of indexes", func(n int) string {
		return "DECLARE @p NVARCHAR(MAX) = N'$" + strings.Repeat("[0]", n) + "'; SELECT JSON_VALUE(N'[[[1]]]', @p), JSON_MODIFY(N'[[[1]]]', @p, 1)"
	}},
	{"columns and members of OPENJSON", func(n int) string {
		k := min(n, 1000)
		return "SELECT COUNT(*) FROM OPENJSON(N'[" + repeated(max(1, n/k), "{"+repeated(k, `"a#":1`, ",")+"}", ",") + "]') WITH (" + repeated(k, "a# INT", ", ") + ") AS j"
	}},
	{"FOR JSON PATH with dots", func(n int) string {
		return "SELECT " + repeated(min(n, 1500), "1 AS [a.b.c.d#]", ", ") + " FOR JSON PATH"
	}},
	{"FOR JSON PATH with long names", func(n int) string {
		return "SELECT " + repeated(min(n, 1500), "1 AS ["+strings.Repeat("a.", 60)+"d#]", ", ") + " FOR JSON PATH"
	}},
	{"FOR XML PATH with slashes", func(n int) string {
		return "SELECT " + repeated(min(n, 1500), "1 AS [a/b/c/d#]", ", ") + " FOR XML PATH"
	}},
	{"XML elements", func(n int) string {
		return "DECLARE @x XML = N'<r>" + repeated(n, "<a#/>", "") + "</r>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML attributes", func(n int) string {
		return "DECLARE @x XML = N'<r " + repeated(n, `a#="1"`, " ") + "/>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML namespaces", func(n int) string {
		return "DECLARE @x XML = N'<r " + repeated(n, `xmlns:a#="u#"`, " ") + ">" + repeated(n, "<a#:b/>", "") + "</r>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML namespaces of attributes", func(n int) string {
		return "DECLARE @x XML = N'<r " + repeated(n, `xmlns:a#="u#" a#:b="1"`, " ") + "/>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML elements in elements", func(n int) string {
		return "DECLARE @x XML = N'" + strings.Repeat("<a>", n) + strings.Repeat("</a>", n) + "'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML namespaces in elements", func(n int) string {
		return "DECLARE @x XML = N'" + repeated(n, `<a xmlns:b#="u#">`, "") + strings.Repeat("</a>", n) + "'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML entities", func(n int) string {
		return "DECLARE @x XML = N'<a>" + strings.Repeat("&amp;&#65;", n) + "</a>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"XML comments and instructions", func(n int) string {
		return "DECLARE @x XML = N'<a>" + strings.Repeat("<!-- - --><?b c?><![CDATA[ ]]>", n) + "</a>'; SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"nodes of XML", func(n int) string {
		return "DECLARE @x XML = N'<r>" + repeated(n, `<a k="#">x</a>`, "") + "</r>'; SELECT COUNT(*) FROM @x.nodes('//a[@k > 5]') AS t (c) WHERE c.value('@k', 'int') > 7 AND c.exist('../@k') = 0"
	}},
	{"comparisons in XQuery", func(n int) string {
		return "DECLARE @x XML = N'<r>" + repeated(n, `<a k="#"/>`, "") + "</r>'; SELECT @x.value('count(//a[@k = //a/@k])', 'int'), @x.exist('//*[//*[//*[//*[//*[. = 1]]]]]'), @x.query('for $a in //a, $b in //a where $a/@k = $b/@k order by $b/@k return <z>{$a, $b}</z>')"
	}},
	{"changes of XML", func(n int) string {
		return "DECLARE @x XML = N'<r>" + repeated(n, `<a k="#"/>`, "") + "</r>'; SET @x.modify('insert <b>{/r/a}</b> into (/r)[1]'); SET @x.modify('delete //a'); SELECT @x"
	}},
	{"XML type definition", func(n int) string {
		return "DECLARE @x XML = CONVERT(XML, N'<!DOCTYPE a [" + repeated(n, `<!ENTITY e# "&e0;&e0;">`, "") + "]><a>&e1;</a>', 2); SELECT CAST(@x AS NVARCHAR(MAX))"
	}},
	{"LIKE with many %", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "), @p NVARCHAR(MAX) = N'" + strings.Repeat("%a", min(n, 1900)) + "b'; SELECT CASE WHEN @x LIKE @p THEN 1 ELSE PATINDEX(@p, @x) END"
	}},
	{"LIKE with a large set", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "), @p NVARCHAR(MAX) = N'%[" + strings.Repeat("b-d", min(n, 1300)) + "]b'; SELECT CASE WHEN @x LIKE @p THEN 1 ELSE PATINDEX(@p, @x) END"
	}},
	{"TRANSLATE", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "), @p NVARCHAR(MAX) = REPLICATE(CAST(N'b' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "); SELECT LEN(TRANSLATE(@x, @p, @p))"
	}},
	{"TRIM", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "), @p NVARCHAR(MAX) = REPLICATE(CAST(N'b' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + ") + N'a'; SELECT TRIM(@p FROM @x)"
	}},
	{"TRIM beyond ASCII", func(n int) string {
		return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'é' AS NVARCHAR(MAX)), %d), @p NVARCHAR(MAX) = REPLICATE(CAST(N'ü' AS NVARCHAR(MAX)), %d) + N'é'; SELECT TRIM(@p FROM @x)", 10*n, 10*n)
	}},
	{"TRANSLATE of many characters", func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteRune(rune(0x4E00 + i%0x5000))
		}
		return "DECLARE @x NVARCHAR(MAX) = N'" + b.String() + "', @p NVARCHAR(MAX) = REPLICATE(CAST(N'b' AS NVARCHAR(MAX)), 100); SELECT LEN(TRANSLATE(@x, @p, @p))"
	}},
	{"conversions", func(n int) string {
		return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'é' AS NVARCHAR(MAX)), %d); SELECT LEN(CAST(@x AS VARCHAR(MAX))), DATALENGTH(CAST(@x AS VARBINARY(MAX))), LEN(CONVERT(VARCHAR(MAX), CAST(@x AS VARBINARY(MAX)), 2)), LEN(CAST(CAST(@x AS VARBINARY(MAX)) AS NVARCHAR(MAX))), LEN(CAST(CAST(@x AS VARBINARY(MAX)) AS VARCHAR(MAX)))", 100*n)
	}},
	{"comparisons beyond ASCII", func(n int) string {
		return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'é' AS NVARCHAR(MAX)), %d); DECLARE @y NVARCHAR(MAX) = @x + N'a'; SELECT CASE WHEN @x = @y THEN 1 WHEN @x > @y THEN 2 END, COUNT(DISTINCT v) FROM (VALUES (@x), (@y)) AS t (v)", 100*n)
	}},
	{"commas of FORMAT", func(n int) string {
		return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = N'#' + REPLICATE(CAST(N',' AS NVARCHAR(MAX)), %d); SELECT FORMAT(1, @x)", 100*n)
	}},
	{"wide directives of FORMATMESSAGE", func(n int) string {
		return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'%%2047d' AS NVARCHAR(MAX)), %d); SELECT FORMATMESSAGE(@x, 1)", 10*n)
	}},
	{"steps of a JSON path", func(n int) string {
		return fmt.Sprintf("DECLARE @p NVARCHAR(MAX) = N'$' + REPLICATE(CAST(N'[0]' AS NVARCHAR(MAX)), %d); SELECT JSON_VALUE(N'[[1]]', @p), JSON_MODIFY(N'[[1]]', @p, 1), JSON_QUERY(N'[' + REPLICATE(CAST(N'1,' AS NVARCHAR(MAX)), %d) + N'1]', @p)", 10*n, 10*n)
	}},
	{"values of APPROX_COUNT_DISTINCT", func(n int) string {
		return "SELECT APPROX_COUNT_DISTINCT(value) FROM STRING_SPLIT(N'" + repeated(n, "#", ",") + "', N',')"
	}},
	{"REPLACE", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'ab' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + "); SELECT LEN(REPLACE(@x, N'a', N'')), LEN(REPLACE(@x, @x, N'')), LEN(REPLACE(@x, N'a', N'aa')), LEN(STUFF(@x, 1, 1, @x)), LEN(REVERSE(@x)), LEN(QUOTENAME(@x)), LEN(STRING_ESCAPE(@x, 'json')), PARSENAME(@x, 1), SOUNDEX(@x), DIFFERENCE(@x, @x), LEN(UPPER(@x))"
	}},
	{"CHARINDEX", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(2*n) + "), @p NVARCHAR(MAX) = REPLICATE(CAST(N'a' AS NVARCHAR(MAX)), " + fmt.Sprint(n) + ") + N'b'; SELECT CHARINDEX(@p, @x), CHARINDEX(@p COLLATE Latin1_General_BIN, @x), REPLACE(@x, @p, N'')"
	}},
	{"STRING_SPLIT and STRING_AGG", func(n int) string {
		return "SELECT LEN(STRING_AGG(CAST(value AS NVARCHAR(MAX)), N',') WITHIN GROUP (ORDER BY value)) FROM STRING_SPLIT(N'" + repeated(n, "#", ",") + "', N',')"
	}},
	{"FORMATMESSAGE", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat("%s%d", n) + "'; SELECT FORMATMESSAGE(@x, N'a', 1); RAISERROR (@x, 10, 1, N'a', 1)"
	}},
	{"FORMAT", func(n int) string {
		return "DECLARE @x NVARCHAR(MAX) = N'" + strings.Repeat("#,0.0;", n) + "'; SELECT LEN(FORMAT(1234.5, @x)), LEN(FORMAT(CAST('2020-01-01' AS DATETIME2), N'" + strings.Repeat("yyyy''a''", n) + "'))"
	}},
	{"HASHBYTES, COMPRESS and CHECKSUM", func(n int) string {
		return "DECLARE @x VARBINARY(MAX) = CAST(REPLICATE(CAST('ab' AS VARCHAR(MAX)), " + fmt.Sprint(n) + ") AS VARBINARY(MAX)); SELECT HASHBYTES('SHA2_512', @x), HASHBYTES('MD5', @x), DATALENGTH(DECOMPRESS(COMPRESS(@x))), CHECKSUM(@x), BINARY_CHECKSUM(@x), CONVERT(VARCHAR(MAX), @x, 1)"
	}},
	{"columns of sp_executesql", func(n int) string { return "EXECUTE sp_executesql N'SELECT " + repeated(n, "# AS a#", ", ") + "'" }},
	{"strings in strings", func(n int) string {
		s := "SELECT 1"
		for len(s) < n {
			s = "EXECUTE (N'" + strings.ReplaceAll(s, "'", "''") + "')"
		}
		return s
	}},
	{"parameters of sp_executesql", func(n int) string {
		n = min(n, 2100)
		return "EXECUTE sp_executesql N'SELECT " + repeated(n, "@p#", " + ") + "', N'" + repeated(n, "@p# INT", ", ") + "', " + repeated(n, "@p# = 1", ", ")
	}},
	{"application locks", func(n int) string {
		return repeated(n, "EXECUTE sp_getapplock @Resource = N'a#', @LockMode = 'Exclusive', @DbPrincipal = 'public';", "\n")
	}},
	{"keys of the session context", func(n int) string {
		return repeated(n, "EXECUTE sp_set_session_context N'a#', 1;", "\n") + "SELECT SESSION_CONTEXT(N'a1')"
	}},
	{"savepoints", func(n int) string { return repeated(n, "SAVE TRAN s#;", "\n") + repeated(n, "ROLLBACK TRAN s#;", "\n") }},
	{"labels", func(n int) string { return repeated(n, "l#: PRINT N'#';", "\n") }},
	{"jumps", func(n int) string {
		return repeated(n, "GOTO l#; l#: PRINT N'#';", "\n")
	}},
	{"jumps backwards", func(n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "GOTO l%d;\n", n)
		for i := range n + 1 {
			if i == 0 {
				b.WriteString("l0: RETURN;\n")
				continue
			}
			fmt.Fprintf(&b, "l%d: GOTO l%d;\n", i, i-1)
		}
		return b.String()
	}},
	{"variables and a dynamic cursor", func(n int) string {
		return repeated(n, "DECLARE @v# INT = #;", "\n") + "DECLARE k CURSOR FOR SELECT @v1; OPEN k; " + repeated(n, "FETCH NEXT FROM k INTO @v#;", "\n")
	}},
	{"cursors", func(n int) string { return repeated(n, "DECLARE k# CURSOR LOCAL FOR SELECT 1; OPEN k#;", "\n") }},
	{"temporary tables", func(n int) string {
		return strings.ReplaceAll(repeated(n, "CREATE TABLE [!t#] (a INT);", "\n"), "!", "#")
	}},
	{"temporary procedures", func(n int) string {
		return strings.ReplaceAll(repeated(n, "EXECUTE (N'CREATE PROCEDURE [!p#] AS SELECT #');", "\n"), "!", "#")
	}},
	{"table variables", func(n int) string { return repeated(n, "DECLARE @t# TABLE (a INT);", "\n") }},
	{"used table variables", func(n int) string {
		return repeated(n, "DECLARE @t# TABLE (a INT); INSERT @t# VALUES (1);", "\n")
	}},
	{"constraints and their names", func(n int) string {
		return "CREATE TABLE #t (a INT, " + repeated(n, "CONSTRAINT c# CHECK (a > #)", ", ") + "); ALTER TABLE #t NOCHECK CONSTRAINT " + repeated(n, "c#", ", ") +
			"; ALTER TABLE #t DROP CONSTRAINT " + repeated(n, "c#", ", ")
	}},
	{"users", func(n int) string { return repeated(n, "CREATE USER u# WITHOUT LOGIN;", "\n") }},
	{"tables", func(n int) string { return repeated(n, "CREATE TABLE dbo.t# (a INT);", "\n") }},
	{"grants", func(n int) string {
		n = min(n, 300)
		return repeated(n, "CREATE USER u# WITHOUT LOGIN;", "\n") + "GRANT SELECT (a, b, c) ON dbo.t TO " + repeated(n, "u#", ", ")
	}},
}

// longValueLists makes the batches of longValues, and calls of each built-in function with long
// arguments: every one of so many.
func longValueLists(every int) iter.Seq[longList] {
	return func(yield func(longList) bool) {
		for _, l := range longValues {
			l.name = "value: " + l.name
			if !yield(l) {
				return
			}
		}
		calls := 0
		names := builtin.Names()
		slices.Sort(names)
		for _, name := range names {
			for _, arguments := range longArguments {
				f, _ := builtin.Lookup(name)
				count := strings.Count(arguments, ",") + 1
				if f.Kind != builtin.Scalar || strings.HasPrefix(name, "@@") || f.CheckCount(count) != nil {
					continue
				}
				for _, part := range longParts {
					if calls++; every == 0 || calls%every != 0 {
						continue
					}
					first := arguments
					if _, rest, _ := strings.Cut(arguments, ","); f.DatePart {
						first = "year," + rest
					}
					l := longList{fmt.Sprintf("call: %s(%s) of %s", name, first, part), func(n int) string {
						return fmt.Sprintf("DECLARE @x NVARCHAR(MAX) = REPLICATE(CAST(N'%s' AS NVARCHAR(MAX)), %d); SELECT DATALENGTH(%s(%s))",
							strings.ReplaceAll(part, "'", "''"), 100*n/len(part)+1, name, first)
					}}
					if !yield(l) {
						return
					}
				}
			}
		}
	}
}

// longArguments are the arguments of calls with long texts.
var longArguments = []string{"@x", "@x,@x", "@x,1", "1,@x", "N'a',@x", "@x,N'a'", "@x,@x,@x", "@x,N'a',N'b'", "N'a',@x,N'b'", "@x,1,1", "@x,N'$.a',@x", "@x,1,1,@x", "N'1',@x,1"}

// longParts are what long texts consist of: one part, many times.
var longParts = []string{"a", "9", " ", "a ", ",", "%s", "[", "[1,", "{\"a\":", "<a/>", "<a>", "$.a", ".a", "[0]", "yyyy", "#,", "'", "é", "20200101 "}
