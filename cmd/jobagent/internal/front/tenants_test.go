package front_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
)

// A tenant gets tokens from its subscription to its unsubscription, by ID or subdomain; then its
// old tokens open nothing (S-57, S-58).
func TestTokensOfTenants(t *testing.T) {
	const secret = "secret-of-the-client-with-32-chars"
	hash, err := auth.HashRandom(secret)
	require.NoError(t, err)
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	require.NoError(t, os.WriteFile(file, text, 0o600))
	s := serve(t, func(c *config.REST) {
		i := config.SAPInstance{SAPCallers: config.SAPCallers{
			Clients: []auth.Client{{ID: "client", SecretHashes: []string{hash}}}, SigningKeys: []string{"file:" + file},
		}}
		i.SAPService.Name, i.SAPService.Tenant, i.SubDomain, i.AllowAnonymousActions = "inst1", "provider-id", "provider", true
		c.SAP.Instances = []config.SAPInstance{i}
	})
	send := func(method, path, authorization, kind, body string) (int, map[string]any) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		r.Header.Set("Content-Type", kind)
		answer, err := s.http.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		values := map[string]any{}
		_ = json.Unmarshal(b, &values) // some answers are lists or empty
		return answer.StatusCode, values
	}
	var last any
	token := func(tenant string) (int, string) {
		t.Helper()
		status, answer := send("POST", "/uaa/"+tenant+"/oauth/token", "", "application/x-www-form-urlencoded",
			"grant_type=client_credentials&client_id=client&client_secret="+secret)
		last = answer
		text, _ := answer["access_token"].(string)
		return status, text
	}
	admin := "Bearer " + s.token
	for _, tenant := range []string{"provider", "provider-id"} {
		status, _ := token(tenant)
		require.Equal(t, 200, status, "%s %v", tenant, last)
	}
	status, _ := token("sub1")
	require.Equal(t, 401, status)

	require.Eventually(t, func() bool { // the front stores the provider's tenant when it has started
		status, _ := send("PUT", "/admin/tenants/t1/subscriptions/app", admin, "application/json", `{"subdomain":"sub1"}`)
		return status < 300
	}, 30*time.Second, 50*time.Millisecond)
	var bearer string
	for _, tenant := range []string{"sub1", "SUB1", "t1"} {
		status, text := token(tenant)
		require.Equal(t, 200, status, "%s %v", tenant, last)
		bearer = "bearer " + text
		status, _ = send("GET", "/scheduler/jobs", bearer, "", "")
		require.Equal(t, 200, status)
	}
	status, _ = send("DELETE", "/admin/tenants/t1/subscriptions/app", admin, "", "")
	require.Less(t, status, 300)
	for _, tenant := range []string{"sub1", "t1"} {
		status, _ := token(tenant)
		require.Equal(t, 401, status, tenant)
	}
	status, _ = send("GET", "/scheduler/jobs", bearer, "", "")
	require.Equal(t, 403, status)
}
