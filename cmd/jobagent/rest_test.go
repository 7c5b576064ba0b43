package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// `jobagent dev` serves REST over TLS with the server's certificate; the stored token is that of an
// administrator, and stays the same after a restart.
func TestDevServesREST(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir, "127.0.0.1:0")
	status, body := first.get(t, "/subscriptions?api-version=2021-04-01", first.token)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"state":"Enabled"`)
	status, _ = first.get(t, "/subscriptions?api-version=2021-04-01", first.token[:len(first.token)-1]+"A")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body = first.get(t, "/metadata/endpoints?api-version=2022-09-01", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"resourceManager":"`+first.rest+`"`)
	first.kill()
	second := startDev(t, dir, "127.0.0.1:0")
	require.Equal(t, first.token, second.token)
	status, body = second.get(t, "/readyz", second.token)
	require.Equal(t, http.StatusOK, status, body)
}

// get sends a request to the front.
func (p *devProcess) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	pem, err := os.ReadFile(p.trusted)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.rest+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: transport}).Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}
