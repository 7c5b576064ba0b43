package auth

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/auth/signing"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// The secrets of the tests. Their hashes are fast.
const (
	clientSecret = "client-secret-client-secret-1234"
	otherSecret  = "other-secret-other-secret-123456"
	userPassword = "password-of-the-user-of-lite-123"
)

// keyFile writes a signing key, and returns the reference to it.
func keyFile(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return "file:" + path
}

// hashOf returns the hash of a random secret.
func hashOf(t *testing.T, secret string) string {
	t.Helper()
	hash, err := HashRandom(secret)
	require.NoError(t, err)
	return hash
}

// tenants are the tenants that have subscribed, by instance.
type tenants map[string][]issuer.Tenant

// Tenant implements issuer.Tenants.
func (l tenants) Tenant(_ context.Context, instance, name string) (issuer.Tenant, bool, error) {
	for _, t := range l[instance] {
		if t.ID == name || t.Subdomain == name {
			return t, true, nil
		}
	}
	return issuer.Tenant{}, false, nil
}

// sapInstance returns an instance with a client, a client that may only read, and a user.
func sapInstance(t *testing.T) Instance {
	t.Helper()
	return Instance{
		Name: "inst1", Tenant: "provider-id", Subdomain: "provider", SigningKeys: []string{keyFile(t, testKeys().rsa)},
		Clients: []Client{
			{ID: "sb-client!t1", SecretHashes: []string{hashOf(t, clientSecret), hashOf(t, otherSecret)}},
			{ID: "reader", SecretHashes: []string{hashOf(t, clientSecret)}, Scopes: []string{ScopeRead}},
		},
		Users: []User{{Name: "lite", PasswordHash: hashOf(t, userPassword)}, {Name: "of-t1", PasswordHash: hashOf(t, userPassword), Tenant: "t1-id", Scopes: []string{ScopeRead}}},
	}
}

// fetch gets a token for a client, and requires that it was issued.
func (s *served) fetch(t *testing.T, tenant, client string, form ...string) string {
	t.Helper()
	a := s.do(t, "POST", "/uaa/"+tenant+"/oauth/token", basic(client, clientSecret), append(form, "response_type=token", "grant_type=client_credentials")...)
	require.Equal(t, http.StatusOK, a.status, a.body)
	token, ok := a.body["access_token"].(string)
	require.True(t, ok)
	return token
}

// TestUAA: the answer and the claims are those of XSUAA (S-57), by Basic and by form.
func TestUAA(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{Instances: []Instance{sapInstance(t)}, Tenants: tenants{"inst1": {{ID: "t1-id", Subdomain: "t1"}}}}, nil)
	a := s.do(t, "POST", "/uaa/t1/oauth/token", basic("sb-client!t1", clientSecret), "response_type=token", "grant_type=client_credentials")
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	require.Equal(t, "bearer", a.body["token_type"])
	require.InEpsilon(t, 43199, a.body["expires_in"], 0)
	require.Equal(t, "job-scheduler.read job-scheduler.write", a.body["scope"])
	token, c := a.body["access_token"].(string), jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(token, c)
	require.NoError(t, err)
	require.Equal(t, a.body["jti"], c["jti"])
	require.InEpsilon(t, 43199, c["exp"].(float64)-c["iat"].(float64), 0)
	for _, name := range []string{"jti", "exp", "iat"} {
		delete(c, name)
	}
	require.Equal(t, jwt.MapClaims{
		"iss": s.url + "/uaa/t1", "sub": "sb-client!t1", "client_id": "sb-client!t1", "cid": "sb-client!t1", "azp": "sb-client!t1", "zid": "t1-id",
		"ext_attr": map[string]any{"zdn": "t1", "enhancer": "XSUAA"}, "aud": []any{"sb-client!t1", "job-scheduler:inst1"},
		"scope": []any{"job-scheduler.read", "job-scheduler.write"}, "grant_type": "client_credentials",
	}, c)

	for name, form := range map[string][]string{
		"form":             {"client_id=sb-client%21t1", "client_secret=" + clientSecret, "grant_type=client_credentials"},
		"the other secret": {"client_id=sb-client%21t1", "client_secret=" + otherSecret, "grant_type=client_credentials"},
		"one scope":        {"client_id=sb-client%21t1", "client_secret=" + clientSecret, "grant_type=client_credentials", "scope=job-scheduler.read"},
	} {
		require.Equal(t, http.StatusOK, s.do(t, "POST", "/uaa/provider/oauth/token", "", form...).status, name)
	}
	require.Equal(t, 200, s.do(t, "POST", "/uaa/provider-id/oauth/token", basic("sb-client%21t1", clientSecret), "grant_type=client_credentials").status,
		"RFC 6749, 2.3.1: the client ID may be form-encoded")
}

