package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	jobsql "github.com/jobagent/jobagent/sql"
)

// sqlText is a T-SQL text in a Go file of the product: a list of constant parts, with a value known
// at run time between two of them.
type sqlText struct {
	file  string
	line  int
	parts []string
}

// String returns the position of the text.
func (s sqlText) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// whole reports whether the text is a constant.
func (s sqlText) whole() bool {
	return len(s.parts) == 1 && strings.HasSuffix(strings.TrimSpace(s.parts[0]), ";") && !s.begins()
}

// begins reports whether the text is the beginning of the batches of calls for a caller
// (controldb/internal/call/impersonate.go); tests have sent whole ones.
func (s sqlText) begins() bool { return strings.HasPrefix(s.parts[0], "SET XACT_ABORT ON;\nEXECUTE") }

// pattern returns an expression for the texts that the product can send.
func (s sqlText) pattern() *regexp.Regexp {
	quoted := make([]string, 0, len(s.parts))
	for _, p := range s.parts {
		quoted = append(quoted, regexp.QuoteMeta(p))
	}
	text := "(?s)^" + strings.Join(quoted, ".*")
	if s.begins() || !strings.HasSuffix(strings.TrimSpace(s.parts[len(s.parts)-1]), ";") {
		text += ".*"
	}
	return regexp.MustCompile(text + "$")
}

// statementStart matches the beginning of T-SQL: a keyword in capitals, as in all our T-SQL, and a
// second word.
var statementStart = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|EXECUTE|DECLARE|CREATE|DROP|ALTER|IF|SET|WITH|BEGIN|COMMIT|ROLLBACK|KILL|USE|TRUNCATE)\s+[\[@#A-Za-z(]`)

// sqlTexts returns the T-SQL texts of the product's Go files and, under "EXECUTE", the procedures
// that it calls.
func sqlTexts(t *testing.T) []sqlText {
	t.Helper()
	var list []sqlText
	for _, folder := range []string{"controldb", "agent", "targets", "cmd"} {
		packages := map[string][]*ast.File{}
		fset := token.NewFileSet()
		require.NoError(t, filepath.WalkDir(filepath.Join(root(t), folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(fset, path, nil, 0)
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], file)
			return err
		}))
		for _, files := range packages {
			list = append(list, textsOf(t, fset, files)...)
		}
	}
	slices.SortFunc(list, func(a, b sqlText) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// textsOf returns the T-SQL texts of one package.
func textsOf(t *testing.T, fset *token.FileSet, files []*ast.File) []sqlText {
	t.Helper()
	constants := map[string]ast.Expr{}
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v, ok := s.(*ast.ValueSpec)
				for i := range v.Values {
					if ok {
						constants[v.Names[i].Name] = v.Values[i]
					}
				}
			}
		}
	}
	// parts returns the constant parts of an expression.
	var parts func(x ast.Expr, depth int) []string
	parts = func(x ast.Expr, depth int) []string {
		switch x := x.(type) {
		case *ast.BasicLit:
			if x.Kind == token.STRING {
				text, err := strconv.Unquote(x.Value)
				require.NoError(t, err)
				return []string{text}
			}
		case *ast.ParenExpr:
			return parts(x.X, depth)
		case *ast.Ident:
			if c := constants[x.Name]; c != nil && depth < 10 {
				return parts(c, depth+1)
			}
		case *ast.BinaryExpr:
			if x.Op == token.ADD {
				a, b := parts(x.X, depth), parts(x.Y, depth)
				joined := append(slices.Clone(a[:len(a)-1]), a[len(a)-1]+b[0])
				return append(joined, b[1:]...)
			}
		}
		return []string{"", ""}
	}
	var list []sqlText
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			at := fset.Position(x.Pos())
			file, err := filepath.Rel(root(t), at.Filename)
			require.NoError(t, err)
			if c, ok := x.(*ast.CallExpr); ok && len(c.Args) == 1 {
				if name, ok := c.Fun.(*ast.SelectorExpr); ok && types.ExprString(name) == "call.New" {
					p := parts(c.Args[0], 0)
					require.Len(t, p, 1, "%s: the name of a procedure is constant", at)
					list = append(list, sqlText{file: file, line: at.Line, parts: []string{"EXECUTE " + p[0] + ";"}})
				}
			}
			b, binary := x.(*ast.BinaryExpr)
			l, literal := x.(*ast.BasicLit)
			if !(binary && b.Op == token.ADD || literal && l.Kind == token.STRING) {
				return true
			}
			p := parts(x, 0)
			if !statementStart.MatchString(p[0]) {
				return true
			}
			list = append(list, sqlText{file: file, line: at.Line, parts: p})
			return false
		})
	}
	return list
}

