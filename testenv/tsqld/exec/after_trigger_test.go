package exec

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/catalog"
	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// batches runs batches, which are separated by lines with GO, and requires that they succeed.
func batches(t *testing.T, s *Session, text string) {
	t.Helper()
	for batch := range strings.SplitSeq(text, "\nGO\n") {
		must(t, s, batch)
	}
}

// TestAfterTriggerRows: inserted and deleted have the rows before and after the change.
func TestAfterTriggerRows(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY, a varchar(10), twice AS id * 2, b decimal(9,2) NULL DEFAULT 1.5)
CREATE TABLE log (n int IDENTITY, what varchar(20), id int, a varchar(10), twice int, b decimal(9,2))
GO
CREATE TRIGGER tr ON t AFTER INSERT, UPDATE, DELETE AS
SET NOCOUNT ON
INSERT log (what, id, a, twice, b) SELECT 'deleted', id, a, twice, b FROM deleted
INSERT log (what, id, a, twice, b) SELECT 'inserted', i.id, i.a, i.twice, i.b FROM inserted AS i`)
	logged := func() string {
		return must(t, s, "SELECT what, id, a, twice, b FROM log ORDER BY n; DELETE log")
	}
	head := "[what varchar(20), id int, a varchar(10), twice int, b decimal(9,2)]\n"
	require.Equal(t, "(2)\n", must(t, s, "INSERT t (id, a) VALUES (1, 'x'), (2, NULL)"))
	require.Equal(t, head+"inserted | 1 | x | 2 | 1.50\ninserted | 2 | NULL | 4 | 1.50\n(2)\n(2)\n", logged())
	require.Equal(t, "(2)\n", must(t, s, "UPDATE t SET a = 'y', b = b + id"))
	require.Equal(t, head+"deleted | 1 | x | 2 | 1.50\ndeleted | 2 | NULL | 4 | 1.50\n"+
		"inserted | 1 | y | 2 | 2.50\ninserted | 2 | y | 4 | 3.50\n(4)\n(4)\n", logged())
	require.Equal(t, "(1)\n", must(t, s, "UPDATE t SET id = 7 WHERE id = 1"))
	require.Equal(t, head+"deleted | 1 | y | 2 | 2.50\ninserted | 7 | y | 14 | 2.50\n(2)\n(2)\n", logged())
	require.Equal(t, "(2)\n", must(t, s, "DELETE t"))
	require.Equal(t, head+"deleted | 2 | y | 4 | 3.50\ndeleted | 7 | y | 14 | 2.50\n(2)\n(2)\n", logged())
	require.Equal(t, "(2)\n", must(t, s, `INSERT t (id, a) SELECT 3, 'z' UNION ALL SELECT 4, 'w'`))
	require.Equal(t, "(3)\n", must(t, s, `MERGE t USING (VALUES (3, 'm'), (5, 'n')) AS s (id, a) ON s.id = t.id
