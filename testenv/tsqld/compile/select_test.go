package compile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tables has the tables of a small shop.
const tables = `
CREATE TABLE #item (id int PRIMARY KEY, name nvarchar(20) NOT NULL, price decimal(10,2), kind varchar(10), made date, flag bit);
CREATE TABLE #sale (id int IDENTITY PRIMARY KEY, item int, n int, at datetime2(3));
INSERT INTO #item (id, name, price, kind, made, flag) VALUES
	(1, N'Apple', 1.50, 'fruit', '2024-01-05', 1), (2, N'pear', 2.25, 'fruit', '2024-02-01', 0),
	(3, N'Nail', 0.10, 'metal', NULL, 1), (4, N'nut ', NULL, NULL, '2023-12-31', NULL);
INSERT INTO #sale (item, n, at) VALUES (1, 10, '2024-03-01 10:00:00.123'), (1, 5, '2024-03-02'), (3, 100, NULL), (9, 1, '2024-03-03');
`

// checkQueries runs queries and compares their output.
func checkQueries(t *testing.T, b *fixture, cases []struct{ sql, want string }) {
	for _, c := range cases {
		t.Run(c.sql, func(t *testing.T) {
			b.t = t
			require.Equal(t, c.want, strings.ReplaceAll(strings.TrimSuffix(b.run(c.sql), "\n"), "\n", "; "))
		})
	}
}

