package sqlfs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writer matches the call of a writer (store_…), which has the transaction of its callers and their
// entry in the audit log.
var writer = regexp.MustCompile(`\n    EXECUTE (jobs_internal\.store_\w+)\n        @mode = N'(\w+)'[,;]\n`)

// callOfWriter returns the body of a public procedure that calls a writer: all parameters, by their
// names.
func callOfWriter(d Description, writer, mode string) string {
	var body strings.Builder
	fmt.Fprintf(&body, "%s\n    EXECUTE %s\n        @mode = N'%s'", publicOptions, writer, mode)
	for _, p := range d.Parameters {
		fmt.Fprintf(&body, ",\n        %[1]s = %[1]s", p.Name)
		if strings.HasSuffix(p.Type, " OUTPUT") {
			body.WriteString(" OUTPUT")
		}
	}
	body.WriteString(";\n    RETURN 0;\nEND;\n")
	return body.String()
}

// TestWritersAreCalledWithAllParameters: a parameter that a public procedure has and does not pass
// on would be ignored, because that of the writer is NULL then. The body is generated.
func TestWritersAreCalledWithAllParameters(t *testing.T) {
	list, _ := all(t)
	count := 0
	for _, d := range list {
		m := writer.FindStringSubmatch(d.Text)
		if m == nil {
			continue
		}
		count++
		head, body, ok := strings.Cut(d.Text, "\nAS\nBEGIN")
		require.True(t, ok, d.File)
		want := callOfWriter(d, m[1], m[2])
		if *update && body != want {
			require.NoError(t, os.WriteFile(d.File, []byte(head+"\nAS\nBEGIN"+want), 0o600))
			continue
		}
		require.Equal(t, want, body, "%s: run: go test ./sql -run TestWriters -update", d.File)
	}
	require.Greater(t, count, 12)
}

// throwsSection matches the section of a header that lists the errors of a procedure.
var throwsSection = regexp.MustCompile(`(?m)^-- Throws:.*\n(?:--   \d{5} .*\n)*`)

// writeThrows writes the section "Throws" of a header, which has the numbers that the procedure and
// those that it calls throw. A number that the header has keeps its text; another one gets the text
// that most headers have.
func writeThrows(t *testing.T, d Description, numbers []string, list []Description) {
	t.Helper()
	var section strings.Builder
	section.WriteString("-- Throws:")
	if len(numbers) == 0 {
		section.WriteString("    nothing.")
	}
	section.WriteString("\n")
	for _, number := range numbers {
		fmt.Fprintf(&section, "--   %s %s\n", number, textOfError(t, number, d, list))
	}
	text := throwsSection.ReplaceAllLiteralString(d.Text, section.String())
	require.NotEqual(t, d.Text, text)
	require.NoError(t, os.WriteFile(d.File, []byte(text), 0o600))
}

func textOfError(t *testing.T, number string, own Description, list []Description) string {
	t.Helper()
	uses, best := map[string]int{}, ""
	for _, d := range list {
		for _, e := range d.Throws {
			if e.Name != number {
				continue
			}
			if d.Name == own.Name {
				return e.Text
			}
			uses[e.Text]++
			if uses[e.Text] > uses[best] {
				best = e.Text
			}
		}
	}
	require.NotEmpty(t, best, "no header has a text of the error %s: write one", number)
	return best
}
