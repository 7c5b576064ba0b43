package auth

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// The place of the tests.
const (
	testAgent = "/subscriptions/S/resourceGroups/rg1/providers/Microsoft.Sql/servers/server1/jobAgents/agent1"
	testJob   = testAgent + "/jobs/j"
)

// staticToken returns a token with a role at a scope, and its text.
func staticToken(role, scope string) (tokenfile.Token, string) {
	one, text := tokenfile.New()
	one.Name, one.Role, one.Scope = "the "+role, role, scope
	return one, text
}

// TestCase004: a text that is not a token is refused with a challenge that has no claims.
func TestCase004(t *testing.T) {
	t.Parallel()
	s := serve(t, Config{}, Options{}, nil)
	a := s.do(t, "GET", testAgent, "Bearer wrong")
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Equal(t, "AuthenticationFailed", a.body["error"].(map[string]any)["code"])
	require.True(t, strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer "))
	require.NotContains(t, a.header.Get("WWW-Authenticate"), "claims")
}

// TestCase070: an operator may start jobs and not define them, a reader may do neither. The
// operations are those of the Elastic Jobs API; TestRoleMatrix has all of them.
func TestCase070(t *testing.T) {
	t.Parallel()
	operator, operatorText := staticToken("operator", "/")
	reader, readerText := staticToken("reader", "/")
	s := serve(t, Config{Tokens: []tokenfile.Token{operator, reader}}, Options{}, nil)
	for _, one := range []struct {
		token, method, path string
		want                int
	}{
		{operatorText, "PUT", testJob, 403}, {operatorText, "POST", testJob + "/start", 200}, {readerText, "POST", testJob + "/start", 403},
		{readerText, "GET", testAgent, 200},
	} {
		a := s.do(t, one.method, one.path, "bearer "+one.token)
		require.Equal(t, one.want, a.status, a.body)
		if one.want == http.StatusForbidden {
			fault := a.body["error"].(map[string]any)
			require.Equal(t, "AuthorizationFailed", fault["code"])
			require.Contains(t, fault["message"], "the ", "the message names the caller")
		}
	}
}

func TestStaticTokens(t *testing.T) {
	t.Parallel()
	c := newClock()
	good, text := staticToken("reader", "/")
	expiring, expiringText := staticToken("reader", "/")
	expiring.Expires = c.Now().Add(time.Hour)
	a := newAuth(t, c, Config{Tokens: []tokenfile.Token{good, expiring}})
	p, err := a.authenticate(request(t, "Bearer "+text), "sql")
	require.NoError(t, err)
	require.Equal(t, rest.Principal{ID: "token:" + good.ID, Name: "the reader"}, p)
	_, err = a.authenticate(request(t, "Bearer "+expiringText), "sql")
	require.NoError(t, err)
	c.Move(time.Hour)
	_, err = a.authenticate(request(t, "Bearer "+expiringText), "sql")
	require.Contains(t, refused(t, err, http.StatusUnauthorized).Message, "expired")

	_, strange := tokenfile.New()
	id, _, _ := tokenfile.Parse(text)
	_, secret, _ := tokenfile.Parse(strange)
	for _, wrong := range []string{strange, tokenfile.Prefix + id + "_" + secret, text + "A", tokenfile.Prefix} {
		_, err = a.authenticate(request(t, "Bearer "+wrong), "sql")
		e := refused(t, err, http.StatusUnauthorized)
		require.NotContains(t, e.Message, secret)
	}
}

// A token is made and revoked while the front runs. A faulty file is answered with 503, and logged
// without secrets.
func TestTokenFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens.json")
	core, logged := observer.New(zap.DebugLevel)
	one, text := staticToken("operator", "/")
	require.NoError(t, tokenfile.Update(file, func([]tokenfile.Token) ([]tokenfile.Token, error) { return []tokenfile.Token{one}, nil }))
	a, err := New(Config{TokenFile: file}, Options{PublicURL: "https://front", Log: zap.New(core)})
	require.NoError(t, err)
	p, err := a.authenticate(request(t, "Bearer "+text), "sql")
	require.NoError(t, err)
	require.Equal(t, rest.RoleOperator, a.Role(p, "sql", rest.Scope{Subscription: "S"}))

	require.NoError(t, os.WriteFile(file, []byte(`{"tokens":[{"id":"`+text+`"}]}`), 0o600))
	require.Eventually(t, func() bool {
		_, err := a.authenticate(request(t, "Bearer "+text), "sql")
		return err != nil
	}, 5*time.Second, 50*time.Millisecond)
	_, err = a.authenticate(request(t, "Bearer "+text), "sql")
	refused(t, err, http.StatusServiceUnavailable)
	require.Equal(t, rest.RoleNone, a.Role(p, "sql", rest.Scope{}), "a request under way loses its role as well")
	require.NotEmpty(t, logged.All())
	_, err = New(Config{TokenFile: file}, Options{PublicURL: "https://front"})
	require.ErrorContains(t, err, "token_file")
}

