package exec

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestServerPermissions: sysadmins grant permissions on the server to logins, in master. VIEW
// SERVER STATE shows other sessions and all locks, and ALTER ANY CONNECTION allows KILL. The
// permissions can be revoked.
func TestServerPermissions(t *testing.T) {
	t.Parallel()
	inst := newInstance(t)
	sa := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	must(t, sa, "CREATE LOGIN ann WITH PASSWORD = 'Right-1'; CREATE DATABASE x")
	number := func(s *Session, batch string) int32 {
		t.Helper()
		found := regexp.MustCompile(`Msg (\d+), Level (?:1[1-9]|2)`).FindStringSubmatch(batchOutput(t, s, batch))
		if found == nil {
			return 0
		}
		n, err := strconv.Atoi(found[1])
		require.NoError(t, err)
		return int32(n)
	}
	ann := openSession(t, inst, session.Login{User: "ann", Password: "Right-1"})
	victim := openSession(t, inst, session.Login{User: "sa", Password: "secret"})
	const (
		others = "IF (SELECT COUNT(*) FROM sys.dm_exec_sessions WHERE session_id <> @@SPID) = 0 OR HAS_PERMS_BY_NAME(NULL, NULL, 'VIEW SERVER STATE') = 0 THROW 50000, 'none', 1;"
		locks  = "DECLARE @n INT = (SELECT COUNT(*) FROM sys.dm_tran_locks);"
	)
	kill := fmt.Sprintf("KILL %d;", victim.SPID())
	check := func(want ...int32) {
		t.Helper()
		require.Equal(t, want, []int32{number(ann, others), number(ann, locks), number(ann, kill)})
	}
	check(50000, 300, 6102)
	require.EqualValues(t, 15151, number(ann, "GRANT VIEW SERVER STATE TO ann;"))
	require.EqualValues(t, 15151, number(sa, "GRANT VIEW SERVER STATE TO nobody;"))
	require.EqualValues(t, 4621, number(sa, "USE x; GRANT VIEW SERVER STATE TO ann;"))
	must(t, sa, "USE master; GRANT VIEW SERVER STATE TO ann;")
	check(0, 0, 6102)
	must(t, sa, "GRANT ALTER ANY CONNECTION TO ann;")
	check(0, 0, 0)
	require.Contains(t, batchOutput(t, sa, `SELECT p.name, s.type, s.permission_name, s.state_desc FROM sys.server_permissions AS s
		JOIN sys.server_principals AS p ON p.principal_id = s.grantee_principal_id WHERE p.name IN ('ann', 'public') ORDER BY 1, 2`),
		"ann | ALCO | ALTER ANY CONNECTION | GRANT\nann | COSQ | CONNECT SQL | GRANT\nann | VWSS | VIEW SERVER STATE | GRANT\n"+
			"public | VWDB | VIEW ANY DATABASE | GRANT\n")
	must(t, sa, "REVOKE VIEW SERVER STATE, ALTER ANY CONNECTION FROM ann;")
	check(50000, 300, 6102)
	for _, s := range []*Session{sa, ann, victim} {
		_ = s.Close() // fails for the killed session
	}
}
