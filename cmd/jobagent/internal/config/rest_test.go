package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// readText reads a configuration file with this text.
func readText(t *testing.T, text string) (File, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return Read(path)
}

// A configuration with a connection string only is complete.
func TestDatabasesByDefault(t *testing.T) {
	t.Parallel()
	var c File
	list, err := c.Databases("sqlserver://u:p@h?database=jobs")
	require.NoError(t, err)
	require.Len(t, list, 1)
	e := list[0].Entry()
	require.Equal(t, "jobs", e.Name)
	require.Equal(t, "00000000-0000-0000-0000-000000000000", e.Subscription)
	require.Equal(t, "default", e.ImplicitAgent)
	require.False(t, e.Install)
	require.NoError(t, c.REST.Check())
	require.Equal(t, DefaultListen, c.REST.Listener().Address)
	require.InDelta(t, 180, c.REST.Limits.Rate().Writes.Burst, 0)
	_, err = c.Databases("")
	require.ErrorContains(t, err, "dsn is missing")
}

func TestDatabases(t *testing.T) {
	t.Setenv("FRONT_TEST_DSN", "sqlserver://u:p@h?database=second")
	c, err := readText(t, `{"control_databases": [
		{"name": "a", "subscription": "11111111-1111-1111-1111-111111111111", "resource_group": "rg", "server": "s", "location": "onprem",
		 "dns_suffix": ".example", "install": true, "implicit_agent": ""},
		{"dsn": "env:FRONT_TEST_DSN"}],
		"rest": {"limits": {"writes": {"per_hour": 180000}}, "tokens": [], "sap": {"instances": [
			{"name": "i", "tenant": "t", "subdomain": "d", "users": [{"name": "u", "password_hash": "x"}]}]}}}`)
	require.NoError(t, err)
	list, err := c.Databases("sqlserver://u:p@h?database=first")
	require.NoError(t, err)
	require.Equal(t, "a", list[0].Name)
	require.Empty(t, *list[0].ImplicitAgent)
	require.Contains(t, list[0].DSN, "first")
	require.Equal(t, "second", list[1].Name)
	require.InDelta(t, 180000, c.REST.Limits.Rate().Writes.PerHour, 0)
	require.InDelta(t, 180, c.REST.Limits.Rate().Writes.Burst, 0)
	callers := c.REST.SAP.Instances[0].Callers()
	require.Equal(t, []string{"i", "t", "d", "u"}, []string{callers.Name, callers.Tenant, callers.Subdomain, callers.Users[0].Name})
}

func TestFaultsOfREST(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		`{"listen": "10.0.0.1:443"}`:                                       "want tls",
		`{"listen": "10.0.0.1:443", "insecure_http": true}`:                "is not a loopback address",
		`{"insecure_http": true, "tls": {"certificate": "c", "key": "k"}}`: "tls is configured",
		`{"public_url": "http://front.example"}`:                           "invalid public_url",
		`{"cors_origins": ["https://a.example/"]}`:                         "invalid cors_origins",
		`{"limits": {"reads": {"burst": -1}}}`:                             "invalid limits.reads",
		`{"limits": {"connections": -1}}`:                                  "invalid limits",
		`{"tls": {"client_ca": "c"}}`:                                      "client_ca needs",
		`{"elastic": {"start_status": 204}}`:                               "invalid elastic.start_status",
	} {
		var c REST
		require.NoError(t, json.Unmarshal([]byte(text), &c), text)
		require.ErrorContains(t, c.Check(), fault, text)
	}
	_, err := readText(t, `{"rest": {"unknown": 1}}`)
	require.ErrorContains(t, err, "unknown")
}
