package tsql

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCall(t *testing.T) {
	t.Parallel()
	c := NewCall("jobs.p").Text("a", "it's").Optional("b", "").Number("c", 3).Bit("d", true)
	require.Equal(t, "EXEC jobs.p\n    @a = N'it''s',\n    @c = 3,\n    @d = 1;", c.String())
}

// No line of the script may begin with GO, and no text may look like a variable of sqlcmd.
func TestLongTextIsClientProof(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "$(x)", "a\nGO\nb", "a\n \tgo 2\n", "GO", "$($(x)) it's"} {
		script := NewCall("p").LongText("command", "command_1", text).String()
		require.NotContains(t, script, "$(")
		for line := range strings.Lines(script) {
			f := strings.Fields(line)
			require.False(t, len(f) > 0 && strings.EqualFold(f[0], "GO"), script)
		}
	}
	require.Equal(t, []string{"a\n \tg", "o 2 $", "(x)"}, clientProof("a\n \tgo 2 $(x)"))
}

func TestCommentStaysComment(t *testing.T) {
	t.Parallel()
	require.Equal(t, "--   one\n--   two $ (x)\n", Comment("  ", "one\r\ntwo $(x)"))
}

func TestName(t *testing.T) {
	t.Parallel()
	require.Equal(t, "[jobs_internal].[a]]b]", Name("jobs_internal", "a]b"))
	require.Equal(t, "[it's]", Name("it's"))
}

// No line of a generated literal is a command of sqlcmd.
func TestLiteralsAreNoCommands(t *testing.T) {
	t.Parallel()
	command := regexp.MustCompile(`(?im)^[ \t\r]*(:|!!|(go|exit|quit|reset|ed)\b)`)
	for _, line := range []string{":!! id", ":r x.sql", "!! id", " \t!!id", "exit", "QUIT", "reset", "ed", "GO", "exit(SELECT 1)", ":setvar a b"} {
		for _, before := range []string{"", "a\n", "a\r\n", "a\r", "\n\n"} {
			text := Expression(before + line + "\nb")
			require.NotRegexp(t, command, strings.ReplaceAll(text, "\r", "\n"), "%q", before+line)
			var value strings.Builder
			for _, part := range regexp.MustCompile(`(?s)N'([^']*)'`).FindAllStringSubmatch(strings.TrimPrefix(text, "CAST(N''"), -1) {
				value.WriteString(part[1])
			}
			require.Equal(t, before+line+"\nb", value.String())
		}
	}
	require.Equal(t, "N'a\nedit : !!'", Expression("a\nedit : !!"))
}
