package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/targets/mssql"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDenyAccess: on Azure SQL Database, no statement leaves the database, and none names sa. No
// statement drops a user who is there by a group.
func TestDenyAccess(t *testing.T) {
	for want, v := range map[string]mssql.Principal{
		"USE [job]]s]; DROP USER [u];":                                                                    {Login: "l", User: "u"},
		"USE [job]]s]; REVOKE CONNECT FROM guest;":                                                        {Login: "l", User: "guest"},
		"ALTER AUTHORIZATION ON DATABASE::[job]]s] TO sa; -- it owns the database":                        {Login: "l", User: "dbo"},
		"DROP USER [u]; -- in the database [job]]s]":                                                      {Login: "l", User: "u", AzureDatabase: true},
		"REVOKE CONNECT FROM guest; -- in the database [job]]s]":                                          {Login: "l", User: "guest", AzureDatabase: true},
		"use another login for targets: this one is an administrator of the server, or owns the database": {Login: "l", User: "dbo", AzureDatabase: true},
		"use another login for targets: this one is a member of a group that has a user in the database":  {Login: `d\u`, User: `d\u`, ByGroup: true},
	} {
		statement, command := denyAccess(v, "job]s")
		require.Equal(t, want, statement+command)
	}
}
