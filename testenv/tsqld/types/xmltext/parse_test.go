package xmltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParse checks that Parse reads its own output unchanged, and never panics.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "x", "<a/>", "<a ></a >", `<a b='"' c="'"/>`, `<?xml version="1.0"?><a>&#13;<b> </b></a>`,
		"<a>&#x20; </a>", "<![CDATA[<>&]]>", "<!DOCTYPE a><a/>",
		`<a xml:space="preserve"> <b> </b></a>`, "<a b='>'/>", "<a\n\tb\n=\n'1'/>", "<?p i?><!-- > --><a/>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := Parse(s, "utf-16", -1, nil)
		if err != nil {
			return
		}
		twice, err := Parse(once, "utf-16", -1, nil)
		require.NoError(t, err, "%q", once)
		require.Equal(t, once, twice)
	})
}

// The writing of a long start tag can be ended, as its reading can.
func TestLongStartTagAsksForItsEnd(t *testing.T) {
	t.Parallel()
	text := "<a" + strings.Repeat(` b='"'`, 40*piece/6) + "/>"
	checks := 0
	out, err := Parse(text, "", 0, func() error { checks++; return nil })
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(text, `'"'`, `"&quot;"`), out)
	require.Greater(t, checks, 70, "40 pieces are read, and more are written")
	end := errors.New("end")
	left := 60
	_, err = Parse(text, "", 0, func() error {
		if left--; left == 0 {
			return end
		}
		return nil
	})
	require.ErrorIs(t, err, end)
}
