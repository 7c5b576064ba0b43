package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
)

// testKeys are made once: an RSA key takes long.
var testKeys = sync.OnceValue(func() (keys struct {
	rsa, rsa2 *rsa.PrivateKey
	ec, ec384 *ecdsa.PrivateKey
	ed        ed25519.PrivateKey
}) {
	var errs [5]error
	keys.rsa, errs[0] = rsa.GenerateKey(rand.Reader, 2048)
	keys.rsa2, errs[1] = rsa.GenerateKey(rand.Reader, 2048)
	keys.ec, errs[2] = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	keys.ec384, errs[3] = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	_, keys.ed, errs[4] = ed25519.GenerateKey(rand.Reader)
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
	return keys
})

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fakeIssuer is an issuer of tokens on a real listener.
type fakeIssuer struct {
	server *httptest.Server
	ca     string // path of its certificate

	mu       sync.Mutex
	keys     []jose.JSONWebKey
	asked    int    // how often the keys were read
	jwksURI  string // replaces the address in the discovery document
	tokenURI string // replaces the address of tokens in the discovery document
	issuer   string // replaces the issuer in the discovery document
	status   int    // replaces 200
	redirect string
	body     []byte // replaces the keys
}

func newFakeIssuer(t *testing.T) *fakeIssuer {
	t.Helper()
	f := &fakeIssuer{}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		document := map[string]string{
			"issuer": f.server.URL, "jwks_uri": f.server.URL + "/keys", "authorization_endpoint": f.server.URL + "/authorize", "token_endpoint": f.server.URL + "/token",
		}
		if f.tokenURI != "" {
			document["token_endpoint"] = f.tokenURI
		}
		if f.jwksURI != "" {
			document["jwks_uri"] = f.jwksURI
		}
		if f.issuer != "" {
			document["issuer"] = f.issuer
		}
		_ = json.NewEncoder(w).Encode(document)
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked++
		switch {
		case f.redirect != "":
			http.Redirect(w, r, f.redirect, http.StatusFound)
		case f.status != 0:
			w.WriteHeader(f.status)
		case f.body != nil:
			_, _ = w.Write(f.body)
		default:
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: f.keys})
		}
	})
	f.server = httptest.NewTLSServer(mux)
	t.Cleanup(f.server.Close)
	f.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.server.Certificate().Raw})
	require.NoError(t, os.WriteFile(f.ca, text, 0o600))
	k := testKeys()
	f.keys = []jose.JSONWebKey{
		{Key: k.rsa.Public(), KeyID: "rsa", Use: "sig"}, {Key: k.ec.Public(), KeyID: "ec", Use: "sig"},
		{Key: k.ec384.Public(), KeyID: "ec384"}, {Key: k.ed.Public(), KeyID: "ed"},
	}
	return f
}

// set changes the issuer.
func (f *fakeIssuer) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

// reads returns how often the keys were read.
func (f *fakeIssuer) reads() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// config returns the configuration that trusts the issuer.
func (f *fakeIssuer) config() Issuer {
	return Issuer{Issuer: f.server.URL, Audiences: []string{"https://management.example.com"}, CA: f.ca}
}

// newAuth returns an Auth that trusts issuers, with a grant for the caller "oid:alice".
func newAuth(t *testing.T, c *clock, cfg Config) *Auth {
	t.Helper()
	a, err := New(cfg, Options{PublicURL: "https://front.example.com", Now: c.Now})
	require.NoError(t, err)
	return a
}

// token returns a token with claims that are valid now, after a change.
func (f *fakeIssuer) token(t *testing.T, c *clock, method jwt.SigningMethod, kid string, key crypto.PrivateKey, change map[string]any) string {
	t.Helper()
	now := c.Now()
	claims := jwt.MapClaims{
		"iss": f.server.URL, "aud": "https://management.example.com", "sub": "s", "oid": "alice",
		"exp": now.Add(time.Hour).Unix(), "nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(),
	}
	maps.Copy(claims, change)
	for name, value := range change {
		if value == nil {
			delete(claims, name)
		}
	}
	token := jwt.NewWithClaims(method, claims)
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

// request returns a request with a header Authorization.
func request(t *testing.T, authorization string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/subscriptions", nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

// refused requires that a request was refused with a status, and returns the error.
func refused(t *testing.T, err error, status int) *rest.Error {
	t.Helper()
	var e *rest.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, status, e.Status, e.Message)
	return e
}

// staticKeys are keys that do not change.
type staticKeys map[string]publicKey

// key implements keySource.
func (k staticKeys) key(_ context.Context, id string) (publicKey, error) {
	if one, ok := k[id]; ok {
		return one, nil
	}
	return publicKey{}, errUnknownKey
}

// tlsState returns the state of a connection with a client certificate.
func tlsState(leaf *x509.Certificate, chains [][]*x509.Certificate) *tls.ConnectionState {
	return &tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}, VerifiedChains: chains}
}
