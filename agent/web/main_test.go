package web_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/issuer"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/front"
	"github.com/jobagent/jobagent/testenv/kdc"
)

// tokens are static tokens by the name of their role.
var tokens = map[string]string{}

// away is a control database that does not answer. The two entries twin have the same name.
const away = "away"

// failing is a control database whose server fails over.
const failing = "failing"

// callers is the authentication of the shared front, dashboard its dashboard, and sessions the
// sessions of people there.
var (
	callers   *auth.Auth
	dashboard *web.Server
	sessions  *session.Sessions
)

func TestMain(m *testing.M) {
	testenv.Overlap(4)
	code := front.Main(m, surfaces, func(cfg *rest.Config) {
		cfg.Handlers, cfg.Home = []rest.Handler{{Prefix: web.Path, Handler: dashboard}}, web.Path
		cfg.Authenticator, cfg.Authorizer = callers, callers
	})
	if err := goleak.Find(kdc.IgnoreReplayCache()...); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// surfaces makes the dashboard of the shared front.
func surfaces(t testing.TB, f *front.Front) []*rest.Mount {
	var cfg auth.Config
	for _, role := range []string{"reader", "operator", "author", "admin", ""} {
		stored, text := tokenfile.New()
		stored.Name = role + "-token"
		if role != "" {
			stored.Role, stored.Scope = role, "/"
		}
		cfg.Tokens, tokens[role] = append(cfg.Tokens, stored), text
	}
	cfg.Grants = []auth.Grant{{Principal: "role:readers@dev", Role: "reader", Scope: "/"}}
	dev, err := issuer.NewDev(f.URL, []string{f.URL}, []issuer.DevClient{
		{ID: "client", Secret: "secret", RedirectURIs: []string{f.URL + web.CallbackPath}},
	}, nil)
	require.NoError(t, err)
	dev.AddUsers(issuer.DevUser{Name: "ann", Roles: []string{"readers", "unknown"}}, issuer.DevUser{Name: "bob"})
	callers, err = auth.New(cfg, auth.Options{PublicURL: f.URL, Dev: dev})
	require.NoError(t, err)
	lost, err := controldb.New(controldb.Config{DSN: "sqlserver://sa:x@127.0.0.1:9?database=x&encrypt=disable&dial+timeout=1"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lost.Close()) })
	network := fault.NewNetwork(f.Dialer(), nil)
	network.Refuse(fault.Refusal{Number: 976, State: 1, Class: 14, Text: "The target database on secret-host is not accessible for queries."})
	secondary, err := controldb.New(controldb.Config{DSN: f.DSN(f.Control), Dialer: network})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, secondary.Close()) })
	twin := func(server string, store *controldb.Store, name string) *rest.Entry {
		e := *f.Entry
		e.Name, e.Server, e.Store = name, server, store
		return &e
	}
	directory, err := rest.NewDirectory(f.Entry, twin("s1", f.Store, "twin"), twin("s2", f.Store, "twin"), twin("s3", lost, away), twin("s4", f.Store, "login"), twin("s5", secondary, failing))
	require.NoError(t, err)
	sessions, err = session.New(session.Config{
		Authenticator: callers, Logins: callers.Logins(), CallbackURL: f.URL + web.CallbackPath, Path: web.Path, Secure: true, Log: zap.NewNop(),
		Check: 20 * time.Millisecond,
	})
	require.NoError(t, err)
	log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), f.Log, zap.DebugLevel))
	dashboard, err = web.New(web.Config{
		Sets: append(web.Sets(), probe), Directory: directory, Sessions: sessions, Authorizer: callers, PublicURL: f.URL, Log: log,
	})
	require.NoError(t, err)
	t.Cleanup(dashboard.Close)
	mounts := []*rest.Mount{{ARM: true, Surface: elastic.New(elastic.Config{Directory: f.Directory, Log: zap.NewNop()})}}
	for _, s := range callers.Surfaces() {
		mounts = append(mounts, &rest.Mount{Surface: s})
	}
	return mounts
}

// browser is a browser without scripts.
type browser struct {
	t    testing.TB
	f    *front.Front
	http *http.Client
}

// open returns a browser without a session. It follows no redirects.
func open(t testing.TB, f *front.Front) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.HTTP.Transport.(*http.Transport).TLSClientConfig.RootCAs}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, f: f, http: &http.Client{
		Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// as returns a browser that has signed in with the token of a role.
func as(t testing.TB, f *front.Front, role string) *browser {
	t.Helper()
	b := open(t, f)
	a := b.post("/ui/login", url.Values{"token": {tokens[role]}})
	require.Equal(t, http.StatusSeeOther, a.Status, a.Body)
	return b
}

// do sends a request.
func (b *browser) do(method, path, body string, headers ...string) front.Answer {
	b.t.Helper()
	if !strings.HasPrefix(path, "https://") {
		path = b.f.URL + path
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	require.NoError(b.t, err)
	if body != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := b.http.Do(r)
	require.NoError(b.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(b.t, err)
	return front.Answer{Status: response.StatusCode, Header: response.Header, Body: string(text)}
}

// get gets a page.
func (b *browser) get(path string) front.Answer { b.t.Helper(); return b.do(http.MethodGet, path, "") }

// post sends a form as a browser does.
func (b *browser) post(path string, form url.Values, headers ...string) front.Answer {
	b.t.Helper()
	if len(headers) == 0 {
		headers = []string{"Origin: " + b.f.URL, "Sec-Fetch-Site: same-origin"}
	}
	return b.do(http.MethodPost, path, form.Encode(), headers...)
}

var (
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)
	mainForm    = regexp.MustCompile(`(?s)<form class="card confirm".*?</form>`)
)

// form gets the form of an action, and returns its hidden fields with further values.
func (b *browser) form(path string, further ...string) url.Values {
	b.t.Helper()
	a := b.get(path)
	require.Equal(b.t, http.StatusOK, a.Status, a.Body)
	form := hidden(mainForm.FindString(a.Body))
	for i := 0; i < len(further); i += 2 {
		form.Set(further[i], further[i+1])
	}
	return form
}

// hidden returns the hidden fields of a form.
func hidden(text string) url.Values {
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(text, -1) {
		form.Set(m[1], m[2])
	}
	return form
}
