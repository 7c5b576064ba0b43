package controldb_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/deploy"
)

// TestGrantsRejectInvalidArguments: each mistake has its message. TestLeastPrivilege of package
// agent runs the T-SQL.
func TestGrantsRejectInvalidArguments(t *testing.T) {
	for _, test := range []struct {
		request deploy.GrantRequest
		message string
	}{
		{
			request: deploy.GrantRequest{Role: "jobs_agent"},
			message: "invalid login name: want 1 to 128 characters",
		},
		{
			request: deploy.GrantRequest{Login: strings.Repeat("ä", 129), Role: "jobs_agent"},
			message: "invalid login name: want 1 to 128 characters",
		},
		{
			request: deploy.GrantRequest{Login: "a\nGO", Role: "jobs_agent"},
			message: `invalid login name "a\nGO": control characters are not allowed`,
		},
		{
			request: deploy.GrantRequest{Login: "a", Role: "db_owner"},
			message: `invalid role "db_owner": want one of jobs_agent, jobs_admin, jobs_author, jobs_operator, jobs_reader, jobs_front, target`,
		},
		{
			request: deploy.GrantRequest{Login: "a", Role: "target", Platform: "oracle"},
			message: `invalid platform "oracle": want one of sqlserver, azure-sql-database, managed-instance`,
		},
		{
			request: deploy.GrantRequest{Login: "a", Role: "target", Entra: true},
			message: "logins of Microsoft Entra ID need --platform azure-sql-database or managed-instance",
		},
	} {
		_, err := deploy.Grants(test.request)
		require.EqualError(t, err, test.message)
	}
}

// TestGrantsByPlatform: logins of each kind, and the permissions that exist on each platform. Azure
// SQL Database has no server permissions.
func TestGrantsByPlatform(t *testing.T) {
	text := func(r deploy.GrantRequest) string {
		sections, err := deploy.Grants(r)
		require.NoError(t, err)
		var b strings.Builder
		for _, s := range sections {
			b.WriteString(s.SQL)
			for line := range strings.Lines(s.SQL) {
				require.LessOrEqual(t, len(line), 180)
			}
		}
		return b.String()
	}
	for _, platform := range deploy.Platforms {
		for _, role := range deploy.GrantRoles {
			got := text(deploy.GrantRequest{Login: "x]y", Role: role, Platform: platform})
			require.Contains(t, got, "CREATE LOGIN [x]]y] WITH PASSWORD = N'<password>';")
			if role != deploy.GrantTarget {
				require.Contains(t, got, "ALTER ROLE "+role+" ADD MEMBER [x]]y];")
				require.NotContains(t, got, "\nGRANT", "the role is all it takes")
			}
		}
	}
	require.Contains(t, text(deploy.GrantRequest{Login: `CORP\svc`, Role: "jobs_agent"}), `CREATE LOGIN [CORP\svc] FROM WINDOWS;`)
	require.Contains(
		t,
		text(
			deploy.GrantRequest{
				Login:    "app",
				Role:     "jobs_agent",
				Platform: deploy.PlatformManagedInstance,
				Entra:    true,
			},
		),
		"CREATE LOGIN [app] FROM EXTERNAL PROVIDER;",
	)
	azure := text(deploy.GrantRequest{Login: "app", Role: "target", Platform: deploy.PlatformAzureDatabase})
	require.Contains(t, azure, "\nGRANT KILL DATABASE CONNECTION TO [app];")
	require.NotContains(t, azure, "SERVER STATE TO")
	const ofGroups = "not of a group"
	front := deploy.GrantRequest{Login: "app", Role: "jobs_front", Platform: deploy.PlatformAzureDatabase}
	require.NotContains(t, text(front), ofGroups)
	front.Entra = true
	require.Contains(t, text(front), ofGroups)
}

// TestGrantsOfLoginsInAzure: on Azure SQL Database, a statement about a login is the only one of
// its batch.
func TestGrantsOfLoginsInAzure(t *testing.T) {
	for _, role := range deploy.GrantRoles {
		for _, entra := range []bool{false, true} {
			sections, err := deploy.Grants(deploy.GrantRequest{Login: "app", Role: role, Platform: deploy.PlatformAzureDatabase, Entra: entra})
			require.NoError(t, err)
			found := 0
			for _, s := range sections {
				for batch := range strings.SplitSeq(s.SQL, "\nGO\n") {
					var lines []string
					for line := range strings.Lines(batch) {
						if !strings.HasPrefix(line, "--") {
							lines = append(lines, line)
						}
					}
					if text := strings.Join(lines, ""); strings.Contains(text, "LOGIN") {
						require.Regexp(t, `^CREATE (LOGIN|USER) \[app\] [^;\n]*;$`, text)
						found++
					}
				}
			}
			require.Equal(t, map[bool]int{false: 2, true: 4}[role == deploy.GrantTarget], found)
		}
	}
}