WHEN MATCHED THEN UPDATE SET a = s.a WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, s.a)
WHEN NOT MATCHED BY SOURCE THEN DELETE;`))
	require.Contains(t, logged(), "inserted | 5 | n | 10 | 1.50")
	require.Equal(t, "(2)\n", must(t, s, "INSERT t (id, a) EXEC (N'SELECT 8, ''e'' UNION ALL SELECT 9, ''f''')"))
	require.Equal(t, head+"inserted | 8 | e | 16 | 1.50\ninserted | 9 | f | 18 | 1.50\n(2)\n(2)\n", logged())
	must(t, s, "TRUNCATE TABLE t")
	require.Equal(t, head+"(0)\n(0)\n", logged())
	must(t, s, "ALTER TABLE t ADD c int NULL; ALTER TABLE t ALTER COLUMN a nvarchar(20) NULL")
	must(t, s, "INSERT t (id, a, c) VALUES (11, N'after', 5)")
	require.Equal(t, head+"inserted | 11 | after | 22 | 1.50\n(1)\n(1)\n", logged())
	must(t, s, "DISABLE TRIGGER tr ON t; UPDATE t SET c = 6; ENABLE TRIGGER ALL ON t")
	require.Equal(t, head+"(0)\n(0)\n", logged())
	must(t, s, "UPDATE t SET c = 7 WHERE 1 = 0") // fires without rows
	must(t, s, "DROP TRIGGER tr; DELETE t")
	require.Equal(t, head+"(0)\n(0)\n", logged())
}

// TestAfterTriggerFunctions: UPDATE(), COLUMNS_UPDATED(), @@ROWCOUNT, TRIGGER_NESTLEVEL(), identity
// values and names in a trigger.
func TestAfterTriggerFunctions(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int IDENTITY(10, 1) PRIMARY KEY, a int, b int, c AS a + b, r rowversion)
CREATE TABLE log (n int IDENTITY(500, 1), text varchar(200))
GO
CREATE TRIGGER tr ON t FOR INSERT, UPDATE, DELETE AS
DECLARE @rows int = @@ROWCOUNT
INSERT log SELECT CONCAT(@rows, ' ', IIF(UPDATE(a), 'a', ''), IIF(UPDATE(b) OR UPDATE(id), 'b', ''), ' ', CONVERT(varchar(20), COLUMNS_UPDATED(), 1),
  ' ', TRIGGER_NESTLEVEL(), TRIGGER_NESTLEVEL(@@PROCID), TRIGGER_NESTLEVEL(OBJECT_ID('tr'), 'IOT', 'DML'), ' ', OBJECT_NAME(@@PROCID), ' ', @@NESTLEVEL, ' ', @@TRANCOUNT)`)
	last := func() string { return must(t, s, "SELECT TOP (1) text FROM log ORDER BY n DESC") }
	head := "[text varchar(200)]\n"
	require.Equal(t, "(1)\n(3)\n[i numeric(38,0), g numeric(38,0), n int not null]\n12 | 500 | 3\n(1)\n",
		must(t, s, "INSERT t (a, b) VALUES (1, 1), (2, 2), (3, 3) SELECT SCOPE_IDENTITY() AS i, @@IDENTITY AS g, @@ROWCOUNT AS n"))
	require.Equal(t, head+"3 ab 0x1F 110 tr 1 1\n(1)\n", last())
	must(t, s, "UPDATE t SET b = 1")
	require.Equal(t, head+"3 b 0x04 110 tr 1 1\n(1)\n", last())
	must(t, s, "BEGIN TRAN; BEGIN TRAN; UPDATE TOP (2) t SET a = 1; COMMIT; COMMIT")
	require.Equal(t, head+"2 a 0x02 110 tr 1 2\n(1)\n", last())
	must(t, s, "DELETE t WHERE id = 0")
	require.Equal(t, head+"0  0x 110 tr 1 1\n(1)\n", last())
	require.Contains(t, batchOutput(t, s, "SELECT COLUMNS_UPDATED()"), "Msg 140")
	require.Contains(t, batchOutput(t, s, "IF UPDATE(a) PRINT 1"), "Msg 140")
	require.Contains(t, batchOutput(t, s, "SELECT * FROM inserted"), "Msg 208")
	require.Equal(t, "[n int]\n0\n(1)\n", must(t, s, "SELECT TRIGGER_NESTLEVEL() AS n"))
	batches(t, s, `CREATE OR ALTER TRIGGER tr ON t AFTER UPDATE AS UPDATE inserted SET a = 1`)
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 1"), "Msg 286")
	batches(t, s, `CREATE OR ALTER TRIGGER tr ON t AFTER UPDATE AS IF UPDATE(c) PRINT 1`)
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 1"), "Msg 2114")
	batches(t, s, `CREATE OR ALTER TRIGGER tr ON t AFTER UPDATE AS EXEC (N'SELECT * FROM inserted')`)
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 1"), "Msg 208")
}

