package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/testenv/front"
)

const base = "/ui/" + front.Database

func TestSignInWithToken(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	a := b.get("/")
	require.Equal(t, http.StatusFound, a.Status)
	require.Equal(t, "/ui/", a.Header.Get("Location"))
	a = b.get(base + "/jobs?q=a%26b")
	require.Equal(t, http.StatusFound, a.Status)
	to := a.Header.Get("Location")
	require.Equal(t, "/ui/login?to="+url.QueryEscape(base+"/jobs?q=a%26b"), to)
	a = b.get(to)
	require.Equal(t, http.StatusOK, a.Status)
	require.Contains(t, a.Body, `name="to" value="`+base+`/jobs?q=a%26b"`)

	a = b.post("/ui/login", url.Values{"token": {"jbt_wrong"}, "to": {base + "/jobs"}})
	require.Equal(t, http.StatusUnauthorized, a.Status)
	require.Contains(t, a.Body, "The token is invalid")
	require.NotContains(t, a.Body, "jbt_wrong")
	require.Contains(t, a.Body, `value="`+base+`/jobs"`, "the way back stays")

	a = b.post("/ui/login", url.Values{"token": {" " + tokens["reader"] + "\n"}, "to": {base + "/jobs"}})
	require.Equal(t, http.StatusSeeOther, a.Status)
	require.Equal(t, base+"/jobs", a.Header.Get("Location"))
	a = b.get("/ui/")
	require.Equal(t, http.StatusFound, a.Status)
	require.Equal(t, base+"/", a.Header.Get("Location"))
	a = b.get(base + "/nothing")
	require.Equal(t, http.StatusNotFound, a.Status)
	require.Contains(t, a.Body, "reader-token")
	require.Contains(t, a.Body, "(read-only)")
	require.Contains(t, a.Body, `aria-label="Main"`, "the navigation")

	require.Equal(t, http.StatusForbidden, b.post("/ui/logout", url.Values{"csrf": {"x"}}).Status)
	a = b.post("/ui/logout", hidden(a.Body))
	require.Equal(t, http.StatusSeeOther, a.Status)
	require.Equal(t, http.StatusFound, b.get(base+"/nothing").Status)
}

// Nobody is sent to another site after signing in, and nobody signs in from another site.
func TestSignInFromElsewhere(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	for _, to := range []string{"https://evil.example/", "//evil.example/ui/", "/ui//evil.example", "javascript:alert(1)"} {
		a := b.post("/ui/login", url.Values{"token": {tokens["reader"]}, "to": {to}})
		require.Equal(t, "/ui/", a.Header.Get("Location"), to)
	}
	a := open(t, f).post("/ui/login", url.Values{"token": {tokens["reader"]}}, "Origin: https://evil.example", "Sec-Fetch-Site: cross-site")
	require.Equal(t, http.StatusForbidden, a.Status)
	require.Empty(t, a.Header.Get("Set-Cookie"))
}

