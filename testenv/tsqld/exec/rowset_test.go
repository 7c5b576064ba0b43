package exec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsets uses rowset functions in all positions that allow rows.
func TestRowsets(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s, `CREATE TABLE dbo.docs (id int NOT NULL PRIMARY KEY, doc nvarchar(max) NULL);
		INSERT INTO dbo.docs VALUES (1, N'[{"a":1,"b":"x"},{"a":2,"b":"Y "}]'), (2, NULL), (3, N'[]'), (4, N'{"a":null,"b":"é\u0000z","B":"other"}')`)
	for _, c := range []struct{ sql, want string }{
		{
			"SELECT * FROM OPENJSON(N'[{\"a\":1},{},{\"a\":null},{\"a\":7,\"a\":8},5]') WITH (a int)",
			"[a int]\n1\nNULL\nNULL\n7\nNULL\n(5)\n",
		},
		{"SELECT * FROM OPENJSON(NULL) WITH (a int)", "[a int]\n(0)\n"},
		{"SELECT * FROM OPENJSON(N'{\"a\":{\"b\":[1, 2]},\"c\":[3]}') WITH (a nvarchar(max) AS JSON, b int '$.a.b[1]', c nvarchar(10), d nvarchar(max) '$.c' AS JSON, e nvarchar(max) '$.a.b[0]' AS JSON)",
			"[a nvarchar(max), b int, c nvarchar(10), d nvarchar(max), e nvarchar(max)]\n{\"b\":[1, 2]} | 2 | NULL | [3] | NULL\n(1)\n"},
		{
			"SELECT * FROM OPENJSON(N'{\"a\":\"long\",\"b\":\"ab\"}') WITH (a nvarchar(3), b nvarchar(2))",
			"[a nvarchar(3), b nvarchar(2)]\nNULL | ab\n(1)\n",
		},
		{"SELECT * FROM OPENJSON(N'{\"a\":\"long\"}') WITH (a nvarchar(3) 'strict $.a')", "Msg 13625"},
		{"SELECT * FROM OPENJSON(N'[{\"a\":1},{\"b\":1}]') WITH (a int 'strict $.a')", "Msg 13608"},
		{"SELECT * FROM OPENJSON(N'{\"a\":[1]}') WITH (a int 'strict $.a')", "Msg 13623"},
		{"SELECT * FROM OPENJSON(N'[{\"a\":1},{\"a\":\"x\"}]') WITH (a int)", "Msg 245"},
		{"SELECT * FROM OPENJSON(N'[{\"a\":300}]') WITH (a tinyint)", "Msg "},
		{"SELECT * FROM OPENJSON(N'[{\"a\":1}') WITH (a int)", "Msg 13609"},
		{"SELECT * FROM OPENJSON(N'{\"a\":{\"x\":3},\"b\":4}', N'$.a') WITH (x int)", "[x int]\n3\n(1)\n"},
		{"SELECT * FROM OPENJSON(N'{\"b\":4}', N'$.a') WITH (x int)", "[x int]\n(0)\n"},
		{"SELECT * FROM OPENJSON(N'{\"b\":4}', N'strict $.a') WITH (x int)", "Msg 13608"},
		// Correlated, as the inner side of a join, more than once, and with the collation of texts.
		{"SELECT d.id, j.a, j.b FROM dbo.docs AS d CROSS APPLY OPENJSON(d.doc) WITH (a int, b nvarchar(9)) AS j WHERE j.b IS NULL OR j.b <> N'É' ORDER BY d.id, j.a",
			"[id int not null, a int, b nvarchar(9)]\n1 | 1 | x\n1 | 2 | Y \n4 | NULL | é\x00z\n(3)\n"},
		{
			"SELECT d.id, j.a FROM dbo.docs AS d OUTER APPLY OPENJSON(d.doc) WITH (a int) AS j ORDER BY d.id, j.a",
			"[id int not null, a int]\n1 | 1\n1 | 2\n2 | NULL\n3 | NULL\n4 | NULL\n(5)\n",
		},
		{"SELECT d.id, j.b FROM dbo.docs AS d INNER JOIN OPENJSON(N'[{\"id\":4,\"b\":\"four\"},{\"id\":1,\"b\":\"one\"},{\"id\":9}]') WITH (id int, b varchar(5)) AS j ON j.id = d.id ORDER BY d.id",
			"[id int not null, b varchar(5)]\n1 | one\n4 | four\n(2)\n"},
		{
			"SELECT x.value, y.value FROM STRING_SPLIT(N'a,b', N',') AS x CROSS JOIN STRING_SPLIT(N'1,2', N',') AS y ORDER BY 1, 2",
			"[value nvarchar(3), value nvarchar(3)]\na | 1\na | 2\nb | 1\nb | 2\n(4)\n",
		},
		{"SELECT COUNT(*) AS n FROM STRING_SPLIT(N'a,B,A', N',') AS x WHERE x.value = N'a'", "[n int]\n2\n(1)\n"},
		{
			"SELECT j.a FROM OPENJSON(N'[{\"a\":\"10\"},{\"a\":\"9\"}]') WITH (a int) AS j ORDER BY j.a DESC",
			"[a int]\n10\n9\n(2)\n",
		},
		{
			"SELECT d.id FROM dbo.docs AS d WHERE EXISTS (SELECT 1 FROM OPENJSON(d.doc) WITH (a int) AS j WHERE j.a = 2)",
			"[id int not null]\n1\n(1)\n",
		},
		{
			"SELECT d.id, t.a FROM dbo.docs AS d CROSS APPLY (SELECT TOP (1) j.a FROM OPENJSON(d.doc) WITH (a int) AS j ORDER BY j.a DESC) AS t",
			"[id int not null, a int]\n1 | 2\n4 | NULL\n(2)\n",
		},
		{"SELECT SUM(g.value) AS n FROM GENERATE_SERIES(1, 10000) AS g", "[n int]\n50005000\n(1)\n"},
	} {
		got := batchOutput(t, s, c.sql)
		if strings.HasPrefix(c.want, "Msg") {
			require.Contains(t, got, c.want, c.sql)
			continue
		}
		require.Equal(t, withoutNullability(c.want), withoutNullability(got), c.sql)
	}
}

