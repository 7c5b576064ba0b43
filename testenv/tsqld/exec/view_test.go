package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUpdatableViews: INSERT, UPDATE, DELETE and MERGE through views, and the views that cannot be
// updated.
func TestUpdatableViews(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int IDENTITY PRIMARY KEY, a int NOT NULL, b varchar(10) DEFAULT 'd', c AS a * 2)
CREATE TABLE u (id int PRIMARY KEY, t int REFERENCES t)
GO
CREATE VIEW v AS SELECT id AS number, a AS x, b AS y, c AS twice FROM t WHERE a > 0
GO
CREATE VIEW w (x, y, z) AS SELECT x, y, x + 1 FROM v WHERE x < 100
GO
CREATE VIEW j AS SELECT u.id, u.t, t.a FROM u JOIN t ON t.id = u.t
GO
CREATE VIEW d AS SELECT DISTINCT a FROM t
GO
CREATE VIEW g AS SELECT a, COUNT(*) AS n FROM t GROUP BY a
GO
CREATE VIEW o AS SELECT a FROM t UNION ALL SELECT a FROM t`)
	all := func() string { return must(t, s, "SELECT * FROM t ORDER BY id") }
	head := "[id int not null, a int not null, b varchar(10), c int]\n"
	require.Equal(t, "(2)\n", must(t, s, "INSERT v (y, x) VALUES ('p', 1), (DEFAULT, -1)"))
	require.Equal(t, "(1)\n", must(t, s, "INSERT v VALUES (3, 'q')"))
	require.Equal(t, "(1)\n", must(t, s, "INSERT w (x) SELECT a + 3 FROM t WHERE id = 1"))
	require.Equal(t, "(1)\n", must(t, s, "INSERT w (y, x) EXEC (N'SELECT ''e'', 200')"))
	require.Equal(t, head+"1 | 1 | p | 2\n2 | -1 | d | -2\n3 | 3 | q | 6\n4 | 4 | d | 8\n5 | 200 | e | 400\n(5)\n", all())
	require.Equal(t, "(2)\n", must(t, s, "UPDATE w SET x = x + 10, y = 'u' WHERE z > 3"))
	require.Equal(t, "(1)\n", must(t, s, "DELETE w WHERE x = 1"))
	must(t, s, `MERGE v USING (VALUES (13, 'm'), (77, 'n')) AS s (x, y) ON s.x = v.x
