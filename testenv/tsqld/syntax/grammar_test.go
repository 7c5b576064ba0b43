package syntax

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// TestGrammar holds the parser against SQL Server's grammar: testdata/grammar.txt has a statement a line, with ScriptDom's verdict
// (tsqlcheck parse) in front. A statement that is not T-SQL is refused; one that is T-SQL is read, or refused by the name of what is
// not supported (40517) — never as a syntax error. Where the parser differs on purpose, the line says so: "bad/ok" for what
// SQL Server refuses later than its parser, "ok/bad" for what ScriptDom reads and the server's own parser does not.
func TestGrammar(t *testing.T) {
	f, err := os.Open("testdata/grammar.txt")
	require.NoError(t, err)
	defer f.Close()
	lines := bufio.NewScanner(f)
	n := 0
	for lines.Scan() {
		verdict, text, ok := strings.Cut(lines.Text(), "\t")
		if !ok {
			continue
		}
		n++
		if _, ours, differs := strings.Cut(verdict, "/"); differs {
			verdict = ours
		}
		_, err := Parse(text, DefaultOptions)
		got := "ok"
		var e *mserr.Error
		if errors.As(err, &e) && e.Number != 40517 && e.Number != 40510 {
			got = "bad"
		}
		if got != verdict {
			t.Errorf("%s: want %s, got %s: %v", text, verdict, got, err)
		}
	}
	require.NoError(t, lines.Err())
	require.Greater(t, n, 400)
}
