package parser

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/script"
	"github.com/jobagent/jobagent/testenv/sqlprinter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax"
	"github.com/jobagent/jobagent/testenv/tsqld/syntax/printer"
)

// parserSession is a script session that parses its batches and runs nothing.
type parserSession struct {
	parse func(source string) (printed string, err error)
}

// Run implements script.Session. The result is the printed batch or the error of the parser.
func (s parserSession) Run(_ context.Context, batch string) (*script.Result, error) {
	var r script.Result
	printed, err := s.parse(batch)
	var e *mserr.Error
	switch {
	case err == nil:
		r.Line(printed)
	case errors.As(err, &e):
		r.Message(
			script.Message{Number: e.Number, Level: e.Class, State: e.State, Line: int32(e.Line), Text: e.Message},
		)
	default:
		return &r, err
	}
	return &r, nil
}

// Close implements script.Session.
func (parserSession) Close() error { return nil }

// runScripts runs the scripts that match pattern.
func runScripts(t *testing.T, pattern string, parse func(t testing.TB, source string) (string, error)) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script.Run(t, file, "embedded", func(t testing.TB, _ string) script.Session {
				return parserSession{func(source string) (string, error) { return parse(t, source) }}
			})
		})
	}
}

// TestParse compares the canonical text of parsed batches with the expected text.
func TestParse(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/parse/*.txt", func(t testing.TB, source string) (string, error) {
		b, err := Parse(source, DefaultOptions)
		require.NoError(t, err, source)
		requireFixpoint(t, b)
		requireExtents(t, b)
		return sqlprinter.Print(b), nil
	})
}

// requireExtents checks that the statements are in order within the source and that each node has a
// position.
func requireExtents(t testing.TB, b *syntax.Batch) {
	t.Helper()
	end := 0
	for _, s := range b.Stmts {
		require.GreaterOrEqual(t, s.Start(), end)
		require.Greater(t, s.End(), s.Start())
		require.LessOrEqual(t, s.End(), len(b.Source))
		end = s.End()
	}
	syntax.Inspect(b, func(n syntax.Node) bool {
		require.Positive(t, n.Pos().Line, "%T without position", n)
		return true
	})
}

// TestErrors compares the errors of the parser with the expected ones.
func TestErrors(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/errors/*.txt", func(t testing.TB, source string) (string, error) {
		_, err := Parse(source, DefaultOptions)
		require.Error(t, err, source)
		return "", err
	})
}

// TestDepth expects error 191 for excessive nesting, instead of a stack overflow.
func TestDepth(t *testing.T) {
	t.Parallel()
	const n = 100_000
	for name, src := range map[string]string{
		"Parens":      "SELECT " + strings.Repeat("(", n) + "1" + strings.Repeat(")", n),
		"Conditions":  "SELECT 1 WHERE " + strings.Repeat("(", n) + "1=1" + strings.Repeat(")", n),
		"Not":         "SELECT 1 WHERE " + strings.Repeat("NOT ", n) + "1=1",
		"Minus":       "SELECT " + strings.Repeat("- ", n) + "1",
		"Sum":         "SELECT 1" + strings.Repeat("+1", n),
		"Or":          "SELECT 1 WHERE 1=1" + strings.Repeat(" OR 1=1", n),
		"Blocks":      strings.Repeat("BEGIN ", n),
		"Else":        strings.Repeat("IF 1=1 PRINT 'x' ELSE ", n) + "PRINT 'y'",
		"Subqueries":  strings.Repeat("SELECT (", n),
		"Case":        "SELECT " + strings.Repeat("CASE WHEN 1=1 THEN ", n),
		"Derived":     strings.Repeat("SELECT * FROM (", n),
		"DerivedJoin": "SELECT * FROM " + strings.Repeat("(", n),
		"Joins":       "SELECT * FROM t" + strings.Repeat(" CROSS JOIN t", n),
		"Unions":      "SELECT 1" + strings.Repeat(" UNION SELECT 1", n),
		"QueryParens": strings.Repeat("(", n) + "SELECT 1",
		"Rollup":      "SELECT 1 FROM t GROUP BY " + strings.Repeat("GROUPING SETS (", n),
		"Options":     "ALTER DATABASE d SET A = B " + strings.Repeat("(c ", n),
		"Collate":     "SELECT 'a' " + strings.Repeat("COLLATE x ", n),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(src, DefaultOptions)
			require.ErrorIs(t, err, mserr.NestedTooDeeply())
		})
	}
}

// TestLongChains expects that long texts without excessive nesting are accepted.
func TestLongChains(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"In":     "SELECT 1 WHERE 1 IN (" + strings.Repeat("1,", 50_000) + "1)",
		"Values": "SELECT * FROM (VALUES (1)" + strings.Repeat(",(1)", 20_000) + ") AS v (a)",
		"Or":     "SELECT 1 WHERE 1=1" + strings.Repeat(" OR 1=1", 4000),
		"Stmts":  strings.Repeat("SELECT 1 ", 1) + strings.Repeat("\nSELECT 1", 20_000),
		"Else":   strings.Repeat("IF 1=1 PRINT 'x' ELSE ", 300) + "PRINT 'y'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(src, DefaultOptions)
			require.NoError(t, err)
		})
	}
}

// TestQuotedIdentifier checks both readings of "x".
func TestQuotedIdentifier(t *testing.T) {
	t.Parallel()
	x, err := ParseExpr(`"a"`, DefaultOptions)
	require.NoError(t, err)
	require.IsType(t, &syntax.ColumnRef{}, x)
	x, err = ParseExpr(`"a"`, Options{})
	require.NoError(t, err)
	require.Equal(t, "'a'", printer.Print(x))
}

// TestFragments covers the functions that parse parts of statements.
func TestFragments(t *testing.T) {
	t.Parallel()
	n, err := ParseName("srv.db..[a]]b]")
	require.NoError(t, err)
	require.Equal(t, []string{"a]b", "", "db", "srv"}, []string{n.Last(), n.Schema(), n.Database(), n.Server()})
	_, err = ParseName("a b")
	require.Error(t, err)
	_, err = ParseName("")
	require.Error(t, err)

	ty, err := ParseType("decimal(10, 2)", DefaultOptions)
	require.NoError(t, err)
	require.Equal(t, []int{10, 2}, ty.Args)
	ty, err = ParseType("national character varying(max)", DefaultOptions)
	require.NoError(t, err)
	require.Equal(t, "nvarchar(max)", printer.Print(ty))

	ps, err := ParseParams("@a int, @b nvarchar(10) = N'x' OUTPUT", DefaultOptions)
	require.NoError(t, err)
	require.Len(t, ps, 2)
	require.True(t, ps[1].Output)
	ps, err = ParseParams(" ", DefaultOptions)
	require.NoError(t, err)
	require.Empty(t, ps)
	_, err = ParseParams("@a int,", DefaultOptions)
	require.NoError(t, err)

	c, err := ParseCond("a > 0 AND b IS NULL", DefaultOptions)
	require.NoError(t, err)
	require.Equal(t, "a > 0 AND b IS NULL", printer.Print(c))
	_, err = ParseCond("a", DefaultOptions)
	require.ErrorIs(t, err, mserr.NonBoolean(""))
}

// TestPositions checks the lines, columns and offsets of nodes.
func TestPositions(t *testing.T) {
	t.Parallel()
	src := "-- é\r\n/* x\n */ SELECT\n\tä FROM [t\n] ;PRINT 'a\nb'"
	b, err := Parse(src, DefaultOptions)
	require.NoError(t, err)
	require.Len(t, b.Stmts, 2)
	require.Equal(t, int32(3), b.Stmts[0].Pos().Line)
	require.Equal(t, "SELECT\n\tä FROM [t\n]", src[b.Stmts[0].Start():b.Stmts[0].End()])
	require.Equal(t, syntax.Pos{Line: 5, Column: 4, Offset: int32(strings.Index(src, "PRINT"))}, b.Stmts[1].Pos())
	require.Equal(t, len(src), b.Stmts[1].End())
}

