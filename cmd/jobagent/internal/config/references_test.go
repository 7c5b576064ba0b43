package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReferences(t *testing.T) {
	t.Setenv("JOBAGENT_TEST_SET", "x")
	cfg, err := Read(write(t, `{
"credentials": [{"name": "a", "servers": ["[bad"], "user": "u", "secret": "env:JOBAGENT_TEST_UNSET"}, {"name": "b", "servers": ["*"], "user": "u", "secret": "env:JOBAGENT_TEST_SET"}],
"secrets": {"api": "file:/nonexistent/secret"}, "secret_keys": ["env:JOBAGENT_TEST_UNSET"],
"tracing": {"endpoint": "http://localhost:4318", "headers": {"key": "hunter2"}}}`))
	require.NoError(t, err)
	texts := []string{}
	for _, err := range cfg.Unreadable() {
		texts = append(texts, err.Error())
	}
	require.Equal(t, []string{
		"credentials[0].secret: the environment variable JOBAGENT_TEST_UNSET is not set",
		"secrets.api: read the secret: open /nonexistent/secret: no such file or directory",
		"secret_keys[0]: the environment variable JOBAGENT_TEST_UNSET is not set",
	}, texts)
	err = cfg.CheckForms()
	require.ErrorContains(t, err, `server pattern "[bad": invalid server name`)
	require.ErrorContains(t, err, "tracing.headers.key: invalid secret reference")
	require.NotContains(t, err.Error(), "hunter2")
}