func TestClientCertificates(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	byName, _ := ca.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"Client.Example.com"} })
	byURI, _ := ca.issue(t, func(c *x509.Certificate) { c.URIs = []*url.URL{mustURL(t, "spiffe://example.com/jobs")} })
	byMail, _ := ca.issue(t, func(c *x509.Certificate) { c.EmailAddresses = []string{"jobs@example.com"} })
	bySum, sum := ca.issue(t, nil)
	unknown, _ := ca.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"unknown.example.com"} })
	foreign, _ := other.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"client.example.com"} })
	colons := strings.ToUpper(sum)
	for i := len(colons) - 2; i > 0; i -= 2 {
		colons = colons[:i] + ":" + colons[i:]
	}
	token, text := staticToken("reader", "/")
	cfg := Config{
		Certificates: []Certificate{
			{Name: "dns", SAN: "dns:client.example.com"}, {Name: "uri", SAN: "uri:spiffe://example.com/jobs"},
			{Name: "mail", SAN: "email:jobs@example.com"}, {Name: "sum", SHA256: colons},
		},
		Tokens: []tokenfile.Token{token},
	}
	for _, c := range cfg.Certificates {
		cfg.Grants = append(cfg.Grants, Grant{Principal: "cert:" + c.Name, Role: "admin", Scope: "/"})
	}
	s := serve(t, cfg, Options{}, ca.pool)
	a := s.with(t, byName).do(t, "GET", testAgent, "")
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "cert:dns", a.body["id"])
	require.Equal(t, "cert:uri", s.with(t, byURI).do(t, "GET", testAgent, "").body["id"])
	require.Equal(t, "cert:mail", s.with(t, byMail).do(t, "GET", testAgent, "").body["id"])
	require.Equal(t, "cert:sum", s.with(t, bySum).do(t, "GET", testAgent, "").body["id"])
	require.Equal(t, http.StatusUnauthorized, s.with(t, unknown).do(t, "GET", testAgent, "").status)
	require.Equal(t, http.StatusUnauthorized, s.do(t, "GET", testAgent, "").status)
	// A header wins, also if it is wrong.
	require.Equal(t, "token:"+token.ID, s.with(t, byName).do(t, "GET", testAgent, "Bearer "+text).body["id"])
	require.Equal(t, http.StatusUnauthorized, s.with(t, byName).do(t, "GET", testAgent, "Bearer wrong").status)
	_, err := s.with(t, foreign).client.Get(s.url + testAgent)
	require.Error(t, err, "the handshake refuses a certificate of another authority")
}