// TestAfterTriggerTransaction: ROLLBACK, errors and transactions in a trigger.
func TestAfterTriggerTransaction(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int)
CREATE TABLE log (id int)
INSERT t VALUES (1, 1)
GO
CREATE TRIGGER tr ON t AFTER UPDATE AS
BEGIN
  SET NOCOUNT ON
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 13)
  BEGIN
    ROLLBACK TRANSACTION
    INSERT log SELECT id FROM inserted
    RETURN
  END
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 14) THROW 50014, N'thrown', 1
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 15) RAISERROR(N'raised', 16, 1)
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 16) INSERT t VALUES (1, 1)
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 17)
  BEGIN TRY INSERT t VALUES (1, 1) END TRY BEGIN CATCH PRINT N'caught' END CATCH
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 18) COMMIT
  IF EXISTS (SELECT 1 FROM inserted WHERE a = 19) BEGIN SET XACT_ABORT OFF; INSERT t VALUES (1, 1) END
END`)
	value := func() string { return must(t, s, "SELECT MAX(a) AS a FROM t") }
	is := func(n string) string { return "[a int]\n" + n + "\n(1)\n" }
	const ended = "Msg 3609, Level 16, State 1, Line 1: The transaction ended in the trigger. The batch has been aborted."

	out := batchOutput(t, s, "UPDATE t SET a = 13; SELECT 7 AS goes_on")
	require.Contains(t, out, ended)
	require.NotContains(t, out, "goes_on")
	require.Equal(t, is("1"), value())
	require.Equal(t, "[n int not null, c int]\n0 | 0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT AS n, COUNT(*) AS c FROM log"))

	out = batchOutput(t, s, "BEGIN TRAN; INSERT t VALUES (2, 2); UPDATE t SET a = 13 WHERE id = 1; SELECT 7 AS goes_on")
	require.Contains(t, out, ended)
	require.NotContains(t, out, "goes_on")
	require.Equal(t, is("1"), value())

	out = batchOutput(t, s, `BEGIN TRY UPDATE t SET a = 13 END TRY
BEGIN CATCH SELECT ERROR_NUMBER() AS e, @@TRANCOUNT AS n, XACT_STATE() AS x END CATCH`)
	require.Contains(t, out, "3609 | 0 | 0")

	for _, n := range []string{"14", "16"} {
		out = batchOutput(t, s, "UPDATE t SET a = "+n+"; SELECT 7 AS goes_on")
		require.Contains(t, out, ", tr Line", n)
		require.NotContains(t, out, "goes_on", n)
		require.Equal(t, is("1"), value(), n)
		out = batchOutput(t, s, "BEGIN TRAN; UPDATE t SET a = "+n+"; SELECT 7 AS goes_on")
		require.NotContains(t, out, "goes_on", n)
		require.Equal(t, "[n int not null]\n0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT AS n"), n)
		out = batchOutput(t, s, "BEGIN TRAN; BEGIN TRY UPDATE t SET a = "+n+` END TRY
