package azure

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/microsoft/go-mssqldb/msdsn"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/mssql"
)

func params(t *testing.T, dsn string) msdsn.Config {
	t.Helper()
	p, err := msdsn.Parse(dsn)
	require.NoError(t, err)
	return p
}

func TestConnector(t *testing.T) {
	t.Parallel()
	for kind, login := range map[mssql.CredentialKind]mssql.EntraLogin{
		mssql.KindManagedIdentity:  {User: "client"},
		mssql.KindServicePrincipal: {User: "client@tenant", Secret: "hunter2"},
		mssql.KindDefault:          {},
	} {
		login.Kind, login.Params = kind, params(t, "server=h;encrypt=disable")
		c, err := Connector(login)
		require.NoError(t, err, kind)
		require.NotNil(t, c)
	}
	_, err := Connector(mssql.EntraLogin{Kind: mssql.KindSQLLogin})
	require.ErrorContains(t, err, "SqlLogin")
	for _, login := range []mssql.EntraLogin{{Secret: "hunter2"}, {User: "@tenant", Secret: "hunter2"}, {User: "client@tenant"}} {
		login.Kind, login.Params = mssql.KindServicePrincipal, params(t, "server=h")
		_, err = Connector(login)
		require.ErrorContains(t, err, "a service principal needs")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A server gets tokens for databases only, of the authorities of their own cloud.
func TestTokensAreForDatabasesOnly(t *testing.T) {
	t.Parallel()
	for _, good := range []struct {
		resource, authority string
		of                  cloud.Configuration
	}{
		{"https://database.windows.net/", "https://login.windows.net/tenant", cloud.AzurePublic},
		{"https://database.windows.net", "https://login.microsoftonline.com/tenant/", cloud.AzurePublic},
		{"https://database.windows.net//.default", "https://LOGIN.microsoftonline.com/tenant", cloud.AzurePublic},
		{"https://Database.UsGovCloudApi.net/", "https://login.microsoftonline.us/tenant", cloud.AzureGovernment},
		{"https://database.chinacloudapi.cn/", "https://login.partner.microsoftonline.cn/tenant", cloud.AzureChina},
	} {
		of, tenant, err := cloudOf(good.resource, good.authority)
		require.NoError(t, err, good.resource)
		require.Equal(t, "tenant", tenant)
		require.Equal(t, good.of.ActiveDirectoryAuthorityHost, of.ActiveDirectoryAuthorityHost)
	}
	for _, bad := range []struct{ resource, authority, want string }{
		{"https://management.azure.com/", "https://login.windows.net/tenant", "no database of Azure's"},
		{"https://graph.microsoft.com", "https://login.windows.net/tenant", "no database of Azure's"},
		{"https://database.windows.net.evil.example", "https://login.windows.net/tenant", "no database of Azure's"},
		{"", "https://login.windows.net/tenant", "no database of Azure's"},
		{"https://database.windows.net/", "https://evil.example/tenant", "issues no tokens"},
		{"https://database.windows.net/", "https://login.microsoftonline.us/tenant", "issues no tokens"},
		{"https://database.windows.net/", "http://login.windows.net/tenant", "none of Azure's"},
		{"https://database.windows.net/", "https://login.windows.net:444/tenant", "none of Azure's"},
		{"https://database.windows.net/", "https://login.windows.net@evil.example/tenant", "none of Azure's"},
		{"https://database.windows.net/", "", "none of Azure's"},
	} {
		_, err := token(t.Context(), mssql.EntraLogin{Kind: mssql.KindManagedIdentity}, bad.resource, bad.authority)
		require.ErrorContains(t, err, bad.want, "%+v", bad)
	}
}

func TestCredentialFor(t *testing.T) {
	t.Parallel()
	for kind, want := range map[mssql.CredentialKind]any{
		mssql.KindManagedIdentity:  &azidentity.ManagedIdentityCredential{},
		mssql.KindServicePrincipal: &azidentity.ClientSecretCredential{},
		mssql.KindDefault:          &azidentity.DefaultAzureCredential{},
	} {
		c, err := credentialFor(mssql.EntraLogin{Kind: kind, User: "client@tenant", Secret: "hunter2"}, cloud.AzurePublic, "servers-tenant")
		require.NoError(t, err, kind)
		require.IsType(t, want, c)
	}
	// Without a tenant of its own, a principal's is what the server names, which must have the form of one.
	_, err := credentialFor(mssql.EntraLogin{Kind: mssql.KindServicePrincipal, User: "client", Secret: "hunter2"}, cloud.AzurePublic, "a/../b")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}