// A connection may outlive the certificate with which it began, and a certificate that nobody has
// verified identifies nobody.
func TestCertificatesAreVerifiedAndValid(t *testing.T) {
	t.Parallel()
	ca := newAuthority(t)
	certificate, _ := ca.issue(t, func(c *x509.Certificate) { c.DNSNames = []string{"a.example.com"} })
	leaf, err := x509.ParseCertificate(certificate.Certificate[0])
	require.NoError(t, err)
	a, err := New(Config{Certificates: []Certificate{{Name: "a", SAN: "dns:a.example.com"}}}, Options{PublicURL: "https://front"})
	require.NoError(t, err)
	r := request(t, "")
	r.TLS = tlsState(leaf, [][]*x509.Certificate{{leaf, ca.cert}})
	p, err := a.authenticate(r, "sql")
	require.NoError(t, err)
	require.Equal(t, "cert:a", p.ID)
	r.TLS = tlsState(leaf, nil)
	_, err = a.authenticate(r, "sql")
	refused(t, err, http.StatusUnauthorized)
	r.TLS = tlsState(leaf, [][]*x509.Certificate{{leaf, ca.cert}})
	a.options.Now = func() time.Time { return leaf.NotAfter.Add(time.Second) }
	_, err = a.authenticate(r, "sql")
	refused(t, err, http.StatusUnauthorized)
}

func TestGrants(t *testing.T) {
	t.Parallel()
	const (
		group  = "/subscriptions/S/resourceGroups/rg1"
		server = group + "/providers/Microsoft.Sql/servers/server1"
	)
	a := newAuth(t, newClock(), Config{Grants: []Grant{
		{"oid:AB3BE6B7-F5DF-413D-AC2D-ABF1E3FD9C0B", "author", server + "/jobAgents/agent1"},
		{"group:g1", "reader", server}, {"role:Jobs.Admin", "admin", group + "/providers/microsoft.scheduler/JOBCOLLECTIONS/jc%2F1"},
		{"sub:all", "operator", "/"}, {"app:i", "reader", "/instances/inst1"}, {"sub:sub", "reader", "/subscriptions/S"},
	}})
	agent := rest.Scope{Subscription: "s", ResourceGroup: "RG1", Server: "SERVER1", Agent: "AGENT1"}
	agent2 := rest.Scope{Subscription: "S", ResourceGroup: "rg1", Server: "server1", Agent: "agent2"}
	serverScope := rest.Scope{Subscription: "S", ResourceGroup: "rg1", Server: "server1"}
	collection := rest.Scope{Subscription: "S", ResourceGroup: "rg1", Collection: "jc/1"}
	for _, one := range []struct {
		p     rest.Principal
		scope rest.Scope
		role  rest.Role
		sees  bool
	}{
		{rest.Principal{ID: "oid:ab3be6b7-f5df-413d-ac2d-abf1e3fd9c0b"}, agent, rest.RoleAuthor, true},
		{rest.Principal{ID: "oid:ab3be6b7-f5df-413d-ac2d-abf1e3fd9c0b"}, agent2, rest.RoleNone, false},
		{rest.Principal{ID: "oid:ab3be6b7-f5df-413d-ac2d-abf1e3fd9c0b"}, serverScope, rest.RoleNone, true},
		{rest.Principal{ID: "oid:ab3be6b7-f5df-413d-ac2d-abf1e3fd9c0b"}, rest.Scope{}, rest.RoleNone, true},
		{rest.Principal{ID: "oid:x", Groups: []string{"group:g1"}}, agent2, rest.RoleReader, true},
		{rest.Principal{ID: "oid:x", Groups: []string{"group:g1"}}, collection, rest.RoleNone, false},
		{rest.Principal{ID: "oid:x", Groups: []string{"group:g1", "role:Jobs.Admin"}}, collection, rest.RoleAdmin, true},
		{rest.Principal{ID: "oid:x", Groups: []string{"role:jobs.admin"}}, collection, rest.RoleNone, false},
		{rest.Principal{ID: "sub:all"}, rest.Scope{Instance: "any"}, rest.RoleOperator, true},
		{rest.Principal{ID: "sub:sub"}, rest.Scope{Instance: "any"}, rest.RoleNone, false},
		{rest.Principal{ID: "sub:sub"}, rest.Scope{Subscription: "S2"}, rest.RoleNone, false},
		{rest.Principal{ID: "sub:SUB"}, rest.Scope{Subscription: "S"}, rest.RoleNone, false},
		{rest.Principal{ID: "app:i"}, rest.Scope{Instance: "INST1"}, rest.RoleReader, true},
		{rest.Principal{ID: "app:i", Instance: "inst1"}, rest.Scope{Instance: "inst1"}, rest.RoleNone, false}, // a token of the instance's issuer
		{rest.Principal{}, agent, rest.RoleNone, false},
	} {
		require.Equal(t, one.role, a.Role(one.p, "sql", one.scope), "%+v %+v", one.p, one.scope)
		require.Equal(t, one.sees, a.Sees(one.p, "sql", one.scope), "%+v %+v", one.p, one.scope)
	}
}

