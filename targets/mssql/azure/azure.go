// Package azure logs in to targets with credentials of Microsoft Entra ID: managed identities, service
// principals, and what the machine offers by default. It stands apart from package mssql because it
// links Azure's identity libraries.
//
// A server that takes such a login names the resource for which it wants a token, and the authority that issues it (FEDAUTHINFO, MS-TDS
// 2.2.7.12). A hostile server could name another resource, Azure's management say, and would receive a token with which it could act there.
// So tokens are asked for the databases of Azure's clouds only, of the authorities of the same cloud. go-mssqldb's package azuread
// asks for whatever the server names.
package azure

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/targets/mssql"
)

// workflows are the driver's numbers of how a kind gets its token (MS-TDS 2.2.6.4, bFedAuthWorkflow). It has one for managed
// identities; what a program gets by itself goes under that of passwords, as in go-mssqldb and SqlClient.
var workflows = map[mssql.CredentialKind]byte{
	mssql.KindManagedIdentity:  mssqldb.FedAuthADALWorkflowMSI,
	mssql.KindServicePrincipal: mssqldb.FedAuthADALWorkflowPassword,
	mssql.KindDefault:          mssqldb.FedAuthADALWorkflowPassword,
}

// Connector makes the driver's connector for a login; it is a mssql.Config.Entra. The error
// holds no secret.
func Connector(login mssql.EntraLogin) (*mssqldb.Connector, error) {
	workflow, known := workflows[login.Kind]
	if !known {
		return nil, fmt.Errorf("%s is not a kind of Microsoft Entra ID", login.Kind)
	}
	if client, _ := splitUser(login.User); login.Kind == mssql.KindServicePrincipal && (client == "" || login.Secret == "") {
		return nil, errors.New("a service principal needs a client id as its user, and a secret")
	}
	return mssqldb.NewActiveDirectoryTokenConnector(login.Params, workflow, func(ctx context.Context, resource, authority string) (string, error) {
		return token(ctx, login, resource, authority)
	})
}

// splitUser divides the user of a service principal, client@tenant, into both. The tenant may be absent.
func splitUser(user string) (client, tenant string) {
	client, tenant, _ = strings.Cut(user, "@")
	return client, tenant
}

// token gets a token for the resource that a server has named. An error names what the server asked for; the libraries' own errors
// hold no secret.
func token(ctx context.Context, login mssql.EntraLogin, resource, authority string) (string, error) {
	of, tenant, err := cloudOf(resource, authority)
	if err != nil {
		return "", err
	}
	credential, err := credentialFor(login, of, tenant)
	if err != nil {
		return "", fmt.Errorf("prepare the login of %s: %w", login.Kind, err)
	}
	scope := strings.TrimSuffix(resource, scopeSuffix) + scopeSuffix
	t, err := credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	if err != nil {
		return "", fmt.Errorf("get a token of %s: %w", login.Kind, err)
	}
	return t.Token, nil
}

// scopeSuffix makes a scope of a resource: all rights that were granted there.
const scopeSuffix = "/.default"

// sqlCloud is one of Azure's clouds as its databases name it.
type sqlCloud struct {
	resource    string   // of all databases
	authorities []string // hosts that issue tokens
	cloud       cloud.Configuration
}

// sqlClouds are Azure's clouds
// (https://learn.microsoft.com/azure/azure-sql/database/authentication-aad-overview, https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud).
var sqlClouds = []sqlCloud{
	{"https://database.windows.net", []string{"login.microsoftonline.com", "login.windows.net"}, cloud.AzurePublic},
	{"https://database.usgovcloudapi.net", []string{"login.microsoftonline.us"}, cloud.AzureGovernment},
	{"https://database.chinacloudapi.cn", []string{"login.chinacloudapi.cn", "login.partner.microsoftonline.cn"}, cloud.AzureChina},
}

// cloudOf finds the cloud to which a resource and an authority belong, and the tenant that the authority names. Both come from a server,
// which may be hostile.
func cloudOf(resource, authority string) (of cloud.Configuration, tenant string, err error) {
	u, err := url.Parse(authority)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" {
		return of, "", fmt.Errorf("the server names the authority %q, which is none of Azure's: nothing was sent to it", authority)
	}
	wanted := strings.TrimSuffix(strings.TrimSuffix(resource, scopeSuffix), "/")
	i := slices.IndexFunc(sqlClouds, func(c sqlCloud) bool { return strings.EqualFold(c.resource, wanted) })
	switch {
	case i < 0:
		return of, "", fmt.Errorf("the server asks for a token for %q, which is no database of Azure's: none was asked for", resource)
	case !slices.Contains(sqlClouds[i].authorities, strings.ToLower(u.Host)):
		return of, "", fmt.Errorf("the server names the authority %q, which issues no tokens for %s: nothing was sent to it", authority, sqlClouds[i].resource)
	}
	return sqlClouds[i].cloud, strings.Trim(u.Path, "/"), nil
}

// credentialFor makes what gets the tokens of a login. A service principal's own tenant comes before the server's.
func credentialFor(login mssql.EntraLogin, of cloud.Configuration, tenant string) (azcore.TokenCredential, error) {
	options := azcore.ClientOptions{Cloud: of}
	switch client, own := splitUser(login.User); login.Kind {
	case mssql.KindManagedIdentity:
		managed := &azidentity.ManagedIdentityCredentialOptions{}
		if client != "" {
			managed.ID = azidentity.ClientID(client)
		}
		return azidentity.NewManagedIdentityCredential(managed)
	case mssql.KindServicePrincipal:
		if own != "" {
			tenant = own
		}
		return azidentity.NewClientSecretCredential(tenant, client, login.Secret, &azidentity.ClientSecretCredentialOptions{ClientOptions: options})
	default:
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options})
	}
}
