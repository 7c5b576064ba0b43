package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
)

// Microsoft's library logs in at `jobagent dev --dev-issuer` with what the metadata of the front
// says, and lists subscriptions with its token.
func TestToolsLogInAtDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startDev(t, dir, "127.0.0.1:0", "--rest-listen", "127.0.0.1:0", "--dev-issuer")
	certificate, err := os.ReadFile(p.trusted)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(certificate))
	transport := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	client := &http.Client{Transport: transport}
	get := func(path, token string, into any) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.rest+path, nil)
		require.NoError(t, err)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := client.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		if into != nil {
			require.NoError(t, json.NewDecoder(answer.Body).Decode(into))
		}
		return answer.StatusCode
	}
	var metadata struct {
		Authentication struct {
			LoginEndpoint string
			Audiences     []string
		}
	}
	require.Equal(t, http.StatusOK, get("/metadata/endpoints?api-version=2022-09-01", "", &metadata))
	info, err := os.Stat(filepath.Join(dir, dev.RESTClientSecretFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	secret, err := os.ReadFile(filepath.Join(dir, dev.RESTClientSecretFile))
	require.NoError(t, err)
	credential, err := azidentity.NewClientSecretCredential(issuer.DevTenant, dev.RESTClientID, strings.TrimSpace(string(secret)),
		&azidentity.ClientSecretCredentialOptions{
			ClientOptions: azcore.ClientOptions{
				Cloud: cloud.Configuration{ActiveDirectoryAuthorityHost: metadata.Authentication.LoginEndpoint}, Transport: client,
			},
			DisableInstanceDiscovery: true,
		})
	require.NoError(t, err)
	token, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{metadata.Authentication.Audiences[0] + "/.default"}})
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, get("/subscriptions?api-version=2022-09-01", token.Token, nil))
	require.Equal(t, http.StatusUnauthorized, get("/subscriptions?api-version=2022-09-01", token.Token+"x", nil))
	p.kill()
	require.NotContains(t, p.log.String(), strings.TrimSpace(string(secret)))
	require.NotContains(t, p.log.String(), token.Token)
}
