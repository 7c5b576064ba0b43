package front_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/front"
	"github.com/jobagent/jobagent/controldb"
)

// sessionKey writes a file with the key of sessions, and returns its reference.
func sessionKey(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return "file:" + file
}

// A session of one front is known by another one with the same key.
func TestDashboardOfTwoFronts(t *testing.T) {
	t.Parallel()
	key := sessionKey(t, strings.Repeat("k", 40))
	stored, token := tokenfile.New()
	stored.Role, stored.Scope = "reader", "/"
	set := func(c *config.REST) { c.Web.SessionKey, c.Tokens = key, []tokenfile.Token{stored} }
	a := serve(t, set)
	b, stranger := &served{dir: t.TempDir(), server: a.server}, &served{dir: t.TempDir(), server: a.server}
	b.serveAs(t, a.server.DSN(embedded.ControlDatabase), set)
	stranger.serveAs(t, a.server.DSN(embedded.ControlDatabase), func(c *config.REST) { set(c); c.Web.SessionKey = "" })
	do := func(s *served, method, path, body, cookie string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", cookie)
		response, err := s.http.Transport.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response
	}
	require.Equal(t, "/ui/", do(a, "GET", "/", "", "").Header.Get("Location"))
	response := do(a, "POST", "/ui/login", url.Values{"token": {token}}.Encode(), "")
	require.Equal(t, http.StatusSeeOther, response.StatusCode)
	cookie, _, _ := strings.Cut(response.Header.Get("Set-Cookie"), ";")
	for _, s := range []*served{a, b} {
		require.Equal(t, "/ui/jobdb1/", do(s, "GET", "/ui/", "", cookie).Header.Get("Location"))
		require.Equal(t, http.StatusOK, do(s, "GET", "/ui/jobdb1/jobs", "", cookie).StatusCode)
		require.Equal(t, http.StatusUnauthorized, do(s, "GET", agentPath+version, "", cookie).StatusCode, "REST takes no session")
	}
	require.True(t, strings.HasPrefix(do(stranger, "GET", "/ui/", "", cookie).Header.Get("Location"), "/ui/login"), "another key")
	for _, s := range []*served{a, b} {
		for _, entry := range s.log.All() {
			require.NotContains(t, fmt.Sprint(entry.Message, entry.ContextMap()), token)
		}
	}
}

func TestSettingsOfTheDashboard(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*config.Web){
		"web.session_key": func(w *config.Web) { w.SessionKey = "the key itself" },
		"at least 32":     func(w *config.Web) { w.SessionKey = sessionKey(t, "short") },
		"web.idle":        func(w *config.Web) { w.Idle = -1 },
	} {
		o := front.Options{Log: zap.NewNop()}
		change(&o.Config.Web)
		agent := "a"
		o.Databases = []config.ControlDatabase{{Name: "d", Subscription: subscription, ResourceGroup: "g", Server: "s", ImplicitAgent: &agent}}
		o.Open = func(config.ControlDatabase) (*controldb.Store, error) {
			return controldb.New(controldb.Config{DSN: "sqlserver://u:p@127.0.0.1:9?database=d"})
		}
		err := front.Check(o)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "the key itself")
	}
}
