package parser

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// TestGrammar compares the parser with SQL Server's grammar. Each line of testdata/grammar.txt is a
// statement after the result of ScriptDom (tsqlcheck parse). The parser must refuse a statement
// that is not T-SQL. It must read one that is T-SQL, or refuse it as not supported (40517), but not
// as a syntax error. Intended differences are marked in the line: "bad/ok" if SQL Server refuses
// the statement after parsing, "ok/bad" if ScriptDom accepts a statement that SQL Server's own
// parser refuses.
func TestGrammar(t *testing.T) {
	f, err := os.Open("testdata/grammar.txt")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		want, text, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		n++
		if _, intended, differs := strings.Cut(want, "/"); differs {
			want = intended
		}
		_, err := Parse(text, DefaultOptions)
		got := "ok"
		var e *mserr.Error
		if errors.As(err, &e) && e.Number != 40517 && e.Number != 40510 {
			got = "bad"
		}
		if got != want {
			t.Errorf("%s: want %s, got %s: %v", text, want, got, err)
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, n, 400)
}
