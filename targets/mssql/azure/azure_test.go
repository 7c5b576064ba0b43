package azure

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
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
		c, err := new(Logins).Connector(login)
		require.NoError(t, err, kind)
		require.NotNil(t, c)
	}
	_, err := new(Logins).Connector(mssql.EntraLogin{Kind: mssql.KindSQLLogin})
	require.ErrorContains(t, err, "SqlLogin")
	for _, login := range []mssql.EntraLogin{{Secret: "hunter2"}, {User: "@tenant", Secret: "hunter2"},
		{User: "client@tenant"}} {
		login.Kind, login.Params = mssql.KindServicePrincipal, params(t, "server=h")
		_, err = new(Logins).Connector(login)
		require.ErrorContains(t, err, "a service principal needs")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A server gets tokens only for databases, and only from the authorities of their cloud.
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
		{"https://management.azure.com/", "https://login.windows.net/tenant", "not a database of Azure"},
		{"https://graph.microsoft.com", "https://login.windows.net/tenant", "not a database of Azure"},
		{"https://database.windows.net.evil.example", "https://login.windows.net/tenant", "not a database of Azure"},
		{"", "https://login.windows.net/tenant", "not a database of Azure"},
		{"https://database.windows.net/", "https://evil.example/tenant", "issues no tokens"},
		{"https://database.windows.net/", "https://login.microsoftonline.us/tenant", "issues no tokens"},
		{"https://database.windows.net/", "http://login.windows.net/tenant", "not an authority of Azure"},
		{"https://database.windows.net/", "https://login.windows.net:444/tenant", "not an authority of Azure"},
		{"https://database.windows.net/", "https://login.windows.net@evil.example/tenant", "not an authority of Azure"},
		{"https://database.windows.net/", "", "not an authority of Azure"},
	} {
		_, err := new(Logins).token(t.Context(), mssql.EntraLogin{Kind: mssql.KindManagedIdentity}, bad.resource,
			bad.authority)
		require.ErrorContains(t, err, bad.want, "%+v", bad)
	}
}

func TestCredential(t *testing.T) {
	t.Parallel()
	for kind, want := range map[mssql.CredentialKind]any{
		mssql.KindManagedIdentity:  &azidentity.ManagedIdentityCredential{},
		mssql.KindServicePrincipal: &azidentity.ClientSecretCredential{},
		mssql.KindDefault:          &azidentity.DefaultAzureCredential{},
	} {
		c, err := new(Logins).credential(mssql.EntraLogin{Kind: kind, User: "client@tenant", Secret: "hunter2"},
			cloud.AzurePublic, "servers-tenant")
		require.NoError(t, err, kind)
		require.IsType(t, want, c)
	}
	// A service principal without a tenant uses the tenant that the server names, which must be a
	// valid one.
	_, err := new(Logins).credential(mssql.EntraLogin{Kind: mssql.KindServicePrincipal, User: "client",
		Secret: "hunter2"}, cloud.AzurePublic, "a/../b")
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hunter2")
}

// authority issues tokens without a network, and counts them.
type authority struct{ issued atomic.Int64 }

func (a *authority) Do(r *http.Request) (*http.Response, error) {
	const host = "https://login.microsoftonline.com/tenant"
	var body string
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		body = `{"tenant_discovery_endpoint": "` + host + `/v2.0/.well-known/openid-configuration", "metadata": [
			{"preferred_network": "login.microsoftonline.com", "preferred_cache": "login.windows.net", "aliases": ["login.microsoftonline.com"]}]}`
	case strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration"):
		body = `{"issuer": "` + host + `/v2.0", "authorization_endpoint": "` + host + `/oauth2/v2.0/authorize",
			"token_endpoint": "` + host + `/oauth2/v2.0/token"}`
	case r.Method == http.MethodPost:
		body = fmt.Sprintf(`{"token_type": "Bearer", "expires_in": 3600, "access_token": "token%d"}`, a.issued.Add(1))
	default:
		return nil, fmt.Errorf("unexpected request %s %s", r.Method, r.URL)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// A thousand targets with one service principal cost one request for a token, not a thousand.
func TestLoginsShareAToken(t *testing.T) {
	t.Parallel()
	issuer := new(authority)
	logins := &Logins{transport: issuer}
	login := mssql.EntraLogin{Kind: mssql.KindServicePrincipal, User: "client@tenant", Secret: "hunter2"}
	get := func() string {
		text, err := logins.token(t.Context(), login, "https://database.windows.net/", "https://login.windows.net/any")
		require.NoError(t, err)
		return text
	}
	for range 20 {
		require.Equal(t, "token1", get())
	}
	require.Equal(t, int64(1), issuer.issued.Load())

	login.Secret = "changed"
	require.Equal(t, "token2", get(), "a changed secret is used at once")
	require.Equal(t, "token2", get())
}

// A hostile server may name any tenant for a service principal without one.
func TestKnownCredentialsAreBounded(t *testing.T) {
	t.Parallel()
	logins := new(Logins)
	login := mssql.EntraLogin{Kind: mssql.KindServicePrincipal, User: "client", Secret: "hunter2"}
	for i := range 2 * maxKnown {
		_, err := logins.credential(login, cloud.AzurePublic, fmt.Sprintf("tenant%d", i))
		require.NoError(t, err)
		require.LessOrEqual(t, len(logins.known), maxKnown)
	}
}
