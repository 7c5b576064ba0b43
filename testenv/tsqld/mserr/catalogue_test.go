package mserr

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCatalogue checks the source of the constructors: the comment of a function has the error's
// number, no two constructors have the same number (except families that share one), and the
// arguments fit the placeholders of the text. The rest of the server makes only messages without a
// constructor by their number, with as many arguments as placeholders, and uses each constructor.
func TestCatalogue(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	seen := map[int]string{}
	unused := map[string]bool{}
	// check compares the types of arguments, "" for an unknown one, with the text of a number.
	check := func(name string, number int, args []string) {
		require.Empty(t, seen[number], "%s and %s are both %d", name, seen[number], number)
		if number != 155 { // options and dateparts
			seen[number] = name
		}
		definition, ok := definitions()[int32(number)] //nolint:gosec // as written
		require.True(t, ok, "messages.txt does not have %d", number)
		verbs := placeholder.FindAllString(definition.text, -1)
		require.Len(t, args, len(verbs), "%d", number)
		for i, typ := range args {
			if typ != "" {
				require.Equal(t, typ == "string", verbs[i] == "%s", "%d: %s for %s", number, verbs[i], typ)
			}
		}
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				params := map[string]string{}
				for _, p := range fn.Type.Params.List {
					for _, n := range p.Names {
						params[n.Name] = fmt.Sprint(p.Type)
					}
				}
				ast.Inspect(fn, func(n ast.Node) bool {
					call, ok := n.(*ast.CallExpr)
					if !ok || fmt.Sprint(call.Fun) != "Of" || fn.Name.Name == "of" {
						return true
					}
					lit, ok := call.Args[0].(*ast.BasicLit)
					require.True(t, ok, "%s: a number is a literal", fn.Name.Name)
					require.Contains(t, fn.Doc.Text(), lit.Value, "%s does not name its number", fn.Name.Name)
					number, err := strconv.Atoi(lit.Value)
					require.NoError(t, err)
					var args []string
					for _, a := range call.Args[1:] {
						args = append(args, params[fmt.Sprint(a)])
					}
					check(fn.Name.Name, number, args)
					return true
				})
				continue
			}
			for _, spec := range d.(*ast.GenDecl).Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || len(value.Values) == 0 {
					continue
				}
				call, ok := value.Values[0].(*ast.CallExpr)
				if !ok {
					continue
				}
				index, ok := call.Fun.(*ast.IndexExpr)
				if !ok || fmt.Sprint(index.X) != "of" {
					continue
				}
				number, err := strconv.Atoi(call.Args[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				var args []string
				for _, p := range index.Index.(*ast.FuncType).Params.List {
					for range p.Names {
						args = append(args, fmt.Sprint(p.Type))
					}
				}
				check(value.Names[0].Name, number, args)
				unused[value.Names[0].Name] = true
			}
		}
	}
	require.Greater(t, len(seen), 200)
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		test := strings.HasSuffix(path, "_test.go")
		ast.Inspect(file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !test && id.Obj == nil {
				delete(unused, id.Name)
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || fmt.Sprint(call.Fun) != "&{mserr Of}" {
				return true
			}
			number, err := strconv.Atoi(call.Args[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			require.Empty(t, seen[number], "%s: %d has a constructor", path, number)
			definition, ok := definitions()[int32(number)] //nolint:gosec // as written
			require.True(t, ok, "%s: messages.txt does not have %d", path, number)
			require.Len(t, call.Args[1:], len(placeholder.FindAllString(definition.text, -1)), "%s: %d", path, number)
			return true
		})
		return nil
	}))
	require.Empty(t, unused)
	require.Equal(t, len(definitions()), strings.Count(messageList, "\n"), "a number has two texts")
}

// placeholder matches a placeholder of messages.txt.
var placeholder = regexp.MustCompile("%[0-9]*[a-zA-Z]")

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
