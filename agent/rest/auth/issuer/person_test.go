package issuer

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
)

// The code belongs to a client, an address and a verifier, and can be used once within a minute.
func TestAuthorizationCodes(t *testing.T) {
	t.Parallel()
	now := time.Now()
	d, err := NewDev("https://127.0.0.1", nil, []DevClient{
		{ID: "c", Secret: "s", RedirectURIs: []string{"https://127.0.0.1/cb"}}, {ID: "other", Secret: "s"},
	}, func() time.Time { return now })
	require.NoError(t, err)
	_, ok := d.Browser()
	require.False(t, ok, "nobody can sign in")
	d.AddUsers(DevUser{Name: "ann"})
	const verifier = "0123456789012345678901234567890123456789abc"
	sum := sha256.Sum256([]byte(verifier))
	query := map[string]string{
		"client_id": "c", "redirect_uri": "https://127.0.0.1/cb", "response_type": "code", "scope": "openid profile", "state": "st", "nonce": "n",
		"code_challenge": base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method": "S256", "login_hint": "ann",
	}
	authorize := func(change ...string) (*rest.Response, error) {
		var q rest.Query
		for name, value := range query {
			for i := 0; i < len(change); i += 2 {
				if change[i] == name {
					value = change[i+1]
				}
			}
			q = append(q, rest.QueryValue{Name: name, Value: value})
		}
		return d.authorize(t.Context(), &rest.Request{Query: q})
	}
	code := func() string {
		a, err := authorize()
		require.NoError(t, err)
		u, err := url.Parse(a.Header.Get("Location"))
		require.NoError(t, err)
		require.Equal(t, "st", u.Query().Get("state"))
		return u.Query().Get("code")
	}
	exchange := func(change ...string) int {
		form := url.Values{
			"grant_type": {"authorization_code"}, "client_id": {"c"}, "client_secret": {"s"}, "code": {code()}, "redirect_uri": {"https://127.0.0.1/cb"},
			"code_verifier": {verifier},
		}
		for i := 0; i < len(change); i += 2 {
			form.Set(change[i], change[i+1])
		}
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		a, err := d.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, a.Body.Close())
		return a.StatusCode
	}
	require.Equal(t, http.StatusOK, exchange())
	one := code()
	require.Equal(t, http.StatusOK, exchange("code", one))
	require.Equal(t, http.StatusBadRequest, exchange("code", one), "used")
	require.Equal(t, http.StatusBadRequest, exchange("code_verifier", verifier+"x"))
	require.Equal(t, http.StatusBadRequest, exchange("redirect_uri", "https://127.0.0.1/other"))
	require.Equal(t, http.StatusBadRequest, exchange("client_id", "other"))
	require.Equal(t, http.StatusUnauthorized, exchange("client_secret", "x"))
	one = code()
	now = now.Add(2 * codeLifetime)
	require.Equal(t, http.StatusBadRequest, exchange("code", one), "expired")

	for _, change := range [][]string{{"client_id", "x"}, {"redirect_uri", "https://evil.example/cb"}, {"client_id", "other"}} {
		_, err := authorize(change...)
		require.Error(t, err, change)
	}
	for _, change := range [][]string{{"response_type", "token"}, {"code_challenge_method", "plain"}, {"code_challenge", ""}, {"scope", "profile"}} {
		a, err := authorize(change...)
		require.NoError(t, err)
		require.Contains(t, a.Header.Get("Location"), "error=invalid_request", change)
	}
	a, err := authorize("login_hint", "<script>")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, a.Status)
	require.NotContains(t, string(a.Body.([]byte)), "<script>")
}