// TestCase026: a client that gets its token as @sap/jobs-client does, and sends it with the scheme
// in lower case, is let in. The walk with the client itself is in package sap.
func TestCase026(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{Instances: []Instance{sapInstance(t)}, Tenants: tenants{"inst1": {{ID: "t1-id", Subdomain: "t1"}}}}, nil)
	provider := s.do(t, "POST", "/scheduler/jobs", "bearer "+s.fetch(t, "provider", "sb-client!t1"))
	require.Equal(t, http.StatusOK, provider.status)
	require.Equal(t, "provider-id", provider.body["tenant"])
	require.Equal(t, "inst1", provider.body["instance"])
	require.Equal(t, "app:sb-client!t1@inst1", provider.body["id"])
	subscriber := s.do(t, "POST", "/scheduler/jobs", "bearer "+s.fetch(t, "t1", "sb-client!t1"))
	require.Equal(t, "t1-id", subscriber.body["tenant"])
	require.Equal(t, "author", subscriber.body["role"])
}

// TestCase102: a token without the scope to write may read.
func TestCase102(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{Instances: []Instance{sapInstance(t)}}, nil)
	for name, token := range map[string]string{
		"client that may read": s.fetch(t, "provider", "reader"), "scope asked for": s.fetch(t, "provider", "sb-client!t1", "scope=job-scheduler.read"),
	} {
		require.Equal(t, http.StatusOK, s.do(t, "GET", "/scheduler/jobs", "bearer "+token).status, name)
		require.Equal(t, http.StatusForbidden, s.do(t, "POST", "/scheduler/jobs", "bearer "+token).status, name)
	}
	require.Equal(t, http.StatusForbidden, s.do(t, "DELETE", "/admin/tenants/t1", "bearer "+s.fetch(t, "provider", "sb-client!t1")).status)
}

// TestCase094: tokens without signature, signed with the public key as a secret, expired, for
// another audience, or of another issuer are refused.
func TestCase094(t *testing.T) {
	t.Parallel()
	c, k := newClock(), testKeys()
	a, err := New(Config{}, Options{PublicURL: "https://front", Instances: []Instance{sapInstance(t)}, Now: c.Now})
	require.NoError(t, err)
	public := pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&k.rsa.PublicKey)})
	sign := func(method jwt.SigningMethod, key any, change map[string]any) string {
		all := jwt.MapClaims{
			"iss": "https://front/uaa/provider", "sub": "c", "client_id": "c", "grant_type": "client_credentials", "zid": "provider-id",
			"aud": []string{"c", issuer.Audience("inst1")}, "scope": []string{ScopeWrite}, "exp": c.Now().Add(time.Hour).Unix(),
		}
		maps.Copy(all, change)
		token := jwt.NewWithClaims(method, all)
		token.Header["kid"] = signing.ID(&k.rsa.PublicKey)
		text, err := token.SignedString(key)
		require.NoError(t, err)
		return text
	}
	_, err = a.authenticate(request(t, "bearer "+sign(jwt.SigningMethodRS256, k.rsa, nil)), surfaceSAP)
	require.NoError(t, err)
	for name, token := range map[string]string{
		"alg none":                     sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, nil),
		"HS256 with the public key":    sign(jwt.SigningMethodHS256, public, nil),
		"PS256":                        sign(jwt.SigningMethodPS256, k.rsa, nil),
		"expired by 61 s":              sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"exp": c.Now().Add(-61 * time.Second).Unix()}),
		"audience of another instance": sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"aud": issuer.Audience("inst2")}),
		"token of a run":               sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"aud": "https://app.example.com"}),
		"another issuer":               sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"iss": "https://other/uaa/provider"}),
		"issuer below":                 sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"iss": "https://front/uaa/provider/x"}),
		"another key":                  sign(jwt.SigningMethodRS256, k.rsa2, nil),
		"no tenant":                    sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"zid": ""}),
		"a tenant that ends in blanks": sign(jwt.SigningMethodRS256, k.rsa, map[string]any{"zid": "provider-id "}),
	} {
		_, err := a.authenticate(request(t, "bearer "+token), surfaceSAP)
		e := refused(t, err, http.StatusUnauthorized)
		require.NotEmpty(t, e.Header.Get("Www-Authenticate"), name)
		_, err = a.authenticate(request(t, "bearer "+token), "sql")
		refused(t, err, http.StatusUnauthorized)
	}
	_, err = a.authenticate(request(t, "bearer "+sign(jwt.SigningMethodRS256, k.rsa, nil)), "sql")
	refused(t, err, http.StatusUnauthorized) // the ARM surfaces have issuers of their own
}

