package exec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInsteadOfTrigger: a trigger of a view that ends in THROW runs in place of the statement.
func TestInsteadOfTrigger(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE TABLE t (a int); INSERT t VALUES (1)")
	must(t, s, "CREATE VIEW v AS SELECT a, a + 1 AS b FROM t")
	must(t, s, "CREATE TRIGGER readonly ON v INSTEAD OF INSERT, UPDATE, DELETE AS THROW 50099, N'read only', 1;")
	const refused = "Msg 50099, Level 16, State 1, readonly Line 1: read only"
	for _, text := range []string{
		"UPDATE v SET a = 2", "UPDATE v SET b = 2", "UPDATE x SET x.a = 2 FROM v AS x", "UPDATE v SET a = 2 WHERE 1 = 0", "DELETE v", "DELETE FROM x FROM v AS x",
		"INSERT v (a) VALUES (2)", "INSERT v SELECT 1, 2", "INSERT v DEFAULT VALUES",
		"BEGIN TRY DELETE v; END TRY BEGIN CATCH THROW; END CATCH",
	} {
		require.Contains(t, batchOutput(t, s, text), "50099", text)
		require.Equal(t, "[a int]\n1\n(1)\n", must(t, s, "SELECT a FROM t"), text)
	}
	require.Contains(t, batchOutput(t, s, "DELETE v"), refused)
	require.Contains(t, batchOutput(t, s, "UPDATE v SET c = 1"), "Msg 207")
	require.Contains(t, batchOutput(t, s, "MERGE v USING (SELECT 1 AS a) AS s ON s.a = v.a WHEN MATCHED THEN DELETE;"), refused)

	// SET XACT_ABORT is ON in triggers: the error ends the batch and the transaction.
	require.NotContains(t, batchOutput(t, s, "BEGIN TRANSACTION; DELETE v; SELECT 7 AS goes_on"), "goes_on")
	require.Equal(t, "[n int not null]\n0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT AS n"))

	require.Equal(t, "[name nvarchar(128) not null, i bit not null, parent nvarchar(128)]\nreadonly | 1 | v\n(1)\n",
		must(t, s, "SELECT name, is_instead_of_trigger AS i, OBJECT_NAME(parent_id) AS parent FROM sys.triggers"))
	must(t, s, "ALTER VIEW v AS SELECT a FROM t") // keeps its triggers
	require.Contains(t, batchOutput(t, s, "DELETE v"), refused)
	must(t, s, "CREATE OR ALTER TRIGGER readonly ON v INSTEAD OF DELETE AS THROW 50098, N'no delete', 1;")
	require.Contains(t, batchOutput(t, s, "DELETE v"), "Msg 50098")
	require.Equal(t, "(1)\n", must(t, s, "UPDATE v SET a = 1"))
	require.Contains(t, batchOutput(t, s, "CREATE TABLE readonly (a int)"), "Msg 2714")
	must(t, s, "DISABLE TRIGGER readonly ON v")
	require.Equal(t, "(1)\n", must(t, s, "DELETE v"))
	must(t, s, "ENABLE TRIGGER readonly ON v; INSERT t VALUES (1)")
	require.Contains(t, batchOutput(t, s, "DELETE v"), "Msg 50098")
	must(t, s, "DROP TRIGGER readonly")
	require.Equal(t, "(1)\n", must(t, s, "DELETE v"))

	require.Contains(t, batchOutput(t, s, "CREATE TRIGGER late ON v AFTER DELETE AS RETURN"), "Msg 8197")
	must(t, s, "DROP VIEW v")
	require.Equal(t, "[n int]\n0\n(1)\n", must(t, s, "SELECT COUNT(*) AS n FROM sys.triggers"))
}

