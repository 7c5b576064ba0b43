package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
)

// TestWriter writes each text whole, and in two parts at every place: a character or a style that
// is cut between two writes is the same as a whole one.
func TestWriter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain\ttext\nünïcode 日本語 👨\u200d👩": "plain\ttext\nünïcode 日本語 👨\u200d👩",
		"a\r\nb":                        "a\nb",
		"a\rb":                          `a\u000db`,
		"\x1b[1;31mred\x1b[m":           "\x1b[1;31mred\x1b[m",
		"\x1b[8mhidden\x1b[30m\x1b[41m": `\u001b[8mhidden\u001b[30m\u001b[41m`,
		"\x1b[2J\x1b]0;t\x07":           `\u001b[2J\u001b]0;t\u0007`,
		"\x1b[38;5;0mx":                 `\u001b[38;5;0mx`,
		"\u009b2J \x7f \u202e \u2066":   `\u009b2J \u007f \u202e \u2066`,
		"\U000e0041":                    `\udb40\udc41`,
		"\xff\x9b":                      "��",
		"end \x1b":                      `end \u001b`,
		"end \x1b[3":                    `end \u001b[3`,
		"end \r":                        `end \u000d`,
		"\u0600 is visible":             "\u0600 is visible",
	} {
		for cut := range len(text) + 1 {
			var out strings.Builder
			w, ok := terminal.Guard(&out, true).(*terminal.Writer)
			require.True(t, ok)
			for _, part := range []string{text[:cut], text[cut:]} {
				n, err := w.Write([]byte(part))
				require.NoError(t, err)
				require.Equal(t, len(part), n)
			}
			require.NoError(t, w.Flush())
			require.Equal(t, want, out.String(), "%q cut at %d", text, cut)
		}
	}
}

// FuzzClean: what is cleaned is UTF-8 without a hostile character, and stays as it is.
func FuzzClean(f *testing.F) {
	f.Add("a\x1b[2J\u202e\r\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		once := terminal.Clean(text)
		require.True(t, utf8.ValidString(once))
		require.Equal(t, -1, strings.IndexFunc(once, terminal.Hostile))
		require.Equal(t, once, terminal.Clean(once))
	})
}

// A pipe of stdout gets the value itself.
func TestGuardOfPipe(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	require.Same(t, &out, terminal.Guard(&out, false))
}
