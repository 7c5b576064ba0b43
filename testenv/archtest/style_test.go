package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// folders are the top-level folders with code.
var folders = []string{"agent", "cmd", "controldb", "jobs", "sql", "targets", "testenv"}

// commentColumns is the maximum width of a line of comments. A tab has four columns.
const commentColumns = 100

// withoutGoleak lists the test packages that do not check for leaked goroutines, with the reason.
var withoutGoleak = map[string]string{}

// fileName matches the names of Go files: lower case, with words separated by underscores.
var fileName = regexp.MustCompile(`^[a-z0-9_]+\.go$`)

func TestFileNames(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, _ string) {
		if !fileName.MatchString(filepath.Base(path)) {
			t.Errorf("invalid file name %s: want lower case, with words separated by underscores", path)
		}
	}, folders...)
}

// A comment that fills a line is at most commentColumns wide. A single word, such as a link, may be
// wider.
func TestCommentWidth(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, text string) {
		for i, line := range strings.Split(text, "\n") {
			comment, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
			width := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if ok && width > commentColumns && strings.Contains(comment, " ") {
				t.Errorf("%s:%d: a comment of %d columns: want at most %d", path, i+1, width, commentColumns)
			}
		}
	}, folders...)
}

// No declaration shadows a predeclared identifier, such as new or max. Methods and fields cannot
// shadow one.
func TestNoPredeclaredNames(t *testing.T) {
	t.Parallel()
	goFiles(t, func(path, text string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, name := range declared(file) {
			if types.Universe.Lookup(name.Name) != nil {
				t.Errorf("%s: %s shadows a predeclared identifier", fset.Position(name.Pos()), name.Name)
			}
		}
	}, folders...)
}

// declared returns the names that a file declares, except methods and fields.
func declared(file *ast.File) (names []*ast.Ident) {
	expressions := func(list ...ast.Expr) {
		for _, x := range list {
			if name, ok := x.(*ast.Ident); ok {
				names = append(names, name)
			}
		}
	}
	fields := func(lists ...*ast.FieldList) {
		for _, list := range lists {
			if list == nil {
				continue
			}
			for _, f := range list.List {
				names = append(names, f.Names...)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				expressions(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				expressions(n.Key, n.Value)
			}
		case *ast.ValueSpec:
			names = append(names, n.Names...)
		case *ast.TypeSpec:
			names = append(names, n.Name)
			fields(n.TypeParams)
		case *ast.FuncDecl:
			if n.Recv == nil {
				names = append(names, n.Name)
			}
			fields(n.Recv)
		case *ast.FuncType:
			fields(n.TypeParams, n.Params, n.Results)
		}
		return true
	})
	return names
}

func TestDeclared(t *testing.T) {
	t.Parallel()
	const source = `package p
type any[real string] struct{ copy int }
var cap, _ = 1, 2
func make(new int) (max string) {
	len := func(min int) { for print := range 3 { _ = print } }
	len(1)
	return ""
}
func (clear any) append() { clear.copy = 1 }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	require.NoError(t, err)
	var names []string
	for _, name := range declared(file) {
		names = append(names, name.Name)
	}
	slices.Sort(names)
	require.Equal(t, []string{"_", "any", "cap", "clear", "len", "make", "max", "min", "new", "print", "real"}, names)
}

// maxMethods is the most methods of a type of the embedded server: a reader of a type has to know
// what each method may change.
const maxMethods = 40

func TestTypesAreNarrow(t *testing.T) {
	t.Parallel()
	methods := map[string]int{}
	goFiles(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil {
				receiver := strings.TrimPrefix(types.ExprString(f.Recv.List[0].Type), "*")
				methods[filepath.Dir(path)+"."+receiver]++
			}
		}
	}, "testenv/tsqld")
	require.Contains(t, methods, "testenv/tsqld/store.Conn")
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("type %s has %d methods: want at most %d; give a part with a state of its own a type", name, n, maxMethods)
		}
	}
}

// Each package with tests checks for leaked goroutines.
func TestGoleak(t *testing.T) {
	t.Parallel()
	checked := map[string]bool{}
	goFiles(t, func(path, text string) {
		if strings.HasSuffix(path, "_test.go") {
			folder := filepath.ToSlash(filepath.Dir(path))
			checked[folder] = checked[folder] || strings.Contains(text, "goleak.")
		}
	}, folders...)
	for folder, ok := range checked {
		if reason := withoutGoleak[folder]; !ok && reason == "" {
			t.Errorf("the tests of %s lack goleak.VerifyTestMain", folder)
		}
	}
	for folder := range withoutGoleak {
		_, err := os.Stat(filepath.Join(root(t), folder))
		require.NoError(t, err)
		require.False(t, checked[folder], "%s uses goleak: remove it from withoutGoleak", folder)
	}
}
