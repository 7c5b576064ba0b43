package mssql

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDoubts: what a trial cannot undo is recognised as a statement, not as text.
func TestDoubts(t *testing.T) {
	for text, want := range map[string]string{
		"alter /* x */ database d SET RECOVERY SIMPLE":            "ALTER DATABASE",
		"SELECT 1 CREATE DATABASE d":                              "CREATE DATABASE",
		"IF 1 = 1\nDROP\nDATABASE d":                              "DROP DATABASE",
		"CREATE FULLTEXT INDEX ON t(a) KEY INDEX k":               "CREATE FULLTEXT",
		"ALTER FULLTEXT CATALOG c REBUILD":                        "ALTER FULLTEXT",
		"DROP FULLTEXT INDEX ON t":                                "DROP FULLTEXT",
		"BACKUP LOG d TO DISK = 'x'":                              "BACKUP",
		"RESTORE DATABASE d FROM DISK = 'x'":                      "RESTORE",
		"EXEC sp_configure 'a', 1":                                "sp_configure",
		"sys.[SP_Configure] 'a', 1":                               "SP_Configure",
		"RECONFIGURE WITH OVERRIDE":                               "RECONFIGURE",
		"UPDATE STATISTICS dbo.t":                                 "UPDATE STATISTICS",
		"EXECUTE sp_updatestats":                                  "sp_updatestats",
		"KILL 57":                                                 "KILL",
		"SHUTDOWN WITH NOWAIT":                                    "SHUTDOWN",
		"DBCC SHRINKFILE (1, 10)":                                 "DBCC SHRINKFILE",
		"BEGIN DISTRIBUTED TRANSACTION":                           "BEGIN DISTRIBUTED",
		"SET IMPLICIT_TRANSACTIONS OFF":                           "SET IMPLICIT_TRANSACTIONS",
		"SET ANSI_DEFAULTS OFF":                                   "SET ANSI_DEFAULTS",
		"ALTER INDEX i ON dbo.t REBUILD WITH (RESUMABLE = ON)":    "RESUMABLE = ON",
		"CREATE INDEX i ON t (a) WITH (ONLINE=ON,RESUMABLE=ON)":   "RESUMABLE = ON",
		"ALTER INDEX ALL ON [a b].t RESUME":                       "ALTER INDEX",
		"ALTER INDEX i ON t PAUSE;":                               "ALTER INDEX",
		"COMMIT":                                                  "COMMIT",
		"INSERT t VALUES (1) COMMIT TRAN; BEGIN TRAN":             "COMMIT",
		"BEGIN TRAN COMMIT COMMIT":                                "COMMIT",
		"EXEC ('SELECT 1') AT [other]":                            "EXEC … AT",
		"EXECUTE (N'a' + (N'b')) AT other":                        "EXECUTE … AT",
		"EXEC @rc = master..xp_cmdshell 'dir'":                    "xp_cmdshell",
		"xp_cmdshell 'dir'":                                       "xp_cmdshell",
		"EXEC msdb.dbo.sp_start_job N'j'":                         "sp_start_job",
		"GRANT SELECT ON t TO u; BACKUP DATABASE d TO DISK = 'x'": "BACKUP",
		"GRANT SELECT ON t TO u BACKUP DATABASE d TO DISK = 'x'":  "BACKUP",
		"WAITFOR DELAY '00:00:01'":                                "warns WAITFOR",
		"INSERT t SELECT NEXT VALUE FOR s":                        "warns NEXT VALUE FOR",
		"SELECT * FROM OPENQUERY(l, 'x')":                         "warns OPENQUERY (",
		"EXEC msdb..sp_send_dbmail @profile_name = 'p'":           "warns sp_send_dbmail",
		"SELECT 'ALTER DATABASE d', N'COMMIT'":                    "",
		"-- COMMIT\nSELECT 1 /* BACKUP /* RESTORE */ KILL 1 */":   "",
		"SELECT [BACKUP], \"KILL\", t.[COMMIT] FROM [RESTORE]":    "",
		"ALTER TABLE t ADD databases int":                         "",
		"BEGIN TRAN; INSERT t VALUES (1); COMMIT":                 "",
		"BEGIN TRY BEGIN TRANSACTION; COMMIT; END TRY BEGIN CATCH IF @@TRANCOUNT > 0 ROLLBACK; THROW; END CATCH": "",
		"SAVE TRAN s; ROLLBACK TRAN s":                               "",
		"GRANT BACKUP DATABASE, CREATE DATABASE TO u":                "",
		"DENY ALTER ON DATABASE::d TO u":                             "",
		"CREATE DATABASE SCOPED CREDENTIAL c WITH IDENTITY = 'x'":    "",
		"ALTER DATABASE AUDIT SPECIFICATION a WITH (STATE = ON)":     "",
		"CREATE PROCEDURE p AS BEGIN COMMIT; WAITFOR DELAY '1' END":  "",
		"CREATE OR ALTER PROC p AS ALTER DATABASE d SET READ_ONLY":   "",
		"/* c */ ALTER TRIGGER x ON t FOR INSERT AS ROLLBACK COMMIT": "",
		"EXEC dbo.sp_configured":                                     "",
		"EXEC ('ALTER DATABASE d SET READ_ONLY')":                    "",
		"EXEC sp_rename 'a', 'b'":                                    "",
		"ALTER INDEX i ON t REBUILD WITH (RESUMABLE = OFF)":          "",
		"UPDATE t SET statistics_at = 1":                             "",
		"":                                                           "",
	} {
		found, err := doubts(text, 1)
		require.NoError(t, err, text)
		got := ""
		if len(found) > 0 {
			got = found[0].statement
			if found[0].warns {
				got = "warns " + got
			}
		}
		require.Equal(t, want, got, text)
		require.LessOrEqual(t, len(found), 1, text)
	}
	_, err := doubts("SELECT 'x", 7)
	require.ErrorContains(t, err, "the batch at line 7 cannot be judged")
	found, err := doubts("SELECT 1\n\nCOMMIT", 10)
	require.NoError(t, err)
	require.Equal(t, "line 12: COMMIT: "+commitsTrial, found[0].String())
}
