package auth

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets/outbound"
	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestTokensOfEachAlgorithm(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	for _, one := range []struct {
		method jwt.SigningMethod
		kid    string
		key    crypto.PrivateKey
	}{
		{jwt.SigningMethodRS256, "rsa", k.rsa}, {jwt.SigningMethodRS384, "rsa", k.rsa}, {jwt.SigningMethodRS512, "rsa", k.rsa},
		{jwt.SigningMethodPS256, "rsa", k.rsa}, {jwt.SigningMethodES256, "ec", k.ec}, {jwt.SigningMethodES384, "ec384", k.ec384},
		{jwt.SigningMethodEdDSA, "ed", k.ed},
	} {
		for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
			p, err := a.authenticate(request(t, scheme+f.token(t, c, one.method, one.kid, one.key, nil)), "sql")
			require.NoError(t, err, one.method.Alg())
			require.Equal(t, "oid:alice", p.ID)
		}
	}
	require.Equal(t, 1, f.reads(), "the keys are cached")
}

// TestCase112: a token for another API, without a signature, or expired beyond the leeway is
// refused; one that expired 30 s ago is not.
func TestCase112(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	check := func(text string, want int, message string) {
		t.Helper()
		_, err := a.authenticate(request(t, "Bearer "+text), "sql")
		if want == http.StatusOK {
			require.NoError(t, err)
			return
		}
		e := refused(t, err, want)
		require.Contains(t, e.Message, message)
		challenge := e.Header.Get("WWW-Authenticate")
		require.Equal(t, `Bearer authorization_uri="`+f.server.URL+`", error="invalid_token"`, challenge)
		require.NotContains(t, challenge, "claims")
	}
	sign := func(change map[string]any) string { return f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, change) }
	check(sign(map[string]any{"aud": "https://other.example.com"}), 401, "audience")
	check(f.token(t, c, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, nil), 401, "algorithm")
	check(sign(map[string]any{"exp": c.Now().Add(-30 * time.Second).Unix()}), 200, "")
	check(sign(map[string]any{"exp": c.Now().Add(-2 * time.Minute).Unix()}), 401, "expired")
}

