// Package pagetest renders templates of pages for tests.
package pagetest

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/page"
)

// Now is the time at which pages are rendered.
var Now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// Hostile is a text that must not be read as HTML, nor change the direction of the text around it.
const Hostile = "<img src=x onerror=alert(1)>\u202etxt"

// Request returns a request of a reader for a page of a control database.
func Request() *page.Request {
	return &page.Request{HTTP: &http.Request{URL: &url.URL{}}, Role: rest.RoleReader, Base: "/ui/main", Now: Now}
}

// fields matches the values of fields of forms, which keep what was typed.
var fields = regexp.MustCompile(` value="[^"]*"`)

// Render renders a template of the files of a set. The test fails if the result has parts of
// [Hostile] that are not escaped, or inline styles, which the Content-Security-Policy forbids.
func Render(t testing.TB, files fs.FS, name string, data any) string {
	t.Helper()
	templates, err := page.Parse(files, template.FuncMap{"static": func(string) string { return "" }})
	require.NoError(t, err)
	var b bytes.Buffer
	require.NoError(t, templates.ExecuteTemplate(&b, name, page.Dot{Request: Request(), View: &page.View{}, Data: data}))
	shown := fields.ReplaceAllString(b.String(), "")
	for _, bad := range []string{"<img", "\u202e", "\x00", " style="} {
		require.False(t, strings.Contains(shown, bad), "%q is in the page", bad)
	}
	return b.String()
}
