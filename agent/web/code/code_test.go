package code

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestLinesColours checks the class of each part of a script.
func TestLinesColours(t *testing.T) {
	script := "SELECT [select], N'it''s $(param.x)' /* a /* b */\nc */ FROM dbo.t -- it's\nWHERE @x = 0x1F AND len(a) > 1.5e3\r\nGO\r" +
		`DECLARE @i INT = $(secret.k); SELECT "from"`
	got := Lines(TSQL, script)
	want := []string{
		`<span class="code-keyword">SELECT</span> [select], <span class="code-string">N&#39;it&#39;&#39;s </span><span class="code-reference">$(param.x)</span>` +
			`<span class="code-string">&#39;</span> <span class="code-comment">/* a /* b */</span>`,
		`<span class="code-comment">c */</span> <span class="code-keyword">FROM</span> dbo.t <span class="code-comment">-- it&#39;s</span>`,
		`<span class="code-keyword">WHERE</span> <span class="code-variable">@x</span> = <span class="code-number">0x1F</span> ` +
			`<span class="code-keyword">AND</span> <span class="code-function">len</span>(a) &gt; <span class="code-number">1.5e3</span>`,
		`<span class="code-keyword">GO</span>`,
		`<span class="code-keyword">DECLARE</span> <span class="code-variable">@i</span> <span class="code-type">INT</span> = ` +
			`<span class="code-reference">$(secret.k)</span>; <span class="code-keyword">SELECT</span> &#34;from&#34;`,
	}
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Contains(t, string(got[i]), w, "line %d", i+1)
	}
	require.Contains(t, string(Lines(JSON, `{"url": "$(secret.u)", "n": -1.5, "b": true}`)[0]),
		`<span class="code-key">&#34;url&#34;</span>: <span class="code-string">&#34;</span><span class="code-reference">$(secret.u)</span>`)
}

// TestLinesKeepText shows that colours lose no character, and that no text becomes markup.
func TestLinesKeepText(t *testing.T) {
	tag := regexp.MustCompile(`</?span[^>]*>`)
	for _, text := range []string{
		"", "\n", "'", "/*", "[", `"`, "$(", "N'", "<script>alert(1)</script>", "'</span><img src=x>", "a\r\nb\rc\n\n", "\xff\xfe", "-",
		strings.Repeat("/*", 2000), "{\"a\": \"\n\"}", "é漢字 🙂 \u0301", strings.Repeat("[x] '", 70000),
	} {
		for _, language := range []Language{Plain, TSQL, JSON} {
			lines := Lines(language, text)
			var parts []string
			for _, l := range lines {
				parts = append(parts, html.UnescapeString(tag.ReplaceAllString(string(l), "")))
			}
			want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
			if strings.ToValidUTF8(want, "") == want {
				require.Equal(t, want, strings.Join(parts, "\n"), "language %d", language)
			}
			require.NotRegexp(t, `<(script|img)`, string(Block{Language: language, Text: text, ID: "s"}.HTML()))
		}
	}
}

// TestControlCharacters checks that a script cannot hide what it does.
func TestControlCharacters(t *testing.T) {
	var w strings.Builder
	writeVisible(&w, "a\u202Eb\x00c\u2066\u200Bd\te\u200D<")
	got := w.String()
	require.Equal(t, "a"+named("U+202E")+"b"+named("U+0000")+"c"+named("U+2066")+named("U+200B")+"d\te\u200D&lt;", got)
}

func named(n string) string {
	return `<span class="control" title="` + n + `">` + n + `</span>`
}

// TestBlock checks line numbers, marks, notes and the restriction to some lines.
func TestBlock(t *testing.T) {
	b := Block{
		Language: TSQL, Text: "one\ntwo\nthree\nfour", ID: `s"1`, Label: "Script <1>", First: 2, Last: 9,
		Marks: []Mark{{Line: 3, Class: "error", Note: "no <b>"}, {Line: 1, Class: "error", Note: "hidden"}},
	}
	got := string(b.HTML())
	require.NotContains(t, got, "one")
	require.NotContains(t, got, "hidden")
	require.Contains(t, got, `<span class="line line-error" id="s&#34;1-3">`)
	require.Contains(t, got, `<span class="line-note" dir="auto">no &lt;b&gt;</span>`)
	require.Contains(t, got, `aria-label="Script &lt;1&gt;"`)
	require.Contains(t, got, `data-line="4"`)
	require.NotContains(t, got, `data-line="5"`)
	require.NotContains(t, got, "style=")
}

// BenchmarkLines measures the lexer with a long script.
func BenchmarkLines(b *testing.B) {
	text := strings.Repeat("UPDATE dbo.customers SET name = N'O''Neill', changed = SYSUTCDATETIME() WHERE id = @id; -- comment\n", 2000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Lines(TSQL, text)
	}
}
