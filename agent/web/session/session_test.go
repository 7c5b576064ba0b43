package session_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/web/session"
)

// callers knows one caller until it is revoked.
type callers struct{ revoked atomic.Bool }

func (*callers) SignIn(string) (rest.Principal, error) { return rest.Principal{}, nil }
func (*callers) Negotiates() bool                      { return false }

func (*callers) Negotiate(*http.Request) (p rest.Principal, proof string, err error) {
	return p, "", errors.New("no tickets")
}

func (*callers) EnterSignIn(context.Context, string) (func(bool), error) {
	return func(bool) {}, nil
}
func (*callers) Known(p rest.Principal) rest.Principal { return p }
func (c *callers) Current(rest.Principal) error {
	if c.revoked.Load() {
		return errors.New("revoked")
	}
	return nil
}

// fixture returns sessions, and a function that sends the cookies of an answer back.
func fixture(t *testing.T, change func(*session.Config)) (*session.Sessions, *callers) {
	t.Helper()
	c := &callers{}
	cfg := session.Config{Authenticator: c, Path: "/p/ui/", Secure: true, Log: zap.NewNop()}
	if change != nil {
		change(&cfg)
	}
	s, err := session.New(cfg)
	require.NoError(t, err)
	return s, c
}

// with returns a request with the cookies that an answer has set.
func with(w *httptest.ResponseRecorder) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/ui/", nil)
	for _, c := range w.Result().Cookies() {
		if c.MaxAge >= 0 {
			r.AddCookie(c)
		}
	}
	return r
}

// begin begins a session.
func begin(t *testing.T, s *session.Sessions) *http.Request {
	t.Helper()
	w := httptest.NewRecorder()
	require.NoError(t, s.Begin(w, rest.Principal{ID: "token:a", Name: "Ann", Groups: []string{"group:1"}}))
	return with(w)
}

func TestCookie(t *testing.T) {
	t.Parallel()
	s, _ := fixture(t, nil)
	w := httptest.NewRecorder()
	require.NoError(t, s.Begin(w, rest.Principal{ID: "token:a", Name: "Ann", Groups: []string{"group:1"}}))
	text := w.Header().Get("Set-Cookie")
	for _, part := range []string{"__Host-jobagent-session=", "; Path=/;", "; HttpOnly", "; Secure", "; SameSite=Lax"} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, text, "Ann")
	one := s.Find(httptest.NewRecorder(), with(w))
	require.NotNil(t, one)
	require.Equal(t, rest.Principal{ID: "token:a", Name: "Ann", Groups: []string{"group:1"}}, one.Principal)
	require.True(t, one.Forged(""))
	require.True(t, one.Forged(one.CSRF+"x"))
	require.False(t, one.Forged(one.CSRF))

	plain, _ := fixture(t, func(c *session.Config) { c.Secure = false })
	w = httptest.NewRecorder()
	require.NoError(t, plain.Begin(w, rest.Principal{ID: "token:a"}))
	require.True(t, strings.HasPrefix(w.Header().Get("Set-Cookie"), "jobagent-session="))
	require.NotContains(t, w.Header().Get("Set-Cookie"), "Secure")
}

// No cookie that was changed, or that was made for something else or by another key, is a session.
func TestForeignCookies(t *testing.T) {
	t.Parallel()
	s, _ := fixture(t, nil)
	r := begin(t, s)
	c, err := r.Cookie("__Host-jobagent-session")
	require.NoError(t, err)
	other, _ := fixture(t, nil)
	require.Nil(t, other.Find(httptest.NewRecorder(), r), "another front's random key")
	for i := range c.Value {
		changed := []byte(c.Value)
		changed[i] ^= 1
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.AddCookie(&http.Cookie{Name: c.Name, Value: string(changed)})
		if i < len(c.Value)-1 { // the last character has bits that mean nothing
			require.Nil(t, s.Find(httptest.NewRecorder(), request), i)
		}
	}
	w := httptest.NewRecorder()
	s.Notify(w, s.Find(httptest.NewRecorder(), r), "notice")
	request := httptest.NewRequest(http.MethodGet, "/", nil)
	request.AddCookie(&http.Cookie{Name: c.Name, Value: w.Result().Cookies()[0].Value})
	require.Nil(t, s.Find(httptest.NewRecorder(), request), "the cookie of a notice")
	for _, value := range []string{"", "x", strings.Repeat("A", 9000)} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.AddCookie(&http.Cookie{Name: c.Name, Value: value})
		require.Nil(t, s.Find(httptest.NewRecorder(), request))
	}
}

// Fronts with the same key know each other's sessions.
func TestSharedKey(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("k", 32))
	a, _ := fixture(t, func(c *session.Config) { c.Key = key })
	b, _ := fixture(t, func(c *session.Config) { c.Key = key })
	require.NotNil(t, b.Find(httptest.NewRecorder(), begin(t, a)))
	_, err := session.New(session.Config{Key: []byte("short")})
	require.ErrorContains(t, err, "at least 32 bytes")
	require.NotContains(t, err.Error(), "short")
}

func TestTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _ := fixture(t, nil)
		r := begin(t, s)
		time.Sleep(59 * time.Minute)
		w := httptest.NewRecorder()
		require.NotNil(t, s.Find(w, r))
		renewed := with(w)
		time.Sleep(59 * time.Minute)
		require.Nil(t, s.Find(httptest.NewRecorder(), r), "idle for 1:58")
		require.NotNil(t, s.Find(httptest.NewRecorder(), renewed))
		for range 30 { // used all the time
			w := httptest.NewRecorder()
			if s.Find(w, renewed) == nil {
				break
			}
			if len(w.Result().Cookies()) > 0 {
				renewed = with(w)
			}
			time.Sleep(30 * time.Minute)
		}
		require.Nil(t, s.Find(httptest.NewRecorder(), renewed), "older than 12 h")
	})
}

