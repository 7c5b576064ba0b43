package mserr

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCatalogue checks the source of the constructors: each comment has the error's number, no two
// constructors have the same number (except families that share one), and the text has as many
// verbs as arguments.
func TestCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := map[int]string{}
	shared := map[int]bool{155: true, 8158: true} // 155: options and dateparts; 8158: views and table expressions
	count := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "error.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			require.NotNil(t, fn.Doc, fn.Name.Name)
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || fmt.Sprint(call.Fun) != "New" {
					return true
				}
				count++
				lit, ok := call.Args[0].(*ast.BasicLit)
				if !ok { // a family with several numbers
					return true
				}
				number, err := strconv.Atoi(lit.Value)
				require.NoError(t, err)
				require.Contains(t, fn.Doc.Text(), lit.Value, "%s does not name its number", fn.Name.Name)
				if !shared[number] {
					require.Empty(t, seen[number], "%s and %s are both %d", fn.Name.Name, seen[number], number)
				}
				seen[number] = fn.Name.Name
				text := literalText(t, call.Args[2])
				verbs := strings.Count(strings.ReplaceAll(text, "%%", ""), "%")
				require.Equal(t, verbs, len(call.Args)-3, fn.Name.Name)
				return true
			})
		}
	}
	require.Greater(t, count, 200)
}

func TestError(t *testing.T) {
	err := error(InvalidObject("dbo.x"))
	require.Equal(t, "Msg 208, Level 16, State 1, Line 0: Invalid object name 'dbo.x'.", err.Error())
	require.ErrorIs(t, fmt.Errorf("step: %w", err), InvalidObject(""))
	require.NotErrorIs(t, err, InvalidColumn(""))
	var e *Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, uint8(5), InvalidObject("x").WithState(5).State)
	require.Equal(t, `The INSERT statement conflicted with the CHECK constraint "CK". The conflict occurred in database "d", table "dbo.t", column 'c'.`,
		ConstraintConflict("INSERT", "CHECK", "CK", "d", "dbo.t", "c").Message)
}

// literalText returns the value of a literal or of a sum of literals.
func literalText(t *testing.T, e ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return literalText(t, sum.X) + literalText(t, sum.Y)
	}
	lit, ok := e.(*ast.BasicLit)
	require.True(t, ok, "a message is a literal")
	text, err := strconv.Unquote(lit.Value)
	require.NoError(t, err)
	return text
}
