package jobs_test

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/wording"
)

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		limit int
		unit  wording.Unit
		want  string
	}{
		{"", 1, wording.Characters, ""},
		{"abc", 3, wording.Characters, "abc"},
		{"abcd", 3, wording.Characters, "ab…"},
		{"äöüß", 4, wording.Characters, "äöüß"},
		{"äöüß", 3, wording.Characters, "äö…"},
		{"abcd", 1, wording.Characters, "…"},
		{"a😀b", 4, wording.UTF16, "a😀b"},
		{"a😀bc", 4, wording.UTF16, "a😀…"},
		{"a😀bc", 3, wording.UTF16, "a…"}, // the character of two units does not fit
		{"äöü", 6, wording.Bytes, "äöü"},
		{"äöüß", 6, wording.Bytes, "ä…"},
		{"a\xffbc", 3, wording.Characters, "a\xff…"}, // not UTF-8: each byte is a character
		{"abcd", 3, wording.Bytes, "…"},
	} {
		require.Equal(t, c.want, wording.Clip(c.text, c.limit, c.unit), "%q %d", c.text, c.limit)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a😀b", 3)
	f.Add("äöüß", 6)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 3 + max(0, limit)%64
		text = strings.ToValidUTF8(text, "")
		lengths := map[wording.Unit]func(string) int{
			wording.Characters: utf8.RuneCountInString,
			wording.UTF16:      func(s string) int { return len(utf16.Encode([]rune(s))) },
			wording.Bytes:      func(s string) int { return len(s) },
		}
		for unit, length := range lengths {
			require.Equal(t, length(text), wording.Length(text, unit))
			got := wording.Clip(text, limit, unit)
			require.True(t, utf8.ValidString(got))
			require.LessOrEqual(t, length(got), limit)
			if length(text) <= limit {
				require.Equal(t, text, got)
				continue
			}
			head, cut := strings.CutSuffix(got, "…")
			require.True(t, cut)
			require.True(t, strings.HasPrefix(text, head))
			next, _ := utf8.DecodeRuneInString(text[len(head):])
			require.Greater(t, length(head+string(next)+"…"), limit, "a longer text fits")
		}
	})
}
