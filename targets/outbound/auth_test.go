package outbound_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/action"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/targets/outbound"
)

// secretFile writes a secret to a file and returns the reference to it.
func secretFile(t *testing.T, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, []byte(secret), 0o600))
	return "file:" + path
}

// parse returns a parsed URL.
func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

// authorize returns a request to h.example that a credential has authenticated.
func authorize(t *testing.T, n *outbound.Network, name string, inline *action.Auth, mask *outbound.Mask) (*http.Request, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "https://h.example/x?a=1", nil)
	auth, err := n.Authentication(name, inline, false, r.URL, mask)
	if err != nil {
		return nil, err
	}
	return r, auth.Authorize(t.Context(), r, []byte("body"), "id", time.Now())
}

func TestKindsThatSendASecret(t *testing.T) {
	t.Parallel()
	secret := secretFile(t, "hunter2/+\n")
	hosts := []string{"*.example"}
	n := network(t, outbound.Config{Credentials: []outbound.Credential{
		{Name: "basic", Kind: outbound.KindBasic, Hosts: hosts, User: "u", Secret: secret},
		{Name: "bearer", Kind: outbound.KindBearer, Hosts: hosts, Secret: secret},
		{Name: "key", Kind: outbound.KindAPIKey, Hosts: hosts, Secret: secret},
		{Name: "header", Kind: outbound.KindAPIKey, Hosts: hosts, Secret: secret, Header: "X-Functions-Key"},
		{Name: "query", Kind: outbound.KindAPIKey, Hosts: hosts, Secret: secret, Query: "code"},
		{Name: "sas", Kind: outbound.KindSASToken, Hosts: hosts, Secret: secret},
		{Name: "lines", Kind: outbound.KindBearer, Hosts: hosts, Secret: secretFile(t, "a\nb")},
		{Name: "missing", Kind: outbound.KindBearer, Hosts: hosts, Secret: "file:/nowhere/hunter2"},
	}})
	for name, c := range map[string]struct{ header, value string }{
		"BASIC":  {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("u:hunter2/+"))},
		"bearer": {"Authorization", "Bearer hunter2/+"},
		"key":    {"X-API-Key", "hunter2/+"},
		"header": {"X-Functions-Key", "hunter2/+"},
	} {
		mask := outbound.NewMask()
		r, err := authorize(t, n, name, nil, mask)
		require.NoError(t, err)
		require.Equal(t, c.value, r.Header.Get(c.header), name)
		require.NotContains(t, mask.String("x "+c.value), "hunter2")
		require.Len(t, r.Header, 1)
	}
	r, err := authorize(t, n, "query", nil, outbound.NewMask())
	require.NoError(t, err)
	require.Equal(t, "a=1&code=hunter2%2F%2B", r.URL.RawQuery)
	require.Empty(t, r.Header)
	for name, text := range map[string]string{
		"sas":     "does not authenticate an HTTP request",
		"lines":   "line break",
		"missing": "no such file",
		"unknown": "no such credential",
	} {
		_, err := authorize(t, n, name, nil, outbound.NewMask())
		var config *targets.ConfigError
		require.ErrorAs(t, err, &config)
		require.ErrorContains(t, err, text)
		require.ErrorContains(t, err, fmt.Sprintf("credential %q", name))
	}
	r, err = authorize(t, n, "", &action.Auth{Kind: "basic", Username: "u", Password: "p"}, outbound.NewMask())
	require.NoError(t, err)
	user, password, _ := r.BasicAuth()
	require.Equal(t, "u p", user+" "+password)
	_, err = authorize(t, n, "basic", &action.Auth{Kind: "basic"}, outbound.NewMask())
	require.ErrorContains(t, err, "want one of them")
	r, err = authorize(t, n, "", nil, outbound.NewMask())
	require.NoError(t, err)
	require.Empty(t, r.Header)
}