func TestRevoked(t *testing.T) {
	t.Parallel()
	s, c := fixture(t, nil)
	r := begin(t, s)
	require.NotNil(t, s.Find(httptest.NewRecorder(), r))
	c.revoked.Store(true)
	require.Nil(t, s.Find(httptest.NewRecorder(), r))
}

// A copy of the cookie is refused after its owner has signed out.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	s, _ := fixture(t, nil)
	r, other := begin(t, s), begin(t, s)
	w := httptest.NewRecorder()
	s.End(w, s.Find(httptest.NewRecorder(), r))
	require.Contains(t, w.Header().Get("Set-Cookie"), "Max-Age=0")
	require.Nil(t, s.Find(httptest.NewRecorder(), r))
	require.NotNil(t, s.Find(httptest.NewRecorder(), other))
}

// A stream ends within a minute after the token was revoked, the role was lost, the person signed
// out, or the session was idle; and not while the session is used elsewhere.
func TestStreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end    func(*session.Sessions, *callers, *http.Request, *atomic.Bool)
		within time.Duration
	}{
		"revoked":   {func(_ *session.Sessions, c *callers, _ *http.Request, _ *atomic.Bool) { c.revoked.Store(true) }, time.Minute},
		"lost role": {func(_ *session.Sessions, _ *callers, _ *http.Request, may *atomic.Bool) { may.Store(false) }, time.Minute},
		"signed out": {func(s *session.Sessions, _ *callers, r *http.Request, _ *atomic.Bool) {
			s.End(httptest.NewRecorder(), s.Find(httptest.NewRecorder(), r))
		}, time.Minute},
		"idle": {func(*session.Sessions, *callers, *http.Request, *atomic.Bool) {}, time.Hour + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, c := fixture(t, nil)
				r := begin(t, s)
				var may atomic.Bool
				may.Store(true)
				ctx, cancel := s.Watch(context.Background(), s.Find(httptest.NewRecorder(), r), may.Load)
				defer cancel()
				time.Sleep(50 * time.Minute)
				w := httptest.NewRecorder()
				require.NotNil(t, s.Find(w, r), "used elsewhere")
				time.Sleep(50 * time.Minute)
				require.NoError(t, ctx.Err())
				test.end(s, c, with(w), &may)
				time.Sleep(test.within)
				require.Error(t, ctx.Err())
			})
		})
	}
}

func TestNoticesAreShownOnce(t *testing.T) {
	t.Parallel()
	s, _ := fixture(t, nil)
	r, other := begin(t, s), begin(t, s)
	one := s.Find(httptest.NewRecorder(), r)
	w := httptest.NewRecorder()
	s.Notify(w, one, "The run was started. "+strings.Repeat("é", 4000))
	r = with(w)
	w = httptest.NewRecorder()
	text := s.Notice(w, r, one)
	require.True(t, strings.HasPrefix(text, "The run was started. éé"))
	require.Less(t, len(text), 1600)
	require.Contains(t, w.Header().Get("Set-Cookie"), "Max-Age=0")
	require.Empty(t, s.Notice(httptest.NewRecorder(), r, s.Find(httptest.NewRecorder(), other)), "of another session")
}

func TestOwnPaths(t *testing.T) {
	t.Parallel()
	s, _ := fixture(t, nil)
	for _, good := range []string{"/p/ui/", "/p/ui/main/jobs?q=a%2Fb", "/p/ui/main/jobs/a%2Fb"} {
		require.Equal(t, good, s.Own(good))
	}
	for _, bad := range []string{
		"", "/", "/ui/", "//evil.example/p/ui/", "https://evil.example/p/ui/", "/p/ui//evil.example", `/p/ui/\evil.example`, "/p/ui/../../x", "/p/ui/..",
		"/p/ui/a/../../../b", "javascript:alert(1)", "/p/ui/\r\nX: y", "p/ui/", "/p/ui", "//p/ui/", "/\t/evil.example", "/p/ui/%2e%2e/x", "/p/ui/" + strings.Repeat("a", 3000),
	} {
		require.Equal(t, "/p/ui/", s.Own(bad), bad)
	}
}

func FuzzOwn(f *testing.F) {
	s, err := session.New(session.Config{Authenticator: &callers{}, Path: "/ui/", Log: zap.NewNop()})
	require.NoError(f, err)
	f.Add("//a")
	f.Fuzz(func(t *testing.T, path string) {
		require.True(t, strings.HasPrefix(s.Own(path), "/ui/"))
	})
}

// A link works on the machine of the server only, and an attempt from elsewhere does not use it up.
func TestLinkFromElsewhere(t *testing.T) {
	s, _ := fixture(t, nil)
	link := s.NewLink("token", time.Minute)
	for _, remote := range []string{"192.0.2.1:4711", "[2001:db8::1]:4711", "", "@", "localhost:1"} {
		_, err := s.SignInByLink(remote, link)
		require.ErrorContains(t, err, "on the machine of the server only", remote)
	}
	_, err := s.SignInByLink("[::1]:4711", link)
	require.NoError(t, err)
	_, err = s.SignInByLink("[::1]:4711", link)
	require.ErrorContains(t, err, "used already")
}
