package script_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/script"
)

// TestProcs runs every script of testdata/procs: what the procedures do.
func TestProcs(t *testing.T) { runAll(t, "testdata/procs/*.txt") }

// TestSpec runs every script of testdata/spec: what the catalog of an installed database says of the public surface, against
// tables that were written down from the specification.
func TestSpec(t *testing.T) { runAll(t, "testdata/spec/*.txt") }

// TestTSQL runs every script of testdata/tsql: statements whose behavior some other test has found wrong.
func TestTSQL(t *testing.T) { runAll(t, "testdata/tsql/*.txt") }

// runAll runs scripts, each in a fresh control database.
func runAll(t *testing.T, pattern string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
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
				script.Run(t, path, env.Name, func(t testing.TB, _ string) script.Session { return script.Connect(t, env.DB(t, database)) })
				env.CheckInvariants(t, database, false)
			})
		}
	})
}
