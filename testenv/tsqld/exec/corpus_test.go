package exec

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/session"
)

// TestCorpus installs the repository's own T-SQL unchanged, file by file in the order of its list.
func TestCorpus(t *testing.T) {
	const root = "../../../sql"
	list, err := os.ReadFile(filepath.Join(root, "install.txt"))
	require.NoError(t, err)
	inst := newInstance(t)
	s := openSession(t, inst, session.Login{User: "sa", Password: "secret", Database: "work"})
	defer func() { require.NoError(t, s.Close()) }()
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, line))
		require.NoError(t, err)
		require.NotEmpty(t, files, line)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var r recorder
			require.NoError(t, s.Batch(context.Background(), string(text), &r))
			if strings.Contains(r.b.String(), "Msg ") {
				t.Errorf("%s: %s", file, r.b.String())
			}
		}
	}
}
