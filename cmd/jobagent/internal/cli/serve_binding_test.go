package cli_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/serve"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

func TestBinding(t *testing.T) {
	t.Setenv("SAP_SECRET", "the secret")
	t.Setenv("SAP_CERTIFICATE", "a certificate")
	t.Setenv("SAP_KEY", "a key")
	path := writeConfig(t, map[string]any{
		"dsn": "sqlserver://u:p@h?database=jobs",
		"rest": map[string]any{"public_url": "https://jobs.example/", "sap": map[string]any{"instances": []any{map[string]any{
			"name": "prod", "tenant": "provider", "credential": "run-token",
			"clients": []any{map[string]any{"id": "one"}, map[string]any{"id": "two"}}, "users": []any{map[string]any{"name": "lite"}},
		}}}},
	})
	run := func(args ...string) (map[string]any, error) {
		a, stdout, _ := newApp(path)
		cmd := serve.NewCommand(a)
		cmd.SetArgs(append([]string{"binding"}, args...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			return nil, err
		}
		var services map[string][]map[string]any
		require.NoError(t, json.Unmarshal([]byte(stdout.String()), &services), stdout.String())
		require.Equal(t, []any{"jobscheduler"}, services["jobscheduler"][0]["tags"])
		require.Equal(t, "prod", services["jobscheduler"][0]["name"])
		return services["jobscheduler"][0]["credentials"].(map[string]any), nil
	}
	c, err := run("prod", "--secret", "env:SAP_SECRET")
	require.NoError(t, err)
	require.Equal(t, "https://jobs.example", c["url"])
	uaa := c["uaa"].(map[string]any)
	require.Equal(t, "https://jobs.example/uaa/provider", uaa["url"])
	require.Equal(t, "one", uaa["clientid"])
	require.Equal(t, "the secret", uaa["clientsecret"])
	c, err = run("prod", "--client", "two", "--tenant", "t 1", "--certificate", "env:SAP_CERTIFICATE", "--key", "env:SAP_KEY")
	require.NoError(t, err)
	uaa = c["uaa"].(map[string]any)
	require.Equal(t, "https://jobs.example/uaa/t%201", uaa["certurl"])
	require.Equal(t, "a key", uaa["key"])
	require.NotContains(t, uaa, "clientsecret")
	c, err = run("prod", "--user", "lite", "--secret", "env:SAP_SECRET")
	require.NoError(t, err)
	require.Equal(t, map[string]any{"url": "https://jobs.example", "user": "lite", "password": "the secret"}, c)

	for _, wrong := range [][]string{
		{"none", "--secret", "env:SAP_SECRET"}, {"prod", "--secret", "the secret"}, {"prod", "--client", "x", "--secret", "env:SAP_SECRET"},
		{"prod", "--user", "x", "--secret", "env:SAP_SECRET"},
	} {
		_, err := run(wrong...)
		require.Error(t, err)
		require.Equal(t, exit.CodeUsage, exit.Code(err), "%v", err)
		require.NotContains(t, err.Error(), "the secret")
	}
	for _, wrong := range [][]string{{"prod"}, {}, {"prod", "--certificate", "env:SAP_CERTIFICATE"}} {
		_, err := run(wrong...)
		require.Error(t, err)
	}
}