BEGIN CATCH SELECT ERROR_PROCEDURE() AS p, @@TRANCOUNT AS n, XACT_STATE() AS x; ROLLBACK END CATCH`)
		require.Contains(t, out, "tr | 1 | -1", n)
		require.Equal(t, is("1"), value(), n)
	}
	out = batchOutput(t, s, "UPDATE t SET a = 15; SELECT 7 AS goes_on")
	require.Contains(t, out, "raised")
	require.Contains(t, out, "goes_on")
	require.Equal(t, is("15"), value())
	out = batchOutput(t, s, "BEGIN TRAN; UPDATE t SET a = 17; SELECT 7 AS goes_on")
	require.Contains(t, out, "Msg 3616")
	require.NotContains(t, out, "goes_on")
	require.Equal(t, is("15"), value())
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 18"), "Msg 3609")
	require.Equal(t, is("18"), value())
	out = batchOutput(t, s, "UPDATE t SET a = 19; SELECT 7 AS goes_on")
	require.Contains(t, out, "Msg 2627")
	require.Contains(t, out, "goes_on")
	require.Equal(t, is("19"), value())
	require.Equal(t, "[n int not null]\n0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT AS n"))
}

// TestAfterTriggerNesting: triggers fire triggers, up to 32 levels, but not themselves unless
// RECURSIVE_TRIGGERS is ON.
func TestAfterTriggerNesting(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int NOT NULL PRIMARY KEY, a int)
CREATE TABLE u (id int NOT NULL PRIMARY KEY, a int)
INSERT t VALUES (1, 0); INSERT u VALUES (1, 0)
GO
CREATE TRIGGER tr ON t AFTER UPDATE AS IF (SELECT a FROM inserted) < 5 UPDATE t SET a = a + 1`)
	must(t, s, "UPDATE t SET a = 1")
	require.Equal(t, "[a int]\n2\n(1)\n", must(t, s, "SELECT a FROM t"))
	must(t, s, "ALTER DATABASE CURRENT SET RECURSIVE_TRIGGERS ON")
	must(t, s, "UPDATE t SET a = 1")
	require.Equal(t, "[a int]\n5\n(1)\n", must(t, s, "SELECT a FROM t"))
	must(t, s, "ALTER DATABASE CURRENT SET RECURSIVE_TRIGGERS OFF")
	batches(t, s, `ALTER TRIGGER tr ON t AFTER UPDATE AS UPDATE u SET a = a + 1
GO
CREATE TRIGGER ur ON u AFTER UPDATE AS UPDATE t SET a = a + 1`)
	out := batchOutput(t, s, "UPDATE t SET a = 1")
	require.Contains(t, out, "Msg 217")
	require.Equal(t, "[a int]\n5\n(1)\n", must(t, s, "SELECT a FROM t"))
	batches(t, s, `ALTER TRIGGER ur ON u AFTER UPDATE AS IF TRIGGER_NESTLEVEL() < 5 UPDATE t SET a = a + 1`)
	must(t, s, "UPDATE t SET a = 1")
	require.Equal(t, "[a int, b int]\n3 | 3\n(1)\n", must(t, s, "SELECT a, (SELECT a FROM u) AS b FROM t"))
}

// TestAfterTriggerCascade: rows that foreign keys change fire the triggers of their table, before
// those of the target.
func TestAfterTriggerCascade(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE p (id int NOT NULL PRIMARY KEY)
CREATE TABLE c (id int NOT NULL PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE ON UPDATE CASCADE)
CREATE TABLE g (id int NOT NULL PRIMARY KEY, c int REFERENCES c ON DELETE SET NULL)
CREATE TABLE log (n int IDENTITY, text varchar(50))
INSERT p VALUES (1), (2); INSERT c VALUES (10, 1), (11, 1); INSERT g VALUES (100, 10)
GO
CREATE TRIGGER pr ON p AFTER DELETE, UPDATE AS INSERT log SELECT CONCAT('p ', (SELECT COUNT(*) FROM deleted))
GO
CREATE TRIGGER cr ON c AFTER DELETE, UPDATE AS INSERT log SELECT CONCAT('c ', (SELECT COUNT(*) FROM deleted), ' ', (SELECT MAX(p) FROM inserted), IIF(UPDATE(p), ' p', ''))
GO
CREATE TRIGGER gr ON g AFTER UPDATE AS INSERT log SELECT CONCAT('g ', (SELECT COUNT(*) FROM inserted WHERE c IS NULL), IIF(UPDATE(c), ' c', ''))`)
	logged := func() string {
		return must(t, s, "SET NOCOUNT ON; SELECT text FROM log ORDER BY n; DELETE log; SET NOCOUNT OFF")
	}
	must(t, s, "UPDATE p SET id = 5 WHERE id = 1")
	require.Equal(t, "[text varchar(50)]\nc 2 5 p\np 1\n", logged())
	must(t, s, "DELETE p WHERE id = 2")
	require.Equal(t, "[text varchar(50)]\np 1\n", logged())
	must(t, s, "DELETE p")
	require.Equal(t, "[text varchar(50)]\ng 1 c\nc 2 \np 1\n", logged())
}

// TestTriggersAndOutput: OUTPUT without INTO is refused on a table with an enabled trigger for the
// action, and OUTPUT INTO such a table.
func TestTriggersAndOutput(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int); CREATE TABLE u (id int)
GO
CREATE TRIGGER tr ON t AFTER INSERT AS PRINT 'fired'`)
	require.Contains(t, batchOutput(t, s, "INSERT t OUTPUT inserted.id VALUES (1)"), "Msg 334")
	require.Contains(t, batchOutput(t, s, "MERGE t USING (SELECT 1 AS id) AS s ON 1 = 0 WHEN NOT MATCHED THEN INSERT VALUES (1) OUTPUT $action;"), "Msg 334")
	must(t, s, "UPDATE t SET id = 1 OUTPUT inserted.id")
	require.Equal(t, "print: fired\n(1)\n[id int]\n1\n(1)\n", must(t, s,
		"DECLARE @t TABLE (id int); INSERT t OUTPUT inserted.id INTO @t VALUES (1); SELECT * FROM @t"))
	require.Contains(t, batchOutput(t, s, "INSERT u OUTPUT inserted.id INTO t VALUES (1)"), "Msg 331")
	must(t, s, "DISABLE TRIGGER tr ON t; INSERT t OUTPUT inserted.id VALUES (1); INSERT u OUTPUT inserted.id INTO t VALUES (1)")
}

