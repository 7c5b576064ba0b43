package azure

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/targets/outbound"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transport answers requests to the metadata service.
type transport func(r *http.Request) (int, string)

// Do implements policy.Transporter.
func (f transport) Do(r *http.Request) (*http.Response, error) {
	status, text := f(r)
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}

func TestManagedIdentity(t *testing.T) {
	var asked []string
	tokens := &Tokens{transport: transport(func(r *http.Request) (int, string) {
		asked = append(asked, r.URL.String())
		return http.StatusOK, `{"access_token": "abc", "expires_in": "3600", "expires_on": "4102444800", "resource": "x", "token_type": "Bearer"}`
	})}
	request := outbound.AzureRequest{Kind: outbound.KindManagedIdentity, ClientID: "client", Scope: "https://storage.azure.com/.default"}
	for range 2 {
		token, err := tokens.Get(t.Context(), request)
		require.NoError(t, err)
		require.Equal(t, "abc", token.Token)
		require.False(t, token.Expires.IsZero())
	}
	require.NotEmpty(t, asked)
	last := asked[len(asked)-1]
	require.Contains(t, last, "169.254.169.254")
	require.Contains(t, last, "resource=https%3A%2F%2Fstorage.azure.com")
	require.Contains(t, last, "client_id=client")
	n := len(asked)
	_, err := tokens.Get(t.Context(), request)
	require.NoError(t, err)
	require.Len(t, asked, n, "the library caches the token")
}

func TestErrors(t *testing.T) {
	tokens := &Tokens{transport: transport(func(*http.Request) (int, string) {
		return http.StatusBadRequest, `{"error": "invalid_request"}`
	})}
	_, err := tokens.Get(t.Context(), outbound.AzureRequest{Kind: outbound.KindManagedIdentity, Scope: "s"})
	require.ErrorContains(t, err, "get a token of azure-managed-identity")
	_, err = tokens.Get(t.Context(), outbound.AzureRequest{Kind: outbound.KindBasic, Scope: "s"})
	require.ErrorContains(t, err, `invalid kind "basic"`)
	credential, err := tokens.credential(source{outbound.KindAzureDefault, ""})
	require.NoError(t, err)
	require.NotNil(t, credential)
}
