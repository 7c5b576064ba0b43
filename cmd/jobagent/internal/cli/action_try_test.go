package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// write writes a file and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestTryRunsAnActionOnce(t *testing.T) {
	t.Setenv("TRY_TEST_TOKEN", "token-of-the-test")
	var requests []*http.Request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r)
		if r.URL.Path == "/busy" {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "the token is token-of-the-test")
	}))
	defer server.Close()
	definition := write(t, "action.json", fmt.Sprintf(
		`{"url": "%s/$(param.place)", "allow_http": true, "auth": {"kind": "bearer", "token": "$(secret.hook)"}, "body": {"db": "$(database_name)"}}`,
		server.URL))
	const secrets = `"secrets": {"hook": "env:TRY_TEST_TOKEN"}`

	code, stdout, stderr := run(t, "action", "try", definition, "--config", write(t, "c.json", "{"+secrets+"}"), "--param", "place=x")
	require.Equal(t, 7, code, stderr)
	require.Contains(t, stdout, "outbound.allow", "loopback needs an allowance")
	require.Empty(t, requests)

	config := write(t, "c.json", `{"outbound": {"allow": ["127.0.0.0/8"]}, `+secrets+"}")
	code, stdout, stderr = run(t, "action", "try", definition, "--config", config, "--param", "place=a b", "--var", "database_name=db7")
	require.Equal(t, 0, code, stdout+stderr)
	require.Len(t, requests, 1)
	require.Equal(t, "Bearer token-of-the-test", requests[0].Header.Get("Authorization"))
	for _, want := range []string{"POST " + server.URL + "/a%20b", `{"db":"db7"}`, "the token is ***", "Succeeded in "} {
		require.Contains(t, stdout, want)
	}
	require.NotContains(t, stdout+stderr, "token-of-the-test")

	code, stdout, _ = run(t, "action", "try", definition, "--config", config, "--param", "place=busy", "-o", "json")
	require.Equal(t, 7, code)
	var trial output.ActionTrial
	require.NoError(t, json.Unmarshal([]byte(stdout), &trial))
	require.Equal(t, "Failed", trial.Outcome)
	require.Equal(t, int64(7000), trial.RetryAfterMS)
	require.True(t, trial.Sent)

	for _, args := range [][]string{
		{}, {"--param", "place=x", "--var", "nonsense"}, {"--param", "place=x", "--var", "secret.hook=x"},
	} {
		code, _, stderr = run(t, append([]string{"action", "try", definition, "--config", config}, args...)...)
		require.Equal(t, 2, code, "%v %s", args, stderr)
	}
	require.Len(t, requests, 2)
}

func TestTryRunsAProcess(t *testing.T) {
	definition := write(t, "action.json", `{"entry": "say", "args": ["hello"]}`)
	code, _, stderr := run(t, "action", "try", definition, "--config", write(t, "c.json", "{}"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "lists no processes")
	config := write(t, "c.json", `{"processes": [{"name": "say", "path": "/bin/echo", "args_pattern": "[a-z]+"}]}`)
	code, stdout, stderr := run(t, "action", "try", definition, "--config", config)
	require.Equal(t, 0, code, stdout+stderr)
	require.Contains(t, stdout, "hello")
	require.Contains(t, stdout, "the process was started")
}
