package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUpdateJoined updates tables in FROM, in joins of every kind.
func TestUpdateJoined(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	const rows = "SELECT t.id, t.a, t.b FROM dbo.t AS t ORDER BY t.id"
	for _, c := range []struct{ name, sql, want string }{
		{"Alone", "UPDATE x SET x.a = x.b, x.b = x.a FROM dbo.t AS x WHERE x.id > 1", "1 | 10 | one\n2 | NULL | 20\n"},
		{
			"OwnQuery", "UPDATE x SET x.a = (SELECT SUM(o.a) FROM dbo.t AS o WHERE o.id <> x.id) FROM dbo.t AS x",
			"1 | 50 | one\n2 | 40 | two\n3 | 30 | three\n",
		},
		{
			"OwnQueryWithoutFrom", "UPDATE dbo.t SET a = (SELECT SUM(o.a) FROM dbo.t AS o WHERE o.id <> t.id)",
			"1 | 50 | one\n2 | 40 | two\n3 | 30 | three\n",
		},
		{
			"Inner",
			"UPDATE x SET x.a = x.a + v.n, x.b = v.s FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id WHERE v.n > 1",
			"1 | 10 | one\n2 | 22 | zwei\n3 | 33 | drei\n",
		},
		{
			"TargetFirst", "UPDATE x SET x.a = v.n FROM dbo.t AS x INNER JOIN @v AS v ON v.id = x.id AND x.a >= 20",
			"1 | 10 | one\n2 | 2 | two\n3 | 3 | three\n",
		},
		{
			"Three",
			"UPDATE x SET x.b = w.s FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id INNER JOIN @v AS w ON w.id = x.id AND w.n = v.n WHERE x.b LIKE N't%'",
			"1 | 10 | one\n2 | 20 | zwei\n3 | 30 | drei\n",
		},
		{
			"Comma", "UPDATE dbo.t SET a = v.n FROM @v AS v, dbo.t AS x WHERE v.id = x.id AND x.id = 1",
			"1 | 1 | one\n2 | 20 | two\n3 | 30 | three\n",
		},
		{
			"SelfJoin", "UPDATE x SET x.a = y.a FROM dbo.t AS x INNER JOIN dbo.t AS y ON y.id = x.id + 1",
			"1 | 20 | one\n2 | 30 | two\n3 | 30 | three\n",
		},
		{
			"Left", "UPDATE x SET x.b = v.s FROM dbo.t AS x LEFT JOIN @v AS v ON v.id = x.id AND v.n = 2",
			"1 | 10 | NULL\n2 | 20 | zwei\n3 | 30 | NULL\n",
		},
		{
			"LeftBehind",
			"UPDATE x SET x.b = w.s FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id LEFT JOIN @v AS w ON w.id = x.id AND w.n = 3",
			"1 | 10 | NULL\n2 | 20 | NULL\n3 | 30 | drei\n",
		},
		{
			"Apply",
			"UPDATE x SET x.b = j.value FROM dbo.t AS x CROSS APPLY STRING_SPLIT(x.b, N'e') AS j WHERE x.id = 2",
			"1 | 10 | one\n2 | 20 | two\n3 | 30 | three\n",
		},
		{
			"Json",
			"UPDATE x SET x.a = j.n FROM dbo.t AS x INNER JOIN OPENJSON(N'[{\"id\":3,\"n\":7}]') WITH (id int, n int) AS j ON j.id = x.id",
			"1 | 10 | one\n2 | 20 | two\n3 | 7 | three\n",
		},
		{
			"Derived",
			"UPDATE x SET x.a = d.total FROM dbo.t AS x INNER JOIN (SELECT v.id % 2 AS odd, SUM(v.n) AS total FROM @v AS v GROUP BY v.id % 2) AS d ON d.odd = x.id % 2",
			"1 | 4 | one\n2 | 2 | two\n3 | 4 | three\n",
		},
		{
			"Top", "UPDATE TOP (1) x SET x.a = v.n FROM dbo.t AS x INNER JOIN @v AS v ON v.id = x.id WHERE x.id = 2",
			"1 | 10 | one\n2 | 2 | two\n3 | 30 | three\n",
		},
		{
			"Output",
			"UPDATE x SET x.a = v.n OUTPUT deleted.a, inserted.a, v.s FROM dbo.t AS x INNER JOIN @v AS v ON v.id = x.id WHERE x.id = 3",
			"1 | 10 | one\n2 | 20 | two\n3 | 3 | three\n",
		},
		{
			"TableVariable",
			"UPDATE v SET v.n = x.a FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id; UPDATE x SET x.a = v.n + 1 FROM @v AS v INNER JOIN dbo.t AS x ON x.id = v.id",
			"1 | 11 | one\n2 | 21 | two\n3 | 31 | three\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			must(t, s,
				"DROP TABLE IF EXISTS dbo.t; CREATE TABLE dbo.t (id int NOT NULL PRIMARY KEY, a int NULL, b nvarchar(10) NULL); INSERT INTO dbo.t VALUES (1, 10, N'one'), (2, 20, N'two'), (3, 30, N'three')")
			if c.name == "Alone" {
				must(t, s,
					"ALTER TABLE dbo.t ALTER COLUMN a nvarchar(10) NULL; UPDATE dbo.t SET b = NULL WHERE id = 2; DELETE FROM dbo.t WHERE id = 3")
			}
			must(t, s,
				"DECLARE @v TABLE (id int NOT NULL PRIMARY KEY, n int NOT NULL, s nvarchar(10) NULL); INSERT INTO @v VALUES (1, 1, N'eins'), (2, 2, N'zwei'), (3, 3, N'drei'); "+c.sql)
			got := must(t, s, rows)
			require.Contains(t, got, "\n"+c.want+"(")
		})
	}
}

