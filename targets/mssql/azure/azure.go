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
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

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

// Logins logs in with credentials of Microsoft Entra ID. It keeps what gets the tokens of a credential,
// which holds each token until shortly before it expires, so that a login does not cost a request
// for a token. The zero value is ready. Safe for concurrent use.
type Logins struct {
	// transport sends requests for tokens; nil means HTTP. It is for tests.
	transport policy.Transporter

	mu    sync.Mutex
	known map[loginKey]azcore.TokenCredential
}

// loginKey identifies a credential. A changed secret makes another one.
type loginKey struct {
	kind   mssql.CredentialKind
	user   string
	secret [sha256.Size]byte
	cloud  string // the host that issues tokens
	tenant string // of a service principal
}

// maxKnown bounds how many credentials are kept. A configuration has fewer, but a service principal
// without a tenant gets one from each server, and a hostile server may name any.
const maxKnown = 256

// Connector makes the driver's connector for a login; it is a mssql.Config.Entra. The error holds no
// secret.
func (l *Logins) Connector(login mssql.EntraLogin) (*mssqldb.Connector, error) {
	workflow, known := workflows[login.Kind]
	if !known {
		return nil, fmt.Errorf("%s is not a kind of Microsoft Entra ID", login.Kind)
	}
	if client, _ := splitUser(login.User); login.Kind == mssql.KindServicePrincipal && (client == "" || login.Secret == "") {
		return nil, errors.New("a service principal needs a client id as its user, and a secret")
	}
	return mssqldb.NewActiveDirectoryTokenConnector(login.Params, workflow,
		func(ctx context.Context, resource, authority string) (string, error) {
			return l.token(ctx, login, resource, authority)
		})
}

// splitUser divides the user of a service principal, client@tenant, into both. The tenant may be absent.
func splitUser(user string) (client, tenant string) {
	client, tenant, _ = strings.Cut(user, "@")
	return client, tenant
}

// token gets a token for the resource that a server has named. An error names the resource or the
// authority that the server named; the libraries' own errors hold no secret.
func (l *Logins) token(ctx context.Context, login mssql.EntraLogin, resource, authority string) (string, error) {
	of, tenant, err := cloudOf(resource, authority)
	if err != nil {
		return "", err
	}
	credential, err := l.credential(login, of, tenant)
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

// credential returns what gets the tokens of a login. The tenant of a service principal comes before
// the one that the server named; other kinds have no use for a tenant.
func (l *Logins) credential(login mssql.EntraLogin, of cloud.Configuration, tenant string) (azcore.TokenCredential, error) {
	client, own := splitUser(login.User)
	if own != "" {
		tenant = own
	}
	if login.Kind != mssql.KindServicePrincipal {
		tenant = ""
	}
	key := loginKey{login.Kind, login.User, sha256.Sum256([]byte(login.Secret)), of.ActiveDirectoryAuthorityHost, tenant}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.known[key]; ok {
		return c, nil
	}
	c, err := newCredential(login, client, tenant, azcore.ClientOptions{Cloud: of, Transport: l.transport})
	if err != nil {
		return nil, err
	}
	if l.known == nil || len(l.known) == maxKnown {
		l.known = map[loginKey]azcore.TokenCredential{}
	}
	l.known[key] = c
	return c, nil
}

// newCredential makes what gets the tokens of a login.
func newCredential(login mssql.EntraLogin, client, tenant string, options azcore.ClientOptions) (azcore.TokenCredential, error) {
	switch login.Kind {
	case mssql.KindManagedIdentity:
		managed := &azidentity.ManagedIdentityCredentialOptions{}
		if client != "" {
			managed.ID = azidentity.ClientID(client)
		}
		return azidentity.NewManagedIdentityCredential(managed)
	case mssql.KindServicePrincipal:
		return azidentity.NewClientSecretCredential(tenant, client, login.Secret,
			&azidentity.ClientSecretCredentialOptions{ClientOptions: options})
	default:
		return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: options})
	}
}