// TestCase092: without credentials, and with wrong ones, the answer is the same 401 with a
// challenge. TestFailuresTakeTheSameWork in package hashed shows that a wrong password takes as
// long as an unknown user.
func TestCase092(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{Instances: []Instance{sapInstance(t)}}, nil)
	for name, authorization := range map[string]string{
		"none": "", "wrong password": basic("lite", "wrong"), "unknown user": basic("nobody", userPassword), "no colon": "Basic bGl0ZQ==",
		"no base64": "Basic !", "wrong token": "bearer x", "empty password": basic("lite", ""),
	} {
		a := s.do(t, "GET", "/scheduler/jobs", authorization)
		require.Equal(t, http.StatusUnauthorized, a.status, name)
		require.Equal(t, map[string]any{"code": 401.0}, a.body, name)
		require.Equal(t, `Basic realm="jobagent", charset="UTF-8"`, a.header.Get("WWW-Authenticate"), name)
	}
	a := s.do(t, "POST", "/scheduler/jobs", "BASIC"+strings.TrimPrefix(basic("lite", userPassword), "Basic"))
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "basic:lite@inst1", a.body["id"])
	require.Equal(t, "provider-id", a.body["tenant"], "users are the provider's unless configured otherwise")
	a = s.do(t, "GET", "/scheduler/jobs", basic("of-t1", userPassword))
	require.Equal(t, "t1-id", a.body["tenant"])
	require.Equal(t, http.StatusForbidden, s.do(t, "POST", "/scheduler/jobs", basic("of-t1", userPassword)).status)
	require.Equal(t, http.StatusUnauthorized, s.do(t, "GET", testAgent, basic("lite", userPassword)).status, "Basic is for the SAP surface")
}

// cheapHash returns a hash of a password with the smallest number of iterations that is accepted:
// each request costs that much.
func cheapHash(t *testing.T, password string) string {
	t.Helper()
	salt := []byte("a salt of a test")
	sum, err := pbkdf2.Key(sha256.New, password, salt, 100_000, sha256.Size)
	require.NoError(t, err)
	text := base64.RawStdEncoding.EncodeToString
	return "pbkdf2-sha256$100000$" + text(salt) + "$" + text(sum)
}

// Guesses from one address are slowed down, for passwords and for client secrets that people chose.
// Nobody guesses a random secret, so that its owner is let in nevertheless.
func TestGuessing(t *testing.T) {
	t.Parallel()
	i := sapInstance(t)
	hash := cheapHash(t, "hunter2")
	i.Users[0].PasswordHash, i.Clients[1].SecretHashes = hash, []string{hash, hashOf(t, clientSecret)}
	i.Users = append(i.Users, User{Name: "random", PasswordHash: hashOf(t, userPassword)})
	// The clock stands still: failures count for a minute, and eleven hashes of a password may take
	// longer under the race detector.
	s := serve(t, Config{}, Options{Instances: []Instance{i}, Now: newClock().Now}, nil)
	token := func(id, secret string) answer {
		return s.do(t, "POST", "/uaa/provider/oauth/token", basic(id, secret), "grant_type=client_credentials")
	}
	require.Equal(t, http.StatusOK, s.do(t, "GET", "/scheduler/jobs", basic("lite", "hunter2")).status)
	for name, guess := range map[string]func(secret string) answer{
		"password": func(secret string) answer { return s.do(t, "GET", "/scheduler/jobs", basic("lite", secret)) },
		"client":   func(secret string) answer { return token("reader", secret) },
	} {
		for range 10 {
			require.Equal(t, http.StatusUnauthorized, guess("wrong").status, name)
		}
		for _, secret := range []string{"wrong", "hunter2"} {
			a := guess(secret)
			require.Equal(t, http.StatusTooManyRequests, a.status, name)
			require.NotEmpty(t, a.header.Get("Retry-After"), name)
		}
	}
	require.Equal(t, http.StatusOK, token("reader", clientSecret).status, "a random secret of the same client")
	s.fetch(t, "provider", "sb-client!t1") // another client from the same address
	for range 11 {
		s.do(t, "GET", "/scheduler/jobs", basic("random", "wrong"))
	}
	require.Equal(t, http.StatusOK, s.do(t, "GET", "/scheduler/jobs", basic("random", userPassword)).status)
}