// algorithm confusion, claims and headers that are wrong: each is refused for its reason.
func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	issuer := f.config()
	issuer.Tenants = []string{"tenant-1"}
	a := newAuth(t, c, Config{Issuers: []Issuer{issuer}})
	with := func(change map[string]any) string {
		all := map[string]any{"tid": "tenant-1"}
		for name, value := range change {
			all[name] = value
		}
		return f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, all)
	}
	public, err := x509.MarshalPKIXPublicKey(k.rsa.Public())
	require.NoError(t, err)
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	header := func(change map[string]any) string {
		token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
			"iss": f.server.URL, "aud": issuer.Audiences[0], "oid": "alice", "tid": "tenant-1", "exp": c.Now().Add(time.Hour).Unix(),
		})
		token.Header["kid"] = "rsa"
		for name, value := range change {
			token.Header[name] = value
		}
		text, err := token.SignedString(k.rsa)
		require.NoError(t, err)
		return text
	}
	foreign, err := json.Marshal(jose.JSONWebKey{Key: k.rsa2.Public(), KeyID: "own"})
	require.NoError(t, err)
	ownKey := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": f.server.URL, "aud": issuer.Audiences[0], "exp": c.Now().Add(time.Hour).Unix()})
	ownKey.Header["kid"], ownKey.Header["jwk"], ownKey.Header["jku"] = "own", json.RawMessage(foreign), "https://127.0.0.1:1/keys"
	ownText, err := ownKey.SignedString(k.rsa2)
	require.NoError(t, err)
	good := with(nil)
	parts := strings.Split(good, ".")
	for name, one := range map[string]struct{ token, message string }{
		"no token":                 {"wrong", "not a JSON Web Token"},
		"empty":                    {"", "not a JSON Web Token"},
		"four parts":               {good + ".x", "not a JSON Web Token"},
		"padded":                   {parts[0] + "." + parts[1] + "=." + parts[2], "not a JSON Web Token"},
		"too long":                 {good + strings.Repeat("A", 20_000), "not a JSON Web Token"},
		"no signature":             {parts[0] + "." + parts[1] + ".", "signature"},
		"changed claims":           {parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+f.server.URL+`","exp":9999999999}`)) + "." + parts[2], "signature"},
		"HMAC with the public key": {f.token(t, c, jwt.SigningMethodHS256, "rsa", publicPEM, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"HMAC with the DER":        {f.token(t, c, jwt.SigningMethodHS512, "rsa", public, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"PS512":                    {f.token(t, c, jwt.SigningMethodPS512, "rsa", k.rsa, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"another key":              {f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa2, map[string]any{"tid": "tenant-1"}), "signature"},
		"unknown key":              {f.token(t, c, jwt.SigningMethodRS256, "nope", k.rsa, map[string]any{"tid": "tenant-1"}), "unknown key"},
		"no key ID":                {f.token(t, c, jwt.SigningMethodRS256, "", k.rsa, map[string]any{"tid": "tenant-1"}), "unknown key"},
		"RSA with an EC key's ID":  {f.token(t, c, jwt.SigningMethodRS256, "ec", k.rsa, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"EC with an RSA key's ID":  {f.token(t, c, jwt.SigningMethodES256, "rsa", k.ec, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"ES256 with a P-384 key":   {f.token(t, c, jwt.SigningMethodES256, "ec384", k.ec, map[string]any{"tid": "tenant-1"}), "algorithm"},
		"key in the header":        {ownText, "unknown key"},
		"critical extension":       {header(map[string]any{"crit": []string{"x"}, "x": 1}), "header"},
		"logout token":             {header(map[string]any{"typ": "logout+jwt"}), "header"},
		"type is no text":          {header(map[string]any{"typ": 1}), "header"},
		"another issuer":           {with(map[string]any{"iss": "https://evil.example.com"}), "issuer"},
		"issuer with a slash":      {with(map[string]any{"iss": f.server.URL + "/"}), "issuer"},
		"no issuer":                {with(map[string]any{"iss": nil}), "issuer"},
		"no audience":              {with(map[string]any{"aud": nil}), "audience"},
		"longer audience":          {with(map[string]any{"aud": "https://management.example.com.evil"}), "audience"},
		"no expiry":                {with(map[string]any{"exp": nil}), "expiry"},
		"expiry is a text":         {with(map[string]any{"exp": "later"}), "not a JSON Web Token"},
		"not yet":                  {with(map[string]any{"nbf": c.Now().Add(2 * time.Minute).Unix()}), "not valid yet"},
		"another tenant":           {with(map[string]any{"tid": "tenant-2"}), "tenant"},
		"no tenant":                {with(map[string]any{"tid": nil}), "tenant"},
		"no caller":                {with(map[string]any{"oid": nil, "sub": nil}), "lacks the name of a caller"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := a.authenticate(request(t, "Bearer "+one.token), "sql")
			e := refused(t, err, http.StatusUnauthorized)
			require.Contains(t, e.Message, one.message)
			require.NotEmpty(t, e.Header.Get("Www-Authenticate"))
		})
	}
	for name, token := range map[string]string{
		"good": good, "early by less than the leeway": with(map[string]any{"nbf": c.Now().Add(50 * time.Second).Unix()}),
		"audience with a slash": with(map[string]any{"aud": []string{"x", "https://management.example.com/"}}),
		"access token":          header(map[string]any{"typ": "at+JWT"}),
	} {
		_, err := a.authenticate(request(t, "Bearer "+token), "sql")
		require.NoError(t, err, name)
	}
	require.LessOrEqual(t, f.reads(), 2, "unknown keys are looked up once a minute at most")
}

func TestOtherHeaders(t *testing.T) {
	t.Parallel()
	a := newAuth(t, newClock(), Config{})
	for _, authorization := range []string{"", "Basic dTpw", "Negotiate x", "Bearer", "Digest username=x", "Bearer\tx"} {
		_, err := a.authenticate(request(t, authorization), "sql")
		e := refused(t, err, http.StatusUnauthorized)
		require.Equal(t, `Bearer authorization_uri="https://front.example.com", error="invalid_token"`, e.Header.Get("Www-Authenticate"))
	}
	r := request(t, "Bearer a")
	r.Header.Add("Authorization", "Bearer b")
	_, err := a.authenticate(r, "sql")
	require.Contains(t, refused(t, err, http.StatusUnauthorized).Message, "twice")
}

// A new key is found at the first token that it signed, and a key that was withdrawn is refused
// when the keys are read again.
func TestRotationOfKeys(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	old := func() string { return f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, nil) }
	renewed := func() string { return f.token(t, c, jwt.SigningMethodRS256, "rsa2", k.rsa2, nil) }
	try := func(token string) error {
		_, err := a.authenticate(request(t, "Bearer "+token), "sql")
		return err
	}
	require.NoError(t, try(old()))
	refused(t, try(renewed()), http.StatusUnauthorized)
	require.Equal(t, 1, f.reads(), "the keys were read a moment ago")
	f.set(func() { f.keys = append(f.keys, jose.JSONWebKey{Key: k.rsa2.Public(), KeyID: "rsa2"}) })
	refused(t, try(renewed()), http.StatusUnauthorized)
	c.Move(6 * time.Second)
	require.NoError(t, try(renewed()))
	require.NoError(t, try(old()))
	require.Equal(t, 2, f.reads())

	f.set(func() { f.keys = f.keys[1:] })
	require.NoError(t, try(old()), "the keys are cached")
	c.Move(24*time.Hour + time.Second)
	refused(t, try(old()), http.StatusUnauthorized)
	require.NoError(t, try(renewed()))
	require.Equal(t, 3, f.reads())
}

// Strangers who name unknown keys all the time delay the keys of a rotation by seconds, and have
// the issuer asked every few seconds at most.
func TestUnknownKeysDelayRotation(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	try := func(id string) error {
		_, err := a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodRS256, id, k.rsa2, nil)), "sql")
		return err
	}
	const seconds = 120
	rotated := -1
	for second := range seconds {
		for n := range 3 {
			refused(t, try(fmt.Sprint("unknown", second, n)), http.StatusUnauthorized)
		}
		if second == 60 {
			f.set(func() { f.keys = append(f.keys, jose.JSONWebKey{Key: k.rsa2.Public(), KeyID: "rsa2"}) })
		}
		if second >= 60 && rotated < 0 && try("rsa2") == nil {
			rotated = second
		}
		c.Move(time.Second)
	}
	require.GreaterOrEqual(t, rotated, 60)
	require.LessOrEqual(t, rotated, 60+int(keysFirst/time.Second))
	require.LessOrEqual(t, f.reads(), seconds/int(keysFirst/time.Second)+1)
}

// While an issuer cannot be reached, known keys serve for another day. Without known keys the
// answer is 503: nothing can be said about the token.
func TestIssuerIsAway(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	try := func() error {
		_, err := a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, nil)), "sql")
		return err
	}
	f.set(func() { f.status = http.StatusBadGateway })
	e := refused(t, try(), http.StatusServiceUnavailable)
	require.Positive(t, e.RetryAfter)
	refused(t, try(), http.StatusServiceUnavailable)
	require.Equal(t, 1, f.reads(), "the issuer is not asked for each token")
	c.Move(6 * time.Second)
	f.set(func() { f.status = 0 })
	require.NoError(t, try())
	f.set(func() { f.status = http.StatusInternalServerError })
	c.Move(30 * time.Hour)
	require.NoError(t, try(), "old keys serve")
	require.NoError(t, try())
	require.Equal(t, 3, f.reads())
	c.Move(19 * time.Hour)
	refused(t, try(), http.StatusServiceUnavailable)
}