// printed are the files whose T-SQL is printed, not sent: the output of `jobagent job script`,
// `jobagent doctor` and `jobagent db grants`. Tests of cmd/jobagent and controldb run it.
var printed = []string{commandRoom + "cli/script/script.go", commandRoom + "cli/script/schedule.go", commandRoom + "cli/doctor/fix.go", "controldb/doctor/fixes.go", "controldb/deploy/grants.go"}

// envRecorded names a folder written by testenv.Recorder. TestSQLTexts writes the texts of the
// product to it.
const envRecorded = "JOBAGENT_RECORDED_SQL"

// TestSQLTexts collects every T-SQL text that the product sends, for .ci/bind: the constants of the
// source, and the recorded requests of tests that match the other texts. A test must have sent each
// of the other texts.
func TestSQLTexts(t *testing.T) {
	texts := sqlTexts(t)
	require.Greater(t, len(texts), 100)
	folder := os.Getenv(envRecorded)
	if folder == "" {
		t.Skipf("%s is not set: .ci/bind sets it to the folder of the requests that the other tests have sent", envRecorded)
	}
	sent := map[string]string{}
	require.NoError(t, filepath.WalkDir(filepath.Join(folder, "sent"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		sent[filepath.Base(path)] = string(text)
		return err
	}))
	product := filepath.Join(folder, "product")
	require.NoError(t, os.RemoveAll(product))
	require.NoError(t, os.MkdirAll(product, 0o755))
	lists := map[string][]string{} // the lists of .ci/bind: control has the texts for control databases, target those for other databases
	write := func(s sqlText, n int, text string) {
		name := fmt.Sprintf("%s.%d.%d.sql", strings.ReplaceAll(s.file, "/", "."), s.line, n)
		require.NoError(t, os.WriteFile(filepath.Join(product, name), []byte(text+"\n"), 0o644))
		kind := "control"
		if strings.HasPrefix(s.file, "targets/") || strings.HasPrefix(s.file, commandRoom+"demo/") { // the demo reads the output of its jobs
			kind = "target"
		}
		lists[kind] = append(lists[kind], name)
	}
	for _, s := range texts {
		switch {
		case slices.Contains(printed, s.file):
		case s.file == "targets/mssql/announce.go" && !s.whole(): // a constant, which is checked, before the script of a job
		case strings.HasPrefix(s.file, "agent/web/") && !s.whole(): // pages show these equivalents, to copy; tests of agent/web run them
		case strings.HasPrefix(s.file, "cmd/"): // the values at run time are names of databases, and numbers
			write(s, 0, strings.NewReplacer("%d", "1", "%s", "x").Replace(strings.Join(s.parts, "x")))
		case s.whole():
			write(s, 0, s.parts[0])
		default:
			n, pattern := 0, s.pattern()
			for _, name := range slices.Sorted(maps.Keys(sent)) {
				if pattern.MatchString(sent[name]) {
					n++
					write(s, n, sent[name])
				}
			}
			if n == 0 {
				t.Errorf("%s: no test has sent this text: %s", s, strings.Join(s.parts, " ... "))
			}
		}
	}
	triggers, err := jobsql.ReadOnly() // made by Go, so that install.txt does not list them
	require.NoError(t, err)
	for i, o := range triggers {
		write(sqlText{file: "sql/read_only.go"}, i, o.Text)
	}
	for kind, list := range lists {
		require.NoError(t, os.WriteFile(filepath.Join(product, kind+".txt"), []byte(strings.Join(list, "\n")+"\n"), 0o644))
	}
}

// TestSQLTextsAreFound: constants are inserted, other values divide the text, and prose is not
// T-SQL.
func TestSQLTextsAreFound(t *testing.T) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, filepath.Join(root(t), "x.go"), "package x\n"+
		"const table = `dbo.t`\n"+
		"var a = `SELECT x FROM ` + table + `;`\n"+
		"var b = `SELECT x FROM dbo.t WHERE ` + where() + ` AND y = 1;`\n"+
		"var c = `Select a job.` + table\n"+
		"var d = call.New(`jobs.sp_x`)\n", 0)
	require.NoError(t, err)
	list := textsOf(t, fset, []*ast.File{file})
	require.Equal(t, []sqlText{
		{file: "x.go", line: 3, parts: []string{"SELECT x FROM dbo.t;"}},
		{file: "x.go", line: 4, parts: []string{"SELECT x FROM dbo.t WHERE ", " AND y = 1;"}},
		{file: "x.go", line: 6, parts: []string{"EXECUTE jobs.sp_x;"}},
	}, list)
	require.True(t, list[0].whole())
	require.False(t, list[1].whole())
	require.True(t, list[1].pattern().MatchString("SELECT x FROM dbo.t WHERE z = 2 AND y = 1;"))
	require.False(t, list[1].pattern().MatchString("SELECT x FROM dbo.t;"))
}
