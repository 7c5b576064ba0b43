package cli_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli/serve"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/testenv/earlier"
)

// buffer is a log that can be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// writeConfig writes a configuration file.
func writeConfig(t *testing.T, content map[string]any) string {
	t.Helper()
	text, err := json.Marshal(content)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// newApp returns an invocation with a configuration file.
func newApp(path string) (a *connect.App, stdout, stderr *buffer) {
	stdout, stderr = &buffer{}, &buffer{}
	a = connect.New(nil, stdout, stderr)
	a.Format, a.ConfigPath, a.LogLevel = output.FormatTable, path, "info"
	return a, stdout, stderr
}

// A configuration with a connection string, an address and a token is enough to serve. The control
// database may be away at the start.
func TestServe(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	server := clitest.Server(t)
	token, text := tokenfile.New()
	token.Role, token.Scope = "reader", "/"
	a, _, log := newApp(writeConfig(t, map[string]any{
		"dsn":  server.DSN(embedded.ControlDatabase),
		"rest": map[string]any{"listen": "127.0.0.1:0", "tokens": []any{token}},
	}))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // ends with ctx
		cmd := serve.NewCommand(a)
		cmd.SetArgs([]string{})
		ended <- cmd.ExecuteContext(ctx)
	}()
	served := regexp.MustCompile(`"REST is served".*"public_url":"([^"]+)"`)
	require.Eventually(t, func() bool { return served.MatchString(log.String()) || len(ended) > 0 }, 10*time.Second, 5*time.Millisecond)
	require.Empty(t, ended, log.String())
	address := served.FindStringSubmatch(log.String())[1]
	certificate := regexp.MustCompile(`"certificate":"([^"]+)"`).FindStringSubmatch(log.String())[1]
	pem, err := os.ReadFile(certificate)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(pem))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	defer transport.CloseIdleConnections()
	get := func(path string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+text)
		response, err := (&http.Client{Transport: transport}).Do(r)
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return response.StatusCode, string(body)
	}
	status, body := get("/readyz")
	require.Equal(t, 200, status, body)
	status, body = get("/subscriptions?api-version=2021-04-01")
	require.Equal(t, 200, status, body)
	require.Contains(t, body, "00000000-0000-0000-0000-000000000000")
	status, _ = get("/callbacks/unknown")
	require.Equal(t, 405, status, "callbacks are received here")
	require.NotContains(t, log.String(), text)
	cancel()
	require.NoError(t, <-ended)
}

// A front and an agent that are newer than the schema of their control database end at once, with
// one line that says what to do. A front that can serve another control database serves.
func TestStartOnEarlierSchema(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	server := clitest.Server(t)
	master, err := server.Open("master")
	require.NoError(t, err)
	defer master.Close()
	_, err = master.ExecContext(t.Context(), "CREATE DATABASE old;")
	require.NoError(t, err)
	old, err := server.Open("old")
	require.NoError(t, err)
	defer old.Close()
	require.NoError(t, earlier.Install(t.Context(), old, earlier.Version28))
	rest := map[string]any{"listen": "127.0.0.1:0"}
	alone := writeConfig(t, map[string]any{"dsn": server.DSN("old"), "rest": rest})
	for _, command := range []string{"serve", "run", "run --serve"} {
		code, stdout, stderr := runContext(t.Context(), "", "", append(strings.Fields(command), "--config", alone)...)
		require.Equal(t, exit.CodeSchema, code, "%s: %s", command, stderr)
		require.Empty(t, stdout)
		require.Len(t, errorLines(stderr), 1, stderr)
		require.Contains(t, errorLines(stderr)[0], "the control schema has version 28 and this program needs ")
		require.Contains(t, errorLines(stderr)[0], `run "jobagent db migrate"`)
		require.NotContains(t, stderr, server.Password)
	}

	a, _, log := newApp(writeConfig(t, map[string]any{"rest": rest, "control_databases": []any{
		map[string]any{"name": "old", "dsn": server.DSN("old")}, map[string]any{"name": "new", "dsn": server.DSN(embedded.ControlDatabase)},
	}}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { // ends with ctx
		cmd := serve.NewCommand(a)
		cmd.SetArgs([]string{})
		ended <- cmd.ExecuteContext(ctx)
	}()
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "REST is served") || len(ended) > 0 }, 10*time.Second, 5*time.Millisecond)
	require.Contains(t, log.String(), `answered with status 503","service":"rest","error":"control database \"old\": the control schema has version 28`)
	cancel()
	require.NoError(t, <-ended)
}

func TestCheck(t *testing.T) {
	const dsn = "sqlserver://u:p@h?database=jobs"
	for _, c := range []struct {
		rest  map[string]any
		fault string // empty: valid
	}{
		{map[string]any{}, ""},
		{map[string]any{"listen": "10.0.0.1:443"}, "want tls"},
		{map[string]any{"tls": map[string]any{"certificate": "absent.pem", "key": "absent.key"}}, "absent.pem: no such file"},
		{map[string]any{"grants": []any{map[string]any{"principal": "x", "role": "king", "scope": "/"}}}, "invalid role"},
		{map[string]any{"sap": map[string]any{"instances": []any{map[string]any{"name": "i", "tenant": "t", "database": "nope", "credential": "c"}}}}, "no control database"},
		{map[string]any{"sap": map[string]any{"instances": []any{map[string]any{"name": "i", "tenant": "t"}}}}, "sap.instances[0].credential is missing"},
	} {
		a, stdout, _ := newApp(writeConfig(t, map[string]any{"dsn": dsn, "rest": c.rest, "metrics": map[string]any{"listen": "127.0.0.1:9464"}}))
		cmd := serve.NewCommand(a)
		cmd.SetArgs([]string{"--check"})
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		err := cmd.ExecuteContext(t.Context())
		if c.fault == "" {
			require.NoError(t, err)
			require.Equal(t, "the configuration is valid: control databases jobs, listen 127.0.0.1:8443\n", stdout.String())
			continue
		}
		require.ErrorContains(t, err, c.fault)
		require.Equal(t, exit.CodeUsage, exit.Code(err), "%v", err)
	}
}

// The section metrics is checked as well.
func TestCheckOfMetrics(t *testing.T) {
	a, _, _ := newApp(writeConfig(t, map[string]any{
		"dsn": "sqlserver://u:p@h?database=jobs", "metrics": map[string]any{"listen": "0.0.0.0:9464"},
	}))
	cmd := serve.NewCommand(a)
	cmd.SetArgs([]string{"--check"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	require.ErrorContains(t, err, "metrics: invalid listen")
	require.Equal(t, exit.CodeUsage, exit.Code(err))
}
