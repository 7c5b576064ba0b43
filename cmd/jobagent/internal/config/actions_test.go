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
		"secrets": {"api-key": "file:/run/api.key"}, "secret_keys": ["file:/run/agent.key"],
		"agent": {"process_dir": "/var/tmp"}
	}`), &cfg))
	require.NoError(t, cfg.CheckActions())
	entries := cfg.ProcessRunner()
	require.Equal(t, "/var/tmp", entries.WorkDir)
	require.Equal(t, int64(64<<20), entries.Entries[0].MaxMemory)
	require.Equal(t, []string{"--all"}, entries.Entries[0].Args)
	require.Equal(t, []string{"c.json", "/run/agent.key", "/run/api.key"}, cfg.SecretFiles("c.json"))
}

// All faults are in one error, and a secret that stands where a reference belongs is not repeated.
func TestFaultsOfActionsInTheConfiguration(t *testing.T) {
	t.Parallel()
	cfg := File{Secrets: map[string]string{"a b": "env:A", "c": "hunter2"}, SecretKeys: []string{"file:/k", "hunter3"}}
	err := cfg.CheckActions()
	cfg.Callbacks.Listen = "10.1.2.3:80"
	err = errors.Join(err, cfg.CheckActions())
	require.ErrorContains(t, err, "callbacks: invalid public_url")
	require.ErrorContains(t, err, "want tls")
	for _, want := range []string{`invalid name "a b" in secrets`, "secrets.c: invalid secret reference", "secret_keys[1]: invalid secret reference"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "hunter")
}

func TestUnknownMembersOfActionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"outbound": {"allowed": []}}`, `{"processes": [{"command": "x"}]}`, `{"outbound": {"credentials": [{"password": "x"}]}}`,
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Read(path)
		require.ErrorContains(t, err, "unknown field", text)
	}
}
