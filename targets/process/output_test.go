package process

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/targets"
)

// captured returns the messages of one stream that is written in the given parts.
func captured(t *testing.T, limit int64, secrets []string, parts ...string) []targets.Message {
	t.Helper()
	c := newCapture(limit)
	s := c.stream(targets.KindOutput, secrets)
	for _, part := range parts {
		n, err := s.Write([]byte(part))
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	messages, _ := c.finish()
	return messages
}

func joined(messages []targets.Message) string {
	var all []string
	for _, m := range messages {
		all = append(all, m.Text)
	}
	return strings.Join(all, "\n")
}

func TestCapture(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", lineBytes) // two bytes each
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"nothing":             {nil, ""},
		"lines":               {[]string{"a\nb\n"}, "a\nb"},
		"no line end":         {[]string{"a\nb"}, "a\nb"},
		"empty lines":         {[]string{"\n\na\n"}, "\n\na"},
		"Windows":             {[]string{"a\r\nb\r\n"}, "a\nb"},
		"split line":          {[]string{"a", "b\n", "c"}, "ab\nc"},
		"split character":     {[]string{"\xc3", "\xa4"}, "ä"},
		"invalid UTF-8":       {[]string{"a\xffb"}, "a\uFFFDb"},
		"line of full length": {[]string{strings.Repeat("x", lineBytes), "\ny"}, strings.Repeat("x", lineBytes) + "\ny"},
		"long line":           {[]string{"x" + long}, "x" + long[:lineBytes-2] + "\n" + long[lineBytes-2:2*lineBytes-2] + "\nä"},
	} {
		require.Equal(t, c.want, joined(captured(t, 0, nil, c.parts...)), name)
	}
}

func TestCaptureKeepsBothEnds(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40_000 {
		b.WriteString(strings.Repeat("-", i%7) + string(rune('a'+i%26)) + "\n")
	}
	text := b.String()
	messages := captured(t, 0, nil, text)
	var parts [2]string
	gap := 0
	for _, m := range messages {
		if m.Kind == targets.KindAgent {
			gap = 1
			require.Regexp(t, `^[0-9.]+ KiB of the standard output are left out here\.$`, m.Text)
			continue
		}
		parts[gap] += m.Text + "\n"
	}
	require.True(t, strings.HasPrefix(text, parts[0]))
	require.True(t, strings.HasSuffix(text, parts[1]))
	for _, part := range parts {
		require.LessOrEqual(t, len(part), keptBytes)
		require.Greater(t, len(part), keptBytes-blockBytes-1)
	}
}

// Two streams that take turns with each line do not make a message of each line.
func TestCaptureBoundsMessages(t *testing.T) {
	t.Parallel()
	c := newCapture(0)
	out, errs := c.stream(targets.KindOutput, nil), c.stream(targets.KindErrorOutput, nil)
	for range 100_000 {
		out.Write([]byte("o\n"))
		errs.Write([]byte("e\n"))
	}
	messages, dropped := c.finish()
	require.LessOrEqual(t, len(messages), 4*keptBlocks+2)
	require.Positive(t, dropped)
	require.Equal(t, "e", errs.lastLine())
}

func TestMasker(t *testing.T) {
	t.Parallel()
	secrets := []string{"abc", "abcdef", "xyz"}
	for text, want := range map[string]string{
		"abc": "***", "abcde": "***de", "abcdef": "***", "ababc": "ab***", "xabcyxyz": "x***y***", "ab": "ab", "abcabcdef": "******",
	} {
		require.Equal(t, want, joined(captured(t, 0, secrets, text)), text)
		require.Equal(t, want, joined(captured(t, 0, secrets, strings.Split(text, "")...)), text)
	}
	// Encoded, too.
	require.Equal(t, "a=*** b=*** c=***", joined(captured(t, 0, []string{"p w/\"1"}, `a=p+w%2F%221 b=p w/\"1 c=`+
		base64.StdEncoding.EncodeToString([]byte(`p w/"1`)))))
	// The limit of the output cuts a secret.
	for limit, want := range map[int64]string{2: "a ", 3: "a ***", 5: "a ***", 7: "a ***", 8: "a ***", 9: "a *** ", 100: "a *** b"} {
		for _, parts := range [][]string{{"a abcdef b"}, {"a abc", "def b"}, strings.Split("a abcdef b", "")} {
			messages := captured(t, limit, secrets, parts...)
			require.Equal(t, want, messages[0].Text, "%d %q", limit, parts)
		}
	}
	// A line does not wait for the next one because of secrets.
	m := newMasker(secrets)
	require.Equal(t, "password: ", string(m.feed([]byte("password: "))))
}

func FuzzCapture(f *testing.F) {
	f.Add([]byte("a\nb\xff\r\n\xc3\xa4secret"), uint16(1), uint8(3), "secret", int64(0))
	f.Add([]byte("x\n\n"), uint16(9000), uint8(200), "xxx", int64(100))
	f.Add([]byte("long line é "), uint16(9000), uint8(7), "", int64(1<<20))
	f.Fuzz(func(t *testing.T, text []byte, repeat uint16, chunk uint8, secret string, limit int64) {
		if limit < 0 || len(text)*int(repeat) > 100_000 || len(secret) > 50 {
			return
		}
		text = bytes.Repeat(text, int(repeat))
		var parts []string
		for rest := string(text); rest != ""; {
			n := min(len(rest), int(chunk)+1)
			parts = append(parts, rest[:n])
			rest = rest[n:]
		}
		messages := captured(t, limit, []string{secret}, parts...)
		kept := 0
		for _, m := range messages {
			require.True(t, utf8.ValidString(m.Text))
			require.LessOrEqual(t, len(m.Text), blockBytes+100)
			if m.Kind == targets.KindOutput {
				kept += len(m.Text) + 1
				if !strings.ContainsAny(secret, "\r\n*\uFFFD") && utf8.ValidString(secret) && secret != "" {
					require.NotContains(t, m.Text, secret)
				}
			}
		}
		require.LessOrEqual(t, kept, 2*keptBytes)
		require.Equal(t, messages, captured(t, limit, []string{secret}, string(text)), "the parts of the output do not matter")
	})
}