// TestTriggersAreKept: triggers run after a restart, also those in a file of a version that did not
// run triggers, and in databases made from an image.
func TestTriggersAreKept(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Instance, *Session) {
		inst, err := New(session.Config{Dir: dir, SAPassword: "secret"})
		require.NoError(t, err)
		return inst, openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	}
	end := func(inst *Instance, s *Session) {
		require.NoError(t, s.Close())
		require.NoError(t, inst.Close())
	}
	inst, s := open()
	batches(t, s, `CREATE DATABASE work
GO
USE work; CREATE TABLE t (a int)
GO
CREATE VIEW v AS SELECT a FROM t WHERE a > 0 WITH CHECK OPTION
GO
CREATE VIEW w AS SELECT a FROM t
GO
CREATE TRIGGER tr ON t AFTER INSERT AS PRINT CONCAT('fired ', (SELECT a FROM inserted))
GO
CREATE TRIGGER wr ON w INSTEAD OF DELETE AS PRINT CONCAT('instead ', (SELECT COUNT(*) FROM deleted))`)
	image, err := inst.Image(t.Context(), "work")
	require.NoError(t, err)
	end(inst, s)
	check := func(s *Session) {
		t.Helper()
		require.Equal(t, "print: fired 1\n(1)\n", must(t, s, "DELETE t; INSERT t VALUES (1)")[len("(0)\n"):])
		require.Equal(t, "print: instead 1\n(1)\n", must(t, s, "DELETE w"))
		require.Contains(t, batchOutput(t, s, "INSERT v VALUES (0)"), "Msg 550")
	}
	inst, s = open()
	must(t, s, "USE work")
	check(s)
	require.NoError(t, s.Conn.Databases.Attach(t.Context(), s.DatabaseID))
	row, err := s.Conn.QueryRow(t.Context(), "SELECT name FROM "+catalog.SQLName(s.DatabaseID)+".sqlite_schema WHERE type = 'trigger'", nil)
	require.NoError(t, err)
	_, err = s.Conn.Exec(t.Context(), "DROP TRIGGER "+catalog.SQLName(s.DatabaseID)+"."+row[0].(string), nil)
	require.NoError(t, err)
	require.Equal(t, "print: fired \n(1)\n", must(t, s, "INSERT t VALUES (1)")) // nothing reports the row
	must(t, s, "TRUNCATE TABLE t")
	end(inst, s)

	inst, s = open()
	must(t, s, "USE work")
	check(s)
	require.NoError(t, inst.CreateFrom(t.Context(), "twin", image))
	must(t, s, "USE twin")
	check(s)
	end(inst, s)
}

