package exec

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/answer"
)

// doneRecorder is a Sink that records the ends of statements.
type doneRecorder struct {
	recorder
	list []string
}

func (e *doneRecorder) Done(d answer.Done) error {
	s := fmt.Sprintf("%#x", uint16(d.Command))
	if d.Count {
		s += fmt.Sprintf(" %d rows", d.Rows)
	}
	e.list = append(e.list, s)
	return nil
}

// TestCommands checks the commands and counts of DONE that SqlClient (TdsEnums) and mssql-jdbc
// (StreamDone) expect, those of a recorded SQL Server 2025, and the effect of SET NOCOUNT on them.
func TestCommands(t *testing.T) {
	s := workSession(t, newInstance(t))
	for _, c := range []struct{ batch, want string }{
		{"CREATE TABLE t (id int PRIMARY KEY, a int)", "0xc6"},
		{"CREATE INDEX i ON t (a)", "0xc8"},
		{"ALTER TABLE t ADD b int", "0xd8"},
		{"INSERT t (id) VALUES (1), (2)", "0xc3 2 rows"},
		{"UPDATE t SET a = 1", "0xc5 2 rows"},
		{"UPDATE t SET a = 1 OUTPUT deleted.id WHERE id = 1", "0xc5 1 rows"},
		{
			"MERGE t USING (VALUES (2), (3)) v(id) ON t.id = v.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (v.id);",
			"0x117 2 rows",
		},
		{"SELECT id FROM t", "0xc1 2 rows"},
		{"SELECT id INTO u FROM t", "0xc2 2 rows"},
		{"INSERT u EXEC ('SELECT 7')", "0xc3 1 rows"},
		{"DECLARE @i int; SELECT @i = id FROM t; SET @i = 1", "0xc1 2 rows 0xc1 1 rows"},
		{"DECLARE @i int = 0; WHILE @i < 1 SET @i += 1", "0xc1 1 rows 0xc0 0xc1 1 rows 0xc0"},
		{"IF 1 = 1 DELETE t WHERE id = 1", "0xc0 0xc4 1 rows"},
		{"SET NOCOUNT ON; DELETE t; DECLARE @i int = 1; SELECT 1; SET NOCOUNT OFF", "0xb9 0xc4 0xc1 0xc1 0xba"},
		{"IF 1 = 1 PRINT 'yes'; WHILE 1 = 1 BREAK; SELECT 1", "0xc0 0xf7 0xc0 0xca 0xc1 1 rows"},
		{"RAISERROR('x', 10, 1); RAISERROR('x', 16, 1); RETURN", "0xf6 0xf6 0xdb"},
		{"THROW 50001, 'x', 1", "0xfd"},
		{"SELECT CAST('x' AS int)", "0xfd"},
		{"SELECT 1/0", "0xc1"},
		{"BEGIN TRY PRINT 'a' END TRY BEGIN CATCH PRINT 'b' END CATCH", "0x15d 0xf7 0x15f"},
		{"BEGIN TRY RAISERROR('x', 16, 1) END TRY BEGIN CATCH END CATCH", "0x15d 0xf6 0x15e 0x15f"},
		{"BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH RETURN END CATCH", "0x15d 0xc1 0 rows 0x15e 0xdb"},
		{"BEGIN TRY BEGIN TRY THROW 50001, 'x', 1 END TRY BEGIN CATCH THROW END CATCH END TRY BEGIN CATCH END CATCH", "0x15d 0x15d 0xf6 0x15e 0xf6 0x15e 0x15f"},
		{"BEGIN TRAN; ROLLBACK", "0xd4 0xd2"},
		{"CREATE SCHEMA s", ""}, {"DROP SCHEMA s", ""}, {"TRUNCATE TABLE t", "0xea"},
		{"DECLARE c CURSOR FOR SELECT id FROM t FOR UPDATE; OPEN c; FETCH c; CLOSE c; DEALLOCATE c", "0xc1 0x20 0xc1 0 rows 0x2b 0x2c"},
		{"INSERT t (id) VALUES (1), (1)", "0xc3"}, // error 2627
		{"CREATE PROCEDURE p AS SELECT 1", "0xde"},
		{"BEGIN TRY INSERT t (id) VALUES (1), (1) END TRY BEGIN CATCH END CATCH", "0x15d 0xc3 0 rows 0x15e 0x15f"},
		{"EXEC p", "0xc1 1 rows 0xe0"},
		{"ALTER PROCEDURE p AS RETURN 1", "0xde"},
		{"EXEC p; EXEC none; EXEC p 1", "0xc1 1 rows 0xe0 0xe0 0xe0"},
		{"EXEC ('SELECT * FROM none'); SELECT 1", "0xe0 0xc1 1 rows"},
		{"EXEC ('EXEC p; THROW 50001, ''x'', 1'); SELECT 1", "0xc1 1 rows 0xe0 0xfd"},
		{"DROP PROCEDURE p; DROP INDEX i ON t; DROP TABLE t", "0xdf 0xc9 0xc7"},
		{"CREATE USER x WITHOUT LOGIN; GRANT SELECT TO x", "0x13b 0xcd"},
	} {
		var e doneRecorder
		require.NoError(t, s.Batch(context.Background(), c.batch, &e))
		require.Equal(t, c.want, strings.Join(e.list, " "), "%s\n%s", c.batch, e.b.String())
	}
	var e doneRecorder
	require.NoError(t, s.Call(context.Background(), Call{Proc: "sp_databases"}, &e))
	require.Equal(t, "0xe0", e.list[len(e.list)-1])
}

// procDoneRecorder is a Sink that records the ends of procedures.
type procDoneRecorder struct {
	recorder
	list []string
}

func (e *procDoneRecorder) Done(d answer.Done) error {
	switch {
	case d.EndProc:
		e.list = append(e.list, "proc")
	case d.InProc:
		e.list = append(e.list, "in")
	default:
		e.list = append(e.list, "done")
	}
	return nil
}

// TestEndsOfExecute: a DONEPROC follows the DONEINPROC of nested statements (MS-TDS 2.2.7.7),
// unless an error ends the batch. EXECUTE in a procedure ends with a DONEINPROC (SQL Server 2025,
// recorded).
func TestEndsOfExecute(t *testing.T) {
	s := workSession(t, newInstance(t))
	must(t, s, "CREATE PROCEDURE fails AS SET XACT_ABORT OFF; THROW 50001, 'no', 1")
	for batch, want := range map[string]string{
		"EXEC ('SELECT 1'); SELECT 2":                                    "in proc done",
		"EXEC ('DECLARE @i int')":                                        "proc",
		"EXEC fails; SELECT 2":                                           "in done",
		"BEGIN TRY EXEC fails END TRY BEGIN CATCH END CATCH; SELECT 2":   "done in in proc done done done",
		"EXEC missing":                                                   "proc",
		"EXEC ('EXEC (''SELECT 1'')')":                                   "in in proc",
		"DECLARE @t TABLE (a int); INSERT @t EXEC ('SELECT 1')":          "done",
		"EXEC ('SELECT 1/0'); SELECT 2":                                  "in proc done",
		"BEGIN TRY EXEC ('SELECT 1/0') END TRY BEGIN CATCH END CATCH":    "done in proc done done",
		"EXEC sp_executesql N'SELECT 1'; EXEC sp_executesql N'SELECT 2'": "in proc in proc",
	} {
		var e procDoneRecorder
		require.NoError(t, s.Batch(context.Background(), batch, &e))
		require.Equal(t, want, strings.Join(e.list, " "), "%s\n%s", batch, e.b.String())
	}
}
