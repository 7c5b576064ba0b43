package web_test

import (
	"bufio"
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/live"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/testenv/front"
)

// probe is a set of pages of the tests.
var probe = page.Set{
	Name: "probe",
	Files: fstest.MapFS{
		"probe.html":  {Data: []byte(`{{define "block"}}<p id="block">{{.Data}} {{.Base}}</p>{{end}}{{template "block" .}}<a href="{{.Path "jobs" .Data}}">{{text .Data}}</a>`)},
		"broken.html": {Data: []byte(`<p>half a page{{.Data.Missing}}`)},
		"a.js":        {Data: []byte("import { b } from \"./b.js\";\nimport { number } from \"../web/base.js\";\n")},
		"b.js":        {Data: []byte("export const b = 1;\n")},
		"probe.css":   {Data: []byte("p { color: red }\n")},
	},
	Pages: []page.Page{
		{Path: "/probe/{name}", Role: rest.RoleReader, Handle: func(_ context.Context, r *page.Request) (*page.View, error) {
			return &page.View{Title: r.Value("name"), Nav: "jobs", Template: "probe", Data: r.Value("name"), Topic: "probe/a b", Scripts: []string{"probe/a.js"},
				Crumbs: []page.Link{{Text: r.Value("name"), Href: r.Path("jobs", r.Value("name"))}}, Equivalents: page.CLI("job", "show", r.Value("name")),
				Actions: []page.Link{{Text: "Delete", Href: r.Path("x"), Danger: true, Role: rest.RoleAdmin}, {Text: "Look", Href: r.Path("y")}}}, nil
		}},
		{Path: "/probe-fails", Role: rest.RoleReader, Handle: func(context.Context, *page.Request) (*page.View, error) {
			return nil, errors.New("a secret detail")
		}},
		{Path: "/probe-panics", Role: rest.RoleReader, Handle: func(context.Context, *page.Request) (*page.View, error) { panic("a secret detail") }},
		{Path: "/probe-broken", Role: rest.RoleReader, Handle: func(context.Context, *page.Request) (*page.View, error) {
			return &page.View{Template: "broken", Data: 1}, nil
		}},
		{Path: "/probe-json", Role: rest.RoleOperator, Handle: func(context.Context, *page.Request) (*page.View, error) {
			return &page.View{Write: func(w http.ResponseWriter) { _, _ = w.Write([]byte("{}")) }}, nil
		}},
	},
	Topics: []live.Topic{{Pattern: "probe/{id}", Interval: 50 * time.Millisecond, Open: func(id string) (live.Source, error) {
		return live.Fragments("probe", func(ctx context.Context, store *controldb.Store) (any, error) {
			_, err := catalog.On(store).Jobs(ctx, "none")
			return id, err
		}, "block"), nil
	}}},
}

// Names of all kinds are shown as data, and links lead to what they name.
func TestPageOfAName(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	for _, name := range []string{`<script>alert(1)</script>`, "a\u202eb", "..", ".", "a/b?c#d", strings.Repeat("ü", 4000), `" onclick="x`, "~", "%2F"} {
		r := page.Request{Base: base}
		a := b.get(r.Path("probe", name))
		require.Equal(t, http.StatusOK, a.Status, name)
		require.NotContains(t, a.Body, "<script>")
		require.NotContains(t, a.Body, `" onclick`)
		title, _, _ := strings.Cut(a.Body, "</title>")
		require.NotContains(t, title, "\u202e")
		require.Equal(t, strings.Contains(name, "\u202e"), strings.Contains(html.UnescapeString(title), "aU+202Eb"), title)
		require.Contains(t, a.Body, `href="`+strings.ReplaceAll(r.Path("jobs", name), "'", "&#39;")+`"`)
	}
	a := b.get(base + "/probe/x")
	require.Contains(t, a.Body, `data-base="/ui/jobdb1" data-topic="probe/a b"`)
	require.Contains(t, a.Body, `aria-current="page"`)
	require.Contains(t, a.Body, "Look")
	require.NotContains(t, a.Body, "Delete", "the role admin")
	require.Contains(t, as(t, f, "admin").get(base+"/probe/x").Body, `class="button danger"`)
	require.Contains(t, a.Body, "/ui/static/probe/probe.css?v=")
	require.Equal(t, http.StatusForbidden, b.get(base+"/probe-json").Status)
	require.Equal(t, "{}", as(t, f, "operator").get(base+"/probe-json").Body)
}

// An error shows nothing of its cause, and half a page is never shown.
func TestFailures(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	for _, path := range []string{"/probe-fails", "/probe-panics", "/probe-broken"} {
		a := b.get(base + path)
		require.Equal(t, http.StatusInternalServerError, a.Status, path)
		require.NotContains(t, a.Body, "secret detail")
		require.NotContains(t, a.Body, "half a page")
	}
}

// A module imports others by their hashes, so that a browser loads each once.
func TestModules(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	text := b.get("/ui/static/probe/a.js").Body
	require.Regexp(t, `from "\./b\.js\?v=[0-9a-f]{12}";`, text)
	login := b.get("/ui/login").Body
	_, version, ok := strings.Cut(text, `"../web/base.js`)
	require.True(t, ok)
	require.Contains(t, login, "/ui/static/web/base.js"+strings.Split(version, `"`)[0])
}

// A stream brings the blocks of a page, and ends with the session in mid-stream.
func TestStreamEndsWithTheSession(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+base+"/events?topic="+url.QueryEscape("probe/a b"), nil)
	require.NoError(t, err)
	response, err := b.http.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, "text/event-stream; charset=utf-8", response.Header.Get("Content-Type"))
	lines := bufio.NewScanner(response.Body)
	until := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("the stream ended without %q", part)
	}
	until(`a b /ui/jobdb1`)
	require.Equal(t, http.StatusSeeOther, b.post("/ui/logout", hidden(b.get(base+"/probe/x").Body)).Status)
	until(`"reason":"session"`)
	rest := 0 // lines until the stream ends
	for lines.Scan() {
		rest++
	}
	require.LessOrEqual(t, rest, 2, "no event follows")
	require.Equal(t, http.StatusNotFound, as(t, f, "reader").get(base+"/events?topic=nothing").Status)
}
