package web_test

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/web/page"
)

// hostile are texts that somebody may have given to a job, a server or an error.
var hostile = []string{
	"plain", "it's", `a "b" c`, `back\slash`, "a`b$c", "$(rm -rf /)", "; DROP TABLE x --", "<script>alert(1)</script>", "a\nb", "line\\\nnext", "\x1b[31mred",
	"a\u202egpj.exe", "’’ ‘‘ “x”", "", " ", "-rf", "é😀", "GO\nGO", "%0a", "tab\tx", "a'\x01'b", "--help", "!x", "*?[a]", "~", "#c", "N'x'", "\u2028",
}

// A shell gives the program exactly the texts.
func TestQuotesOfShells(t *testing.T) {
	t.Parallel()
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is absent, and reads the quoted texts here: install it")
	}
	for _, text := range hostile {
		command := page.CLI("x", text)[0].Text
		require.NotContains(t, command, "\x1b")
		args := strings.TrimPrefix(command, "jobagent ")
		out, err := exec.CommandContext(t.Context(), shell, "-c", `printf '%s\0' `+args).Output()
		require.NoError(t, err, command)
		require.Equal(t, "x\x00"+text+"\x00", string(out), command)
	}
}

func TestQuotesOfPowerShell(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"it's": "jobagent 'it''s'", "a’b": "jobagent 'a’’b'", "a\nb$c": "jobagent \"a`u{a}b`$c\"", "": "jobagent ''", "a b": "",
	} {
		list := page.CLI(text)
		if want == "" {
			require.Len(t, list, 1, "the same for both")
			continue
		}
		require.Equal(t, want, list[len(list)-1].Text)
	}
}

// A target shows the database before the server; without a database, the server is the target.
func TestPageTarget(t *testing.T) {
	t.Parallel()
	require.Equal(t, `<span class="target"><bdi class="db">d&lt;b&gt;</bdi> <bdi class="server" title="s&#34;x">s&#34;x</bdi></span>`, string(page.Target(`s"x`, "d<b>")))
	require.Equal(t, `<span class="target"><bdi class="db">queue</bdi></span>`, string(page.Target("queue", "")))
	for _, text := range hostile {
		require.NotContains(t, string(page.Target(text, text)), "<script")
		require.NotContains(t, string(page.Target(text, text)), "\u202e")
	}
}

// The instants of a sentence are shown as all others; the rest of it is escaped.
func TestPageSaid(t *testing.T) {
	t.Parallel()
	require.Equal(t, `<bdi>attempt 2 of &lt;b&gt; begins at <time datetime="2026-01-02T03:04:05.000Z" title="2026-01-02 03:04:05 UTC">2026-01-02 03:04:05 UTC</time>; before: 2026-99-99T00:00:00Z</bdi>`,
		string(page.Said("attempt 2 of <b> begins at 2026-01-02T03:04:05Z; before: 2026-99-99T00:00:00Z")))
	require.Equal(t, "<bdi></bdi>", string(page.Said("")))
	clipped := string(page.ClipSaid(40, "none has since 2026-01-02T03:04:05.25Z, and no report came either"))
	require.Contains(t, clipped, `<bdi>none has since <time datetime="2026-01-02T03:04:05.250Z"`, "of the beginning")
	require.Equal(t, 2, strings.Count(clipped, "<time "), "of the beginning, and of the whole")
	for _, text := range hostile {
		require.Equal(t, page.Text(text), page.Said(text))
		require.Equal(t, page.Clip(20, text), page.ClipSaid(20, text))
	}
}

// Messages that say the same of different targets have one key; other messages, and other numbers,
// have another one.
func TestErrorKey(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{`Cannot open database "tenant1" requested by the login.`, `Cannot open database "t 2" requested by the login.`},
		{"Invalid column 'a'. Line 12.", "Invalid column '...'. Line 7."},
		{"Timeout after 30.5 s at 10.0.0.1:1433", "Timeout after 2 s at 10.0.0.12:1433"},
		{"task 0f8fad5b-d9cb-469f-a165-70867728950e [dbo].[x]", "task 00000000-d9cb-469f-a165-70867728950e [y].[z]"},
		{"at 2026-01-02T03:04:05 0xAB", "at 2026-01-02 0xCDEF"}, {"“x” it's", "“yy” it's"},
		{strings.Repeat("é", 400) + "a", strings.Repeat("é", 300)},
	} {
		require.Equal(t, page.ErrorKey(1, same[0]), page.ErrorKey(1, same[1]), same)
		require.NotEqual(t, page.ErrorKey(1, same[0]), page.ErrorKey(2, same[0]))
	}
	require.NotEqual(t, page.ErrorKey(0, ""), page.ErrorKey(0, "x"))
	require.NotEqual(t, page.ErrorKey(0, "Invalid column"), page.ErrorKey(0, "Invalid object"))
}

