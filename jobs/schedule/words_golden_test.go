package schedule

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var writeWords = flag.Bool("words.write", false, "write testdata/words.txt")

// The sentences of typical schedules. Each schedule of testdata/words.txt is a line "kind zone:
// text", in which ⏎ stands for the end of a line. Below it are its words, and what is said beside
// them.
func TestTypicalWords(t *testing.T) {
	t.Parallel()
	const file = "testdata/words.txt"
	golden, err := os.ReadFile(file)
	require.NoError(t, err)
	var out strings.Builder
	n := 0
	for line := range strings.Lines(string(golden)) {
		line = strings.TrimSpace(line)
		head, spec, ok := strings.Cut(line, ": ")
		kind, zone, named := strings.Cut(head, " ")
		switch {
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
			continue
		case !ok || !named || dialects[Kind(kind)] == nil:
			continue
		}
		n++
		o := Options{Zone: zone, Created: time.Date(2026, 1, 5, 8, 27, 40, 0, time.UTC)}
		plan, err := Parse(Kind(kind), []byte(strings.ReplaceAll(spec, "⏎", "\n")), o)
		require.NoError(t, err, line)
		d := plan.Describe()
		require.True(t, d.Exact, line)
		out.WriteString("\n" + line + "\n    " + d.Text + ".\n")
		if d.Clocks != "" {
			out.WriteString("    clocks: " + d.Clocks + "\n")
		}
		for _, note := range d.Notes {
			out.WriteString("    note: " + note + "\n")
		}
		if reader, err := readWords(d); err == nil {
			requireSame(t, plan, reader, o.Created.Add(-time.Second), line)
		} else {
			require.Contains(t, spec+d.Text, "run before", "%s: %v", line, err)
		}
	}
	require.Greater(t, n, 110)
	if *writeWords {
		require.NoError(t, os.WriteFile(file, []byte(out.String()), 0o644)) //nolint:gosec // test data
		return
	}
	require.Equal(t, string(golden), out.String(), "run the test with -words.write and read the changes")
}
