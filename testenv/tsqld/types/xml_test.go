package types

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseXML checks that ParseXML reads its own output unchanged, and never panics.
func FuzzParseXML(f *testing.F) {
	for _, s := range []string{
		"", "x", "<a/>", "<a ></a >", `<a b='"' c="'"/>`, `<?xml version="1.0"?><a>&#13;<b> </b></a>`,
		"<a>&#x20; </a>", "<![CDATA[<>&]]>", "<!DOCTYPE a><a/>",
		`<a xml:space="preserve"> <b> </b></a>`, "<a b='>'/>", "<a\n\tb\n=\n'1'/>", "<?p i?><!-- > --><a/>",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, err := ParseXML(s, "utf-16", NoStyle)
		if err != nil {
			return
		}
		twice, err := ParseXML(once, "utf-16", NoStyle)
		require.NoError(t, err, "%q", once)
		require.Equal(t, once, twice)
	})
}
