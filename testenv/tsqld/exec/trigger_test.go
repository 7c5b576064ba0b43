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
	require.Contains(t, batchOutput(t, s, "MERGE v USING (SELECT 1 AS a) AS s ON s.a = v.a WHEN MATCHED THEN DELETE;"), "Msg 40517")

	// SET XACT_ABORT is ON in triggers: the error ends the batch and the transaction.
	require.NotContains(t, batchOutput(t, s, "BEGIN TRANSACTION; DELETE v; SELECT 7 AS goes_on"), "goes_on")
	require.Equal(t, "[n int]\n0\n(1)\n", must(t, s, "SELECT @@TRANCOUNT AS n"))

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

	// Triggers that need the rows, or that may end without an error, cannot run.
	for _, body := range []string{"RETURN", "DELETE t", "IF 1 = 1 THROW 50099, N'', 1", "IF EXISTS (SELECT 1 FROM inserted) RETURN; THROW 50099, N'', 1",
		"DECLARE @n int = (SELECT COUNT(*) FROM deleted); THROW 50099, N'', 1", "IF UPDATE(a) PRINT 1; THROW 50099, N'', 1"} {
		must(t, s, "CREATE OR ALTER TRIGGER readonly ON v INSTEAD OF DELETE, UPDATE AS "+body)
		require.Contains(t, batchOutput(t, s, "UPDATE v SET a = 1"), "Msg 40517", body)
	}
	require.Contains(t, batchOutput(t, s, "CREATE TRIGGER late ON v AFTER DELETE AS RETURN"), "Msg 8197")
	must(t, s, "DROP VIEW v")
	require.Equal(t, "[n int not null]\n0\n(1)\n", must(t, s, "SELECT COUNT(*) AS n FROM sys.triggers"))
}
