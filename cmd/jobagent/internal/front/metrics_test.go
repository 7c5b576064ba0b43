package front_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
)

// Callers with the role reader everywhere may read metrics; others may not.
func TestMetrics(t *testing.T) {
	t.Parallel()
	var reader, narrow string
	s := serve(t, func(c *config.REST) {
		for text, scope := range map[*string]string{&reader: "/", &narrow: agentPath} {
			token, secret := tokenfile.New()
			token.Role, token.Scope = "reader", scope
			c.Tokens, *text = append(c.Tokens, token), secret
		}
	})
	for token, want := range map[string]int{reader: 200, narrow: 403, "jat_x_y": 401} {
		r, text := s.do(t, "GET", "/metrics", "", "Authorization: Bearer "+token)
		require.Equal(t, want, r.StatusCode, text)
	}
	r, text := s.do(t, "GET", "/metrics", "", "Accept: application/openmetrics-text;version=1.0.0")
	require.True(t, strings.HasPrefix(r.Header.Get("Content-Type"), "application/openmetrics-text"), r.Header)
	require.True(t, strings.HasSuffix(text, "# EOF\n"))
	for _, line := range []string{
		`jobagent_rest_requests_total{operation="Metrics_Get",status="4xx",surface="metrics"} 2.0`,
		`jobagent_controldb_connections_limit{client="front",control_database="jobdb1"}`, `jobagent_web_streams 0`, `jobagent_rest_connections `,
	} {
		require.Contains(t, text, line)
	}
	require.NotContains(t, text, reader)

	// Signing in, and refused.
	client := *s.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for token, status := range map[string]int{reader: http.StatusSeeOther, "wrong": http.StatusUnauthorized} {
		form, err := client.Post(s.url+"/ui/login", "application/x-www-form-urlencoded", strings.NewReader("token="+token))
		require.NoError(t, err)
		require.NoError(t, form.Body.Close())
		require.Equal(t, status, form.StatusCode)
	}
	_, text = s.do(t, "GET", "/metrics", "")
	require.Contains(t, text, `jobagent_web_sign_ins_total{result="ok"} 1`)
	require.Contains(t, text, `jobagent_web_sign_ins_total{result="refused"} 1`)
}
