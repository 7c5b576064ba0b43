package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
	"github.com/jobagent/jobagent/cmd/jobagent/internal/clitest"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/embedded"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/testenv/npm"
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
	wrong := []byte(first.token)
	wrong[len(wrong)-2] ^= 1 // the last letter may be any, and holds four bits only
	status, _ = first.get(t, "/subscriptions?api-version=2021-04-01", string(wrong))
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

// The OpenAPI documents that the program serves follow Redocly's recommended rules without errors.
func TestOpenAPIDocumentsAreValid(t *testing.T) {
	t.Parallel()
	npm.Modules(t, "@redocly/cli")
	dir := t.TempDir()
	p := startDev(t, dir, "127.0.0.1:0")
	for _, surface := range []string{"sql", "scheduler", "sap"} {
		status, body := p.get(t, "/openapi/"+surface+".json", p.token)
		require.Equal(t, http.StatusOK, status, surface)
		document := filepath.Join(dir, surface+".json")
		require.NoError(t, os.WriteFile(document, []byte(body), 0o600))
		cmd := exec.CommandContext(t.Context(), "node", npm.Path("@redocly/cli", "bin", "cli.js"), "lint", document, "--extends", "recommended", "--format", "stylish")
		cmd.Dir = dir // without a configuration file
		cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "is valid", surface)
	}
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
	p, stderr := startRun(t, "--serve", "--config", file)
	p.trusted = server.trusted
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

// startRun starts `jobagent run` as a process, and returns its stderr as well.
func startRun(t *testing.T, flags ...string) (*devProcess, io.Reader) {
	t.Helper()
	p := &devProcess{cmd: exec.Command(os.Args[0], append([]string{"run"}, flags...)...), log: &processLog{}}
	p.cmd.Env = append(os.Environ(), envBeCommand+"=1")
	stderr, err := p.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	return p, stderr
}

// Actions of the SAP surface name the front to which the application reports (case 66): the front
// of the process, or that of the configuration if the process has none.
func TestActionsNameTheFront(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, file map[string]any) (dsn, front string){
		"dev": func(t *testing.T, file map[string]any) (string, string) {
			p := startDev(t, t.TempDir(), "127.0.0.1:0", "--rest-listen", "127.0.0.1:0", "--config", writeJSON(t, file))
			return p.dsn(embedded.ControlDatabase), p.rest
		},
		"run --serve": func(t *testing.T, file map[string]any) (string, string) {
			server := startEmbedded(t)
			file["dsn"] = server.DSN(embedded.ControlDatabase)
			file["rest"] = map[string]any{"listen": "127.0.0.1:0", "insecure_http": true}
			p, stderr := startRun(t, "--serve", "--config", writeJSON(t, file))
			lines := bufio.NewScanner(stderr)
			for p.rest == "" && lines.Scan() {
				_, _ = io.WriteString(p.log, lines.Text()+"\n")
				if m := regexp.MustCompile(`"REST is served".*"public_url":"([^"]+)"`).FindStringSubmatch(lines.Text()); m != nil {
					p.rest = m[1]
				}
			}
			require.NotEmpty(t, p.rest, p.log)
			go io.Copy(io.Discard, stderr) // until the process ends
			return server.DSN(embedded.ControlDatabase), p.rest
		},
		"run": func(t *testing.T, file map[string]any) (string, string) {
			server := startEmbedded(t)
			file["dsn"] = server.DSN(embedded.ControlDatabase)
			file["rest"] = map[string]any{"public_url": "https://front.example/base/"}
			_, stderr := startRun(t, "--config", writeJSON(t, file))
			go io.Copy(io.Discard, stderr) // until the process ends
			return server.DSN(embedded.ControlDatabase), "https://front.example/base"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			headers := make(chan http.Header, 1)
			endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header }))
			t.Cleanup(endpoint.Close)
			dsn, front := start(t, map[string]any{"outbound": map[string]any{"allow": []string{"127.0.0.1"}}})
			settings, err := connect.ControlConfig(dsn)
			require.NoError(t, err)
			store, err := controldb.New(settings)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, store.Close()) })
			require.NoError(t, sap.On(store).SetProvider(t.Context(), "p", "provider", ""))
			_, err = sap.On(store).CreateJob(t.Context(), sap.Provider(), sap.Write{By: "tester"}, sap.JobSpec{
				Name: "report", Action: endpoint.URL + "/report", Method: http.MethodPost, Active: true, AllowHTTP: true,
				Schedules: []sap.ScheduleSpec{{Mode: sap.Time, Spec: `{"time":"now"}`, Active: true}},
			})
			require.NoError(t, err)
			h := <-headers
			require.Equal(t, front, h.Get("X-Sap-Scheduler-Host"))
			for _, header := range []string{"X-Sap-Job-Id", "X-Sap-Job-Schedule-Id", "X-Sap-Job-Run-Id", "X-Sap-Run-At"} {
				require.NotEmpty(t, h.Get(header), header)
			}
		})
	}
}

// startEmbedded starts a server in this process, with a control database and without an agent.
func startEmbedded(t *testing.T) *embedded.Server {
	t.Helper()
	server := clitest.Server(t)
	return server
}

// writeJSON writes a configuration file.
func writeJSON(t *testing.T, file map[string]any) string {
	t.Helper()
	text, err := json.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