func TestSignInAtIssuer(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	require.Contains(t, b.get("/ui/login").Body, "Sign in with")
	a := b.get("/ui/login?provider=dev&to=" + base + "/jobs")
	require.Equal(t, http.StatusFound, a.Status, a.Body)
	authorize := a.Header.Get("Location")
	q, err := url.Parse(authorize)
	require.NoError(t, err)
	require.Equal(t, "S256", q.Query().Get("code_challenge_method"))
	require.NotEmpty(t, q.Query().Get("nonce"))
	require.Contains(t, b.get(authorize).Body, "login_hint=ann")
	a = b.get(authorize + "&login_hint=ann")
	require.Equal(t, http.StatusFound, a.Status, a.Body)
	callback := a.Header.Get("Location")
	require.True(t, strings.HasPrefix(callback, f.URL+web.CallbackPath+"?"))

	require.Equal(t, http.StatusUnauthorized, open(t, f).get(callback).Status, "a browser that has begun nothing")
	a = b.get(callback)
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	require.Equal(t, base+"/jobs", a.Header.Get("Location"))
	require.Contains(t, b.get(base+"/nothing").Body, "ann (oid:")
	require.Equal(t, http.StatusUnauthorized, b.get(callback).Status, "the answer was used")

	// The answer to another sign-in of the same browser.
	first := b.get(b.get("/ui/login?provider=dev").Header.Get("Location") + "&login_hint=ann").Header.Get("Location")
	b.get("/ui/login?provider=dev")
	require.Equal(t, http.StatusUnauthorized, b.get(first).Status)

	// Errors of the issuer are data.
	state := regexp.MustCompile(`state=([A-Z0-9]+)`).FindStringSubmatch(b.get("/ui/login?provider=dev").Header.Get("Location"))[1]
	a = b.get(web.CallbackPath + "?state=" + state + "&error=access_denied&error_description=%3Cscript%3E" + strings.Repeat("x", 5000))
	require.Equal(t, http.StatusUnauthorized, a.Status)
	require.Contains(t, a.Body, "access_denied. &lt;script&gt;")
	require.Less(t, len(a.Body), 8000)
	// Another issuer answers.
	state = regexp.MustCompile(`state=([A-Z0-9]+)`).FindStringSubmatch(b.get("/ui/login?provider=dev").Header.Get("Location"))[1]
	require.Contains(t, b.get(web.CallbackPath+"?state="+state+"&code=x&iss=https://evil.example").Body, "another issuer")
	require.Equal(t, http.StatusNotFound, b.get("/ui/login?provider=nobody").Status)
}

// A form of another site, which browsers send without the cookie, does not remove the cookie.
func TestSignOutFromElsewhere(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	elsewhere := []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"}
	for _, b := range []*browser{open(t, f), as(t, f, "reader")} {
		a := b.post("/ui/logout", url.Values{}, elsewhere...)
		require.Equal(t, http.StatusForbidden, a.Status)
		require.Empty(t, a.Header.Get("Set-Cookie"))
	}
	require.Equal(t, http.StatusSeeOther, open(t, f).post("/ui/logout", url.Values{}).Status, "signed out twice")
}

// Another site can make a browser send answers of no sign-in. They lock nobody out.
func TestForgedAnswers(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	for range 12 {
		a := open(t, f).get(web.CallbackPath + "?state=x&code=y")
		require.Equal(t, http.StatusUnauthorized, a.Status, a.Body)
	}
	as(t, f, "reader")
}

// Wrong tokens of one address lock nobody out, of this address neither: behind a proxy, it may be
// everybody's.
func TestWrongTokensLockNobodyOut(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	for range 20 {
		require.Equal(t, http.StatusUnauthorized, b.post("/ui/login", url.Values{"token": {"jbt_wrong"}}).Status)
	}
	as(t, f, "reader")
}

// A person who has signed in, and has no grant, is told how to get one.
func TestSignInWithoutGrant(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "")
	a := b.get("/ui/")
	require.Equal(t, http.StatusForbidden, a.Status)
	require.Contains(t, a.Body, "no role at any control database")
	a = b.get(base + "/jobs")
	require.Equal(t, http.StatusNotFound, a.Status, "it does not learn what exists")
	clock := regexp.MustCompile(`data-now="\d+"`)
	require.Equal(t, clock.ReplaceAllString(a.Body, ""), clock.ReplaceAllString(b.get("/ui/nowhere/jobs").Body, ""))
}

// A session opens no REST API, and a token opens no page.
func TestSessionsAndTokensAreApart(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "admin")
	require.Equal(t, http.StatusUnauthorized, b.get(front.A+front.Version).Status)
	require.Equal(t, http.StatusOK, b.do("GET", front.A+front.Version, "", "Authorization: Bearer "+tokens["admin"]).Status)
	require.Equal(t, http.StatusFound, open(t, f).do("GET", base+"/jobs", "", "Authorization: Bearer "+tokens["admin"]).Status)
	require.Equal(t, http.StatusUnauthorized, open(t, f).do("POST", base+"/jobs/j1/start", "operation=x", "Authorization: Bearer "+tokens["admin"]).Status)
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	for _, path := range []string{"/ui/login", base + "/", base + "/nothing", "/ui/static/web/app.css", "/ui/static/none.js", "/ui//", base + "/events?topic=none"} {
		a := b.get(path)
		require.Contains(t, a.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self';", path)
		require.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"), path)
		for _, inline := range []string{"<script>", "style=\"", "<style", "onclick=", "javascript:"} {
			require.NotContains(t, a.Body, inline, path)
		}
	}
	require.Equal(t, "no-store", b.get(base+"/nothing").Header.Get("Cache-Control"))
}

