package values

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestArgumentsOfUsageLines(t *testing.T) {
	t.Parallel()
	for use, want := range map[string][]argument{
		"list":                       nil,
		"show JOB [SCHEDULE]":        {{word: "JOB"}, {word: "SCHEDULE", optional: true}},
		"add CALENDAR --spec FILE|-": {{word: "CALENDAR"}},
		"add JOB [URL | -- ARG…]":    {{word: "JOB"}, {word: "URL|--ARG", optional: true, many: true}},
		"revoke [TOKEN|TOKEN_ID]...": {{word: "TOKEN|TOKEN_ID", optional: true, many: true}},
	} {
		require.Equal(t, want, arguments(use), use)
	}
	cmd := &cobra.Command{Use: "add JOB [URL | -- ARG…]"}
	require.NoError(t, counted(cmd, arguments(cmd.Use), []string{"j", "a", "b", "c"}))
	require.ErrorContains(t, counted(cmd, arguments(cmd.Use), nil), "missing argument JOB")
}

func TestShortIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"abcd": true, "ABCD": true, "abc": false, "abcg": false, "abcd1234-00": true, "abcd123400": true, "abcd1-": false, "ab-cd": false,
		"abcd1234-0000-4000-8000-00000000000": true, "abcd1234-0000-4000-8000-000000000001": false, strings.Repeat("a", 32): false, "": false, "----": false,
	} {
		require.Equal(t, want, lookup.IsShort(text), text)
	}
}

// A name of a tab, which T-SQL allows, can be given, but not to a new object.
func TestBlankNames(t *testing.T) {
	t.Parallel()
	job, ok := KindOfArgument(&cobra.Command{Use: "show JOB"}, "JOB")
	require.True(t, ok)
	require.NoError(t, job.Check("JOB", "\t"))
	require.Error(t, job.Check("JOB", " "))
	require.Error(t, newName("a job").Check("NEW_NAME", "\t"))
}

// What passes is a text that SQL Server stores as it is.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"", " ", "nightly", "zo\xeb", "a\x00", "a\nb", strings.Repeat("x", 128), strings.Repeat("x", 129), strings.Repeat("\U0001F600", 65), "\uFFFD"} {
		f.Add(s)
	}
	k := newName("the new job")
	f.Fuzz(func(t *testing.T, s string) {
		err := k.Check("JOB", s)
		units := len(utf16.Encode([]rune(s)))
		if err == nil {
			require.True(t, utf8.ValidString(s) && units >= 1 && units <= maxName && !strings.ContainsAny(s, "\x00\n\r\t"), "%q", s)
			return
		}
		require.NotContains(t, err.Error(), "\n")
		require.Contains(t, err.Error(), "JOB")
	})
}
