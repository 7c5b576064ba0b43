package rolematrix

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/gateway"
	"github.com/jobagent/jobagent/controldb"
)

// Operations that need no credential, and operations that any known caller may call, are listed
// here one by one: an operation without a role is no oversight.
func TestOperationsWithoutRole(t *testing.T) {
	t.Parallel()
	directory, err := rest.NewDirectory()
	require.NoError(t, err)
	dev, err := issuer.NewDev("https://localhost:1", []string{"a"}, nil, nil)
	require.NoError(t, err)
	uaa, err := issuer.NewUAA("https://front.example", nil, nil, nil)
	require.NoError(t, err)
	authenticator, err := auth.New(auth.Config{}, auth.Options{PublicURL: "https://front.example"})
	require.NoError(t, err)
	all := append(surfaces(t, directory, &controldb.Store{}), uaa, dev,
		gateway.New(gateway.Config{Directory: directory, Authorizer: authenticator, PublicURL: "https://front.example"}))
	var open, known []string
	for _, s := range all {
		for _, op := range s.Operations() {
			switch name := s.Name() + " " + op.ID; {
			case op.Role > rest.RoleNone:
			case op.Authenticated:
				known = append(known, name)
			default:
				open = append(open, name)
			}
		}
	}
	slices.Sort(open)
	slices.Sort(known)
	require.Equal(t, []string{
		"dev Dev_Authorize", // the page at which people sign in to the dashboard of jobagent dev
		"dev Dev_Discovery", "dev Dev_Keys", "dev Dev_Token",
		"gateway Front_Health", "gateway Front_OpenAPI", "gateway Front_Readiness", "gateway Metadata_Endpoints",
		"uaa UAA_AllKeys", "uaa UAA_Discovery", "uaa UAA_Keys", "uaa UAA_Token",
	}, open)
	require.Equal(t, []string{ // each shows what the caller sees
		"gateway Databases_Get", "gateway Databases_ListByServer", "gateway Providers_Get", "gateway Providers_List", "gateway Providers_Register",
		"gateway ResourceGroups_Get", "gateway ResourceGroups_List", "gateway Servers_Get", "gateway Servers_List", "gateway Servers_ListByResourceGroup",
		"gateway Subscriptions_Get", "gateway Subscriptions_List", "gateway Subscriptions_ListLocations", "gateway Tenants_List",
	}, known)
}
