package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestActionsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	var cfg File
	require.NoError(t, json.Unmarshal([]byte(`{
		"outbound": {"allow": ["10.1.0.0/16"], "credentials": [{"name": "api", "hosts": ["api.example.com"], "kind": "bearer", "secret": "env:TOKEN"}]},
		"processes": [{"name": "backup", "path": "/usr/bin/backup", "args": ["--all"], "max_memory": "64MB"}],
		"secrets": {"api-key": "file:/run/api.key", "bound": {"ref": "file:/run/bound.key", "hosts": ["*.example.com", "process:backup"]}}, "secret_keys": ["file:/run/agent.key"],
		"agent": {"process_dir": "/var/tmp"}
	}`), &cfg))
	require.NoError(t, cfg.CheckActions())
	entries := cfg.ProcessRunner()
	require.Equal(t, "/var/tmp", entries.WorkDir)
	require.Equal(t, int64(64<<20), entries.Entries[0].MaxMemory)
	require.Equal(t, []string{"--all"}, entries.Entries[0].Args)
	require.ElementsMatch(t, []string{"c.json", "/run/agent.key", "/run/api.key", "/run/bound.key"}, cfg.SecretFiles("c.json"))
	require.Equal(t, map[string]Secret{
		"api-key": {Reference: "file:/run/api.key"},
		"bound":   {Reference: "file:/run/bound.key", Hosts: []string{"*.example.com", "process:backup"}},
	}, cfg.Secrets)
}

// All faults are in one error, and a secret that stands where a reference belongs is not repeated.
func TestFaultsOfActionsInTheConfiguration(t *testing.T) {
	t.Parallel()
	cfg := File{Secrets: map[string]Secret{
		"a b": {Reference: "env:A"}, "c": {Reference: "hunter2"}, "d": {Reference: "env:D", Hosts: []string{}},
		"e": {Reference: "env:E", Hosts: []string{"https://e.example.com"}},
	}, SecretKeys: []string{"file:/k", "hunter3"}}
	err := cfg.CheckActions()
	cfg.Callbacks.Listen = "10.1.2.3:80"
	err = errors.Join(err, cfg.CheckActions())
	require.ErrorContains(t, err, "callbacks: invalid public_url")
	require.ErrorContains(t, err, "want tls")
	for _, want := range []string{`invalid name "a b" in secrets`, "secrets.c: invalid secret reference", "secrets.d: the hosts are missing",
		`secrets.e: invalid host pattern "https://e.example.com"`, "secret_keys[1]: invalid secret reference"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter")
}

// No form of a secret that the configuration does not know is taken for a secret without hosts, and
// no error repeats a value.
func TestFormsOfSecretsInTheConfiguration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`1`: "want a reference", `null`: "want a reference", `["env:A"]`: "want a reference",
		`{"ref": "env:A", "host": ["a"]}`:  `unknown member "host"`,
		`{"ref": "env:A", "Hosts": ["a"]}`: `unknown member "Hosts"`,
		`{"ref": "env:A", "hosts": "a"}`:   "invalid hosts of a secret",
		`{"ref": ["hunter2"]}`:             "invalid ref of a secret",
	} {
		var cfg File
		err := json.Unmarshal([]byte(`{"secrets": {"a": `+text+`}}`), &cfg)
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "hunter", text)
	}
	for _, text := range []string{`{"ref": "env:A", "hosts": null}`, `{"ref": "env:A", "hosts": []}`, `{"hosts": ["a"]}`} {
		var cfg File
		require.NoError(t, json.Unmarshal([]byte(`{"secrets": {"a": `+text+`}}`), &cfg))
		require.Error(t, cfg.CheckActions(), text)
	}
}

func TestUnknownMembersOfActionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"outbound": {"allowed": []}}`, `{"processes": [{"command": "x"}]}`, `{"outbound": {"credentials": [{"password": "x"}]}}`,
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		require.ErrorContains(t, err, "unknown setting", text)
	}
}

// Everything that a configuration names as a secret or a key is hidden from processes, and so is
// the configuration itself.
func TestHiddenFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.json")
	require.NoError(t, os.WriteFile(path, []byte(`{
		"dsn": "file:/s/dsn", "secrets": {"a": "file:/s/secret", "b": "env:B"}, "secret_keys": ["file:/s/agent.key"],
		"credentials": [{"name": "w", "servers": ["*"], "kind": "windows", "user": "u@R", "keytab": "/s/keytab"},
			{"name": "c", "servers": ["*"], "kind": "windows", "credential_cache": "FILE:/s/cache"}],
		"outbound": {"credentials": [{"name": "api", "hosts": ["h"], "kind": "bearer", "secret": "file:/s/token"}]},
		"callbacks": {"listen": "h:1", "tls": {"certificate": "/c.pem", "key": "/s/callbacks.key"}},
		"metrics": {"tls": {"certificate": "/c.pem", "key": "/s/metrics.key"}, "token": "file:/s/metrics"},
		"rest": {"tls": {"certificate": "/c.pem", "key": "/s/rest.key"}},
		"processes": [{"name": "p", "path": "/bin/true", "agent_files": true}]
	}`), 0o600))
	cfg, err := Read(path)
	require.NoError(t, err)
	runner := cfg.ProcessRunner()
	require.ElementsMatch(t, []string{path, "/s/dsn", "/s/secret", "/s/agent.key", "/s/keytab", "/s/cache", "/s/token", "/s/callbacks.key",
		"/s/metrics.key", "/s/metrics", "/s/rest.key"}, runner.Hidden)
	require.True(t, runner.Entries[0].AgentFiles)
}
