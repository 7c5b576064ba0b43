package script_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/script"
)

// TestProcs runs every script of testdata/procs in a fresh control database.
func TestProcs(t *testing.T) {
	paths, err := filepath.Glob("testdata/procs/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	testenv.Each(t, func(t *testing.T, env *testenv.Env) {
		for _, path := range paths {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
				env := env
				if env.Server != nil {
					env = testenv.Embedded(t, testenv.Options{}) // so that nothing is left of the script before
				}
				_, database := env.Control(t)
				script.Run(t, path, env.Name, func(t testing.TB) *sql.DB { return env.DB(t, database) })
				env.CheckInvariants(t, database, false)
			})
		}
	})
}