// Answers of an issuer that would lead the front elsewhere, or that are too large or faulty, give
// no keys.
func TestAnswersOfIssuersThatAreRefused(t *testing.T) {
	t.Parallel()
	inner := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the inner server was called") }))
	t.Cleanup(inner.Close)
	k := testKeys()
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.rsa, KeyID: "rsa"}}})
	require.NoError(t, err)
	twice, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.rsa.Public(), KeyID: "rsa"}, {Key: k.rsa2.Public(), KeyID: "rsa"}}})
	require.NoError(t, err)
	for name, change := range map[string]func(*fakeIssuer){
		"jwks_uri on another host":       func(f *fakeIssuer) { f.jwksURI = inner.URL + "/keys" },
		"jwks_uri of a metadata service": func(f *fakeIssuer) { f.jwksURI = "http://169.254.169.254/latest" },
		"jwks_uri without TLS":           func(f *fakeIssuer) { f.jwksURI = strings.Replace(f.server.URL, "https", "http", 1) + "/keys" },
		"jwks_uri with a user":           func(f *fakeIssuer) { f.jwksURI = strings.Replace(f.server.URL, "://", "://u:p@", 1) + "/keys" },
		"redirect":                       func(f *fakeIssuer) { f.redirect = inner.URL + "/keys" },
		"another issuer":                 func(f *fakeIssuer) { f.issuer = "https://evil.example.com" },
		"too large":                      func(f *fakeIssuer) { f.body = []byte(`{"keys":[` + strings.Repeat(" ", maxKeysBody) + `]}`) },
		"too many keys":                  func(f *fakeIssuer) { f.body = []byte(`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`) },
		"no JSON":                        func(f *fakeIssuer) { f.body = []byte("<html>") },
		"no keys":                        func(f *fakeIssuer) { f.body = []byte(`{"keys":[]}`) },
		"null":                           func(f *fakeIssuer) { f.body = []byte(`null`) },
		"secret key":                     func(f *fakeIssuer) { f.body = []byte(`{"keys":[{"kty":"oct","kid":"rsa","k":"c2VjcmV0"}]}`) },
		"private key":                    func(f *fakeIssuer) { f.body = private },
		"one ID twice":                   func(f *fakeIssuer) { f.body = twice },
		"key for encryption":             func(f *fakeIssuer) { f.keys = []jose.JSONWebKey{{Key: k.rsa.Public(), KeyID: "rsa", Use: "enc"}} },
	} {
		t.Run(name, func(t *testing.T) {
			f, c := newFakeIssuer(t), newClock()
			f.set(func() { change(f) })
			a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
			_, err := a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, nil)), "sql")
			refused(t, err, http.StatusServiceUnavailable)
		})
	}
}