// TestTableVariableIsEmpty declares a variable several times. Rollbacks restore rows of its earlier
// declarations.
func TestTableVariableIsEmpty(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	must(t, s, `CREATE TABLE dbo.kept (v int NOT NULL);`)
	must(t, s, `CREATE PROCEDURE dbo.fills @rows int AS
		DECLARE @v TABLE (id int NOT NULL IDENTITY(1, 1), n int NOT NULL);
		SELECT COUNT(*) AS before FROM @v;
		INSERT INTO @v SELECT value FROM GENERATE_SERIES(1, @rows);
		SELECT MAX(id) AS after FROM @v;`)
	const first = "[before int]\n0\n(1)\n(2)\n[after int]\n2\n(1)\n"
	for _, sql := range []string{
		"EXEC dbo.fills 2",
		"EXEC dbo.fills 2",
		"BEGIN TRAN; INSERT INTO dbo.kept VALUES (1); EXEC dbo.fills 2; ROLLBACK",
		"EXEC dbo.fills 2",
		"BEGIN TRAN; INSERT INTO dbo.kept VALUES (1); SAVE TRAN point; EXEC dbo.fills 2; ROLLBACK TRAN point; COMMIT",
		"EXEC dbo.fills 2",
		"BEGIN TRAN; EXEC dbo.fills 2; ROLLBACK",
		"BEGIN TRY; BEGIN TRAN; INSERT INTO dbo.kept VALUES (1); EXEC dbo.fills 2; THROW 50000, N'x', 1; END TRY BEGIN CATCH; ROLLBACK; END CATCH",
		"EXEC dbo.fills 2",
	} {
		require.Contains(t, withoutNullability(must(t, s, sql)), first, sql)
	}
	must(t, s,
		"DECLARE @v TABLE (id int NOT NULL IDENTITY(1, 1), n int NOT NULL); INSERT INTO @v VALUES (5); BEGIN TRAN; INSERT INTO dbo.kept VALUES (1); EXEC dbo.fills 3; ROLLBACK; IF (SELECT COUNT(*) FROM @v) <> 1 THROW 50000, N'lost', 1;")
}

// TestShiftedForeignKeys: keys that foreign keys refer to may exchange values, and references are
// checked at the end of the statement.
func TestShiftedForeignKeys(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY, up int NULL REFERENCES t, name varchar(10) UNIQUE)
CREATE TABLE u (id int NOT NULL PRIMARY KEY, t int REFERENCES t)
CREATE TABLE c (id int NOT NULL PRIMARY KEY, name varchar(10) REFERENCES t (name) ON UPDATE CASCADE)
CREATE TABLE log (n int IDENTITY, text varchar(20))
INSERT t VALUES (1, NULL, 'a'), (2, NULL, 'b'), (3, NULL, 'c'); INSERT u VALUES (10, 2), (20, 3)
GO
CREATE TRIGGER tr ON t AFTER UPDATE AS
INSERT log SELECT CONCAT('-', id) FROM deleted ORDER BY id; INSERT log SELECT CONCAT('+', id) FROM inserted ORDER BY id`)
	must(t, s, "UPDATE t SET id = 5 - id") // 4, 3, 2: 2 and 3 still exist
	require.Equal(t, "[id int not null, name varchar(10)]\n2 | c\n3 | b\n4 | a\n(3)\n", must(t, s, "SELECT id, name FROM t ORDER BY id"))
	require.Equal(t, "[text varchar(20)]\n-1\n-2\n-3\n+2\n+3\n+4\n(6)\n", must(t, s, "SELECT text FROM log ORDER BY n"))
	out := batchOutput(t, s, "UPDATE t SET id = id + 1")
	require.Contains(t, out, "Msg 547")
	require.Contains(t, out, `table "dbo.u", column 't'`)
	out = batchOutput(t, s, "BEGIN TRAN; UPDATE t SET id = id + 1; UPDATE t SET name = 'z' WHERE id = 4; COMMIT")
	require.Contains(t, out, "Msg 547")
	require.Equal(t, "[id int not null, name varchar(10)]\n2 | c\n3 | b\n4 | z\n(3)\n", must(t, s, "SELECT id, name FROM t ORDER BY id"))
	must(t, s, "DELETE u; UPDATE t SET up = 2 WHERE id > 2; UPDATE t SET id = id + 1, up = up + 1")
	require.Equal(t, "[id int not null, up int]\n3 | NULL\n4 | 3\n5 | 3\n(3)\n", must(t, s, "SELECT id, up FROM t ORDER BY id"))
	require.Contains(t, batchOutput(t, s, "UPDATE t SET id = id + 1"), "Msg 547")
	require.Contains(t, batchOutput(t, s, "INSERT u VALUES (1, 77)"), "Msg 547") // keys are checked again
}