// Requests for tokens that are refused have the form of RFC 6749.
func TestUAARefuses(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{Instances: []Instance{sapInstance(t)}, Tenants: tenants{"inst1": {{ID: "t1-id", Subdomain: "t1"}}}}, nil)
	good := basic("sb-client!t1", clientSecret)
	const grant = "grant_type=client_credentials"
	for name, one := range map[string]struct {
		path, authorization string
		form                []string
		status              int
		code                string
	}{
		"no grant type":   {"t1", good, []string{"x=y"}, 400, "invalid_request"},
		"password grant":  {"t1", good, []string{"grant_type=password", "username=u", "password=p"}, 400, "unsupported_grant_type"},
		"twice":           {"t1", good, []string{grant, grant}, 400, "invalid_request"},
		"two ways":        {"t1", good, []string{grant, "client_secret=x"}, 400, "invalid_request"},
		"two clients":     {"t1", good, []string{grant, "client_id=reader"}, 400, "invalid_request"},
		"broken form":     {"t1", good, []string{grant, "a=%zz"}, 400, "invalid_request"},
		"wrong secret":    {"t1", basic("sb-client!t1", "x"), []string{grant}, 401, "invalid_client"},
		"empty secret":    {"t1", basic("sb-client!t1", ""), []string{grant}, 401, "invalid_client"},
		"no secret":       {"t1", "", []string{grant, "client_id=reader"}, 401, "invalid_client"},
		"unknown client":  {"t1", basic("nobody", clientSecret), []string{grant}, 401, "invalid_client"},
		"another scheme":  {"t1", "Bearer x", []string{grant}, 401, "invalid_client"},
		"unknown tenant":  {"t2", good, []string{grant}, 401, "invalid_client"},
		"scope of others": {"t1", basic("reader", clientSecret), []string{grant, "scope=job-scheduler.write"}, 400, "invalid_scope"},
		"scope of admins": {"t1", good, []string{grant, "scope=job-scheduler.admin"}, 400, "invalid_scope"},
		"too large":       {"t1", good, []string{grant, "a=" + strings.Repeat("x", 20_000)}, 413, "invalid_request"},
	} {
		a := s.do(t, "POST", "/uaa/"+one.path+"/oauth/token", one.authorization, one.form...)
		require.Equal(t, one.status, a.status, "%s: %v", name, a.body)
		require.Equal(t, one.code, a.body["error"], name)
		require.NotContains(t, a.body, "access_token", name)
	}
	require.Equal(t, 405, s.do(t, "GET", "/uaa/t1/oauth/token", "").status)
}

// A client certificate takes the place of a secret.
func TestUAAWithCertificate(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	good, sum := ca.issue(t, nil)
	wrong, _ := ca.issue(t, nil)
	i := sapInstance(t)
	i.Clients = append(i.Clients, Client{ID: "by-cert", SHA256: sum})
	s := serve(t, Config{}, Options{Instances: []Instance{i}}, ca.pool)
	form := []string{"grant_type=client_credentials", "client_id=by-cert"}
	require.Equal(t, 200, s.with(t, good).do(t, "POST", "/uaa/provider/oauth/token", "", form...).status)
	require.Equal(t, 401, s.with(t, wrong).do(t, "POST", "/uaa/provider/oauth/token", "", form...).status)
	require.Equal(t, 401, s.do(t, "POST", "/uaa/provider/oauth/token", "", form...).status)
	require.Equal(t, 401, s.with(t, good).do(t, "POST", "/uaa/provider/oauth/token", "", "grant_type=client_credentials", "client_id=reader").status)
	require.Equal(t, 401, s.with(t, good).do(t, "POST", "/uaa/provider/oauth/token", basic("by-cert", ""), "grant_type=client_credentials").status)
}