// A key of an unknown kind does not hide the others, and the algorithm of a key is binding.
func TestKeysAreReadOneByOne(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	rsaKey, err := json.Marshal(jose.JSONWebKey{Key: k.rsa.Public(), KeyID: "rsa", Algorithm: "RS256"})
	require.NoError(t, err)
	f.set(func() {
		f.body = []byte(`{"keys":[{"kty":"AKP","alg":"ML-DSA-44","kid":"pq"},` + string(rsaKey) + `]}`)
	})
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	for kid, method := range map[string]jwt.SigningMethod{"rsa": jwt.SigningMethodRS256, "": jwt.SigningMethodRS256} {
		_, err := a.authenticate(request(t, "Bearer "+f.token(t, c, method, kid, k.rsa, nil)), "sql")
		require.NoError(t, err, "kid %q", kid)
	}
	_, err = a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodPS256, "rsa", k.rsa, nil)), "sql")
	refused(t, err, http.StatusUnauthorized)
}

// Many requests at once read the keys once.
func TestKeysAreReadOnce(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	token := f.token(t, c, jwt.SigningMethodES256, "ec", k.ec, nil)
	var done sync.WaitGroup
	for range 50 {
		done.Go(func() {
			_, err := a.authenticate(request(t, "Bearer "+token), "sql")
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	require.Equal(t, 1, f.reads())
}

func TestPrincipals(t *testing.T) {
	t.Parallel()
	const guid, lower = "AB3BE6B7-F5DF-413D-AC2D-ABF1E3FD9C0B", "ab3be6b7-f5df-413d-ac2d-abf1e3fd9c0b"
	for name, one := range map[string]struct {
		claims string
		id     string
		groups []string
		name   string
	}{
		"user":               {`{"oid":"` + guid + `","appid":"cli","scp":"user_impersonation","upn":"a@b","sub":"x"}`, "oid:" + lower, nil, "a@b (oid:" + lower + ")"},
		"application":        {`{"oid":"` + guid + `","appid":"app1","sub":"` + guid + `"}`, "oid:" + lower, []string{"app:app1"}, "oid:" + lower},
		"application, v2":    {`{"oid":"o","azp":"app1","sub":"o","idtyp":"app"}`, "oid:o", []string{"app:app1"}, "oid:o"},
		"user that says app": {`{"oid":"o","azp":"app1","sub":"o","idtyp":"user"}`, "oid:o", nil, "oid:o"},
		"client credentials": {`{"client_id":"c1","sub":"c1","grant_type":"client_credentials"}`, "app:c1", nil, "app:c1"},
		"password grant":     {`{"client_id":"c1","sub":"u1","grant_type":"password","user_name":"u"}`, "sub:u1", nil, "u (sub:u1)"},
		"subject":            {`{"azp":"c1","sub":"u1","preferred_username":"u\r\nx"}`, "sub:u1", nil, "ux (sub:u1)"},
		"groups and roles":   {`{"sub":"u","groups":["` + guid + `"],"roles":"Jobs.Admin"}`, "sub:u", []string{"group:" + guid, "role:Jobs.Admin"}, "sub:u"},
		"groups of no texts": {`{"sub":"u","groups":{"a":1},"roles":[1]}`, "sub:u", nil, "sub:u"},
	} {
		var c claims
		require.NoError(t, json.Unmarshal([]byte(one.claims), &c), name)
		p, err := c.principal(&trusted{})
		require.NoError(t, err, name)
		require.Equal(t, one.id, p.ID, name)
		require.Equal(t, one.groups, p.Groups, name)
		require.Equal(t, one.name, p.Name, name)
		p, err = c.principal(&trusted{Issuer: Issuer{Name: "entra"}})
		require.NoError(t, err)
		require.Equal(t, one.id+"@entra", p.ID)
	}
}

// A name that the user chose cannot hide who it is, however long it is.
func TestNamesShowTheID(t *testing.T) {
	t.Parallel()
	require.Equal(t, "oid:1", displayName("", "oid:1"))
	require.Equal(t, "root (oid:1)", displayName("ro\u2028ot\x00", "oid:1"))
	long := displayName(strings.Repeat("ü", 300), "oid:1")
	require.Len(t, []rune(long), 128)
	require.True(t, strings.HasSuffix(long, " (oid:1)"))
	require.Equal(t, strings.Repeat("i", 128), displayName("root", strings.Repeat("i", 300)))
}

// The issuer's text may stand for several tenants, or for the subdomains of one host.
func TestPatternsOfIssuers(t *testing.T) {
	t.Parallel()
	entra := trusted{Issuer: Issuer{Issuer: "https://login.example.com/{tenantid}/v2.0", Tenants: []string{"t1", "t2"}}}
	require.True(t, entra.covers("https://login.example.com/t1/v2.0", "t1"))
	require.False(t, entra.covers("https://login.example.com/t1/v2.0", "t2"), "the tenant must be that of the issuer")
	require.False(t, entra.covers("https://login.example.com/t3/v2.0", "t3"))
	require.False(t, entra.covers("https://login.example.com/{tenantid}/v2.0", "{tenantid}"))
	xsuaa := trusted{Issuer: Issuer{Issuer: "https://*.auth.example.com/oauth/token"}}
	require.True(t, xsuaa.covers("https://sub.auth.example.com/oauth/token", ""))
	for _, iss := range []string{
		"https://.auth.example.com/oauth/token", "https://a.b.auth.example.com/oauth/token", "https://evil.com/.auth.example.com/oauth/token",
		"https://evil.com?.auth.example.com/oauth/token", "http://sub.auth.example.com/oauth/token", "https://sub.auth.example.com/oauth/token/",
		"https://*.auth.example.com/oauth/token/x", "https://u@auth.example.com/oauth/token",
	} {
		require.False(t, xsuaa.covers(iss, ""), iss)
	}
	own := trusted{Issuer: Issuer{Issuer: "https://front/uaa/"}, own: true}
	require.True(t, own.covers("https://front/uaa/t1", ""))
	for _, iss := range []string{"https://front/uaa/", "https://front/uaa/a/b", "https://front/uaa", "https://front.evil/uaa/t1"} {
		require.False(t, own.covers(iss, ""), iss)
	}
}

// Entra's documents: that of many tenants names its issuer with {tenantid}, and that of version 1
// is on another host than its issuer.
func TestDiscoveryElsewhere(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	for issuer, iss := range map[string]string{
		"https://login.example.com/{tenantid}/v2.0": "https://login.example.com/t1/v2.0", "https://sts.example.com/t1/": "https://sts.example.com/t1/",
	} {
		cfg := f.config()
		cfg.Issuer, cfg.Discovery, cfg.Tenants = issuer, f.server.URL, []string{"t1"}
		f.set(func() { f.issuer = issuer })
		a := newAuth(t, c, Config{Issuers: []Issuer{cfg}})
		_, err := a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, map[string]any{"iss": iss, "tid": "t1"})), "sql")
		require.NoError(t, err, issuer)
		_, err = a.authenticate(request(t, "Bearer "+f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, map[string]any{"iss": iss, "tid": "t2"})), "sql")
		refused(t, err, http.StatusUnauthorized)
	}
}

