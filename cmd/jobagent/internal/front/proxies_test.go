package front_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
)

// Behind a reverse proxy, failures count for the client that the proxy names. So a stranger who
// guesses passwords does not lock out others, and the log and the audit have the client's address.
func TestBehindProxy(t *testing.T) {
	t.Parallel()
	hash, err := auth.HashPassword("hunter2")
	require.NoError(t, err)
	s := serve(t, func(c *config.REST) {
		c.TrustedProxies = []string{"127.0.0.0/8"}
		i := config.SAPInstance{SAPCallers: config.SAPCallers{Users: []auth.User{{Name: "lite", PasswordHash: hash}}}}
		i.SAPService.Name, i.SAPService.Tenant, i.AllowAnonymousActions = "inst1", "provider-id", true
		c.SAP.Instances = []config.SAPInstance{i}
	})
	list := func(client, password string) int {
		t.Helper()
		r, _ := s.do(t, "GET", "/scheduler/jobs", "", "X-Forwarded-For: "+client,
			"Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("lite:"+password)))
		return r.StatusCode
	}
	for range 10 {
		require.Equal(t, 401, list("198.51.100.1", "wrong"))
	}
	require.Equal(t, 429, list("198.51.100.1", "hunter2"), "the guesser")
	require.Equal(t, 429, list("203.0.113.9, 198.51.100.1", "wrong"), "what a client sends before the proxy is not trusted")
	require.NotContains(t, []int{401, 429}, list("203.0.113.9", "hunter2"), "another client of the same user")
	require.NotEmpty(t, s.log.FilterField(zap.String("address", "203.0.113.9:0")).All())
}
