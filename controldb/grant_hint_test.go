package controldb_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSortsOfMessagesAreSmall: a query that selects messages of executions and sorts them limits
// the memory that it reserves.
func TestSortsOfMessagesAreSmall(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	rooms, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	sorted := 0
	for _, path := range append(paths, rooms...) {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			messages, sorts, small := false, false, false
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					messages = messages || strings.Contains(n.Value, "last_message")
					sorts = sorts || strings.Contains(n.Value, "ORDER BY")
				case *ast.Ident:
					messages = messages || n.Name == "executionColumns" || n.Name == "stepRunColumns"
					small = small || n.Name == "SmallGrant"
				}
				return true
			})
			if messages && sorts {
				sorted++
				assert.True(t, small, "%s in %s sorts messages without SmallGrant", f.Name.Name, path)
			}
		}
	}
	require.NotZero(t, sorted)
}