func TestCredentialsAreBoundToHosts(t *testing.T) {
	t.Parallel()
	secret := secretFile(t, "hunter2")
	for _, c := range []struct {
		hosts []string
		http  bool
		url   string
		ok    bool
	}{
		{[]string{"h.example"}, false, "https://h.example/", true},
		{[]string{"H.Example."}, false, "https://h.example:8443/", true},
		{[]string{"h.example:443"}, false, "https://h.example/", true},
		{[]string{"h.example:8443"}, false, "https://h.example/", false},
		{[]string{"*.example"}, false, "https://a.b.example/", true},
		{[]string{"*.example"}, false, "https://example/", false},
		{[]string{"*.example"}, false, "https://h.example.evil.net/", false},
		{[]string{"a", "*"}, false, "https://other.net/", true},
		{[]string{"10.0.*"}, false, "https://10.0.0.1/", true},
		{[]string{"10.0.*"}, false, "https://10.0.evil.net/", false},
		{[]string{"[::1]:443"}, false, "https://[::1]/", true},
		{[]string{"::1"}, false, "https://[0:0::1]:8443/", true},
		{[]string{"*"}, false, "http://h.example/", false},
		{[]string{"*"}, true, "http://h.example/", true},
		{[]string{"*.example"}, false, "https://h\uff0eexample/", false},
	} {
		n := network(t, outbound.Config{Credentials: []outbound.Credential{
			{Name: "c", Kind: outbound.KindBearer, Hosts: c.hosts, Secret: secret, AllowHTTP: c.http},
		}})
		auth, err := n.Authentication("c", nil, true, parse(t, c.url), outbound.NewMask())
		require.Equal(t, c.ok, err == nil, "%v %s: %v", c.hosts, c.url, err)
		if err == nil {
			require.True(t, auth.Covers(parse(t, c.url)))
			require.False(t, auth.Covers(parse(t, "https://h.other/")))
			require.Len(t, n.Weaknesses(), map[bool]int{true: 1}[c.http])
		}
	}
}

func TestCredentialReportsAllFaults(t *testing.T) {
	t.Parallel()
	require.NoError(t, outbound.Credential{Name: "a", Kind: outbound.KindOAuth2, Hosts: []string{"*"}, ClientID: "c",
		TokenURL: "https://t/", ClientAuthentication: "private-key-jwt", Key: "env:K"}.Validate())
	for _, c := range []struct {
		credential outbound.Credential
		texts      []string
	}{
		{outbound.Credential{Kind: outbound.KindBasic, Hosts: []string{" "}, Secret: "hunter2", Header: "x", Keys: []string{"hunter2"}},
			[]string{"the name is missing", "host pattern", "user is missing", "has no header", "has no keys", "not the secret itself"}},
		{outbound.Credential{Name: "a", Kind: outbound.KindAPIKey, Hosts: []string{"*"}, Header: "a b", Query: "q"},
			[]string{"secret is missing", "exclude each other", `invalid header "a b"`}},
		{outbound.Credential{Name: "a", Kind: outbound.KindOAuth2, Hosts: []string{"*"}, TokenURL: "http://t/hunter2",
			ClientAuthentication: "magic", Parameters: map[string]string{"scope": "x"}},
			[]string{"client_id is missing", "secret is missing", "want https", "client_authentication", `invalid parameter "scope"`}},
		{outbound.Credential{Name: "a", Kind: outbound.KindOAuth2, Hosts: []string{"*"}, TokenURL: "https://u:hunter2@t/"},
			[]string{"without user and fragment"}},
		{outbound.Credential{Name: "a", Kind: outbound.KindClientCertificate, Hosts: []string{"*"}}, []string{"certificate is missing"}},
		{outbound.Credential{Name: "a", Kind: outbound.KindStandardWebhooks, Hosts: []string{"*"}}, []string{"keys is missing"}},
		{outbound.Credential{Name: "a", Kind: outbound.KindAzureDefault, Hosts: []string{"*"}, ClientID: "x"}, []string{"has no client_id"}},
	} {
		err := c.credential.Validate()
		for _, text := range c.texts {
			require.ErrorContains(t, err, text)
		}
		require.NotContains(t, err.Error(), "hunter2")
	}
	secret := outbound.Credential{Name: "a", Kind: outbound.KindBearer, Secret: "env:HUNTER2"}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", secret, secret, secret), "HUNTER2")
}