func TestStaticFiles(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := open(t, f)
	page := b.get("/ui/login").Body
	files := regexp.MustCompile(`/ui/static/[^"]+`).FindAllString(page, -1)
	require.GreaterOrEqual(t, len(files), 3)
	for _, file := range files {
		a := b.get(file)
		require.Equal(t, http.StatusOK, a.Status, file)
		require.Contains(t, a.Header.Get("Cache-Control"), "immutable")
		require.Equal(t, http.StatusNotModified, b.do("GET", file, "", "If-None-Match: "+a.Header.Get("ETag")).Status)
		require.Contains(t, b.get(strings.Split(file, "?")[0]).Header.Get("Cache-Control"), "no-cache")
	}
	for _, file := range []string{"web/layout.html", "web/", "", "web/../web/app.css", "x/y.js"} {
		require.Equal(t, http.StatusNotFound, b.get("/ui/static/"+file).Status, file)
	}
	require.Equal(t, http.StatusNotFound, b.do("POST", "/ui/static/web/app.css", "x=1").Status)
}

func TestPaths(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "admin")
	for path, status := range map[string]int{
		"/ui": http.StatusFound, base: http.StatusFound, "/ui/JOBDB1/": b.get(base + "/").Status, base + "/jobs/": http.StatusNotFound,
		base + "//jobs": http.StatusNotFound, base + "/x/../jobs": http.StatusNotFound, base + "/%2e%2e/": http.StatusNotFound,
		base + "/%2E%2E%2Fjobs": http.StatusNotFound, "/ui/nowhere/": http.StatusNotFound, "/ui/%ff/": http.StatusNotFound,
		base + "/jobs/none/start": http.StatusNotFound, base + "/runs/x/stop": http.StatusNotFound,
		base + "/runs/0f8fad5b-d9cb-469f-a165-70867728950e/stop": http.StatusNotFound, base + "/alerts/0/acknowledge": http.StatusNotFound,
		base + "/alerts/999999999999999999999/acknowledge": http.StatusNotFound, base + "/schedules/j1/none/pause": http.StatusNotFound,
		base + "/jobs/%3Cscript%3E%E2%80%AE/start": http.StatusNotFound, "/ui/login/x": http.StatusNotFound, "/ui/session": http.StatusOK, "/ui/logout": http.StatusFound,
	} {
		a := b.get(path)
		require.Equal(t, status, a.Status, path)
		require.NotContains(t, a.Body, "<script>", path)
		require.NotContains(t, a.Body, "\u202e", path)
	}
	require.Equal(t, http.StatusMethodNotAllowed, b.do("DELETE", base+"/jobs/j1/start", "").Status)
	require.Equal(t, http.StatusMethodNotAllowed, b.do("PUT", "/ui/login", "").Status)
	require.Empty(t, b.do("HEAD", base+"/jobs/j1/start", "").Body)
	require.Equal(t, http.StatusOK, b.do("HEAD", base+"/jobs/j1/start", "").Status)
	require.Equal(t, http.StatusUnauthorized, open(t, f).get("/ui/session").Status)
	require.Equal(t, http.StatusUnauthorized, open(t, f).do("GET", base+"/events?topic=x", "", "Accept: text/event-stream").Status)
}

// Two control databases have the same name, and one has that of a page of the server.
func TestNamesOfDatabases(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "reader")
	a := b.get(base + "/nothing")
	for _, path := range []string{"/ui/s1~twin/", "/ui/s2~twin/", "/ui/s4~login/"} {
		require.Contains(t, a.Body, `href="`+path+`"`)
		require.Contains(t, b.get(path+"nothing").Body, `data-base="`+strings.TrimSuffix(path, "/")+`"`)
	}
	require.Equal(t, http.StatusNotFound, b.get("/ui/twin/").Status)
}