// TestWideRowset has more columns than the virtual table of rowsets.
func TestWideRowset(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	var cols, members []string
	for i := range 100 {
		cols = append(cols, fmt.Sprintf("c%d nvarchar(20)", i))
		members = append(members, fmt.Sprintf("%q: \"v%d\"", fmt.Sprintf("c%d", i), i))
	}
	doc := "[{" + strings.Join(members, ",") + "},{\"c99\": \"a:b;\\u0000é\"}]"
	got := batchOutput(t, s,
		fmt.Sprintf("SELECT j.c0, j.c63, j.c64, j.c99 FROM OPENJSON(N'%s') WITH (%s) AS j ORDER BY j.c0 DESC", doc,
			strings.Join(cols, ", ")))
	require.Equal(t,
		"[c0 nvarchar(20), c63 nvarchar(20), c64 nvarchar(20), c99 nvarchar(20)]\nv0 | v63 | v64 | v99\nNULL | NULL | NULL | a:b;\x00é\n(2)\n",
		got)
}

// TestRowsetOutlivesRollback reads a rowset after the end of the transaction in which it was first
// read.
func TestRowsetOutlivesRollback(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s,
		"CREATE TABLE dbo.kept (v int NOT NULL); BEGIN TRAN; INSERT INTO dbo.kept SELECT value FROM GENERATE_SERIES(1, 3); ROLLBACK")
	const counts = "SELECT COUNT(*) AS n FROM dbo.kept; SELECT COUNT(*) AS n FROM GENERATE_SERIES(1, 2)"
	require.Equal(t, "[n int]\n0\n(1)\n[n int]\n2\n(1)\n", withoutNullability(batchOutput(t, s, counts)))
	o := workSession(t, inst)
	must(t, o,
		"BEGIN TRAN; INSERT INTO dbo.kept VALUES (7); SAVE TRAN point; INSERT INTO dbo.kept SELECT value FROM GENERATE_SERIES(1, 3); ROLLBACK TRAN point; INSERT INTO dbo.kept SELECT value FROM GENERATE_SERIES(1, 3); COMMIT")
	require.Equal(t, "[n int]\n4\n(1)\n[n int]\n2\n(1)\n", withoutNullability(batchOutput(t, o, counts)))
	must(t, o, "BEGIN TRAN; INSERT INTO dbo.kept SELECT value FROM GENERATE_SERIES(1, 3); ROLLBACK")
	require.Equal(t, "[n int]\n4\n(1)\n[n int]\n2\n(1)\n", withoutNullability(batchOutput(t, o, counts)))
}