func TestWebhookKeys(t *testing.T) {
	t.Parallel()
	n := network(t, outbound.Config{})
	key := func(prefix string, bytes int) string {
		return prefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", bytes)))
	}
	for text, signature := range map[string]string{
		key("whsec_", 24): "v1,", key("whsec_", 64): "v1,", key("", 32): "v1,",
		key("whsk_", 32):  "v1a,",
		key("whsec_", 23): "", key("whsec_", 65): "", key("whsk_", 31): "", "whsec_!": "", "hunter2": "", "": "",
	} {
		r, err := authorize(t, n, "", &action.Auth{Kind: "standard-webhooks", Keys: []string{text}}, outbound.NewMask())
		require.Equal(t, signature != "", err == nil, text)
		if err == nil {
			require.True(t, strings.HasPrefix(r.Header.Get("webhook-signature"), signature))
			require.Equal(t, "id", r.Header.Get("webhook-id"))
			continue
		}
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := authorize(t, n, "", &action.Auth{Kind: "standard-webhooks"}, outbound.NewMask())
	require.ErrorContains(t, err, "keys is missing")
}

// issuer is a server that issues tokens over TLS.
type issuer struct {
	*httptest.Server
	network *outbound.Network
	mu      sync.Mutex
	forms   []url.Values
	// answer replaces the answer of the n-th request, which counts from 1.
	answer func(n int, w http.ResponseWriter) bool
}

// startIssuer starts an issuer whose credentials are named after their client_authentication.
func startIssuer(t *testing.T, change func(c *outbound.Credential)) *issuer {
	t.Helper()
	i := &issuer{}
	i.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		i.mu.Lock()
		if user, password, ok := r.BasicAuth(); ok {
			r.Form.Set("basic", user+":"+password)
		}
		i.forms = append(i.forms, r.Form)
		n := len(i.forms)
		i.mu.Unlock()
		if i.answer != nil && i.answer(n, w) {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"access_token": fmt.Sprintf("token-%d", n), "expires_in": 3600, "token_type": "bearer"})
	}))
	t.Cleanup(i.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw}), 0o600))
	c := outbound.Credential{Name: "oauth", Kind: outbound.KindOAuth2, Hosts: []string{"*"}, ClientID: "cl",
		TokenURL: i.URL + "/token", Secret: secretFile(t, "hunter2"), Scope: "a b", Audience: "aud",
		Parameters: map[string]string{"resource": "r"}}
	if change != nil {
		change(&c)
	}
	i.network = network(t, outbound.Config{Allow: outbound.LoopbackAllowed(), CA: "file:" + ca, Credentials: []outbound.Credential{c}})
	return i
}

// token gets a token for an action.
func (i *issuer) token(t *testing.T) (string, *outbound.Auth, error) {
	t.Helper()
	auth, err := i.network.Authentication("oauth", nil, false, parse(t, "https://h.example/"), outbound.NewMask())
	if err != nil {
		return "", nil, err
	}
	text, err := auth.Token(t.Context(), "")
	return text, auth, err
}

func TestTokens(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nil)
	first, auth, err := i.token(t)
	require.NoError(t, err)
	require.Equal(t, "token-1", first)
	form := i.forms[0]
	require.Equal(t, "client_credentials a b aud r cl:hunter2",
		strings.Join([]string{form.Get("grant_type"), form.Get("scope"), form.Get("audience"), form.Get("resource"), form.Get("basic")}, " "))
	second, _, err := i.token(t)
	require.NoError(t, err)
	require.Equal(t, first, second, "the token is cached")
	require.True(t, auth.Rejected())
	require.False(t, auth.Rejected(), "one new token for each rejection")
	third, _, err := i.token(t)
	require.NoError(t, err)
	require.Equal(t, "token-2", third)
	auth, err = i.network.Authentication("", &action.Auth{Kind: "oauth2-client-credentials", TokenURL: i.URL, ClientID: "other",
		ClientSecret: "p"}, false, parse(t, "https://h.example/"), outbound.NewMask())
	require.NoError(t, err)
	fourth, err := auth.Token(t.Context(), "scope")
	require.NoError(t, err)
	require.Equal(t, "token-3", fourth, "another client")
	require.Equal(t, "scope", i.forms[2].Get("scope"))
}