// TestTriggerOfWideTable: SQLite limits the number of arguments of a function.
func TestTriggerOfWideTable(t *testing.T) {
	s := workSession(t, newInstance(t))
	var columns, values strings.Builder
	for i := range 300 {
		fmt.Fprintf(&columns, ", c%d int", i)
		fmt.Fprintf(&values, ", %d", i)
	}
	must(t, s, "CREATE TABLE t (id int"+columns.String()+")")
	batches(t, s, `CREATE TRIGGER tr ON t AFTER UPDATE AS
SELECT i.c0, i.c99, i.c100, i.c299, d.c299 AS d, IIF(UPDATE(c299), 1, 0) + IIF(UPDATE(c298), 2, 0) AS u, DATALENGTH(COLUMNS_UPDATED()) AS l
FROM inserted AS i JOIN deleted AS d ON d.id = i.id`)
	must(t, s, "INSERT t VALUES (7"+values.String()+")")
	require.Contains(t, must(t, s, "UPDATE t SET c299 = 5"), "\n0 | 99 | 100 | 5 | 299 | 1 | 38\n")
	must(t, s, "CREATE TABLE lob (id int, x text)")
	must(t, s, "CREATE TRIGGER lr ON lob AFTER INSERT AS SELECT id FROM inserted; SELECT x FROM inserted")
	require.Contains(t, batchOutput(t, s, "INSERT lob VALUES (1, 'x')"), "Msg 311")
	must(t, s, "CREATE OR ALTER TRIGGER lr ON lob INSTEAD OF INSERT AS SELECT x FROM inserted")
	require.Contains(t, must(t, s, "INSERT lob VALUES (1, 'seen')"), "seen")
	must(t, s, "CREATE TABLE none (a AS NEWID())")
	must(t, s, "CREATE TRIGGER nr ON none AFTER INSERT AS SELECT COUNT(a) AS n FROM inserted")
	require.Contains(t, must(t, s, "INSERT none DEFAULT VALUES"), "\n1\n")
	must(t, s, "CREATE OR ALTER TRIGGER nr ON none INSTEAD OF INSERT AS SELECT COUNT(a) AS n FROM inserted")
	require.Contains(t, must(t, s, "INSERT none DEFAULT VALUES"), "\n1\n")
}

// TestTriggersOfSessions: sessions fire the same triggers at the same time.
func TestTriggersOfSessions(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	batches(t, s, `CREATE TABLE t (id int NOT NULL, n int NOT NULL, PRIMARY KEY (id, n)); CREATE TABLE total (id int NOT NULL PRIMARY KEY, n int NOT NULL)
GO
CREATE TRIGGER tr ON t AFTER INSERT, DELETE AS
BEGIN
  SET NOCOUNT ON
  MERGE total AS t USING (SELECT id, SUM(n) AS n FROM (SELECT id, n FROM inserted UNION ALL SELECT id, -n FROM deleted) AS x GROUP BY id) AS s ON s.id = t.id
  WHEN MATCHED THEN UPDATE SET n += s.n WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.n);
END`)
	const sessions = 4
	var group sync.WaitGroup
	for id := range sessions {
		group.Go(func() {
			s := workSession(t, inst)
			for n := range 20 {
				must(t, s, fmt.Sprintf("INSERT t VALUES (%d, %d), (%d, %d)", id, n, id, n+100))
				must(t, s, fmt.Sprintf("DELETE t WHERE id = %d AND n = %d", id, n+100))
			}
		})
	}
	group.Wait()
	require.Equal(t, "[id int not null, n int not null]\n0 | 190\n1 | 190\n2 | 190\n3 | 190\n(4)\n", must(t, s, "SELECT id, n FROM total ORDER BY id"))
}
