package controldb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
)

// TestCallersOptions: a public procedure does the same whatever isolation level its caller has set,
// and with IMPLICIT_TRANSACTIONS, which drivers turn on for callers without autocommit. READPAST is
// refused above REPEATABLE READ (650), and TransactionScope of .NET starts with SERIALIZABLE. No
// call leaves a transaction open, and the options of the caller stay as they are: SQL Server
// restores them when a procedure returns
// (https://learn.microsoft.com/sql/t-sql/statements/set-transaction-isolation-level-transact-sql,
// https://learn.microsoft.com/sql/t-sql/statements/set-statements-transact-sql).
func TestCallersOptions(t *testing.T) {
	testenv.Long(t)
	const levels = "SET IMPLICIT_TRANSACTIONS OFF;\nSET TRANSACTION ISOLATION LEVEL "
	for name, set := range map[string]string{
		"Serializable":   levels + "SERIALIZABLE;",
		"Snapshot":       levels + "SNAPSHOT;",
		"RepeatableRead": levels + "REPEATABLE READ;",
		"Implicit":       "SET IMPLICIT_TRANSACTIONS ON;",
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, c *control) {
				conn, err := c.db.Conn(t.Context())
				require.NoError(t, err)
				defer func() { require.NoError(t, conn.Close()) }()
				_, err = conn.ExecContext(t.Context(), set)
				require.NoError(t, err)
				options := func() (list [3]int) {
					require.NoError(t, conn.QueryRowContext(t.Context(), `SELECT @@TRANCOUNT, @@OPTIONS,
    (SELECT s.transaction_isolation_level FROM sys.dm_exec_sessions AS s WHERE s.session_id = @@SPID);`).Scan(&list[0], &list[1], &list[2]))
					return list
				}
				before := options()
				// The query of the options reads a table, and may have begun a transaction.
				_, err = conn.ExecContext(t.Context(), "WHILE @@TRANCOUNT > 0 COMMIT;")
				require.NoError(t, err)
				before[0] = 0
				for _, a := range auditedCalls(t, c, newSecretKey(t)) {
					if a.do != nil {
						require.NoError(t, a.do(t.Context()), a.procedure)
						continue
					}
					_, err := conn.ExecContext(t.Context(), "EXECUTE jobs."+a.procedure+" "+a.call+";")
					require.NoError(t, err, "%s %s", a.procedure, a.call)
					var open int
					require.NoError(t, conn.QueryRowContext(t.Context(), "SELECT @@TRANCOUNT;").Scan(&open))
					require.Zero(t, open, "open transactions after %s", a.procedure)
				}
				after := options()
				after[0] = 0
				require.Equal(t, before, after)
				_, err = conn.ExecContext(t.Context(), "WHILE @@TRANCOUNT > 0 COMMIT; SET IMPLICIT_TRANSACTIONS OFF; SET TRANSACTION ISOLATION LEVEL READ COMMITTED;")
				require.NoError(t, err)
			})
		})
	}
}

// TestCallersTransactionsOfAnyLevel: a procedure works within a transaction of any level, too.
func TestCallersTransactionsOfAnyLevel(t *testing.T) {
	for _, level := range []string{"SERIALIZABLE", "SNAPSHOT", "REPEATABLE READ"} {
		t.Run(level, func(t *testing.T) {
			each(t, func(t *testing.T, c *control) {
				c.exec(t, "ALTER DATABASE CURRENT SET ALLOW_SNAPSHOT_ISOLATION ON;")
				c.exec(t, `EXECUTE jobs.sp_add_target_group N'g';
EXECUTE jobs.sp_add_job N'j';
EXECUTE jobs.sp_add_jobstep N'j', @command = N'SELECT 1', @target_group_name = N'g';
SET TRANSACTION ISOLATION LEVEL `+level+`;
BEGIN TRANSACTION;
EXECUTE jobs.sp_add_schedule N'j', N's', N'cron5', N'0 0 1 1 *', @parameters = N'{"p": "q"}';
EXECUTE jobs.sp_update_schedule N'j', N's', @overlap = N'AllowAll';
EXECUTE jobs.sp_start_job N'j', @parameters = N'{"p": "q"}';
DECLARE @runs INT = (SELECT COUNT(*) FROM jobs.job_executions);
COMMIT TRANSACTION;
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
EXECUTE jobs.sp_delete_job N'j', @force = 1;`)
			})
		})
	}
}