func TestClientAuthentication(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, func(c *outbound.Credential) { c.ClientAuthentication = "form" })
	_, _, err := i.token(t)
	require.NoError(t, err)
	require.Equal(t, "cl hunter2", i.forms[0].Get("client_id")+" "+i.forms[0].Get("client_secret"))

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	i = startIssuer(t, func(c *outbound.Credential) {
		c.ClientAuthentication, c.Secret, c.Key = "private-key-jwt", "", secretFile(t, text)
	})
	_, _, err = i.token(t)
	require.NoError(t, err)
	form := i.forms[0]
	require.Equal(t, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", form.Get("client_assertion_type"))
	require.Empty(t, form.Get("client_secret"))
	require.Equal(t, "cl", form.Get("client_id"))
	var claims jwt.RegisteredClaims
	_, err = jwt.ParseWithClaims(form.Get("client_assertion"), &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience(i.URL+"/token"), jwt.WithIssuer("cl"), jwt.WithSubject("cl"),
		jwt.WithExpirationRequired())
	require.NoError(t, err)
	require.NotEmpty(t, claims.ID)

	i = startIssuer(t, func(c *outbound.Credential) {
		c.ClientAuthentication, c.Secret, c.Key = "private-key-jwt", "", secretFile(t, "hunter2")
	})
	_, _, err = i.token(t)
	require.ErrorContains(t, err, "invalid key")
	require.NotContains(t, err.Error(), "hunter2")
}

// Every failure of a token's issuer, with the word on another attempt.
func TestIssuerFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter)
		status int
		final  bool
		text   string
	}{
		"bad request": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			_, _ = io.WriteString(w, `{"error": "invalid_scope", "error_description": "no hunter2 `+strings.Repeat("x", 1000)+`"}`)
		}, 400, true, "invalid_scope: no *** "},
		"unauthorized": {func(w http.ResponseWriter) { w.WriteHeader(401) }, 401, true, ""},
		"forbidden":    {func(w http.ResponseWriter) { w.WriteHeader(403) }, 403, true, ""},
		"trouble":      {func(w http.ResponseWriter) { w.WriteHeader(503) }, 503, false, ""},
		"redirect":     {func(w http.ResponseWriter) { w.Header().Set("Location", "/x"); w.WriteHeader(307) }, 307, false, ""},
		"no JSON":      {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>hunter2") }, 0, false, "get a token"},
		"no token":     {func(w http.ResponseWriter) { _, _ = io.WriteString(w, "{}") }, 0, false, "get a token"},
		"line break": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token": "a\r\nb"}`)
		}, 0, false, "not a valid value"},
		"closed": {func(http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, false, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := startIssuer(t, nil)
			i.answer = func(_ int, w http.ResponseWriter) bool { c.answer(w); return true }
			_, _, err := i.token(t)
			var refusal *outbound.TokenError
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.status, refusal.Status, err)
			require.Equal(t, c.final, refusal.Final())
			require.ErrorContains(t, err, c.text)
			require.ErrorContains(t, err, `credential "oauth"`)
			require.NotContains(t, err.Error(), "hunter2")
			require.Less(t, len(err.Error()), 500)
			require.Len(t, i.forms, 1)
		})
	}
}

