package web_test

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/testenv/front"
	"github.com/jobagent/jobagent/testenv/kdc"
)

// A person of a Windows domain signs in by a button, with a ticket of a real KDC. A browser without
// a ticket is told so, and a page of another site signs nobody in.
func TestSignInWithTicket(t *testing.T) {
	k := kdc.Start(t)
	const spn = "HTTP/localhost"
	k.AddUser(t, "alice", "Wonder-land1")
	k.AddService(t, spn)
	f := front.Shared(t)
	server := httptest.NewUnstartedServer(nil)
	url := strings.Replace("https://"+server.Listener.Addr().String(), "127.0.0.1", "localhost", 1)
	callers, err := auth.New(auth.Config{
		Kerberos: auth.Kerberos{Keytab: k.Keytab(t, spn)}, Grants: []auth.Grant{{Principal: "kerberos:alice@EXAMPLE.TEST", Role: "reader", Scope: "/"}},
	}, auth.Options{PublicURL: url})
	require.NoError(t, err)
	sessions, err := session.New(session.Config{Authenticator: callers, Path: web.Path, Secure: true, Log: zap.NewNop()})
	require.NoError(t, err)
	dashboard, err := web.New(web.Config{Sets: web.Sets(), Directory: f.Directory, Sessions: sessions, Authorizer: callers, PublicURL: url, Log: zap.NewNop()})
	require.NoError(t, err)
	t.Cleanup(dashboard.Close)
	server.Config.Handler = dashboard
	server.StartTLS()
	t.Cleanup(server.Close)

	for origin, want := range map[string]int{url: http.StatusUnauthorized, "https://evil.test": http.StatusForbidden} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, url+web.Path+"login?ticket", strings.NewReader("to="))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		dashboard.ServeHTTP(w, r)
		require.Equal(t, want, w.Code, origin)
		if want == http.StatusUnauthorized {
			require.Equal(t, "Negotiate", w.Header().Get("WWW-Authenticate"))
			require.Contains(t, w.Body.String(), "Your browser sent no Kerberos ticket.")
		}
	}

	// curl stands for a browser: headless Chromium loads no GSSAPI.
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl, which stands for a browser, is not installed: install it")
	}
	cache := k.Cache(t, "alice", k.Keytab(t, "alice"))
	cmd := exec.CommandContext(t.Context(), curl, "-sk", "--negotiate", "-u", ":", "-d", "to=/ui/"+front.Database+"/jobs", "-D", "-", "-o", os.DevNull,
		url+web.Path+"login?ticket")
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.Config, "KRB5CCNAME=FILE:"+cache, "no_proxy=localhost")
	answers, err := cmd.Output()
	require.NoError(t, err)
	blocks := strings.Split(strings.TrimSpace(string(answers)), "\r\n\r\n") // an earlier one asks for a ticket
	last := blocks[len(blocks)-1]
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(last+"\r\n\r\n")), nil)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusSeeOther, response.StatusCode, string(answers))
	require.Equal(t, "/ui/"+front.Database+"/jobs", response.Header.Get("Location"))
	require.Contains(t, response.Header.Get("WWW-Authenticate"), "Negotiate ", "the front proves itself")
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, url+"/ui/"+front.Database+"/nothing", nil)
	for _, c := range response.Cookies() {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	dashboard.ServeHTTP(w, r)
	require.Contains(t, w.Body.String(), "alice@EXAMPLE.TEST")
}