// A control database that does not answer takes nothing else away. The page says since when.
func TestAway(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	b := as(t, f, "operator")
	a := b.get("/ui/" + away + "/jobs/j1/start")
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Contains(t, a.Body, "does not answer")
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	since := regexp.MustCompile(`since <time datetime="([^"]+)"`)
	first := since.FindStringSubmatch(a.Body)
	require.NotNil(t, first, a.Body)
	require.Equal(t, first[1], since.FindStringSubmatch(b.get("/ui/" + away + "/jobs/j1/start").Body)[1])
	require.NotContains(t, a.Body, "127.0.0.1:9", "no address of the network")
	require.Equal(t, http.StatusFound, b.get("/ui/").Status)
	require.Equal(t, http.StatusOK, b.get(base+"/jobs/j1/start").Status)
}

// While the server of a control database fails over, the page says what it waits for.
func TestFailingOver(t *testing.T) {
	t.Parallel()
	a := as(t, front.Shared(t), "operator").get("/ui/" + failing + "/jobs/j1/start")
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Contains(t, a.Body, "does not serve requests at present (error 976: the availability group")
	require.Contains(t, a.Body, "since <time datetime=")
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	require.NotContains(t, a.Body, "secret-host")
}

// Behind a reverse proxy that removes a prefix, all addresses have it.
func TestPrefix(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	sessions, err := session.New(session.Config{Authenticator: callers, Path: "/p/ui/", Secure: true, Log: zap.NewNop()})
	require.NoError(t, err)
	server, err := web.New(web.Config{
		Sets: web.Sets(), Directory: f.Directory, Sessions: sessions, Authorizer: callers, PublicURL: "https://jobs.example.com/p", Log: zap.NewNop(),
	})
	require.NoError(t, err)
	defer server.Close()
	do := func(method, path, body string, cookies ...*http.Cookie) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", "https://jobs.example.com") // the proxy sends another Host
		for _, c := range cookies {
			r.AddCookie(c)
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r)
		return w
	}
	require.Equal(t, "/p/ui/login?to=%2Fp%2Fui%2Fjobdb1%2Fjobs", do("GET", "/ui/jobdb1/jobs", "").Header().Get("Location"))
	w := do("POST", "/ui/login", url.Values{"token": {tokens["operator"]}, "to": {"/p/ui/jobdb1/jobs"}}.Encode())
	require.Equal(t, "/p/ui/jobdb1/jobs", w.Header().Get("Location"))
	cookies := w.Result().Cookies()
	require.Equal(t, "/p/ui/jobdb1/", do("GET", "/ui/", "", cookies...).Header().Get("Location"))
	w = do("GET", "/ui/jobdb1/jobs/j1/start", "", cookies...)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), `action="/p/ui/jobdb1/jobs/j1/start"`)
	for _, m := range regexp.MustCompile(`(?:href|src|action|data-home|data-base)="([^"#]+)"`).FindAllStringSubmatch(w.Body.String(), -1) {
		require.True(t, strings.HasPrefix(m[1], "/p/ui"), m[1])
	}
	form := hidden(mainForm.FindString(w.Body.String()))
	require.True(t, strings.HasPrefix(do("POST", "/ui/jobdb1/jobs/j1/start", form.Encode(), cookies...).Header().Get("Location"), "/p/ui/jobdb1/runs/"))
}

// A link signs one person in, once and in its time. Browsers that look ahead do not use it up.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	link := web.LinkPath(sessions.NewLink(tokens["admin"], time.Minute))
	b := open(t, f)
	require.Equal(t, http.StatusServiceUnavailable, b.do(http.MethodGet, link, "", "Sec-Purpose: prefetch").Status)
	require.Equal(t, http.StatusSeeOther, b.get(link).Status)
	require.Contains(t, b.get("/ui/session").Body, `"ends"`)
	require.Contains(t, b.get(base+"/").Body, "admin-token")
	again := open(t, f).get(link)
	require.Equal(t, http.StatusUnauthorized, again.Status)
	require.Contains(t, again.Body, "The link was used already, or is too old.")
	require.Equal(t, http.StatusUnauthorized, open(t, f).get(web.LinkPath(sessions.NewLink(tokens["admin"], -time.Second))).Status)
}