func TestExpressions(t *testing.T) {
	b := newFixture(t, "")
	b.declare("@i", "int", "7")
	b.declare("@null", "int", "NULL")
	b.declare("@s", "nvarchar(20)", "Hello ")
	b.declare("@d", "datetime2(7)", "2024-05-06 07:08:09.1234567")
	b.declare("@big", "bigint", "9223372036854775807")
	checkQueries(t, b, []struct{ sql, want string }{
		{"SELECT 1", "1"},
		{"SELECT 7 / 2, -7 / 2, 7 % 3, 7.0 / 2, 7e0 / 2", "3|-3|1|3.500000|3.5"},
		{"SELECT 2147483647 + 1", "error 8115: Arithmetic overflow error converting expression to data type int."},
		{"SELECT @i / 0", "error 8134: Divide by zero error encountered."},
		{"SELECT @big + 1", "error 8115: Arithmetic overflow error converting expression to data type bigint."},
		{"SELECT -2147483648, 2147483648", "-2147483648|2147483648"},
		{"SELECT 'a' + 'b', 'a' + NULL, N'x' + @s + 'y'", "ab|NULL|xHello y"},
		{"SELECT 'a' + 1", "error 245: Conversion failed when converting the varchar value 'a' to data type int."},
		{"SELECT '3' + 1, 1 + '3'", "4|4"},
		{"SELECT CASE WHEN 'abc' = 'ABC ' THEN 1 ELSE 0 END", "1"},
		{"SELECT CASE WHEN 'abc' = 'ABC' COLLATE Latin1_General_BIN2 THEN 1 ELSE 0 END", "0"},
		{"SELECT CASE WHEN NULL = NULL THEN 1 WHEN NOT (1 = NULL) THEN 2 ELSE 3 END", "3"},
		{"SELECT CASE WHEN 1 = 0 THEN 1 / 0 ELSE 5 END", "5"},
		{"SELECT CASE @i WHEN 6 THEN 'six' WHEN 7 THEN N'seven' END", "seven"},
		{
			"SELECT CASE 1 WHEN 2 THEN NULL ELSE NULL END",
			"error 8133: At least one of the result expressions in a CASE specification must be an expression other " +
				"than the NULL constant.",
		},
		{
			"SELECT IIF(@i > 5, 'yes', 'no'), CHOOSE(2, 'a', 'b'), COALESCE(@null, @i, 1 / 0), ISNULL(@null, 3), NULLIF(@i, 7)",
			"yes|b|7|3|NULL",
		},
		{
			"SELECT CAST('2024-02-30' AS date)",
			"error 241: Conversion failed when converting date and/or time from character string.",
		},
		{"SELECT TRY_CAST('x' AS int), TRY_CONVERT(date, '2024-02-29')", "NULL|2024-02-29"},
		{
			"SELECT CONVERT(varchar(10), @d, 104), CONVERT(char(8), @d, 112), CAST(@d AS date)",
			"06.05.2024|20240506|2024-05-06",
		},
		{
			"SELECT DATEADD(day, 1, @d), DATEDIFF(hour, '2024-01-01', '2024-01-02'), DATEPART(year, @d)",
			"2024-05-07 07:08:09.1234567|24|2024",
		},
		{"SELECT LEN(@s), DATALENGTH(@s), UPPER(@s), SUBSTRING('hello', 2, 3)", "5|12|HELLO |ell"},
		{"SELECT 1 WHERE 'abc' LIKE 'A%' AND 'a_c' LIKE 'a!_c' ESCAPE '!' AND 'abc' NOT LIKE '[^a]%'", "1"},
		{"SELECT 1 WHERE @i BETWEEN 5 AND 7 AND @i NOT IN (1, 2) AND @i IN (7, 8.0) AND @null IS NULL", "1"},
		{"SELECT 1 WHERE @i NOT IN (1, NULL)", ""},
		{"SELECT 1 WHERE @null IS NOT DISTINCT FROM NULL AND @i IS DISTINCT FROM NULL", "1"},
		{"SELECT $1.5 * 2, 0xFF, 1.10 + 2.205, ~5, 6 & 3, 6 | 1, 6 ^ 2", "3.00|0xFF|3.305|-6|2|7|4"},
		{"SELECT (SELECT 1), (SELECT 1 WHERE 1 = 0)", "1|NULL"},
		{
			"SELECT (SELECT x FROM (VALUES (1), (2)) AS v(x))",
			"error 512: Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, " +
				"<, <= , >, >= or when the subquery is used as an expression.",
		},
		{
			"SELECT (SELECT 1, 2)",
			"error 116: Only one expression can be specified in the select list when the subquery is not introduced " +
				"with EXISTS.",
		},
		{
			"SELECT 1 WHERE 3 > ALL (SELECT x FROM (VALUES (1), (2)) AS v(x)) AND 2 = ANY (SELECT x FROM (VALUES " +
				"(1), (2)) AS v(x))",
			"1",
		},
		{"SELECT 1 WHERE 1 > ALL (SELECT x FROM (VALUES (NULL), (2)) AS v(x))", ""},
		{"SELECT nosuch", "error 207: Invalid column name 'nosuch'."},
		{"SELECT @nosuch", "error 137: Must declare the scalar variable \"@nosuch\"."},
		{"SELECT nosuch(1)", "error 195: 'nosuch' is not a recognized built-in function name."},
		{"SELECT LEN(1, 2)", "error 174: The len function requires 1 argument(s)."},
		{
			"SELECT CAST(0xFF AS uniqueidentifier) + 1",
			"error 206: Operand type clash: uniqueidentifier is incompatible with int",
		},
		{"SELECT 0x01 WHERE 0x01 = 0x0100", "0x01"},
		{
			"SELECT JSON_VALUE('{\"a\":5}', '$.a'), JSON_OBJECT('a':1, 'b':NULL), JSON_ARRAY(1, 'x', JSON_QUERY('{}'))",
			`5|{"a":1,"b":null}|[1,"x",{}]`,
		},
		{"SELECT CAST(1 AS sql_variant), CAST(N'x' AS xml)", "1|x"},
		{"SELECT TRIM('x' FROM 'xax'), TRIM('  a '), LTRIM(' b')", "a|a|b"},
		{"SELECT CAST(1.0 AS float) / 3, CAST(10 AS decimal(38, 10)) / 3", "0.333333|3.3333333333"},
	})
}

