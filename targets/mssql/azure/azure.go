// Package azure logs in to targets with credentials of Microsoft Entra ID: managed identities,
// service principals, and the default credential of the machine. It is separate from package mssql
// because it links Azure's identity libraries.
//
// A server that accepts such a login names the resource to get a token for, and the authority that
// issues the token (FEDAUTHINFO, MS-TDS 2.2.7.12). A hostile server could name another resource,
// such as Azure's management API, and receive a token with which it could act there. Package azure
// therefore requests tokens only for the databases of Azure's clouds, and only from the authorities
// of the same cloud. go-mssqldb's package azuread requests any token that the server names.
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

// workflows maps a kind to the driver's number for its way of getting a token (MS-TDS 2.2.6.4,
// bFedAuthWorkflow). The protocol has a number for managed identities. Tokens that the client gets
// by itself use the number for passwords, as in go-mssqldb and SqlClient.
var workflows = map[mssql.CredentialKind]byte{
	mssql.KindManagedIdentity:  mssqldb.FedAuthADALWorkflowMSI,
	mssql.KindServicePrincipal: mssqldb.FedAuthADALWorkflowPassword,
	mssql.KindDefault:          mssqldb.FedAuthADALWorkflowPassword,
}

// Logins logs in with credentials of Microsoft Entra ID. It keeps one azcore.TokenCredential for
// each credential. A TokenCredential caches its token until shortly before the token expires, so
// that most logins need no request for a token. The zero value is ready to use. Safe for concurrent
// use.
type Logins struct {
	// transport sends requests for tokens; nil means HTTP. Tests set it.
	transport policy.Transporter

	mu    sync.Mutex
	known map[loginKey]azcore.TokenCredential
}

// loginKey identifies a TokenCredential. A changed secret leads to another key.
type loginKey struct {
	kind   mssql.CredentialKind
	user   string
	secret [sha256.Size]byte
	cloud  string // the host that issues tokens
	tenant string // of a service principal
}

// maxKnown bounds the number of TokenCredentials. A configuration needs fewer, but a service
// principal without a tenant uses the tenant that a server names, and a hostile server may name
// many.
const maxKnown = 256

// Connector returns the driver's connector for a login; it is a mssql.Config.Entra. The error holds
// no secret.
func (l *Logins) Connector(login mssql.EntraLogin) (*mssqldb.Connector, error) {
	workflow, known := workflows[login.Kind]
	if !known {
		return nil, fmt.Errorf("%s is not a kind of Microsoft Entra ID", login.Kind)
	}
	client, _ := splitUser(login.User)
	if login.Kind == mssql.KindServicePrincipal && (client == "" || login.Secret == "") {
		return nil, errors.New("a service principal needs a client id as its user, and a secret")
	}
	return mssqldb.NewActiveDirectoryTokenConnector(login.Params, workflow,
		func(ctx context.Context, resource, authority string) (string, error) {
			return l.token(ctx, login, resource, authority)
		})
}

// splitUser splits the user of a service principal, client@tenant. The tenant may be missing.
func splitUser(user string) (client, tenant string) {
	client, tenant, _ = strings.Cut(user, "@")
	return client, tenant
}

// token returns a token for the resource that a server has named. An error names the resource or
// the authority; the errors of the libraries hold no secret.
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

// scopeSuffix turns a resource into the scope of all rights granted on it.
const scopeSuffix = "/.default"

// sqlCloud is one of Azure's clouds with the names of its databases and authorities.
type sqlCloud struct {
	resource    string   // the one of all databases
	authorities []string // hosts of the authorities
	cloud       cloud.Configuration
}

// sqlClouds are Azure's clouds
// (https://learn.microsoft.com/azure/azure-sql/database/authentication-aad-overview,
// https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud).
var sqlClouds = []sqlCloud{
	{"https://database.windows.net", []string{"login.microsoftonline.com", "login.windows.net"}, cloud.AzurePublic},
	{"https://database.usgovcloudapi.net", []string{"login.microsoftonline.us"}, cloud.AzureGovernment},
	{
		"https://database.chinacloudapi.cn",
		[]string{"login.chinacloudapi.cn", "login.partner.microsoftonline.cn"}, cloud.AzureChina,
	},
}

// cloudOf returns the cloud of a resource and an authority, and the tenant in the authority's URL.
// Both come from a server that may be hostile.
func cloudOf(resource, authority string) (of cloud.Configuration, tenant string, err error) {
	u, err := url.Parse(authority)
	if err != nil || u.Scheme != "https" || u.User != nil || u.Port() != "" {
		return of, "", fmt.Errorf("the server names the authority %q, which is not an authority of Azure: "+
			"nothing was sent to it", authority)
	}
	wanted := strings.TrimSuffix(strings.TrimSuffix(resource, scopeSuffix), "/")
	i := slices.IndexFunc(sqlClouds, func(c sqlCloud) bool { return strings.EqualFold(c.resource, wanted) })
	switch {
	case i < 0:
		return of, "", fmt.Errorf("the server requests a token for %q, which is not a database of Azure: "+
			"no token was requested", resource)
	case !slices.Contains(sqlClouds[i].authorities, strings.ToLower(u.Host)):
		return of, "", fmt.Errorf("the server names the authority %q, which issues no tokens for %s: "+
			"nothing was sent to it", authority, sqlClouds[i].resource)
	}
	return sqlClouds[i].cloud, strings.Trim(u.Path, "/"), nil
}

// credential returns the TokenCredential of a login. The tenant of a service principal is its own,
// or else the one that the server named. Other kinds do not use a tenant.
func (l *Logins) credential(
	login mssql.EntraLogin, of cloud.Configuration, tenant string,
) (azcore.TokenCredential, error) {
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

// newCredential creates the TokenCredential of a login.
func newCredential(
	login mssql.EntraLogin, client, tenant string, options azcore.ClientOptions,
) (azcore.TokenCredential, error) {
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