// Applications verify our tokens with go-oidc by discovery, and a new key is there for them before
// it signs. Fronts that have exchanged the keys already, and others, accept each other's tokens.
func TestSigningKeysRotate(t *testing.T) {
	t.Parallel()
	k := testKeys()
	first, second := sapInstance(t), sapInstance(t)
	first.SigningKeys = []string{keyFile(t, k.rsa), keyFile(t, k.rsa2)}
	second.SigningKeys = []string{keyFile(t, k.rsa2), keyFile(t, k.rsa)}
	s := serve(t, Config{}, Options{Instances: []Instance{first}}, nil)
	token := s.fetch(t, "provider", "sb-client!t1")
	ctx := oidc.ClientContext(t.Context(), s.client)
	provider, err := oidc.NewProvider(ctx, s.url+"/uaa/provider")
	require.NoError(t, err)
	verified, err := provider.Verifier(&oidc.Config{ClientID: "sb-client!t1"}).Verify(ctx, token)
	require.NoError(t, err)
	require.Equal(t, "sb-client!t1", verified.Subject)
	keys := s.do(t, "GET", "/uaa/token_keys", "")
	require.Len(t, keys.body["keys"], 2)
	text, err := json.Marshal(keys.body)
	require.NoError(t, err)
	require.NotContains(t, string(text), `"d"`, "no private half")
	require.NotContains(t, string(text), "PRIVATE")

	other, err := New(Config{}, Options{PublicURL: s.url, Instances: []Instance{second}})
	require.NoError(t, err)
	p, err := other.authenticate(request(t, "bearer "+token), surfaceSAP)
	require.NoError(t, err)
	require.Equal(t, "provider-id", p.Tenant)
}

// XSUAA and IAS: scopes with a prefix, and no scopes at all. Tokens of one instance's issuer do
// not open another instance.
func TestForeignIssuersOfSAP(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	xsuaa, ias := f.config(), f.config()
	xsuaa.Audiences, xsuaa.ScopePrefix = []string{"jobs!b1"}, "jobs!b1."
	ias.Audiences, ias.DefaultScopes = []string{"ias-client"}, []string{ScopeRead}
	one, two := sapInstance(t), sapInstance(t)
	one.Issuers = []Issuer{xsuaa}
	two.Name, two.Clients, two.Issuers = "inst2", nil, []Issuer{ias}
	a, err := New(Config{Grants: []Grant{{"sub:s@inst1/issuer", "admin", "/"}}}, Options{PublicURL: "https://front", Instances: []Instance{one, two}, Now: c.Now})
	require.NoError(t, err)
	try := func(change map[string]any, instance string) (rest.Principal, error) {
		all := map[string]any{"oid": nil, "zid": "t1-id"}
		maps.Copy(all, change)
		r := request(t, "bearer "+f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, all))
		if instance != "" {
			r.Header.Set("x-sap-scheduler-instance-id", instance)
		}
		return a.authenticate(r, surfaceSAP)
	}
	p, err := try(map[string]any{"aud": "jobs!b1", "scope": []string{"jobs!b1.job-scheduler.write", "uaa.resource", "other.job-scheduler.admin"}}, "")
	require.NoError(t, err)
	require.Equal(t, "inst1", p.Instance)
	require.Equal(t, []string{ScopeWrite}, p.Scopes)
	require.Equal(t, rest.RoleAdmin, a.Role(p, surfaceSAP, rest.Scope{Instance: "inst1"}), "by grant")
	p, err = try(map[string]any{"aud": "ias-client", "zid": nil, "app_tid": "t9"}, "INST2")
	require.NoError(t, err)
	require.Equal(t, "inst2", p.Instance)
	require.Equal(t, "t9", p.Tenant)
	require.Equal(t, rest.RoleReader, a.Role(p, surfaceSAP, rest.Scope{Instance: "inst2"}))
	require.Equal(t, rest.RoleNone, a.Role(p, surfaceSAP, rest.Scope{Instance: "inst1"}))
	_, err = try(map[string]any{"aud": "ias-client"}, "inst1")
	refused(t, err, http.StatusForbidden)
	_, err = try(map[string]any{"aud": "jobs!b1", "zid": nil}, "")
	refused(t, err, http.StatusUnauthorized)
	_, err = try(map[string]any{"aud": "other"}, "")
	refused(t, err, http.StatusUnauthorized)
}