func TestPageTSQL(t *testing.T) {
	t.Parallel()
	id := uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e")
	e := page.TSQL("jobs.sp_x", page.Arg{Name: "job_name", Value: "it's"}, page.Arg{Name: "none"}, page.Arg{Name: "id", Value: id},
		page.Arg{Name: "on", Value: true}, page.Arg{Name: "n", Value: 7}, page.Arg{Name: "at", Value: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	require.Equal(t, "EXECUTE jobs.sp_x @job_name = N'it''s', @id = '0f8fad5b-d9cb-469f-a165-70867728950e', @on = 1, @n = 7, @at = '2026-01-02T03:04:05';", e.Text)
	e = page.TSQL("jobs.sp_x", page.Arg{Name: "note", Value: "a\\\nb'"})
	require.Equal(t, "DECLARE @note1 nvarchar(max) = N'';\nSET @note1 += N'a\\' + NCHAR(10);\nSET @note1 += N'b''';\nEXECUTE jobs.sp_x @note = @note1;", e.Text)
}

// Each name comes back from a path, whatever it holds.
func TestPageSegments(t *testing.T) {
	t.Parallel()
	for _, name := range append([]string{".", "..", "~", "~x", "a/b", "a//b", "%2F", "a?b#c", strings.Repeat("é", 128)}, hostile...) {
		if strings.ContainsAny(name, "\x00") {
			continue
		}
		mux := http.NewServeMux()
		got, found := "", false
		mux.HandleFunc("GET /jobs/{job}/start", func(_ http.ResponseWriter, h *http.Request) {
			r := page.Request{HTTP: h}
			got, found = r.Value("job"), true
		})
		r := page.Request{Base: ""}
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, r.Path("jobs", name, "start"), nil))
		require.True(t, found, name)
		require.Equal(t, name, got)
	}
}

// render renders a template with the functions.
func render(t *testing.T, text string, data any) string {
	t.Helper()
	tmpl, err := page.Parse(fstest.MapFS{"x.html": {Data: []byte(text)}}, nil)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, tmpl.ExecuteTemplate(&b, "x.html", data))
	return b.String()
}

// Names and messages are data in each function.
func TestPageHostileTexts(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		out := render(t, `{{text .}}{{clip 5 .}}{{clip 5000 .}}{{state .}}{{template "a" (link . .)}}`, text)
		require.NotContains(t, out, "<script>")
		require.NotContains(t, out, "\u202e", "a bidirectional control character is shown by its number")
		require.NotContains(t, out, "\x1b")
	}
	require.Equal(t, `<bdi>a<span class="control" title="control character">U+202E</span>b</bdi>`, render(t, `{{text .}}`, "a\u202eb"))
	require.Equal(t, `<bdi>a<span class="control" title="control character">U+FFFD</span>b</bdi>`, render(t, `{{text .}}`, "a\xffb"))
	require.Contains(t, render(t, `{{template "a" (link "x" .)}}`, "javascript:alert(1)"), "#ZgotmplZ")
}

func TestPageClip(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 7999) + "<"
	out := render(t, `{{clip 100 .}}`, long)
	require.Contains(t, out, strings.Repeat("x", 100)+"…")
	require.Contains(t, out, `show all <data class="num" value="8000">8,000</data> characters`)
	require.Contains(t, out, strings.Repeat("x", 7999)+"&lt;</bdi></details>")
	require.Equal(t, `<bdi class="clip">😀</bdi>`, render(t, `{{clip 2 .}}`, "😀"), "two UTF-16 code units")
	require.Contains(t, render(t, `{{clip 1 .}}`, "😀"), "<details")
}

func TestNumbersAndTimes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 23, 12, 0, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		`{{count 1234567}}`: `<data class="num" value="1234567">1,234,567</data>`, `{{count -1234}}`: `<data class="num" value="-1234">-1,234</data>`,
		`{{count "x"}}`:   `<span class="none">–</span>`,
		`{{percent 1 3}}`: "<span class=\"num\"><data value=\"33\">33</data>\u00a0%</span>", `{{percent 999 1000}}`: "<span class=\"num\"><data value=\"99\">99</data>\u00a0%</span>",
		`{{percent 1 100000}}`: "<span class=\"num\"><data value=\"1\">1</data>\u00a0%</span>", `{{percent 1 0}}`: `<span class="none">–</span>`,
		`{{bytes 1536000}}`:         "<span class=\"num\"><data value=\"1.5\" data-digits=\"1\">1.5</data>\u00a0MB</span>",
		`{{plural 1 "job" "jobs"}}`: "job", `{{plural 2 "job" "jobs"}}`: "jobs",
		`{{time .}}`:     `<time datetime="2026-11-23T11:00:00.000Z" title="2026-11-23 11:00:00 UTC">2026-11-23 11:00:00 UTC</time>`,
		`{{seconds 90}}`: "<time class=\"num\" datetime=\"PT90S\" data-duration=\"90000\">1\u00a0min 30\u00a0s</time>",
	} {
		require.Equal(t, want, render(t, text, at), text)
	}
	require.Equal(t, template.HTML(`<span class="none">–</span>`), page.Time(time.Time{}))
	require.Contains(t, string(page.When(at, at.Add(-90*time.Second))), ">1\u00a0min 30\u00a0s ago<")
	require.Contains(t, string(page.When(at, at.Add(26*time.Hour))), ">in 1\u00a0d 2\u00a0h<")
}

// A bar has all its parts, and nothing outside.
func TestPageBar(t *testing.T) {
	t.Parallel()
	out := render(t, `{{bar 10000 "ok" 9999 "bad" 1 "off" 0}}`, nil)
	require.Contains(t, out, `<rect class="s-bad" x="996.0" y="0" width="4.0"`)
	require.NotContains(t, out, "s-off")
	require.NotContains(t, out, "style=")
}

func TestPageLengthText(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0_s", 250 * time.Millisecond: "250_ms", 1500 * time.Millisecond: "1.5_s", 5 * time.Second: "5_s", 90 * time.Second: "1_min 30_s",
		time.Hour: "1_h", 26 * time.Hour: "1_d 2_h", 24 * time.Hour: "1_d",
	} {
		require.Equal(t, strings.ReplaceAll(want, "_", "\u00a0"), page.LengthText(d), "a number stays with its unit")
	}
}
