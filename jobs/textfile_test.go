package jobs_test

import (
	"encoding/binary"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/textfile"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// encode returns a text as UTF-16 with a byte order mark.
func encode(order binary.AppendByteOrder, text string) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

func TestDecodeText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "SELECT 1;\r\nGO\r\n", "N'zoë €'", "N'🚀\uFFFD\uFEFF'"} {
		for name, data := range map[string][]byte{
			"UTF-8": []byte(text), "UTF-8 with a mark": []byte("\uFEFF" + text),
			"UTF-16LE": encode(binary.LittleEndian, text), "UTF-16BE": encode(binary.BigEndian, text),
		} {
			got, err := textfile.Decode(data)
			require.NoError(t, err, name)
			require.Equal(t, text, string(got), name)
		}
	}
}

func TestDecodeTextRefuses(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		"SELECT N'zo\xeb';":             "the text is not valid UTF-8 at byte 11: want UTF-8, or UTF-16 with a byte order mark",
		"\xef\xbb\xbfab\xff":            "the text is not valid UTF-8 at byte 5: ",
		"a\x00b\xff":                    "a zero byte, as in UTF-16 without a byte order mark at byte 1: ",
		"\x00S\x00E":                    "a zero byte, as in UTF-16 without a byte order mark at byte 0: ",
		"PRINT\x00":                     "a zero byte (NUL) at byte 5: ",
		"\xef\xbb\xbf\x00":              "a zero byte (NUL) at byte 3: ",
		"\xed\xa0\x80":                  "the text is not valid UTF-8 at byte 0: ", // a surrogate
		"\xff\xfeS\x00E":                "the UTF-16 text ends in the middle of a character at byte 4: ",
		"\xff\xfe\x00\xd8S\x00":         "the text is not valid UTF-16 at byte 2: ",
		"\xfe\xff\xdc\x00":              "the text is not valid UTF-16 at byte 2: ",
		"\xff\xfe\x00\xd8":              "the text is not valid UTF-16 at byte 2: ",
		"\xff\xfeS\x00\x00\x00":         "a zero character (NUL) at byte 4: ",
		"\xff\xfe\x00\x00S\x00\x00\x00": "a zero character (NUL) at byte 2: ", // UTF-32
	} {
		_, err := textfile.Decode([]byte(data))
		require.ErrorContains(t, err, want, "%q", data)
		var wrong *textfile.Error
		require.ErrorAs(t, err, &wrong)
	}
}

func FuzzDecodeText(f *testing.F) {
	f.Add([]byte("\xff\xfeS\x00\x3d\xd8\x80\xde"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var text []byte
		var err error
		bounds.Allocations(t, len(data), 64<<10, 100, func() { text, err = textfile.Decode(data) })
		if err != nil {
			return
		}
		again, err := textfile.Decode(append([]byte("\uFEFF"), text...))
		require.NoError(t, err)
		require.Equal(t, string(text), string(again))
	})
}
