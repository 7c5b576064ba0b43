// Package npm finds the npm packages that .ci/npm installs, for tests that run them.
package npm

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// folder returns the folder in which .ci/npm installs, outside of the tree.
func folder() string {
	cache := cmp.Or(os.Getenv("XDG_CACHE_HOME"), filepath.Join(cmp.Or(os.Getenv("HOME"), "/root"), ".cache"))
	return cmp.Or(os.Getenv("JOBAGENT_TEST_NPM"), filepath.Join(cache, "jobagent-test-npm"))
}

// Path returns the path of a package's file. The file need not exist.
func Path(pkg string, names ...string) string {
	return filepath.Join(append([]string{folder(), "node_modules", filepath.FromSlash(pkg)}, names...)...)
}

// Modules returns the folder node_modules with a package, or skips the test.
func Modules(t testing.TB, pkg string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is absent: install it, and run bash .ci/npm")
	}
	for _, path := range []string{filepath.Join(folder(), "installed"), Path(pkg)} {
		if _, err := os.Stat(path); err != nil { // the script writes the mark when the installation is whole
			t.Skipf("the npm package %s is absent: run bash .ci/npm", pkg)
		}
	}
	return filepath.Join(folder(), "node_modules")
}
