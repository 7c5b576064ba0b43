package exec

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompat compares COMPAT.md with the tests: each row with "full" names a test, and the named
// tests exist.
func TestCompat(t *testing.T) {
	text, err := os.ReadFile("../COMPAT.md")
	require.NoError(t, err)
	var tests strings.Builder
	for _, pattern := range []string{"../*_test.go", "../*/*_test.go", "../*/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			src, err := os.ReadFile(f)
			require.NoError(t, err)
			tests.Write(src)
		}
	}
	row := regexp.MustCompile(`^\| (.+?) \| (full|partial|none) \| (.*?)\| (.*?)\|$`)
	rows := 0
	for line := range strings.Lines(string(text)) {
		m := row.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		rows++
		shown := strings.TrimSpace(m[4])
		require.False(t, m[2] == "full" && shown == "", "%q is full and names no test", m[1])
		require.False(t, m[2] == "partial" && strings.TrimSpace(m[3]) == "",
			"%q is partial and does not name the missing part", m[1])
		for name := range strings.SplitSeq(shown, ",") {
			switch name = strings.TrimSpace(name); {
			case name == "":
			case strings.HasPrefix(name, "Test"):
				require.True(t, strings.Contains(tests.String(), "func "+name+"("), "%s does not exist", name)
			case strings.HasPrefix(name, "conformance/"):
				require.FileExists(t, "../conformance/testdata/"+strings.TrimPrefix(name, "conformance/")+".txt")
			default:
				require.FileExists(t, "testdata/"+name+".txt")
			}
		}
	}
	require.Greater(t, rows, 40)
}