// Names of claims match exactly, and no name occurs twice: else a claim that an issuer lets its
// users choose could replace another one.
func TestClaimsMatchExactly(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	a := newAuth(t, c, Config{Issuers: []Issuer{f.config()}})
	sign := func(header, payload string) string {
		text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(payload))
		signature, err := jwt.SigningMethodRS256.Sign(text, k.rsa)
		require.NoError(t, err)
		return text + "." + base64.RawURLEncoding.EncodeToString(signature)
	}
	const header = `{"alg":"RS256","kid":"rsa"}`
	base := fmt.Sprintf(`"iss":%q,"aud":"https://management.example.com","exp":%d`, f.server.URL, c.Now().Add(time.Hour).Unix())
	for claims, want := range map[string]string{
		`,"sub":"mallory"`: "sub:mallory",
		`,"sub":"mallory","SUB":"alice","Sub":"alice","ſub":"alice"`: "sub:mallory",
		`,"sub":"mallory","OID":"alice"`:                             "sub:mallory",
		`,"oid":"mallory","Oid":"alice","Groups":["admins"]`:         "oid:mallory",
		`,"sub":"mallory","EXP":1,"Aud":"x","ISS":"x"`:               "sub:mallory",
	} {
		p, err := a.authenticate(request(t, "Bearer "+sign(header, "{"+base+claims+"}")), "sql")
		require.NoError(t, err, claims)
		require.Equal(t, want, p.ID, claims)
		require.Empty(t, p.Groups, claims)
	}
	for _, claims := range []string{
		`,"Sub":"alice"`, `,"SUB":"alice"`, `,"sub":"mallory","sub":"alice"`, `,"sub":"mallory","s\u0075b":"alice"`, `,"sub":"mallory","x":{"a":1,"a":2}`,
		`,"sub":"mallory","aud":"https://management.example.com"`,
	} {
		_, err := a.authenticate(request(t, "Bearer "+sign(header, "{"+base+claims+"}")), "sql")
		refused(t, err, http.StatusUnauthorized)
	}
	for _, header := range []string{`{"alg":"none","alg":"RS256","kid":"rsa"}`, `{"alg":"RS256","kid":"other","kid":"rsa"}`, `[]`, `null`, ``} {
		_, err := a.authenticate(request(t, "Bearer "+sign(header, "{"+base+`,"sub":"alice"}`)), "sql")
		refused(t, err, http.StatusUnauthorized)
	}
}

