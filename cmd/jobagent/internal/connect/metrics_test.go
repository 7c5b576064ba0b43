package connect_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// withMetrics returns an invocation whose configuration file has the section metrics.
func withMetrics(t *testing.T, section map[string]any) *connect.App {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metrics": section})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	a := connect.New(nil, io.Discard, io.Discard)
	a.ConfigPath, a.LogLevel = path, "error"
	return a
}

func TestServeMetrics(t *testing.T) {
	t.Parallel()
	a := withMetrics(t, map[string]any{"listen": "127.0.0.1:0"})
	core, logs := observer.New(zap.InfoLevel)
	stop, err := a.ServeMetrics(t.Context(), zap.New(core))
	require.NoError(t, err)
	counted, err := a.DatabaseMetrics("sqlserver://u:p@h?database=jobs")
	require.NoError(t, err)
	counted.Agent().TermStarted()
	require.Eventually(t, func() bool { return logs.FilterMessage("metrics are served").Len() == 1 }, 10e9, 1e6)
	url := logs.FilterMessage("metrics are served").All()[0].ContextMap()["url"].(string)
	require.Regexp(t, regexp.MustCompile(`^http://127\.0\.0\.1:\d+/metrics$`), url)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.True(t, strings.Contains(string(body), `jobagent_term_starts_total{control_database="jobs"} 1`))
	stop()
}

func TestMetricsAreOptional(t *testing.T) {
	t.Parallel()
	a := withMetrics(t, map[string]any{"off": true})
	stop, err := a.ServeMetrics(t.Context(), zap.NewNop())
	require.NoError(t, err)
	stop()
	m, err := a.Metrics()
	require.NoError(t, err)
	require.Nil(t, m)
	counted, err := a.DatabaseMetrics("sqlserver://u:p@h?database=jobs")
	require.NoError(t, err)
	require.Nil(t, counted)
	require.Nil(t, connect.OnDial(counted.Targets()))

	a = withMetrics(t, map[string]any{"listen": "0.0.0.0:1"})
	_, err = a.ServeMetrics(t.Context(), zap.NewNop())
	require.ErrorContains(t, err, "want tls")
	require.Equal(t, exit.CodeUsage, exit.Code(err))
}
