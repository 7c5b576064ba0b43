package exec

import (
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// confinements are batches that confine a session to database ta. owner is a login that is
// db_owner of ta, and nothing else.
var confinements = map[string]string{
	"dbo":           "USE ta; EXECUTE AS USER = 'dbo';",
	"named sa":      "USE ta; EXECUTE AS USER = 'sa';",
	"own user":      "USE ta; EXECUTE AS USER = 'owner';",
	"without login": "USE ta; EXECUTE AS USER = 'bare';",
}

// serverStatements are statements at server scope. Each must fail for confined identities.
var serverStatements = []string{
	"EXECUTE AS LOGIN = 'sa'",
	"EXECUTE AS LOGIN = 'owner'",
	"EXECUTE ('SELECT 1') AS LOGIN = 'sa'",
	"ALTER SERVER ROLE sysadmin ADD MEMBER owner",
	"CREATE LOGIN fresh WITH PASSWORD = 'Right-1'",
	"ALTER LOGIN sa WITH PASSWORD = 'Taken-1'",
	"ALTER LOGIN sa WITH PASSWORD = 'Taken-1' OLD_PASSWORD = 'secret'",
	"ALTER LOGIN owner WITH PASSWORD = 'Taken-1' OLD_PASSWORD = 'Right-1'",
	"ALTER LOGIN owner DISABLE",
	"DROP LOGIN owner",
	"CREATE DATABASE fresh",
	"DROP DATABASE tb",
	"ALTER DATABASE tb SET RECOVERY SIMPLE",
	"ALTER DATABASE ta SET TRUSTWORTHY ON",
	"ALTER DATABASE ta SET DB_CHAINING ON",
	"GRANT CONTROL SERVER TO owner",
	"GRANT VIEW SERVER STATE TO owner",
	"GRANT ALTER ANY LOGIN TO owner",
	"USE master; GRANT VIEW SERVER STATE TO owner",
	"USE tb",
	"EXEC sp_addsrvrolemember 'owner', 'sysadmin'",
	"EXEC sp_configure 'max degree of parallelism', 2; RECONFIGURE",
	"SELECT * FROM sys.dm_tran_locks",
	"KILL %d",
}

// Identities that are confined to a database have no rights on the server, also if their users have
// the names of logins.
func TestConfinedIdentities(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	sa := openSession(t, inst, Login{User: "sa", Password: "secret"})
	must(t, sa, "CREATE LOGIN owner WITH PASSWORD = 'Right-1'; CREATE DATABASE ta; CREATE DATABASE tb")
	must(t, sa, "USE ta; CREATE USER owner FOR LOGIN owner; ALTER ROLE db_owner ADD MEMBER owner; CREATE USER [sa] WITHOUT LOGIN; CREATE USER bare WITHOUT LOGIN")
	victim := openSession(t, inst, Login{User: "sa", Password: "secret"})
	failed := regexp.MustCompile(`Msg \d+, Level (?:1[1-9]|2)`)
	for name, confine := range confinements {
		for _, st := range serverStatements {
			s := openSession(t, inst, Login{User: "owner", Password: "Right-1"})
			must(t, s, confine)
			if regexp.MustCompile(`%d`).MatchString(st) {
				st = fmt.Sprintf(st, victim.id)
			}
			out := batchOutput(t, s, st)
			require.Regexp(t, failed, out, "%s: %s", name, st)
			require.NoError(t, s.Close())
		}
		s := openSession(t, inst, Login{User: "owner", Password: "Right-1"})
		must(t, s, confine)
		must(t, s, "IF IS_SRVROLEMEMBER('sysadmin') = 1 OR HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 1 THROW 50000, 'server', 1")
		for _, view := range []string{
			"sys.dm_exec_sessions", "sys.dm_exec_requests", "sys.dm_exec_connections", "sys.dm_tran_session_transactions",
		} {
			must(t, s, "IF EXISTS (SELECT * FROM "+view+" WHERE session_id <> @@SPID) THROW 50000, 'others', 1")
		}
		must(t, s, "IF EXISTS (SELECT * FROM sys.sysprocesses WHERE spid <> @@SPID) THROW 50000, 'others', 1")
		require.NoError(t, s.Close())
	}
	must(t, victim, "SELECT 1")
	must(t, sa, "USE ta; ALTER DATABASE ta SET TRUSTWORTHY ON; IF IS_SRVROLEMEMBER('sysadmin', 'owner') = 1 THROW 50000, 'sysadmin', 1")
	require.NoError(t, victim.Close())
	require.NoError(t, sa.Close())
}
