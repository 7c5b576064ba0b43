package auth

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// newLogin returns the login at an issuer.
func newLogin(t *testing.T, f *fakeIssuer, c *clock, change func(*Issuer)) *Login {
	t.Helper()
	one := f.config()
	one.ClientID = "dashboard"
	if change != nil {
		change(&one)
	}
	list := newAuth(t, c, Config{Issuers: []Issuer{one}}).Logins()
	require.Len(t, list, 1)
	return list[0]
}

// An ID token is for the dashboard's client, of the trusted issuer, and of this sign-in.
func TestIDTokens(t *testing.T) {
	t.Parallel()
	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	l := newLogin(t, f, c, nil)
	sign := func(change map[string]any) string {
		all := map[string]any{"aud": "dashboard", "nonce": "n", "preferred_username": "ann@example.com", "groups": []string{"g1"}}
		for name, value := range change {
			all[name] = value
		}
		return f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, all)
	}
	p, err := l.Verify(t.Context(), sign(nil), "n")
	require.NoError(t, err)
	require.Equal(t, rest.Principal{ID: "oid:alice", Name: "ann@example.com (oid:alice)", Groups: []string{"group:g1"}}, p)
	_, err = l.Verify(t.Context(), sign(map[string]any{"aud": []string{"dashboard", "x"}, "azp": "dashboard"}), "n")
	require.NoError(t, err)

	for name, change := range map[string]map[string]any{
		"a token for the API":  {"aud": "https://management.example.com"},
		"another sign-in":      {"nonce": "m"},
		"no nonce":             {"nonce": nil},
		"another issuer":       {"iss": "https://evil.example"},
		"another client":       {"aud": []string{"dashboard", "x"}, "azp": "x"},
		"several, without azp": {"aud": []string{"dashboard", "x"}},
		"expired":              {"exp": c.Now().Add(-time.Hour).Unix()},
		"nobody":               {"oid": nil, "sub": nil},
		"an application":       {"oid": nil, "sub": "app1", "azp": "app1", "idtyp": "app"},
	} {
		_, err := l.Verify(t.Context(), sign(change), "n")
		require.ErrorContains(t, err, "the ID token is invalid", name)
	}
	_, err = l.Verify(t.Context(), sign(map[string]any{"nonce": ""}), "")
	require.Error(t, err, "an empty nonce matches nothing")
	_, err = l.Verify(t.Context(), f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa2, map[string]any{"aud": "dashboard", "nonce": "n"}), "n")
	require.Error(t, err, "another key")
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	f, c := newFakeIssuer(t), newClock()
	l := newLogin(t, f, c, nil)
	f.set(func() { f.tokenURI = "http://evil.example/token" })
	_, _, err := l.Endpoints(t.Context())
	require.ErrorContains(t, err, "want https")
	f.set(func() { f.tokenURI = "" })
	authorize, token, err := l.Endpoints(t.Context())
	require.NoError(t, err)
	require.Equal(t, f.server.URL+"/authorize", authorize)
	require.Equal(t, f.server.URL+"/token", token)
	f.set(func() { f.tokenURI = f.server.URL + "/new" })
	_, token, err = l.Endpoints(t.Context())
	require.NoError(t, err)
	require.Equal(t, f.server.URL+"/token", token, "known for an hour")
	c.Move(time.Hour)
	_, token, err = l.Endpoints(t.Context())
	require.NoError(t, err)
	require.Equal(t, f.server.URL+"/new", token)
}

func TestSettingsOfLogins(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Issuer){
		"need client_id":   func(i *Issuer) { i.ClientID, i.ClientSecret = "", "env:X" },
		"client_secret":    func(i *Issuer) { i.ClientSecret = "a secret itself" },
		"jwks_uri":         func(i *Issuer) { i.JWKSURI = "https://issuer.example/keys" },
		"is not a pattern": func(i *Issuer) { i.Issuer, i.JWKSURI = "https://*.example.com/x", "https://issuer.example/keys" },
	} {
		one := newFakeIssuer(t).config()
		one.ClientID = "dashboard"
		change(&one)
		_, err := New(Config{Issuers: []Issuer{one}}, Options{PublicURL: "https://front"})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "a secret itself")
	}
	require.Equal(t, []string{"env:X"}, Config{Issuers: []Issuer{{ClientSecret: "env:X"}, {}}}.SecretReferences())
}

// A token that was revoked, has expired or was never known signs nobody in, and ends sessions.
func TestTokensOfPeople(t *testing.T) {
	t.Parallel()
	c := newClock()
	stored, text := tokenfile.New()
	stored.Name, stored.Expires = "ann", c.Now().Add(time.Hour)
	file := filepath.Join(t.TempDir(), "tokens.json")
	require.NoError(t, tokenfile.Update(file, func([]tokenfile.Token) ([]tokenfile.Token, error) { return []tokenfile.Token{stored}, nil }))
	a := newAuth(t, c, Config{TokenFile: file, Grants: []Grant{{Principal: "group:G", Role: "reader", Scope: "/"}}})
	p, err := a.SignIn(text)
	require.NoError(t, err)
	require.Equal(t, rest.Principal{ID: "token:" + stored.ID, Name: "ann"}, p)
	require.NoError(t, a.Current(p))
	require.NoError(t, a.Current(rest.Principal{ID: "oid:alice"}))
	c.Move(time.Hour)
	require.Error(t, a.Current(p))
	_, err = a.SignIn(text)
	refused(t, err, http.StatusUnauthorized)
	require.Equal(t, []string{"group:G"}, a.Known(rest.Principal{Groups: []string{"group:G", "group:H"}}).Groups)

	require.NoError(t, tokenfile.Update(file, func([]tokenfile.Token) ([]tokenfile.Token, error) { return nil, nil }))
	require.Eventually(t, func() bool { return errors.Is(a.Current(p), errUnknownToken) }, 5*time.Second, 50*time.Millisecond, "the file is looked at once a second")
}

// Wrong tokens, however many, lock no right one out.
func TestGuessesOfTokens(t *testing.T) {
	t.Parallel()
	stored, text := staticToken("reader", "/")
	a := newAuth(t, newClock(), Config{Tokens: []tokenfile.Token{stored}})
	_, other := tokenfile.New()
	for range 100 {
		_, err := a.SignIn(other)
		e := refused(t, err, http.StatusUnauthorized)
		require.NotContains(t, e.Message, other)
	}
	_, err := a.SignIn(text)
	require.NoError(t, err)
}

// Answers of issuers that fail do not lock out others of the same address: they share slots, and
// nobody is refused.
func TestFailedSignInsAreKeptApart(t *testing.T) {
	t.Parallel()
	a := newAuth(t, newClock(), Config{})
	for range 100 {
		leave, err := a.EnterSignIn(t.Context(), "192.0.2.1:1")
		require.NoError(t, err)
		leave(true)
	}
	for range fewSignIns {
		leave, err := a.EnterSignIn(t.Context(), "192.0.2.1:1")
		require.NoError(t, err)
		defer leave(false)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.EnterSignIn(gone, "192.0.2.1:1")
	refused(t, err, http.StatusServiceUnavailable)
	leave, err := a.EnterSignIn(t.Context(), "192.0.2.2:1")
	require.NoError(t, err, "another address")
	leave(false)
}