// TestInsteadOfRows: inserted and deleted of INSTEAD OF triggers on tables.
func TestInsteadOfRows(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE t (id int IDENTITY PRIMARY KEY, a varchar(5) NOT NULL DEFAULT 'd', b AS a + '!', v rowversion)
CREATE TABLE log (n int IDENTITY, text varchar(100))
GO
CREATE TRIGGER ti ON t INSTEAD OF INSERT AS
  INSERT log SELECT CONCAT('i', @@ROWCOUNT, ' ', id, ' ', a, ' ', b) FROM inserted
  INSERT t (a) SELECT UPPER(ISNULL(a, 'null')) FROM inserted
GO
CREATE TRIGGER tu ON t INSTEAD OF UPDATE, DELETE AS
  INSERT log SELECT CONCAT(IIF(UPDATE(a), 'u', 'd'), ' ', d.id, ' ', d.a, ' ', i.a) FROM deleted AS d LEFT JOIN inserted AS i ON i.id = d.id
GO
CREATE TRIGGER ta ON t AFTER INSERT AS INSERT log SELECT CONCAT('after ', id, ' ', a) FROM inserted`)
	logged := func() string {
		return must(t, s, "SET NOCOUNT ON; SELECT text FROM log ORDER BY n; DELETE log; SET NOCOUNT OFF")
	}
	head := "[text varchar(100)]\n"
	must(t, s, "INSERT t (a) VALUES ('x'), (NULL)")
	require.Equal(t, head+"i2 0 x x!\ni2 0  \nafter 1 X\nafter 2 NULL\n", logged())
	must(t, s, "INSERT t DEFAULT VALUES")
	require.Equal(t, head+"i1 0 d d!\nafter 3 D\n", logged())
	must(t, s, "INSERT t (a) SELECT a FROM t WHERE id = 1")
	require.Equal(t, head+"i1 0 X X!\nafter 4 X\n", logged())
	must(t, s, "INSERT t (a) EXEC (N'SELECT ''e'' UNION ALL SELECT ''f''')")
	require.Equal(t, head+"i2 0 e e!\ni2 0 f f!\nafter 5 E\nafter 6 F\n", logged())
	require.Contains(t, batchOutput(t, s, "INSERT t (id, a) VALUES (1, 'x')"), "Msg 544")
	require.Equal(t, "(2)\n(2)\n", must(t, s, "UPDATE t SET a = 'z' WHERE id < 3"))
	require.Equal(t, head+"u 1 X z\nu 2 NULL z\n", logged())
	require.Equal(t, "(2)\n(2)\n", must(t, s, "DELETE TOP (2) t"))
	require.Equal(t, head+"d 1 X \nd 2 NULL \n", logged())
	require.Equal(t, "[n int]\n6\n(1)\n", must(t, s, "SELECT COUNT(*) AS n FROM t"))
	must(t, s, `MERGE t USING (VALUES (1), (77)) AS s (id) ON s.id = t.id WHEN MATCHED THEN UPDATE SET a = 'm'
WHEN NOT MATCHED THEN INSERT (a) VALUES ('new') WHEN NOT MATCHED BY SOURCE AND t.id = 6 THEN DELETE;`)
	require.Equal(t, head+"i3 0 new new!\nafter 7 NEW\nu 1 X m\nd 6 F \n", logged())
	must(t, s, "DISABLE TRIGGER ti ON t")
	require.Contains(t, batchOutput(t, s,
		"MERGE t USING (SELECT 1 AS id) AS s ON s.id = t.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (a) VALUES ('q');"), "Msg 5316")
	require.Contains(t, batchOutput(t, s, "UPDATE t SET a = 'z' OUTPUT inserted.a"), "Msg 334")
}

// TestInsteadOfViewRows: INSTEAD OF triggers make a view over several tables updatable.
func TestInsteadOfViewRows(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE person (id int NOT NULL PRIMARY KEY, name nvarchar(20) NOT NULL)
CREATE TABLE mail (person int NOT NULL REFERENCES person, address varchar(50) NOT NULL)
GO
CREATE VIEW v AS SELECT p.id, p.name, m.address, LEN(p.name) AS length, COUNT(*) OVER () AS n FROM person AS p JOIN mail AS m ON m.person = p.id
GO
CREATE TRIGGER vi ON v INSTEAD OF INSERT AS
BEGIN
  SET NOCOUNT ON
  INSERT person SELECT id, name FROM inserted
  INSERT mail SELECT id, address FROM inserted
END
GO
CREATE TRIGGER vu ON v INSTEAD OF UPDATE AS
BEGIN
  SET NOCOUNT ON
  IF UPDATE(name) UPDATE p SET name = i.name FROM person AS p JOIN inserted AS i ON i.id = p.id
  IF UPDATE(address) UPDATE m SET address = i.address FROM mail AS m JOIN inserted AS i ON i.id = m.person
  IF UPDATE(length) PRINT CONCAT('length ', (SELECT MAX(length) FROM inserted), ' was ', (SELECT MAX(length) FROM deleted))
END
GO
CREATE TRIGGER vd ON v INSTEAD OF DELETE AS
BEGIN
  SET NOCOUNT ON
  DELETE mail WHERE person IN (SELECT id FROM deleted)
  DELETE person WHERE id IN (SELECT id FROM deleted)
END`)
	all := func() string { return must(t, s, "SELECT id, name, address FROM v ORDER BY id") }
	head := "[id int not null, name nvarchar(20) not null, address varchar(50) not null]\n"
	require.Equal(t, "(2)\n", must(t, s, "INSERT v (id, name, address) VALUES (1, N'Ann', 'a@x'), (2, N'Bob', 'b@x')"))
	require.Equal(t, head+"1 | Ann | a@x\n2 | Bob | b@x\n(2)\n", all())
	must(t, s, "INSERT v (address, id, name) SELECT 'c@x', id + 2, name + N'3' FROM person WHERE id = 1")
	must(t, s, "UPDATE v SET address = UPPER(address) WHERE id = 1")
	must(t, s, "UPDATE x SET name = name + N'?', address = 'same' FROM v AS x WHERE x.id = 2")
	require.Equal(t, head+"1 | Ann | A@X\n2 | Bob? | same\n3 | Ann3 | c@x\n(3)\n", all())
	require.Equal(t, "print: length 44 was 4\n(1)\n", must(t, s, "UPDATE v SET length = 44 WHERE id = 3"))
	require.Equal(t, "(2)\n", must(t, s, "DELETE v WHERE id > 1"))
	require.Equal(t, head+"1 | Ann | A@X\n(1)\n", all())
	must(t, s, `MERGE v USING (VALUES (1, N'Zoe'), (9, N'New')) AS s (id, name) ON s.id = v.id WHEN MATCHED THEN UPDATE SET name = s.name
WHEN NOT MATCHED THEN INSERT (id, name, address) VALUES (s.id, s.name, 'n@x');`)
	require.Equal(t, head+"1 | Zoe | A@X\n9 | New | n@x\n(2)\n", all())
	must(t, s, "MERGE v USING (SELECT 1 AS id) AS s ON s.id = v.id WHEN NOT MATCHED BY SOURCE THEN DELETE;")
	require.Equal(t, head+"1 | Zoe | A@X\n(1)\n", all())
	require.Contains(t, batchOutput(t, s, "UPDATE v SET name = N'x' FROM v JOIN person AS p ON p.id = v.id"), "Msg 414")
	require.Contains(t, batchOutput(t, s, "DELETE v FROM v JOIN person AS p ON p.id = v.id"), "Msg 415")
	require.Contains(t, batchOutput(t, s, "INSERT v (nope) VALUES (1)"), "Msg 207")

	// The trigger of a view that can be updated does not fire for its own statements.
	batches(t, s, `CREATE VIEW w AS SELECT id, name FROM person
GO
CREATE TRIGGER wu ON w INSTEAD OF UPDATE AS UPDATE w SET name = UPPER(i.name) FROM w JOIN inserted AS i ON i.id = w.id`)
	must(t, s, "UPDATE w SET name = N'lower'")
	require.Equal(t, head+"1 | LOWER | A@X\n(1)\n", all())
}

