package azure

import (
	"testing"

	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

func params(t *testing.T, dsn string) msdsn.Config {
	t.Helper()
	p, err := msdsn.Parse(dsn)
	require.NoError(t, err)
	p.AppName, p.Database = "jobagent", "d&b=1;x"
	return p
}

// What the driver reads out of the connection string is what was put in.
func TestConnectionStringRoundTrip(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]struct {
		host, instance string
		port           uint64
	}{
		"h.database.windows.net":          {"h.database.windows.net", "", 0},
		"tcp:h.database.windows.net,1433": {"h.database.windows.net", "", 1433},
		`h\inst`:                          {"h", "inst", 0},
	} {
		in := params(t, "server="+server)
		text := connectionString(targets.EntraLogin{Params: in, User: "client@tenant", Secret: "p&w=;é%'\""}, "ActiveDirectoryServicePrincipal")
		out, err := msdsn.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want.host, out.Host)
		require.Equal(t, want.instance, out.Instance)
		require.Equal(t, want.port, out.Port)
		require.Equal(t, in.Database, out.Database)
		require.Equal(t, "jobagent", out.AppName)
		require.Equal(t, msdsn.Encryption(msdsn.EncryptionDisabled), out.Encryption, "the agent encrypts underneath")
		require.Equal(t, "client@tenant", out.Parameters["user id"])
		require.Equal(t, "p&w=;é%'\"", out.Parameters["password"])
		require.Equal(t, "ActiveDirectoryServicePrincipal", out.Parameters["fedauth"])
		require.True(t, out.DisableRetry)
	}
}

func TestConnector(t *testing.T) {
	t.Parallel()
	for kind, login := range map[targets.CredentialKind]targets.EntraLogin{
		targets.KindManagedIdentity:  {User: "client"},
		targets.KindServicePrincipal: {User: "client@tenant", Secret: "hunter2"},
		targets.KindDefault:          {},
	} {
		login.Kind, login.Params = kind, params(t, "server=h;encrypt=true")
		c, err := Connector(login)
		require.NoError(t, err, kind)
		require.NotNil(t, c)
	}
	_, err := Connector(targets.EntraLogin{Kind: targets.KindSQLLogin})
	require.ErrorContains(t, err, "SqlLogin")
	_, err = Connector(targets.EntraLogin{Kind: targets.KindServicePrincipal, Secret: "hunter2", Params: params(t, "server=h")})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}
