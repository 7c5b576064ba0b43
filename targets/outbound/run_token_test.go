package outbound_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/signing"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// runKey is made once: an RSA key takes long.
var runKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// pemOf returns the PEM text of a private key.
func pemOf(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// runToken returns the credential of the tests.
func runToken(t *testing.T) outbound.Credential {
	return outbound.Credential{
		Name: "run", Kind: outbound.KindRunToken, Hosts: []string{"*.example"}, Key: secretFile(t, pemOf(t, runKey())),
		Issuer: "https://front.example/uaa/{subdomain}", Audience: "app1 app2", ClientID: "sb-jobs!t1", Scope: "app1.JOBS",
	}
}

// authorizeFor returns the header Authorization of a request for a tenant's run.
func authorizeFor(t *testing.T, n *outbound.Network, name, host string, tenant targets.Tenant, mask *outbound.Mask) (string, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://"+host+"/x", nil)
	auth, err := n.Authentication(name, nil, false, r.URL, mask)
	if err != nil {
		return "", err
	}
	auth.SetTenant(tenant)
	err = auth.Authorize(t.Context(), r, nil, "id", time.Now())
	return r.Header.Get("Authorization"), err
}

// A run's token is signed with a key that the front publishes, carries the tenant of the job, and
// is masked in what comes back (S-48, S-52).
func TestRunToken(t *testing.T) {
	t.Parallel()
	n := network(t, outbound.Config{Credentials: []outbound.Credential{runToken(t)}})
	mask := &outbound.Mask{}
	header, err := authorizeFor(t, n, "run", "app.example", targets.Tenant{ID: "t1-id", Subdomain: "t1"}, mask)
	require.NoError(t, err)
	text, ok := strings.CutPrefix(header, "Bearer ")
	require.True(t, ok)
	c := jwt.MapClaims{}
	token, err := jwt.ParseWithClaims(text, c, func(token *jwt.Token) (any, error) {
		require.Equal(t, signing.ID(&runKey().PublicKey), token.Header["kid"], "the ID by which the front publishes the key")
		return &runKey().PublicKey, nil
	}, jwt.WithValidMethods([]string{"RS256"}))
	require.NoError(t, err)
	require.True(t, token.Valid)
	require.LessOrEqual(t, c["exp"].(float64)-c["iat"].(float64), 300.0, "seconds: an endpoint may use it elsewhere meanwhile")
	for _, name := range []string{"exp", "iat", "jti"} {
		require.Contains(t, c, name)
		delete(c, name)
	}
	require.Equal(t, jwt.MapClaims{
		"iss": "https://front.example/uaa/t1", "sub": "sb-jobs!t1", "client_id": "sb-jobs!t1", "cid": "sb-jobs!t1", "azp": "sb-jobs!t1",
		"aud": []any{"app1", "app2"}, "zid": "t1-id", "ext_attr": map[string]any{"zdn": "t1"}, "scope": []any{"app1.JOBS"}, "grant_type": "client_credentials",
	}, c)
	require.NotContains(t, mask.String("the endpoint says "+text), text)
}

// Each attempt has a token of its own.
func TestRunTokensAreMadeForEachAttempt(t *testing.T) {
	t.Parallel()
	n := network(t, outbound.Config{Credentials: []outbound.Credential{runToken(t)}})
	seen := map[string]bool{}
	for _, tenant := range []string{"a", "a", "b"} {
		header, err := authorizeFor(t, n, "run", "app.example", targets.Tenant{ID: tenant, Subdomain: "s"}, &outbound.Mask{})
		require.NoError(t, err)
		seen[header] = true
	}
	require.Len(t, seen, 3)
}

// A run's token goes to the hosts of the credential only, and is for jobs of tenants only.
func TestRunTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	credentials := []outbound.Credential{runToken(t), runToken(t), runToken(t), runToken(t)}
	for i, name := range []string{"run", "ec", "small", "byID"} {
		credentials[i].Name = name
	}
	credentials[1].Key, credentials[2].Key = secretFile(t, pemOf(t, ec)), secretFile(t, pemOf(t, small))
	credentials[3].Issuer = "https://front.example/uaa/{tenant}"
	n := network(t, outbound.Config{Credentials: credentials})
	good := targets.Tenant{ID: "a", Subdomain: "s"}
	for name, one := range map[string]struct {
		credential, host string
		tenant           targets.Tenant
		message          string
	}{
		"another host":   {"run", "evil.test", good, "may not be sent to"},
		"no tenant":      {"run", "app.example", targets.Tenant{}, "this job has none"},
		"no subdomain":   {"run", "app.example", targets.Tenant{ID: "a"}, "no subdomain"},
		"not a label":    {"run", "app.example", targets.Tenant{ID: "a", Subdomain: "evil.com/x"}, "no subdomain"},
		"hyphen":         {"run", "app.example", targets.Tenant{ID: "a", Subdomain: "-a"}, "no subdomain"},
		"elliptic curve": {"ec", "app.example", good, "want an RSA key"},
		"small key":      {"small", "app.example", good, "want an RSA key"},
	} {
		header, err := authorizeFor(t, n, one.credential, one.host, one.tenant, &outbound.Mask{})
		var config *targets.ConfigError
		require.ErrorAs(t, err, &config, name)
		require.ErrorContains(t, err, one.message, name)
		require.Empty(t, header, name)
	}
	_, err = authorizeFor(t, n, "byID", "app.example", targets.Tenant{ID: "a/b"}, &outbound.Mask{})
	require.NoError(t, err)
}

