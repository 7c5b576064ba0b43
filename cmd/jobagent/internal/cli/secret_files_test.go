package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// A warning is logged if other users may read a secret's file, or a configuration file that refers
// to secrets. No warning is logged for files without secrets.
func TestWarningAboutReadableSecrets(t *testing.T) {
	t.Setenv(config.EnvDSN, "")
	t.Setenv(config.EnvConfig, "")
	dir := t.TempDir()
	secret, file := filepath.Join(dir, "secret"), filepath.Join(dir, "config.json")
	for name, c := range map[string]struct {
		text               string
		configMode, secret os.FileMode
		want               []string
	}{
		"Private": {`{"dsn": "file:SECRET"}`, 0o600, 0o400, nil},
		"Config":  {`{"dsn": "file:SECRET"}`, 0o644, 0o600, []string{`"file":"CONFIG","mode":"-rw-r--r--"`}},
		"Group":   {`{"dsn": "file:SECRET"}`, 0o640, 0o600, []string{`"file":"CONFIG","mode":"-rw-r-----"`}},
		"Secret": {`{"dsn": "env:NONE", "credentials": [{"name": "c", "secret": "file:SECRET"}]}`, 0o600, 0o604,
			[]string{`"file":"SECRET","mode":"-rw----r--"`}},
		"Both": {`{"credentials": [{"name": "c", "secret": "file:SECRET"}]}`, 0o644, 0o644,
			[]string{"CONFIG", "SECRET"}},
		"NoSecrets":  {`{"targets": {"encrypt": "strict"}}`, 0o644, 0o644, nil},
		"NoSuchFile": {`{"dsn": "file:SECRET.none"}`, 0o600, 0o644, nil},
	} {
		t.Run(name, func(t *testing.T) {
			paths := strings.NewReplacer("SECRET", secret, "CONFIG", file)
			require.NoError(t, os.WriteFile(secret, []byte("no connection string"), 0o600))
			require.NoError(t, os.WriteFile(file, []byte(paths.Replace(c.text)), 0o600))
			require.NoError(t, os.Chmod(secret, c.secret))
			require.NoError(t, os.Chmod(file, c.configMode))
			var stdout, stderr strings.Builder
			require.Equal(t, exit.CodeUsage, Run(t.Context(), []string{"job", "list", "--config", file},
				strings.NewReader(""), &stdout, &stderr))
			require.Equal(t, len(c.want), strings.Count(stderr.String(), "other users may read a file with secrets"),
				stderr.String())
			for _, w := range c.want {
				require.Contains(t, stderr.String(), paths.Replace(w))
			}
			require.NoError(t, os.Chmod(secret, 0o600))
		})
	}
}
