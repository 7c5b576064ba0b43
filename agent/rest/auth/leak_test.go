package auth

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
)

// No credential, right or wrong, gets into the log or into an answer.
func TestCredentialsAreInNoLog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "log")
	out, err := os.Create(file)
	require.NoError(t, err)
	t.Cleanup(func() { _ = out.Close() })
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(out), zap.DebugLevel))

	f, c, k := newFakeIssuer(t), newClock(), testKeys()
	f.set(func() { f.status = http.StatusBadGateway }) // makes a log entry
	static, staticText := staticToken("reader", "/")
	_, strange := tokenfile.New()
	a, err := New(Config{Issuers: []Issuer{f.config()}, Tokens: []tokenfile.Token{static}},
		Options{PublicURL: "https://front", Instances: []Instance{sapInstance(t)}, Log: log, Now: c.Now})
	require.NoError(t, err)
	mounts := []*rest.Mount{{Surface: newEcho("sql", armOperations), ARM: true}, {Surface: newEcho(surfaceSAP, sapOperations)}}
	for _, one := range a.Surfaces() {
		mounts = append(mounts, &rest.Mount{Surface: one})
	}
	front, err := rest.New(rest.Config{Mounts: mounts, Authenticator: a, Authorizer: a, PublicURL: "https://front", Log: log})
	require.NoError(t, err)
	s := startServer(t, front)
	signed := f.token(t, c, jwt.SigningMethodRS256, "rsa", k.rsa, nil)
	secrets := []string{staticText, strange, signed, clientSecret, userPassword, "wrong-pass-word", basic("lite", userPassword)[6:]}
	for _, authorization := range []string{
		"Bearer " + staticText, "Bearer " + strange, "Bearer " + signed, basic("lite", userPassword), basic("lite", "wrong-pass-word"), "Other " + staticText,
	} {
		for _, path := range []string{testAgent, "/scheduler/jobs"} {
			answer := s.do(t, "GET", path, authorization)
			for _, secret := range secrets {
				require.NotContains(t, fmt.Sprint(answer.body, answer.header), secret)
			}
		}
	}
	s.do(t, "POST", "/uaa/provider/oauth/token", basic("reader", clientSecret), "grant_type=client_credentials")
	s.do(t, "POST", "/uaa/provider/oauth/token", "", "grant_type=client_credentials", "client_id=reader", "client_secret=wrong-pass-word")
	require.NoError(t, log.Sync())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "the keys of an issuer cannot be read", "the log has entries")
	require.Contains(t, string(text), "/uaa/{tenant}/oauth/token")
	for _, secret := range secrets {
		require.NotContains(t, string(text), secret)
	}
}
