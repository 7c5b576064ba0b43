package auth

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// BenchmarkAuthenticate measures what a request pays for its authentication and its role.
func BenchmarkAuthenticate(b *testing.B) {
	k := testKeys()
	static, text := staticToken("reader", "/")
	a, err := New(Config{
		Tokens: []tokenfile.Token{static}, Issuers: []Issuer{{Issuer: "https://i", Audiences: []string{"a"}}},
		Grants: []Grant{{"oid:alice", "reader", testAgent}},
	}, Options{PublicURL: "https://front"})
	require.NoError(b, err)
	a.arm.issuers[0].keys = staticKeys{"rsa": {key: k.rsa.Public()}, "ec": {key: k.ec.Public()}}
	sign := func(method jwt.SigningMethod, kid string, key any) string {
		token := jwt.NewWithClaims(method, jwt.MapClaims{"iss": "https://i", "aud": "a", "oid": "alice", "exp": time.Now().Add(time.Hour).Unix()})
		token.Header["kid"] = kid
		text, err := token.SignedString(key)
		require.NoError(b, err)
		return text
	}
	scope := rest.Scope{Subscription: "S", ResourceGroup: "rg1", Server: "server1", Agent: "agent1"}
	for name, token := range map[string]string{
		"static": text, "RS256": sign(jwt.SigningMethodRS256, "rsa", k.rsa), "ES256": sign(jwt.SigningMethodES256, "ec", k.ec),
	} {
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			for b.Loop() {
				p, err := a.authenticate(r, "sql")
				if err != nil || a.Role(p, "sql", scope) != rest.RoleReader {
					b.Fatal(err)
				}
			}
		})
	}
}