// Case 112, second half: the request for a token passes the same guard.
func TestCase112TokenEndpointIsGuarded(t *testing.T) {
	t.Parallel()
	i := startIssuer(t, nil)
	for _, place := range []string{"https://169.254.169.254/token", "https://10.0.0.1/", "https://[::ffff:10.0.0.1]/"} {
		auth, err := i.network.Authentication("", &action.Auth{Kind: "oauth2-client-credentials", TokenURL: place, ClientID: "c",
			ClientSecret: "hunter2"}, false, parse(t, "https://h.example/"), outbound.NewMask())
		require.NoError(t, err)
		_, err = auth.Token(t.Context(), "")
		var refused *outbound.RefusedError
		require.ErrorAs(t, err, &refused)
		require.NotContains(t, err.Error(), "hunter2")
	}
	_, err := i.network.Authentication("", &action.Auth{Kind: "oauth2-client-credentials", TokenURL: "http://t.example/", ClientID: "c",
		ClientSecret: "hunter2"}, false, parse(t, "https://h.example/"), outbound.NewMask())
	require.ErrorContains(t, err, "want https")
}

// azureNetwork returns a network whose tokens of Azure come from a function.
func azureNetwork(t *testing.T, get func(ctx context.Context, r outbound.AzureRequest) (outbound.AzureToken, error)) *outbound.Network {
	t.Helper()
	return network(t, outbound.Config{Azure: get, Credentials: []outbound.Credential{
		{Name: "mi", Kind: outbound.KindManagedIdentity, Hosts: []string{"*"}, ClientID: "c"},
	}})
}

// A token is fetched once by any number of attempts, and again a minute before its end.
func TestTokenCache(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fetched atomic.Int32
		n := azureNetwork(t, func(_ context.Context, r outbound.AzureRequest) (outbound.AzureToken, error) {
			require.Equal(t, outbound.AzureRequest{Kind: outbound.KindManagedIdentity, ClientID: "c", Scope: "s"}, r)
			time.Sleep(time.Second)
			return outbound.AzureToken{Token: fmt.Sprint("t", fetched.Add(1)), Expires: time.Now().Add(10 * time.Minute)}, nil
		})
		get := func(ctx context.Context) (string, error) {
			auth, err := n.Authentication("mi", nil, false, parse(t, "https://h.example/"), outbound.NewMask())
			require.NoError(t, err)
			return auth.Token(ctx, "s")
		}
		var group sync.WaitGroup
		for range 100 {
			group.Go(func() {
				text, err := get(t.Context())
				require.NoError(t, err)
				require.Equal(t, "t1", text)
			})
		}
		group.Wait()
		time.Sleep(9*time.Minute - time.Second)
		text, err := get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "t1", text)
		time.Sleep(time.Second)
		text, err = get(t.Context())
		require.NoError(t, err)
		require.Equal(t, "t2", text)
	})
}

// The end of one attempt does not fail the others that wait for the same token.
func TestTokenCacheInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		errStop := errors.New("stop")
		n := azureNetwork(t, func(ctx context.Context, _ outbound.AzureRequest) (outbound.AzureToken, error) {
			select {
			case <-ctx.Done():
				return outbound.AzureToken{}, ctx.Err()
			case <-time.After(5 * time.Second):
				return outbound.AzureToken{Token: "t", Expires: time.Now().Add(time.Hour)}, nil
			}
		})
		get := func(ctx context.Context) (string, error) {
			auth, err := n.Authentication("mi", nil, false, parse(t, "https://h.example/"), outbound.NewMask())
			require.NoError(t, err)
			return auth.Token(ctx, "s")
		}
		first, stop := context.WithCancelCause(t.Context())
		var group sync.WaitGroup
		group.Go(func() {
			_, err := get(first)
			require.ErrorIs(t, err, errStop)
		})
		synctest.Wait()
		for range 3 {
			group.Go(func() {
				text, err := get(t.Context())
				require.NoError(t, err)
				require.Equal(t, "t", text)
			})
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := get(impatient)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		stop(errStop)
		group.Wait()
	})
	n := azureNetwork(t, func(context.Context, outbound.AzureRequest) (outbound.AzureToken, error) {
		return outbound.AzureToken{}, errors.New("no identity")
	})
	auth, err := n.Authentication("mi", nil, false, parse(t, "https://h.example/"), outbound.NewMask())
	require.NoError(t, err)
	_, err = auth.Token(t.Context(), "s")
	require.ErrorContains(t, err, "no identity")
	_, err = auth.Token(t.Context(), "")
	require.ErrorContains(t, err, "scope is missing")
}
