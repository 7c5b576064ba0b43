package connect_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
)

// A connection string with fedauth, or with SqlClient's Authentication, logs in with Microsoft
// Entra ID, and sends no password to the server.
func TestControlConfigEntra(t *testing.T) {
	t.Parallel()
	const server = "@x.database.windows.net?database=jobs&fedauth="
	for text, works := range map[string]bool{
		"sqlserver://" + server + "ActiveDirectoryDefault":                                                                    true,
		"sqlserver://client" + server + "activedirectorymanagedidentity":                                                      true,
		"sqlserver://client%40tenant:secret" + server + "ActiveDirectoryServicePrincipal":                                     true,
		"sqlserver://client%40tenant" + server + "ActiveDirectoryServicePrincipal":                                            false,
		`Server=tcp:x.database.windows.net,1433;Initial Catalog=jobs;Encrypt=True;Authentication="Active Directory Default";`: true,
	} {
		cfg, err := connect.ControlConfig(text)
		require.NoError(t, err, text)
		require.NotNil(t, cfg.Login)
		dsn, err := mssql.ParseDSN(text)
		require.NoError(t, err)
		_, err = cfg.Login(dsn)
		require.Equal(t, works, err == nil, "%s: %v", text, err)
		store, err := controldb.New(cfg)
		require.Equal(t, works, err == nil, text)
		if err == nil {
			require.NoError(t, store.Close())
		} else {
			require.NotContains(t, err.Error(), "secret1")
		}
	}
	_, err := connect.ControlConfig("sqlserver://u:p" + server + "ActiveDirectoryMagic")
	require.Equal(t, exit.CodeUsage, exit.Code(err))
	_, err = connect.ControlConfig("Server=x;Database=jobs;Authentication=Active Directory Interactive")
	require.Equal(t, exit.CodeUsage, exit.Code(err))
	cfg, err := connect.ControlConfig("Server=x;Database=jobs;User ID=u;Password=p;Authentication=Sql Password")
	require.NoError(t, err)
	require.Nil(t, cfg.Login)
	cfg, err = connect.ControlConfig("sqlserver://u:p@h?database=jobs")
	require.NoError(t, err)
	require.Nil(t, cfg.Login)
}