// Hostile tokens and key sets take a bounded time and memory.
func TestHostileTokens(t *testing.T) { //nolint:paralleltest // it measures
	now := newClock()
	v := verifier{now: now.Now, issuers: []trusted{{Issuer: Issuer{Issuer: "https://i", Audiences: []string{"a"}}, keys: staticKeys{}}}}
	verify := func(text string) error {
		_, _, err := v.verify(t.Context(), text)
		return err
	}
	encode := func(part string) string { return base64.RawURLEncoding.EncodeToString([]byte(part)) }
	const size = maxToken*3/4 - 100
	bounds.Check(t, append(append(
		bounds.JSON(size, func(payload string) error { return verify(encode(`{"alg":"RS256"}`) + "." + encode(payload) + ".AAAA") }),
		bounds.JSON(size, func(header string) error { return verify(encode(header) + ".e30.AAAA") })...),
		bounds.JSON(maxKeysBody, func(text string) error { _, err := parseKeys([]byte(text)); return err })...))
	number := bounds.Repeat("_", maxKeysBody-100)
	keys := func(text string) error { _, err := parseKeys([]byte(text)); return err }
	key := func(modulus, exponent string) string {
		return fmt.Sprintf(`{"kty":"RSA","n":%q,"e":%q}`, modulus, exponent)
	}
	bounds.Check(t, bounds.Cases(map[string]string{
		"a long modulus":    `{"keys":[` + key(number, "AQAB") + "]}",
		"a long exponent":   `{"keys":[` + key("AQAB", number) + "]}",
		"the most keys":     `{"keys":[` + strings.Repeat(key(strings.Repeat("_", maxKeysBody/maxKeys-100), "AQAB")+",", maxKeys-1) + "{}]}",
		"many keys":         `{"keys":[` + strings.Repeat("{},", maxKeysBody/3-10) + "{}]}",
		"a certificate":     `{"keys":[{"kty":"RSA","x5c":["` + bounds.Repeat("A", maxKeysBody-100) + `"]}]}`,
		"many certificates": `{"keys":[{"kty":"RSA","x5c":["` + bounds.Repeat(`MAA=","`, maxKeysBody/7-20) + `"]}]}`,
	}, keys))
}