// TestQuoteName checks that closing brackets are doubled.
func TestQuoteName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[a]]b]", syntax.QuoteName("a]b"))
}

// TestStrings checks that texts survive printing and parsing, including line continuations.
func TestStrings(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "it's", "a\\\nb", "a\\\\\n\nb", "a\\\r\nb", "\\", "\x00", "ä😀"} {
		x, err := ParseExpr(printer.Print(&syntax.Literal{Kind: syntax.NStringLit, Text: text}), DefaultOptions)
		require.NoError(t, err)
		l, ok := x.(*syntax.Literal)
		require.True(t, ok)
		require.Equal(t, text, l.Text)
	}
	x, err := ParseExpr("'a\\\r\nb\\\nc'", DefaultOptions)
	require.NoError(t, err)
	require.Equal(t, "'abc'", printer.Print(x))
}

// TestNotSupported expects that the parser refuses syntax outside its scope as not supported, not
// as a syntax error.
func TestNotSupported(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		"SELECT * FROM t TABLESAMPLE (10 PERCENT)", "SELECT * FROM OPENQUERY(s, 'x')", "BULK INSERT t FROM 'x'", "CREATE CERTIFICATE c",
		"SELECT * FROM t FOR SYSTEM_TIME ALL", "WAITFOR (RECEIVE * FROM q)",
		"SELECT hierarchyid::GetRoot()", "CREATE TABLE t (a int MASKED WITH (FUNCTION = 'default()'))",
	} {
		_, err := Parse(src, DefaultOptions)
		require.ErrorIs(t, err, mserr.NotSupported(""), src)
	}
}

// FuzzParse expects no panic, no change of meaning by printing, and only errors of the catalog.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/parse/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(f, err)
		s, err := script.Parse(string(text))
		require.NoError(f, err, file)
		for _, batch := range s.Batches() {
			f.Add(batch)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		b, err := Parse(src, DefaultOptions)
		if err != nil {
			var e *mserr.Error
			require.True(t, errors.As(err, &e))
			require.Positive(t, e.Line)
			return
		}
		requireFixpoint(t, b)
	})
}