// TestTriggerDefinitions: errors of CREATE TRIGGER, the catalog, and the order of triggers.
func TestTriggerDefinitions(t *testing.T) {
	s := workSession(t, newInstance(t))
	batches(t, s, `CREATE TABLE p (id int NOT NULL PRIMARY KEY)
CREATE TABLE t (id int NOT NULL PRIMARY KEY, p int REFERENCES p ON DELETE CASCADE)
GO
CREATE SCHEMA other
GO
CREATE TRIGGER a ON t AFTER INSERT, UPDATE AS PRINT 'a'
GO
CREATE TRIGGER b ON t AFTER INSERT AS PRINT 'b'
GO
CREATE TRIGGER c ON t WITH ENCRYPTION FOR INSERT NOT FOR REPLICATION AS PRINT 'c'
GO
CREATE TRIGGER i ON p INSTEAD OF DELETE AS PRINT 'i'`)
	for text, number := range map[string]string{
		"CREATE TRIGGER x ON t INSTEAD OF DELETE AS RETURN":         "Msg 2113",
		"CREATE TRIGGER x ON p INSTEAD OF UPDATE, DELETE AS RETURN": "Msg 2111",
		"CREATE TRIGGER x ON t AFTER INSERT, INSERT AS RETURN":      "Msg 1034",
		"CREATE TRIGGER other.x ON t AFTER INSERT AS RETURN":        "Msg 2103",
		"CREATE TRIGGER x ON nope AFTER INSERT AS RETURN":           "Msg 8197",
		"CREATE TRIGGER a ON t AFTER INSERT AS RETURN":              "Msg 2714",
		"ALTER TRIGGER x ON t AFTER INSERT AS RETURN":               "Msg 208",
		"ALTER TRIGGER a ON p AFTER INSERT AS RETURN":               "Msg 2110",
		"CREATE TRIGGER x ON t AFTER INSERT AS SELECT @nope":        "Msg 137",
		"ALTER TABLE p ADD q int REFERENCES t ON DELETE CASCADE":    "Msg 1787",
		"EXEC sp_settriggerorder 'nope', 'first', 'INSERT'":         "Msg 15165",
		"EXEC sp_settriggerorder 'b', 'first', 'UPDATE'":            "Msg 15125",
		"EXEC sp_settriggerorder 'b', 'second', 'INSERT'":           "Msg 15600",
		"EXEC sp_settriggerorder 'i', 'first', 'DELETE'":            "Msg 15133",

		"EXEC sp_settriggerorder 'c', 'first', 'INSERT'; EXEC sp_settriggerorder 'b', 'first', 'INSERT'": "Msg 15130",
	} {
		require.Contains(t, batchOutput(t, s, text), number, text)
	}
	must(t, s, "EXEC sp_settriggerorder N'dbo.a', 'LAST', 'INSERT'")
	require.Equal(t, "print: c\nprint: b\nprint: a\n(1)\n", must(t, s, "INSERT t VALUES (1, NULL)"))
	require.Equal(t, "[name nvarchar(128) not null, e nvarchar(60), f bit, l bit, r bit not null]\n"+
		"a | INSERT | 0 | 1 | 0\na | UPDATE | 0 | 0 | 0\nb | INSERT | 0 | 0 | 0\nc | INSERT | 1 | 0 | 1\ni | DELETE | 0 | 0 | 0\n(5)\n",
		must(t, s, `SELECT t.name, e.type_desc AS e, e.is_first AS f, e.is_last AS l, t.is_not_for_replication AS r
FROM sys.triggers AS t JOIN sys.trigger_events AS e ON e.object_id = t.object_id ORDER BY t.name, e.type`))
	require.Equal(t, "[a int, b int, c nvarchar(max), d nvarchar(max), n int not null]\n"+
		"1 | 0 | CREATE TRIGGER b ON t AFTER INSERT AS PRINT 'b' | NULL | 1\n(1)\n",
		must(t, s, `SELECT OBJECTPROPERTY(OBJECT_ID('c', 'TR'), 'ExecIsFirstInsertTrigger') AS a, OBJECTPROPERTY(OBJECT_ID('b'), 'ExecIsLastInsertTrigger') AS b,
OBJECT_DEFINITION(OBJECT_ID('b')) AS c, (SELECT definition FROM sys.sql_modules WHERE object_id = OBJECT_ID('c')) AS d, IIF(OBJECT_ID('b', 'P') IS NULL, 1, 0) AS n`))
	require.Equal(t, "[Text nvarchar(255)]\nCREATE TRIGGER b ON t AFTER INSERT AS PRINT 'b'\n(1)\nreturn 0\n", must(t, s, "EXEC sp_helptext 'b'"))
	require.Contains(t, must(t, s, "EXEC sp_helptrigger 't', 'update'"), "\na | dbo | 1 | 0 | 1 | 1 | 0 | dbo\n")
	must(t, s, "ALTER TRIGGER a ON t AFTER INSERT AS PRINT 'new a'") // is no longer the last one
	require.Equal(t, "print: c\nprint: new a\nprint: b\n(1)\n", must(t, s, "INSERT t VALUES (2, NULL)"))
	must(t, s, "CREATE USER u WITHOUT LOGIN; GRANT INSERT ON t TO u")
	require.Contains(t, batchOutput(t, s, "EXECUTE AS USER = 'u'; DROP TRIGGER a"), "Msg 3701")
	must(t, s, "REVERT")
	batches(t, s, `ALTER TRIGGER c ON t WITH EXECUTE AS OWNER AFTER INSERT AS PRINT USER_NAME()
GO
DROP TRIGGER a, b`)
	require.Equal(t, "print: dbo\n(1)\n", must(t, s, "EXECUTE AS USER = 'u'; INSERT t VALUES (3, NULL); REVERT"))
	must(t, s, "DROP TABLE t, p")
	require.Equal(t, "[n int]\n0\n(1)\n", must(t, s, "SELECT COUNT(*) AS n FROM sys.triggers"))
}
