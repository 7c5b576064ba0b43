package script_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/script"
)

// TestProcs runs the scripts of testdata/procs, which test the procedures.
func TestProcs(t *testing.T) { runAll(t, "testdata/procs/*.txt") }

// TestSpec runs the scripts of testdata/spec, which compare the catalog of an installed database
// with tables of the public interface from the specification.
func TestSpec(t *testing.T) { runAll(t, "testdata/spec/*.txt") }

// TestTSQL runs the scripts of testdata/tsql, which test statements that were wrong once.
func TestTSQL(t *testing.T) { runAll(t, "testdata/tsql/*.txt") }

// conditions returns the conditions of scripts that the collation of the environment fulfils.
func conditions() []string {
	if c := testenv.Collation(); strings.Contains(c, "_CS") || strings.Contains(c, "_BIN") {
		return []string{script.Cased}
	}
	return nil
}

// runAll runs scripts, each in a new control database.
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
					env = testenv.Embedded(t, testenv.Options{}) // each script has a server of its own
				}
				_, database := env.Control(t)
				script.Run(t, path, env.Name, func(t testing.TB, _ string) script.Session { return script.Connect(t, env.DB(t, database)) }, conditions()...)
				env.CheckInvariants(t, database, false)
			})
		}
	})
}
