// Package azure logs in to targets with credentials of Microsoft Entra ID: managed identities, service
// principals, and what the machine offers by default. It stands apart from package targets because it
// links Azure's identity libraries.
package azure

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"

	mssql "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/azuread"

	"github.com/jobagent/jobagent/targets"
)

// workflows are go-mssqldb's names of how a kind logs in.
var workflows = map[targets.CredentialKind]string{
	targets.KindManagedIdentity:  azuread.ActiveDirectoryManagedIdentity,
	targets.KindServicePrincipal: azuread.ActiveDirectoryServicePrincipal,
	targets.KindDefault:          azuread.ActiveDirectoryDefault,
}

// Connector makes the driver's connector for a login; it is what targets.Config.Entra wants. The error
// holds no secret.
func Connector(login targets.EntraLogin) (*mssql.Connector, error) {
	workflow, known := workflows[login.Kind]
	if !known {
		return nil, fmt.Errorf("%s is not a kind of Microsoft Entra ID", login.Kind)
	}
	inner, err := azuread.NewConnector(connectionString(login, workflow))
	if err != nil {
		return nil, errors.New("the login cannot be prepared: user, tenant or secret has a wrong form")
	}
	return inner, nil
}

// connectionString says everything once more as a URL, the only form that azuread takes.
func connectionString(login targets.EntraLogin, workflow string) string {
	p := login.Params
	u := url.URL{Scheme: "sqlserver", Host: p.Host, Path: p.Instance}
	if p.Port != 0 {
		u.Host = net.JoinHostPort(p.Host, strconv.FormatUint(p.Port, 10))
	}
	q := url.Values{
		"fedauth":      {workflow},
		"app name":     {p.AppName},
		"disableretry": {"true"},
		"encrypt":      {"disable"}, // the agent encrypts underneath
	}
	if p.Database != "" {
		q.Set("database", p.Database)
	}
	if login.User != "" {
		q.Set("user id", login.User)
	}
	if login.Secret != "" {
		q.Set("password", login.Secret)
	}
	u.RawQuery = q.Encode()
	return u.String()
}
