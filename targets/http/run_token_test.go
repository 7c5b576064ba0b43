package http_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// TestCase066 is about the token of a run: its zid is the tenant of the job. agent/sap_test.go has
// the headers of the case, and TestSAPTenantOfRuns there shows whose tenant it is.
func TestCase066(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	requests := make(chan *nethttp.Request, 10)
	s := tcpSite(t, outbound.Config{Credentials: []outbound.Credential{{
		Name: "run-token", Kind: outbound.KindRunToken, Hosts: []string{"127.0.0.1"}, AllowHTTP: true, Key: "file:" + file,
		Issuer: "https://front.example/uaa/{subdomain}", Audience: "app", ClientID: "sb-app",
	}}}, func(c net.Conn) {
		if r, _, err := readRequest(c); err == nil {
			requests <- r
			_, _ = io.WriteString(c, status(200, r.Header.Get("Authorization"))) // an endpoint that repeats what it got
		}
	})
	d := post(s.origin + "/run")
	d.HTTP.Success = action.Success{Preset: action.PresetSAP}
	a := attemptOf(d)
	a.Credential = "run-token"
	for _, tenant := range []targets.Tenant{{ID: "t1-id", Subdomain: "t1"}, {ID: "t2-id", Subdomain: "t2"}} {
		a.Tenant = tenant
		result := try(t, s, a)
		require.Equal(t, targets.Succeeded, result.Outcome, result.Summary)
		r := <-requests
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		require.True(t, ok)
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }, jwt.WithValidMethods([]string{"RS256"}))
		require.NoError(t, err)
		require.Equal(t, tenant.ID, claims["zid"])
		require.Equal(t, "https://front.example/uaa/"+tenant.Subdomain, claims["iss"])
		require.NotEmpty(t, r.Header.Get("X-Sap-Run-At"))
		require.NotContains(t, result.Summary, token, "the answer repeats the token; it is masked")
		for _, m := range result.Messages {
			require.NotContains(t, m.Text, token)
		}
	}
	a.Tenant = targets.Tenant{}
	result := try(t, s, a)
	require.Equal(t, targets.Failed, result.Outcome)
	require.True(t, result.NoRetry)
	require.Contains(t, result.Summary, "this job has none")
	require.Empty(t, requests, "nothing was sent")
}
