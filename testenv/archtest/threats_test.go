package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testName matches the name of a test or a fuzz target in prose, and testFunction one in a Go file.
var (
	testName     = regexp.MustCompile("`((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)`")
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z][A-Za-z0-9_]*)\(`)
)

// Every test that the threat model cites exists.
func TestThreatsNameExistingTests(t *testing.T) {
	existing := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range testFunction.FindAllSubmatch(text, -1) {
			existing[string(m[1])] = true
		}
		return err
	}))
	text, err := os.ReadFile(filepath.Join(root(t), "agent", "THREATS.md"))
	require.NoError(t, err)
	named := testName.FindAllSubmatch(text, -1)
	require.Greater(t, len(named), 40)
	for _, m := range named {
		if !existing[string(m[1])] {
			t.Errorf("agent/THREATS.md names %s, which does not exist", m[1])
		}
	}
}