// A caller who sees nothing of a server is not told what it has.
func TestHiddenServers(t *testing.T) {
	t.Parallel()
	one, text := staticToken("admin", testAgent)
	other, otherText := staticToken("admin", "/subscriptions/S/resourceGroups/rg2")
	s := serve(t, Config{Tokens: []tokenfile.Token{one, other}}, Options{}, nil)
	require.Equal(t, 200, s.do(t, "PUT", testAgent, "Bearer "+text).status)
	require.Equal(t, 403, s.do(t, "GET", strings.Replace(testAgent, "agent1", "agent2", 1), "Bearer "+text).status)
	require.Equal(t, 404, s.do(t, "GET", testAgent, "Bearer "+otherText).status)
}

func FuzzScope(f *testing.F) {
	for _, seed := range []string{"/", testAgent, "/instances/a", "/subscriptions/a/resourceGroups/b/providers/Microsoft.Scheduler/jobCollections/%2F", "//", "/subscriptions//resourceGroups/x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScope(text)
		if err != nil {
			require.Equal(t, rest.Scope{}, s, "a faulty scope is not that of everything by mistake: the caller looks at the error")
			return
		}
		require.True(t, covers(s, s))
		require.Equal(t, text == "/", s == rest.Scope{})
	})
}

// All faults of a configuration are in one error.
func TestFaultsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	_, err := New(Config{
		Issuers: []Issuer{
			{Issuer: "http://issuer.example.com", Name: "a"}, {Issuer: "https://i/{tenantid}", Audiences: []string{"a", ""}, Name: "a"},
			{Issuer: "https://*.i/x", Audiences: []string{"a"}, CA: "/none"}, {Issuer: "ftp://u:p@x", Discovery: "https://d", JWKSURI: "https://j", Audiences: []string{"a"}, Name: "d", DefaultScopes: []string{"x"}},
		},
		Tokens:       []tokenfile.Token{{ID: "A", SHA256: "secret-text"}, {ID: "b", SHA256: strings.Repeat("0", 64), Role: "root", Scope: "x"}, {ID: "c", SHA256: strings.Repeat("0", 64), Role: "reader"}},
		Certificates: []Certificate{{SAN: "dns:a", SHA256: strings.Repeat("0", 64)}, {Name: "n", SAN: "a.example.com"}, {Name: "n", SHA256: "zz"}},
		Grants:       []Grant{{"alice", "reader", "/"}, {"oid:1", "boss", "/"}, {"oid:1", "reader", ""}, {"token:none", "reader", "/"}, {"cert:none", "reader", "/subscriptions"}, {"sub:", "reader", "/x"}},
	}, Options{PublicURL: "https://front", Instances: []Instance{
		{Name: "i@1", Users: []User{{Name: "u:v", PasswordHash: "hunter2"}}, Clients: []Client{{ID: ""}, {ID: "c", SecretHashes: []string{"hunter3"}, Scopes: []string{"all"}}}},
		{Name: "j", Tenant: "t", SigningKeys: []string{"hunter4"}}, {Name: "J", Tenant: "t", SigningKeys: []string{"env:JOBAGENT_NONE"}},
	}})
	require.Error(t, err)
	for _, want := range []string{
		`issuers[0]: issuer: invalid address "http://issuer.example.com": want https`, "issuers[0]: audiences: want at least one", "issuers[1]: tenants: want the tenants",
		"issuers[1]: jwks_uri: want it", "issuers[1]: audiences: want at least one, and none empty", `issuers[1]: duplicate name "a"`, "issuers[2]: jwks_uri: want it", "issuers[2]: name is missing",
		"issuers[2]: ca: open /none", "issuers[3]: issuer: invalid address", "issuers[3]: discovery: it excludes jwks_uri", `issuers[3]: default_scopes: invalid scope "x"`,
		`tokens[0]: invalid id "A"`, "tokens[0]: invalid sha256", `tokens[1]: invalid role "root"`, `tokens[1]: invalid scope "x"`, "tokens[2]: role and scope belong together",
		"certificates[0]: name is missing", "certificates[0]: want san or sha256", `certificates[1]: invalid san "a.example.com"`, `certificates[2]: invalid sha256 "zz"`, "certificates[2]: duplicate name n",
		`grants[0]: invalid principal "alice"`, `grants[1]: invalid role "boss"`, `grants[2]: invalid scope ""`, `grants[3]: unknown token "none"`, `grants[4]: unknown certificate "none"`,
		`grants[4]: invalid scope "/subscriptions"`, `grants[5]: invalid principal "sub:"`, "sap.instances.i@1: tenant: want the ID", "sap.instances.i@1: users[0]: invalid name",
		"sap.instances.i@1: users[0].password_hash: invalid hash", "sap.instances.i@1: clients[0]: invalid id", "sap.instances.i@1: clients[0]: want secret_hashes, san or sha256",
		"sap.instances.i@1: clients[1].secret_hashes[0]: invalid hash", `sap.instances.i@1: clients[1].scopes: invalid scope "all"`, "sap.instances.i@1: signing_keys: want at least one key",
		`sap.instances.i@1: invalid name "i@1"`, "sap.instances.j: signing_keys[0]: invalid secret reference", "sap.instances.J: invalid name",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter", "what stands where a hash or a reference belongs may be the secret")
	require.NotContains(t, err.Error(), "secret-text")

	err = Config{Issuers: []Issuer{{Issuer: "https://a", Audiences: []string{"x"}, Name: "a"}, {Issuer: "https://b", Audiences: []string{"x"}, Name: "b"}}, Grants: []Grant{{"oid:1", "reader", "/"}, {"oid:1@b", "reader", "/"}}}.Check(nil)
	require.EqualError(t, err, `grants[0]: invalid principal "oid:1": want @ and the name of its issuer at the end`)
}

// Two issuers cannot name the same caller.
func TestIssuersDoNotShareCallers(t *testing.T) {
	t.Parallel()
	a := newAuth(t, newClock(), Config{
		Issuers: []Issuer{{Issuer: "https://a", Audiences: []string{"x"}, Name: "a"}, {Issuer: "https://b", Audiences: []string{"x"}, Name: "b"}},
		Grants:  []Grant{{"sub:1@a", "admin", "/"}},
	})
	for subject, want := range map[string]rest.Role{"1": rest.RoleNone, "1@a": rest.RoleNone} {
		c := claims{}
		c.Subject = subject
		p, err := c.principal(&a.arm.issuers[1])
		require.NoError(t, err)
		require.Equal(t, want, a.Role(p, "sql", rest.Scope{}))
		p, err = c.principal(&a.arm.issuers[0])
		require.NoError(t, err)
		require.Equal(t, subject == "1", a.Role(p, "sql", rest.Scope{}) == rest.RoleAdmin)
	}
}

// basic returns the header of a user and a password.
func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s:%s", user, password))
}
