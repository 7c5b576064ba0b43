package testenv_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/browser"
)

// TestBrowserReportsProblems shows that the checks of the dashboard's tests can fail: the browser
// reports an inline script, an error, a missing picture and broken rules of accessibility.
func TestBrowserReportsProblems(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			_, _ = w.Write([]byte(`<!doctype html><html><head><title>x</title><script src="/bad.js"></script></head>
<body><script>window.inline = true</script><img src="/missing.png"><p id="p">text</p></body></html>`))
		case "/bad.js":
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte(`console.error("something", 42); setTimeout(() => { throw new Error("thrown") })`))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	b := browser.Open(t)
	p, err := b.Page(browser.Options{Width: 390, Dark: true, TimeZone: "Europe/Berlin", Locale: "de-DE"})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	require.NoError(t, p.Open(server.URL))
	require.NoError(t, p.Wait("#p"))
	require.NoError(t, p.Until("document.readyState === 'complete'"))

	var seen struct {
		Width        int
		Dark, Inline bool
		Zone, Number string
	}
	require.NoError(t, p.Eval(`({Width: innerWidth, Dark: matchMedia('(prefers-color-scheme: dark)').matches, Inline: !!window.inline,
		Zone: Intl.DateTimeFormat().resolvedOptions().timeZone, Number: (1.5).toLocaleString()})`, &seen))
	require.Equal(t, 390, seen.Width)
	require.True(t, seen.Dark)
	require.False(t, seen.Inline, "the policy forbids it")
	require.Equal(t, "Europe/Berlin", seen.Zone)
	require.Equal(t, "1,5", seen.Number)

	problems := strings.Join(p.Problems(), "\n")
	require.Contains(t, problems, `something`)
	require.Contains(t, problems, "thrown")
	require.Contains(t, problems, "Content Security Policy")
	require.Contains(t, problems, "missing.png")
	require.Positive(t, p.Received())

	findings, err := p.Axe()
	if !errors.Is(err, browser.ErrNoAxe) {
		require.NoError(t, err)
		var ids []string
		for _, f := range findings {
			ids = append(ids, f.ID)
		}
		require.Contains(t, ids, "image-alt")
		require.Contains(t, ids, "html-has-lang")
	}
	fps, longest, err := p.FrameRate("", 10, 200*time.Millisecond)
	require.NoError(t, err)
	require.Positive(t, fps)
	require.Positive(t, longest)
	paint, err := p.FirstPaint()
	require.NoError(t, err)
	require.Positive(t, paint)
	require.NoError(t, p.Picture(filepath.Join(t.TempDir(), "x", "p.png")))
}
