package parser

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
)

// goLine matches GO, which separates batches in scripts.
var goLine = regexp.MustCompile(`(?im)^\s*GO\s*;?\s*$`)

// TestOwnSQL parses all SQL of the product, and expects that printing it keeps its meaning.
func TestOwnSQL(t *testing.T) {
	t.Parallel()
	for _, batch := range ownBatches(t) {
		b, err := Parse(batch, DefaultOptions)
		require.NoError(t, err, batch)
		requireFixpoint(t, b)
	}
}

// ownBatches returns the batches of all SQL of the product.
func ownBatches(t testing.TB) (batches []string) {
	t.Helper()
	for _, root := range []string{"../../../../sql", "../../catalog"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".sql") {
				return err
			}
			text, err := os.ReadFile(path)
			batches = append(batches, goLine.Split(string(text), -1)...)
			return err
		})
		require.NoError(t, err)
	}
	return batches
}

// requireFixpoint checks that printing b, parsing the text and printing again returns the same
// text.
func requireFixpoint(t testing.TB, b *syntax.Batch) {
	t.Helper()
	text := sqlprinter.Print(b)
	again, err := Parse(text, DefaultOptions)
	require.NoError(t, err, text)
	require.Equal(t, text, sqlprinter.Print(again))
	require.Equal(t, shape(b), shape(again), text)
}

// shape returns the types of all nodes in the order of a walk.
func shape(n syntax.Node) []string {
	var list []string
	syntax.Inspect(n, func(n syntax.Node) bool {
		list = append(list, fmt.Sprintf("%T", n))
		return true
	})
	return list
}
