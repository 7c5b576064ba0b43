package cli_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/cli"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// probe runs the command with a section metrics.
func probe(t *testing.T, metrics map[string]any) (code int, stdout, stderr string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"metrics": metrics})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	var out, errors bytes.Buffer
	code = cli.Run(t.Context(), []string{"agent", "probe", "--config", path}, nil, &out, &errors)
	return code, out.String(), errors.String()
}

func TestProbe(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte("an answer\n"))
	})
	plain, encrypted := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer encrypted.Close()
	code, stdout, stderr := probe(t, map[string]any{"listen": plain.Listener.Addr().String()})
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Equal(t, "an answer\n", stdout)

	// TLS: the certificate of the configuration, and no other.
	files := t.TempDir()
	write := func(name string, der []byte) map[string]any {
		path := filepath.Join(files, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
		return map[string]any{"listen": encrypted.Listener.Addr().String(), "tls": map[string]any{"certificate": path, "key": path}}
	}
	own := write("own.pem", encrypted.Certificate().Raw)
	code, stdout, stderr = probe(t, own)
	require.Equal(t, exit.CodeOK, code, stderr)
	require.Equal(t, "an answer\n", stdout)
	code, _, stderr = probe(t, write("other.pem", []byte("another")))
	require.Equal(t, exit.CodeConnection, code)
	require.Contains(t, stderr, "not that of metrics.tls.certificate")

	status = http.StatusServiceUnavailable
	code, stdout, stderr = probe(t, own)
	require.Equal(t, exit.CodeRunFailed, code)
	require.Empty(t, stdout)
	require.Equal(t, "error: an answer (503 Service Unavailable)\n", stderr)

	plain.Close()
	code, _, stderr = probe(t, map[string]any{"listen": plain.Listener.Addr().String()})
	require.Equal(t, exit.CodeConnection, code, stderr)
	code, _, stderr = probe(t, nil)
	require.Equal(t, exit.CodeUsage, code)
	require.Contains(t, stderr, "metrics.listen")
}