// So do the discovery documents of an issuer, and the claims of its own tokens, which are read
// further than those of others.
func TestHostileIssuers(t *testing.T) { //nolint:paralleltest // it measures
	discover := func(text string) error {
		k := remoteKeys{issuer: Issuer{Issuer: "https://i"}, client: outbound.Direct{MaxBody: maxKeysBody, Transport: answering(text)}.Client()}
		_, err := k.discover(t.Context())
		if err != nil {
			require.LessOrEqual(t, len(err.Error()), maxDiscoveryError+100, "the log has it")
		}
		return err
	}
	document := func(members string) string {
		return `{"issuer":"https://i","jwks_uri":"https://i/keys",` + members + `}`
	}
	bounds.Check(t, append(bounds.JSON(maxKeysBody, discover), bounds.Cases(map[string]string{
		"members":          document(bounds.Repeat(`"a":1,`, maxKeysBody/6-20) + `"a":1`),
		"algorithms":       document(`"id_token_signing_alg_values_supported":[` + bounds.Repeat(`"RS256",`, maxKeysBody/8-20) + `"RS256"]`),
		"a long issuer":    `{"issuer":"` + bounds.Repeat("x", maxKeysBody-20) + `"}`,
		"a long address":   `{"issuer":"https://i","jwks_uri":"https://i/` + bounds.Repeat("%2e/", maxKeysBody/4-20) + `"}`,
		"more than may be": bounds.Repeat(" ", 2*maxKeysBody),
	}, discover)...))

	now := newClock()
	v := verifier{now: now.Now, issuers: []trusted{{
		Issuer: Issuer{Name: "n", Issuer: "https://i", Audiences: []string{"a"}},
		keys:   staticKeys{"ed": {key: testKeys().ed.Public()}},
	}}}
	base := fmt.Sprintf(`{"iss":"https://i","aud":"a","exp":%d,"sub":"s",`, now.Now().Add(time.Hour).Unix())
	header := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"EdDSA","kid":"ed"}`))
	verify := func(members string) error {
		text := header + "." + base64.RawURLEncoding.EncodeToString([]byte(base+members+"}"))
		text += "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(testKeys().ed, []byte(text)))
		c, issuer, err := v.verify(t.Context(), text)
		if err != nil {
			return err
		}
		_ = c.scopes(issuer)
		_, err = c.principal(issuer)
		return err
	}
	require.NoError(t, verify(`"a":1`))
	const size = maxToken*3/4 - 500
	fill := func(begin, part, end string) string {
		return begin + strings.Repeat(part, (size-len(begin)-len(end))/len(part)) + end
	}
	bounds.Check(t, append(bounds.JSON(size, func(text string) error { return verify(`"x":` + text) }), bounds.Cases(map[string]string{
		"groups":          fill(`"groups":[`, `"",`, `""]`),
		"roles":           fill(`"roles":[`, `"",`, `""]`),
		"scopes":          fill(`"scp":"`, "a ", `"`),
		"a list of them":  fill(`"scope":[`, `"a a a",`, `""]`),
		"audiences":       fill(`"x":[`, `"a",`, `"a"]`),
		"a long name":     fill(`"upn":"`, "x", `"`),
		"marks in a name": fill(`"upn":"`, "\u202e", `"`),
		"a long id":       fill(`"oid":"`, "İ", `"`),
	}, verify)...))
}

// answering is a transport that answers each request with the same text.
type answering string

// RoundTrip implements http.RoundTripper.
func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(a))), ContentLength: int64(len(a)),
	}, nil
}

// FuzzToken: no text makes the front panic, and no text that it did not sign is accepted.
func FuzzToken(f *testing.F) {
	k := testKeys()
	now := newClock()
	v := verifier{now: now.Now, issuers: []trusted{{
		Issuer: Issuer{Issuer: "https://i", Audiences: []string{"a"}},
		keys:   staticKeys{"rsa": {key: k.rsa.Public()}, "ec": {key: k.ec.Public()}},
	}}}
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"iss": "https://i", "aud": "a", "sub": "s", "exp": now.Now().Add(time.Hour).Unix()})
	token.Header["kid"] = "rsa"
	good, err := token.SignedString(k.rsa)
	require.NoError(f, err)
	for _, seed := range []string{good, "", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.", strings.Repeat("a.", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c *claims
		var issuer *trusted
		var err error
		bounds.Allocations(t, len(text), 256<<10, 200, func() { c, issuer, err = v.verify(t.Context(), text) })
		if err == nil {
			// A signature in base64 has one spelling, so that only the good token is accepted.
			require.Equal(t, good, text)
			_, err = c.principal(issuer)
			require.NoError(t, err)
		}
	})
}

// FuzzKeys: no key set makes the front panic, and each key that it takes can verify tokens.
func FuzzKeys(f *testing.F) {
	k := testKeys()
	good, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: k.rsa.Public(), KeyID: "a"}, {Key: k.ec.Public(), KeyID: "b"}, {Key: k.ed.Public(), KeyID: "c"}}})
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var keys map[string]publicKey
		var err error
		bounds.Allocations(t, len(text), 64<<10, 200, func() { keys, err = parseKeys(text) })
		if err == nil {
			require.NotEmpty(t, keys)
		}
		for _, one := range keys {
			require.True(t, usable(one.key))
		}
	})
}