// A caller without an instance of its own names one, if there are several.
func TestCallersOfSeveralInstances(t *testing.T) {
	t.Parallel()
	token, text := staticToken("author", "/instances/inst2")
	one, two := sapInstance(t), sapInstance(t)
	two.Name, two.Clients, two.Tenant = "inst2", nil, "provider-2"
	a, err := New(Config{Tokens: []tokenfile.Token{token}}, Options{PublicURL: "https://front", Instances: []Instance{one, two}})
	require.NoError(t, err)
	r := request(t, "Bearer "+text)
	_, err = a.authenticate(r, surfaceSAP)
	refused(t, err, http.StatusForbidden)
	r.Header.Set("x-sap-scheduler-instance-id", "inst2")
	p, err := a.authenticate(r, surfaceSAP)
	require.NoError(t, err)
	require.Equal(t, "provider-2", p.Tenant)
	require.Equal(t, rest.RoleAuthor, a.Role(p, surfaceSAP, rest.Scope{Instance: "inst2"}))
	r.Header.Set("x-sap-scheduler-instance-id", "inst3")
	_, err = a.authenticate(r, surfaceSAP)
	refused(t, err, http.StatusForbidden)
	_, err = New(Config{}, Options{PublicURL: "https://front", Instances: []Instance{one, func() Instance { i := one; i.Name = "x"; return i }()}})
	require.ErrorContains(t, err, `the client "sb-client!t1" is in two instances`)
}

// The issuer for development serves a client as Entra does, and its tokens open what grants say.
func TestDevIssuer(t *testing.T) {
	t.Parallel()
	const audience, id = "https://management.example.com", "11111111-2222-3333-4444-555555555555"
	server := serveDev(t, audience, issuer.DevClient{ID: id, Secret: "dev secret+1", Roles: []string{"Jobs.Author"}})
	form := func(change map[string]string) []string {
		all := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {"dev secret+1"}, "scope": {audience + "/.default"}}
		for name, value := range change {
			all.Set(name, value)
		}
		return []string{all.Encode()}
	}
	const path = "/" + issuer.DevTenant + "/oauth2/v2.0/token"
	a := server.do(t, "POST", path, "", form(nil)...)
	require.Equal(t, http.StatusOK, a.status, a.body)
	token, ok := a.body["access_token"].(string)
	require.True(t, ok)
	a = server.do(t, "PUT", testJob, "Bearer "+token)
	require.Equal(t, http.StatusOK, a.status, a.body)
	require.Equal(t, "author", a.body["role"])
	require.Equal(t, http.StatusForbidden, server.do(t, "PUT", testAgent, "Bearer "+token).status)

	ctx := oidc.ClientContext(t.Context(), server.client)
	provider, err := oidc.NewProvider(ctx, server.url+"/"+issuer.DevTenant+"/v2.0")
	require.NoError(t, err)
	_, err = provider.Verifier(&oidc.Config{ClientID: audience}).Verify(ctx, token)
	require.NoError(t, err)
	for name, change := range map[string]map[string]string{
		"wrong secret": {"client_secret": "x"}, "unknown client": {"client_id": "x"}, "no grant": {"grant_type": ""}, "another grant": {"grant_type": "password"},
		"another audience": {"scope": "https://evil.example.com/.default"}, "no scope": {"scope": ""},
	} {
		require.GreaterOrEqual(t, server.do(t, "POST", path, "", form(change)...).status, 400, name)
	}
	for _, wrong := range []string{"https://front.example.com", "https://127.0.0.1/path", "https://0.0.0.0:1", "::"} {
		_, err := issuer.NewDev(wrong, nil, nil, nil)
		require.Error(t, err, wrong)
	}
	_, err = issuer.NewDev("https://localhost:1", nil, []issuer.DevClient{{ID: "a"}}, nil)
	require.Error(t, err)
}