WHEN MATCHED THEN UPDATE SET y = s.y WHEN NOT MATCHED THEN INSERT (y, x) VALUES (s.y, s.x);`)
	require.Equal(t, head+"2 | -1 | d | -2\n3 | 13 | m | 26\n4 | 14 | u | 28\n5 | 200 | e | 400\n6 | 77 | n | 154\n(5)\n", all())
	must(t, s, "INSERT j (id, t) VALUES (1, 3), (2, 4); UPDATE j SET a = 15 WHERE id = 2")
	require.Equal(t, "[id int not null, t int, a int not null]\n1 | 3 | 13\n2 | 4 | 15\n(2)\n", must(t, s, "SELECT * FROM j ORDER BY id"))
	for text, number := range map[string]string{
		"INSERT w VALUES (1, 'x', 2)":           "Msg 4406",
		"INSERT w (x, z) VALUES (1, 2)":         "Msg 4406",
		"UPDATE w SET z = 1":                    "Msg 4406",
		"INSERT v (x, nope) VALUES (1, 2)":      "Msg 207",
		"INSERT v (x, twice) VALUES (1, 2)":     "Msg 271",
		"INSERT v (number, x) VALUES (1, 2)":    "Msg 544",
		"INSERT v VALUES (1)":                   "Msg 213",
		"INSERT v SELECT 1":                     "Msg 213",
		"INSERT v (y) VALUES ('no x')":          "Msg 515",
		"INSERT j VALUES (3, 3, 3)":             "Msg 4405",
		"UPDATE j SET a = 1, t = 3":             "Msg 4405",
		"DELETE j":                              "Msg 4405",
		"INSERT d VALUES (1)":                   "Msg 4403",
		"UPDATE g SET a = 1":                    "Msg 4403",
		"DELETE g":                              "Msg 4403",
		"INSERT INTO o VALUES (1)":              "Msg 4436",
		"INSERT sys.objects (name) VALUES ('')": "Msg 259",
	} {
		require.Contains(t, batchOutput(t, s, text), number, text)
	}
	// Permissions: on the view, and on the table only if the owner is another one.
	batches(t, s, `CREATE USER u1 WITHOUT LOGIN; GRANT SELECT, INSERT, UPDATE ON v TO u1; GRANT SELECT ON t TO u1`)
	must(t, s, "EXECUTE AS USER = 'u1'; INSERT v (x) VALUES (5); UPDATE v SET y = 'z' WHERE x = 5; REVERT")
	require.Contains(t, batchOutput(t, s, "EXECUTE AS USER = 'u1'; DELETE v"), "Msg 229")
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 1"), "Msg 229")
	must(t, s, "REVERT")
	batches(t, s, `CREATE TRIGGER tr ON t AFTER INSERT AS PRINT CONCAT('fired ', (SELECT a FROM inserted))`)
	require.Equal(t, "print: fired 8\n(1)\n", must(t, s, "INSERT w (x) VALUES (8)"))
}

// TestCheckOption: rows that a view with WITH CHECK OPTION would not show are refused (550).
func TestCheckOption(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int NULL, c AS a * 2)
GO
CREATE VIEW low AS SELECT id, a, a + 0 AS sum, c FROM t WHERE a > 0
GO
CREATE VIEW checked AS SELECT id AS n, a AS x, c FROM low WHERE c < 100 AND sum <> 13 WITH CHECK OPTION
GO
CREATE VIEW above AS SELECT n, x FROM checked WHERE x <> 7
GO
CREATE VIEW few AS SELECT TOP (10) id, a FROM t ORDER BY id WITH CHECK OPTION
GO
CREATE VIEW sub AS SELECT id, a FROM t WHERE id IN (SELECT id FROM t) WITH CHECK OPTION`)
	const refused = "Msg 550"
	for _, text := range []string{
		"INSERT checked (n, x) VALUES (1, 0)", "INSERT checked (n, x) VALUES (1, 1), (2, 50)", "INSERT checked (n) VALUES (1)",
		"INSERT checked (n, x) SELECT 1, 13", "INSERT above (n, x) VALUES (1, -1)",
	} {
		require.Contains(t, batchOutput(t, s, text), refused, text)
	}
	require.Equal(t, "(2)\n", must(t, s, "INSERT checked (n, x) VALUES (1, 1), (2, 49)"))
	require.Equal(t, "(1)\n", must(t, s, "INSERT above (n, x) VALUES (3, 7)")) // above has no CHECK OPTION
	require.Equal(t, "(1)\n", must(t, s, "INSERT low (id, a) VALUES (4, -4)"))
	for _, text := range []string{
		"UPDATE checked SET x = 0", "UPDATE checked SET x = x + 10", "UPDATE above SET x = NULL WHERE n = 1", "UPDATE c SET x = 13 FROM checked AS c WHERE n = 2",
	} {
		require.Contains(t, batchOutput(t, s, text), refused, text)
	}
	require.Equal(t, "(3)\n", must(t, s, "UPDATE checked SET x = 5"))
	require.Equal(t, "(1)\n", must(t, s, "UPDATE checked SET n = 10 WHERE n = 1"))
	require.Equal(t, "(3)\n", must(t, s, "DELETE checked"))
	require.Contains(t, batchOutput(t, s, "UPDATE few SET a = 1"), "Msg 4427")
	require.Contains(t, batchOutput(t, s, "UPDATE sub SET a = 1"), "Msg 40517")
	require.Contains(t, batchOutput(t, s, "CREATE VIEW x AS SELECT COUNT(*) AS n FROM t WITH CHECK OPTION"), "Msg 4510")
	require.Contains(t, batchOutput(t, s, "CREATE TRIGGER x ON checked INSTEAD OF UPDATE AS RETURN"), "Msg 2112")
	require.Equal(t, "[a bit not null, b varchar(7)]\n1 | CASCADE\n(1)\n", must(t, s, `SELECT v.with_check_option AS a, i.CHECK_OPTION AS b
FROM sys.views AS v JOIN INFORMATION_SCHEMA.VIEWS AS i ON i.TABLE_NAME = v.name WHERE v.name = 'checked'`))
}

// TestTriggerSavepoints: a trigger can roll back to savepoints of its own and to those before its
// statement.
func TestTriggerSavepoints(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (a int); CREATE TABLE log (a int)
GO
CREATE TRIGGER tr ON t AFTER INSERT AS
SET NOCOUNT ON
SAVE TRANSACTION inside
INSERT log VALUES (1)
ROLLBACK TRANSACTION inside
INSERT log VALUES (2)
IF (SELECT MAX(a) FROM inserted) = 5
BEGIN
  ROLLBACK TRANSACTION outside
  INSERT log SELECT a FROM inserted
END`)
	must(t, s, "INSERT t VALUES (1)")
	must(t, s, "BEGIN TRAN; INSERT t VALUES (2); SAVE TRANSACTION outside; INSERT t VALUES (3); INSERT t VALUES (5); INSERT t VALUES (4); COMMIT")
	require.Equal(t, "[a int]\n1\n2\n4\n(3)\n", must(t, s, "SELECT a FROM t ORDER BY a"))
	require.Equal(t, "[a int]\n2\n2\n5\n2\n(4)\n", must(t, s, "SELECT a FROM log"))
	require.Contains(t, batchOutput(t, s, "BEGIN TRAN; INSERT t VALUES (1); ROLLBACK TRANSACTION inside"), "Msg 6401")
	must(t, s, "ROLLBACK")
}