func TestFaultsOfRunTokens(t *testing.T) {
	t.Parallel()
	for message, change := range map[string]func(*outbound.Credential){
		"key is missing":                     func(c *outbound.Credential) { c.Key = "" },
		"issuer is missing":                  func(c *outbound.Credential) { c.Issuer = "" },
		"audience is missing":                func(c *outbound.Credential) { c.Audience = "" },
		"client_id is missing":               func(c *outbound.Credential) { c.ClientID = "" },
		"kind run-token has no secret":       func(c *outbound.Credential) { c.Secret = "env:X" },
		`invalid issuer "front"`:             func(c *outbound.Credential) { c.Issuer = "front" },
		`invalid audience "job-scheduler:i"`: func(c *outbound.Credential) { c.Audience = "app job-scheduler:i" },
		"the hosts are missing":              func(c *outbound.Credential) { c.Hosts = nil },
	} {
		credential := runToken(t)
		change(&credential)
		require.ErrorContains(t, credential.Validate(), message)
	}
}

// The token URL of client credentials may name the tenant's subdomain (S-52). Each tenant has a
// token of its own.
func TestTokenURLOfATenant(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"token-of` + strings.ReplaceAll(r.URL.Path, "/", "-") + `","token_type":"bearer","expires_in":3600}`))
	}))
	t.Cleanup(server.Close)
	credential := outbound.Credential{
		Name: "oauth", Kind: outbound.KindOAuth2, Hosts: []string{"*.example"}, AllowHTTP: true, ClientID: "c",
		Secret: secretFile(t, "hunter2"), TokenURL: server.URL + "/{subdomain}/{tenant}/token",
	}
	n := network(t, outbound.Config{Allow: outbound.LoopbackAllowed(), Credentials: []outbound.Credential{credential}})
	for range 2 {
		for _, tenant := range []targets.Tenant{{ID: "a/b", Subdomain: "s1"}, {ID: "c", Subdomain: "s2"}} {
			header, err := authorizeFor(t, n, "oauth", "app.example", tenant, &outbound.Mask{})
			require.NoError(t, err)
			require.Contains(t, header, "token-of-"+tenant.Subdomain)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, map[string]int{"/s1/a/b/token": 1, "/s2/c/token": 1}, asked)
	_, err := authorizeFor(t, n, "oauth", "app.example", targets.Tenant{}, &outbound.Mask{})
	require.ErrorContains(t, err, "this job has none")
}
