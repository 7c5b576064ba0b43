package elastic_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/front"
)

// token is a credential with a static token.
type token string

// GetToken implements azcore.TokenCredential.
func (t token) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(t), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// options points a client of the SDK at the front. This is all that a client needs.
func options(f *front.Front) *arm.ClientOptions {
	return &arm.ClientOptions{ClientOptions: policy.ClientOptions{
		Cloud: cloud.Configuration{
			ActiveDirectoryAuthorityHost: "https://login.example",
			Services:                     map[cloud.ServiceName]cloud.ServiceConfiguration{cloud.ResourceManager: {Endpoint: f.URL, Audience: f.URL}},
		},
		Transport: f.HTTP,
	}}
}

// credential is the token of an administrator.
func credential(f *front.Front) token { return token(f.Tokens.Of(rest.RoleAdmin)) }

// done polls until an operation has ended.
func done[T any](t *testing.T, p *runtime.Poller[T], err error) T {
	t.Helper()
	require.NoError(t, err)
	result, err := p.PollUntilDone(t.Context(), &runtime.PollUntilDoneOptions{Frequency: time.Second})
	require.NoError(t, err)
	return result
}

// pages returns the elements of all pages.
func pages[P, T any](t *testing.T, p *runtime.Pager[P], values func(P) []*T) (list []*T) {
	t.Helper()
	for p.More() {
		page, err := p.NextPage(t.Context())
		require.NoError(t, err)
		list = append(list, values(page)...)
	}
	return list
}

// fails checks the status and the code of an error.
func fails(t *testing.T, err error, status int, code string) {
	t.Helper()
	var e *azcore.ResponseError
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.ErrorCode, err)
	require.Equal(t, status, e.StatusCode)
}

func ptr[T any](v T) *T { return &v }
