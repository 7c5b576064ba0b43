package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/dev"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
)

// `jobagent dev` serves REST over TLS with the server's certificate; the stored token is that of an
// administrator, and stays the same after a restart.
func TestDevServesREST(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir, "127.0.0.1:0")
	status, body := first.get(t, "/subscriptions?api-version=2021-04-01", first.token)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"state":"Enabled"`)
	status, _ = first.get(t, "/subscriptions?api-version=2021-04-01", first.token[:len(first.token)-1]+"A")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body = first.get(t, "/metadata/endpoints?api-version=2022-09-01", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, `"resourceManager":"`+first.rest+`"`)
	first.kill()
	second := startDev(t, dir, "127.0.0.1:0")
	require.Equal(t, first.token, second.token)
	status, body = second.get(t, "/readyz", second.token)
	require.Equal(t, http.StatusOK, status, body)
}

// get sends a request to the front.
func (p *devProcess) get(t *testing.T, path, token string) (int, string) {
	t.Helper()
	pem, err := os.ReadFile(p.trusted)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.rest+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	response, err := (&http.Client{Transport: transport}).Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// `jobagent run --serve` is an agent and a front in one process. The agent's actions name the
// front's address for callbacks. Both end with a signal.
func TestRunServesREST(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := startDev(t, dir, "127.0.0.1:0")
	stored, token := tokenfile.New()
	stored.Role, stored.Scope = "admin", "/"
	settings, err := json.Marshal(map[string]any{
		"dsn": server.dsn(embedded.ControlDatabase),
		"rest": map[string]any{
			"listen": "127.0.0.1:0", "tokens": []any{stored},
			"tls": map[string]any{"certificate": server.trusted, "key": filepath.Join(dir, dev.KeyFile)},
		},
	})
	require.NoError(t, err)
	file := filepath.Join(dir, "front.json")
	require.NoError(t, os.WriteFile(file, settings, 0o600))
	p := &devProcess{cmd: exec.Command(os.Args[0], "run", "--serve", "--config", file), log: &processLog{}, trusted: server.trusted}
	p.cmd.Env = append(os.Environ(), envBeCommand+"=1")
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	lines := bufio.NewScanner(stderr)
	for (p.rest == "" || !strings.Contains(p.log.String(), `"callback_url":"`+p.rest)) && lines.Scan() {
		_, _ = io.WriteString(p.log, lines.Text()+"\n")
		if m := regexp.MustCompile(`"REST is served".*"public_url":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
			p.rest = m[1]
		}
	}
	require.NotEmpty(t, p.rest, p.log)
	require.Contains(t, p.log.String(), `"callback_url":"`+p.rest)
	status, body := p.get(t, "/subscriptions?api-version=2021-04-01", token)
	require.Equal(t, http.StatusOK, status, body)
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGTERM))
	for lines.Scan() { // until the process ends
	}
	require.NoError(t, p.cmd.Wait())
}
