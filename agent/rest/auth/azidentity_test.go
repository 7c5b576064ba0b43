package auth

import (
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
)

// Microsoft's library logs in at the issuer for development, with nothing but the address of the
// authority changed, and its token opens the front.
func TestAzidentityLogsIn(t *testing.T) {
	t.Parallel()
	const audience, id, secret = "https://management.example.com", "11111111-2222-3333-4444-555555555555", "dev secret+1"
	s := serveDev(t, audience, issuer.DevClient{ID: id, Secret: secret, Roles: []string{"Jobs.Author"}})
	options := &azidentity.ClientSecretCredentialOptions{
		ClientOptions: azcore.ClientOptions{
			Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: s.url + "/"}, Transport: s.client, Retry: policy.RetryOptions{MaxRetries: -1},
		},
		DisableInstanceDiscovery: true,
	}
	credential, err := azidentity.NewClientSecretCredential(issuer.DevTenant, id, secret, options)
	require.NoError(t, err)
	token, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{audience + "/.default"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, s.do(t, "PUT", testJob, "Bearer "+token.Token).status)

	credential, err = azidentity.NewClientSecretCredential(issuer.DevTenant, id, "wrong", options)
	require.NoError(t, err)
	_, err = credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{audience + "/.default"}})
	require.ErrorContains(t, err, "invalid_client")
	require.NotContains(t, err.Error(), secret)
}
