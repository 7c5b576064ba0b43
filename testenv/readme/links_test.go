package readme

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// documents returns the paths of all documents of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var paths []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" { // a file in a work tree
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	require.NoError(t, err)
	require.Greater(t, len(paths), 10)
	return paths
}

// TestLinks checks the links between documents: their files, and the headings that they name.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s:]+)\)`)
	for _, path := range documents(t) {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		_, rest := blocks(string(text))
		for _, m := range link.FindAllStringSubmatch(rest, -1) {
			file, heading, named := strings.Cut(m[1], "#")
			other := path
			if file != "" {
				other = filepath.Join(filepath.Dir(path), file)
			}
			if !named {
				_, err := os.Stat(filepath.Join(root, other))
				require.NoError(t, err, "%s links %s", path, m[1])
				continue
			}
			linked, err := os.ReadFile(filepath.Join(root, other))
			require.NoError(t, err, "%s links %s", path, m[1])
			require.Contains(t, anchors(string(linked)), heading, "%s links %s", path, m[1])
		}
	}
}

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(document string) []string {
	_, rest := blocks(document)
	var list []string
	for _, line := range strings.Split(rest, "\n") {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		heading := strings.ToLower(strings.TrimLeft(line, "# "))
		heading = regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(heading, "")
		list = append(list, strings.ReplaceAll(heading, " ", "-"))
	}
	return list
}