func TestSelect(t *testing.T) {
	b := newFixture(t, tables)
	b.declare("@n", "int", "2")
	b.declare("@name", "nvarchar(20)", "APPLE")
	checkQueries(t, b, []struct{ sql, want string }{
		{"SELECT id, name FROM #item WHERE name = @name", "1|Apple"},
		{"SELECT * FROM #item WHERE id = 1", "1|Apple|1.50|fruit|2024-01-05|1"},
		{
			"SELECT i.* FROM #item i WHERE i.price > 1 ORDER BY i.price DESC",
			"2|pear|2.25|fruit|2024-02-01|0; 1|Apple|1.50|fruit|2024-01-05|1",
		},
		{"SELECT name FROM #item ORDER BY kind, name", "nut ; Apple; pear; Nail"},
		{"SELECT name AS n FROM #item ORDER BY n", "Apple; Nail; nut ; pear"},
		{"SELECT name, id FROM #item ORDER BY 2 DESC", "nut |4; Nail|3; pear|2; Apple|1"},
		{"SELECT TOP (@n) id FROM #item ORDER BY id", "1; 2"},
		{"SELECT TOP 1 WITH TIES kind FROM #item WHERE kind IS NOT NULL ORDER BY kind", "fruit; fruit"},
		{"SELECT TOP 50 PERCENT id FROM #item ORDER BY id DESC", "4; 3"},
		{"SELECT id FROM #item ORDER BY id OFFSET 1 ROWS FETCH NEXT @n ROWS ONLY", "2; 3"},
		{"SELECT DISTINCT kind FROM #item ORDER BY kind", "NULL; fruit; metal"},
		{
			"SELECT DISTINCT kind FROM #item ORDER BY id",
			"error 145: ORDER BY items must appear in the select list if SELECT DISTINCT is specified.",
		},
		{
			"SELECT kind, COUNT(*), COUNT(price), SUM(price), MIN(name), AVG(id) FROM #item GROUP BY kind ORDER BY kind",
			"NULL|1|0|NULL|nut |4; fruit|2|2|3.75|Apple|1; metal|1|1|0.10|Nail|3",
		},
		{
			"SELECT kind, name FROM #item GROUP BY kind",
			"error 8120: Column '#item.name' is invalid in the select list because it is not contained in either an " +
				"aggregate function or the GROUP BY clause.",
		},
		{
			"SELECT kind FROM #item GROUP BY kind ORDER BY name",
			"error 8127: Column \"#item.name\" is invalid in the ORDER BY clause because it is not contained in " +
				"either an aggregate function or the GROUP BY clause.",
		},
		{"SELECT UPPER(kind) + '!' FROM #item GROUP BY UPPER(kind) HAVING COUNT(*) > 1", "FRUIT!"},
		{"SELECT COUNT(*) FROM #item WHERE 1 = 0", "0"},
		{"SELECT SUM(n) FROM #sale WHERE 1 = 0", "NULL"},
		{"SELECT COUNT(DISTINCT kind), SUM(DISTINCT flag + 0) FROM #item", "2|1"},
		{
			"SELECT 1 FROM #item WHERE COUNT(*) = 1",
			"error 147: An aggregate may not appear in the WHERE clause unless it is in a subquery contained in a " +
				"HAVING clause or a select list, and the column being aggregated is an outer reference.",
		},
		{"SELECT i.name, s.n FROM #item i JOIN #sale s ON s.item = i.id ORDER BY s.id", "Apple|10; Apple|5; Nail|100"},
		{
			"SELECT i.name, s.n FROM #item i LEFT JOIN #sale s ON s.item = i.id AND s.n > 5 ORDER BY i.id",
			"Apple|10; pear|NULL; Nail|100; nut |NULL",
		},
		{
			"SELECT i.name, s.n FROM #item i FULL JOIN #sale s ON s.item = i.id ORDER BY i.id, s.id",
			"NULL|1; Apple|10; Apple|5; pear|NULL; Nail|100; nut |NULL",
		},
		{
			"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT TOP 1 n FROM #sale s WHERE s.item = i.id ORDER BY n) " +
				"AS x ORDER BY 1",
			"1|5; 3|100",
		},
		{
			"SELECT i.id, x.n FROM #item i OUTER APPLY (SELECT SUM(n) AS n FROM #sale s WHERE s.item = i.id) AS x ORDER BY 1",
			"1|15; 2|NULL; 3|100; 4|NULL",
		},
		{
			"SELECT i.id, x.n FROM #item i OUTER APPLY (SELECT n FROM #sale s WHERE s.item = i.id) AS x ORDER BY 1, 2",
			"1|5; 1|10; 2|NULL; 3|100; 4|NULL",
		},
		{
			"SELECT i.id, x.d FROM #item i CROSS APPLY (SELECT i.id * 2 AS d) AS x WHERE x.d > 4 ORDER BY i.id",
			"3|6; 4|8",
		},
		{
			"SELECT i.id, v.x FROM #item i CROSS APPLY (VALUES (i.id), (i.id * 10)) AS v(x) WHERE i.id < 3 ORDER BY 1, 2",
			"1|1; 1|10; 2|2; 2|20",
		},
		{"SELECT i.id, s.value FROM #item i CROSS APPLY STRING_SPLIT(i.name, 'p') s WHERE i.id = 1", "1|A; 1|; 1|le"},
		{"SELECT name FROM #item i WHERE EXISTS (SELECT * FROM #sale s WHERE s.item = i.id AND s.n < 50)", "Apple"},
		{"SELECT name FROM #item WHERE id IN (SELECT item FROM #sale) ORDER BY id", "Apple; Nail"},
		{
			"SELECT name, (SELECT MAX(n) FROM #sale s WHERE s.item = #item.id) FROM #item WHERE id < 3",
			"Apple|10; pear|NULL",
		},
		{"SELECT id FROM #item WHERE id < 3 UNION ALL SELECT id FROM #sale WHERE id > 3 ORDER BY id DESC", "4; 2; 1"},
		{"SELECT kind FROM #item UNION SELECT N'FRUIT' ORDER BY kind", "NULL; FRUIT; metal"},
		{"SELECT id FROM #item EXCEPT SELECT item FROM #sale", "2; 4"},
		{"SELECT id FROM #item INTERSECT SELECT item FROM #sale ORDER BY 1", "1; 3"},
		{
			"SELECT 1, 2 UNION SELECT 1",
			"error 205: All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number " +
				"of expressions in their target lists.",
		},
		{"SELECT 1 AS a UNION SELECT 2.5 ORDER BY a", "1.0; 2.5"},
		{"WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c WHERE x < 5) SELECT SUM(x) FROM c", "15"},
		{
			"WITH c AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c",
			"error 530: The statement terminated. The maximum recursion 100 has been exhausted before statement completion.",
		},
		{
			"WITH a AS (SELECT id FROM #item), b(i) AS (SELECT id + 1 FROM a) SELECT MAX(i), (SELECT MIN(i) FROM b) FROM b",
			"5|2",
		},
		{
			"SELECT id, ROW_NUMBER() OVER (PARTITION BY kind ORDER BY id DESC) AS r, SUM(id) OVER (ORDER BY id) FROM " +
				"#item ORDER BY id",
			"1|2|1; 2|1|3; 3|1|6; 4|1|10",
		},
		{
			"SELECT id, LAG(id, 1, 0) OVER (ORDER BY id), SUM(price) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND " +
				"CURRENT ROW) FROM #item ORDER BY id",
			"1|0|1.50; 2|1|3.75; 3|2|2.35; 4|3|0.10",
		},
		{"SELECT STRING_AGG(name, ',') WITHIN GROUP (ORDER BY id DESC) FROM #item", "nut ,Nail,pear,Apple"},
		{
			"SELECT kind, COUNT(*), GROUPING(kind) FROM #item GROUP BY ROLLUP (kind) ORDER BY GROUPING(kind), kind",
			"NULL|1|0; fruit|2|0; metal|1|0; NULL|4|1",
		},
		{
			"SELECT id, name FROM #item WHERE id < 3 ORDER BY id FOR JSON PATH",
			`[{"id":1,"name":"Apple"},{"id":2,"name":"pear"}]`,
		},
		{
			"SELECT (SELECT id AS 'a.b', price FROM #item WHERE id >= 3 ORDER BY id FOR JSON PATH, INCLUDE_NULL_VALUES) AS j",
			`[{"a":{"b":3},"price":0.10},{"a":{"b":4},"price":null}]`,
		},
		{
			"SELECT STUFF((SELECT ',' + name FROM #item ORDER BY id FOR XML PATH('')), 1, 1, '')",
			"Apple,pear,Nail,nut ",
		},
		{
			"SELECT id AS '@id', name FROM #item WHERE id = 1 FOR XML PATH('i'), ROOT('r')",
			`<r><i id="1"><name>Apple</name></i></r>`,
		},
		{`SELECT a, b FROM OPENJSON('[{"a":1,"b":"x"},{"a":2}]') WITH (a int, b nvarchar(5) '$.b')`, "1|x; 2|NULL"},
		{`SELECT [key], value FROM OPENJSON('{"p":1,"q":[2]}')`, "p|1; q|[2]"},
		{"SELECT value FROM GENERATE_SERIES(1, 3)", "1; 2; 3"},
		{"SELECT * FROM (SELECT kind, id FROM #item) s PIVOT (COUNT(id) FOR kind IN ([fruit], [metal])) p", "2|1"},
		{
			"SELECT id, c, v FROM (SELECT id, CAST(id AS int) a, item b FROM #sale WHERE id = 1) s UNPIVOT (v FOR c " +
				"IN (a, b)) u",
			"1|a|1; 1|b|1",
		},
		{"SELECT * FROM #nosuch", "error 208: Invalid object name '#nosuch'."},
		{"SELECT x.id FROM #item i", "error 4104: The multi-part identifier \"x.id\" could not be bound."},
		{"SELECT id FROM #item a, #item b", "error 209: Ambiguous column name 'id'."},
		{"SELECT name FROM #item WHERE made >= '2024-01-01' AND made < '20240201'", "Apple"},
		{"SELECT id FROM #item WHERE flag = 'true' ORDER BY id", "1; 3"},
		{"SELECT CAST(at AS time(0)) FROM #sale WHERE id = 1", "10:00:00"},
		{"SELECT MAX(at) FROM #sale", "2024-03-03 00:00:00.000"},
		{
			"SELECT a.id FROM #item a WHERE a.price = (SELECT MAX(b.price) FROM #item b WHERE b.kind = a.kind) ORDER BY a.id",
			"2; 3",
		},
		{
			"SELECT i.id, x.id FROM #item i CROSS APPLY (SELECT TOP (i.id) s.id FROM #sale s ORDER BY s.id DESC) x " +
				"WHERE i.id < 3 ORDER BY 1, 2",
			"1|4; 2|3; 2|4",
		},
		// TOP in APPLY: the forms that become a join, and similar forms that do not.
		{
			"SELECT i.id, x.id, x.d FROM #item i CROSS APPLY (SELECT TOP (@n) s.id, s.n + i.id AS d FROM #sale s " +
				"WHERE s.item = i.id OR s.id = 3 ORDER BY s.n DESC) x ORDER BY 1, 3",
			"1|1|11; 1|3|101; 2|3|102; 3|3|103; 4|3|104",
		},
		{
			"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT s.n, s.id FROM #sale s WHERE s.item = i.id ORDER BY " +
				"s.n DESC OFFSET 1 ROWS FETCH NEXT 1 ROWS ONLY) x WHERE x.id > 0",
			"1|5",
		},
		{"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT TOP (0) s.n FROM #sale s WHERE s.item = i.id) x", ""},
		{
			"SELECT i.id, x.m FROM #item i CROSS APPLY (SELECT TOP 1 COUNT(*) AS m FROM #sale s WHERE s.item = i.id) " +
				"x ORDER BY 1",
			"1|2; 2|0; 3|1; 4|0",
		},
		{
			"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT DISTINCT TOP 1 s.n FROM #sale s WHERE s.item = i.id " +
				"ORDER BY s.n) x ORDER BY 1",
			"1|5; 3|100",
		},
		{
			"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT TOP 1 WITH TIES s.n FROM #sale s WHERE s.item = i.id " +
				"ORDER BY s.n) x ORDER BY 1",
			"1|5; 3|100",
		},
		{
			"SELECT i.id, x.n FROM #item i OUTER APPLY (SELECT TOP 1 s.n FROM #sale s WHERE s.item = i.id ORDER BY " +
				"s.n) x ORDER BY 1",
			"1|5; 2|NULL; 3|100; 4|NULL",
		},
		{
			"SELECT i.id, x.r FROM #item i CROSS APPLY (SELECT TOP 1 ROW_NUMBER() OVER (ORDER BY s.n) AS r FROM " +
				"#sale s WHERE s.item = i.id ORDER BY s.n DESC) x ORDER BY 1",
			"1|2; 3|1",
		},
		{
			"SELECT i.id, x.n, y.n FROM #item i CROSS APPLY (SELECT TOP 1 s.n FROM #sale s WHERE s.item = i.id ORDER " +
				"BY s.n) x CROSS APPLY (SELECT TOP 1 s.n FROM #sale s WHERE s.n > x.n ORDER BY s.n) y ORDER BY 1",
			"1|5|10",
		},
		{
			"SELECT i.id, x.n FROM #item i CROSS APPLY (SELECT TOP 1 s.n FROM #sale s WHERE s.item = i.id ORDER BY " +
				"s.n) x JOIN #sale z ON z.n = x.n ORDER BY 1",
			"1|5; 3|100",
		},
		{
			"SELECT i.id FROM #item i WHERE EXISTS (SELECT * FROM #sale z CROSS APPLY (SELECT TOP 1 s.n FROM #sale s " +
				"WHERE s.item = i.id ORDER BY s.n) x WHERE z.n = x.n) ORDER BY 1",
			"1; 3",
		},
		{"SELECT kind, SUM(COUNT(*)) OVER () FROM #item GROUP BY kind ORDER BY kind", "NULL|4; fruit|4; metal|4"},
	})
	b.declare("@list", "nvarchar(200)", "")
	b.declare("@last", "int", "0")
	b.t = t
	require.Empty(t, b.run("SELECT @list = @list + name + ';', @last = id FROM #item ORDER BY id"))
	require.Equal(t, "Apple;pear;Nail;nut ;", b.vals["@list"])
	require.Equal(t, int64(4), b.vals["@last"])
}
