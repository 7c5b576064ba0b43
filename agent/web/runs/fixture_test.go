package runs_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/auth"
	"github.com/jobagent/jobagent/agent/rest/auth/tokenfile"
	"github.com/jobagent/jobagent/agent/web"
	"github.com/jobagent/jobagent/agent/web/session"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv"
)

// fixture is a control database with a dashboard, and an agent that the test plays.
type fixture struct {
	*testenv.Env
	store   *controldb.Store
	control string
	server  *web.Server
	handler atomic.Pointer[web.Server] // the server, which a test may restart
	front   *httptest.Server
	build   func() *web.Server // makes a server with new keys of sessions
	url     string
	token   string
	term    controldb.TermID
	held    []controldb.Task // claimed and not completed
	reads   atomic.Int64     // round trips of the dashboard to the control database
	away    atomic.Bool      // the dashboard's connections break
}

// DialContext implements mssql.HostDialer for the dashboard's connections. They can be broken.
func (f *fixture) DialContext(ctx context.Context, network, _ string) (net.Conn, error) {
	if f.away.Load() {
		return nil, errAway
	}
	c, err := f.Env.Dial(ctx, network)
	if err != nil {
		return nil, err
	}
	return &counted{Conn: c, f: f}, nil
}

// HostName implements mssql.HostDialer.
func (*fixture) HostName() string { return "" }

var errAway = errors.New("the server is away")

// counted counts round trips: each write that follows a read.
type counted struct {
	net.Conn
	f       *fixture
	writing atomic.Bool
}

// Read implements net.Conn.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.writing.Store(false)
	}
	return n, err
}

// Write implements net.Conn.
func (c *counted) Write(p []byte) (int, error) {
	if c.f.away.Load() {
		_ = c.Close()
		return 0, errAway
	}
	if !c.writing.Swap(true) {
		c.f.reads.Add(1)
	}
	return c.Conn.Write(p)
}

// start starts a dashboard; tls serves HTTP/2.
func start(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{Env: testenv.Embedded(t, testenv.Options{})}
	f.store, f.control = f.Env.Control(t)
	viewed, err := controldb.New(controldb.Config{DSN: f.Env.DSN(f.control), Dialer: f})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, viewed.Close()) })
	stored, text := tokenfile.New()
	stored.Name, stored.Role, stored.Scope = "admin", "admin", "/"
	f.token = text
	front := httptest.NewUnstartedServer(nil)
	front.EnableHTTP2 = true
	f.url = "https://" + front.Listener.Addr().String()
	callers, err := auth.New(auth.Config{Tokens: []tokenfile.Token{stored}}, auth.Options{PublicURL: f.url})
	require.NoError(t, err)
	directory, err := rest.NewDirectory(&rest.Entry{
		Name: "main", Subscription: uuid.Nil.String(), ResourceGroup: "g", Server: "s", Store: viewed,
	})
	require.NoError(t, err)
	f.build = func() *web.Server {
		sessions, err := session.New(session.Config{
			Authenticator: callers, Logins: callers.Logins(), CallbackURL: f.url + web.CallbackPath, Path: web.Path, Secure: true, Log: zap.NewNop(),
		})
		require.NoError(t, err)
		server, err := web.New(web.Config{
			Sets: web.Sets(), Directory: directory, Sessions: sessions, Authorizer: callers, PublicURL: f.url, Log: zap.NewNop(),
		})
		require.NoError(t, err)
		return server
	}
	f.server, f.front = f.build(), front
	f.handler.Store(f.server)
	front.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.handler.Load().ServeHTTP(w, r) })
	front.StartTLS()
	t.Cleanup(func() {
		f.server.Close()
		front.CloseClientConnections()
		front.Close()
	})
	f.begin(t)
	return f
}

// restart replaces the server by one that does not know the sessions of before.
func (f *fixture) restart() {
	old := f.server
	f.server = f.build()
	f.handler.Store(f.server)
	old.Close()
	f.front.CloseClientConnections()
}

// begin begins the term of an agent.
func (f *fixture) begin(t testing.TB) {
	t.Helper()
	term, err := f.store.StartTerm(t.Context(), controldb.Agent{ID: uuid.New(), Host: "h", Version: "1", MaxConcurrentTargets: 5000}, time.Hour)
	require.NoError(t, err)
	f.term = term.ID
}

// addJob adds a job with steps that have some retries.
func (f *fixture) addJob(t testing.TB, name string, steps, retries int) {
	t.Helper()
	if _, err := targetgroups.On(f.store).Add(t.Context(), "g"); err == nil {
		_, err = targetgroups.On(f.store).AddMember(t.Context(), "g", targets.Member{Membership: targets.Include, Kind: targets.SQLServer, Server: "s", RefreshCredential: "c"})
		require.NoError(t, err)
	}
	_, err := catalog.On(f.store).AddJob(t.Context(), model.JobSpec{Name: name})
	require.NoError(t, err)
	second := 1
	for i := range steps {
		step := fmt.Sprintf("step %d", i+1)
		_, err := catalog.On(f.store).AddJobStep(t.Context(), model.StepSpec{
			JobName: name, StepName: &step, Command: new("SELECT 1"), TargetGroup: new("g"), RetryAttempts: &retries, InitialRetryInterval: &second,
		})
		require.NoError(t, err)
	}
}

// startRun starts a run of a job.
func (f *fixture) startRun(t testing.TB, job string) uuid.UUID {
	t.Helper()
	id, err := executions.On(f.store).StartJob(t.Context(), job, uuid.Nil)
	require.NoError(t, err)
	return id
}

// pass makes a pass that claims at most some tasks. Resolutions get the list.
func (f *fixture) pass(t testing.TB, most int, list []targets.Target) int {
	t.Helper()
	result, err := f.store.Pass(t.Context(), controldb.PassRequest{Term: f.term, MaxTasks: most, MaxConcurrentTargets: 5000})
	require.NoError(t, err)
	for _, task := range result.Tasks {
		if task.Kind != controldb.TaskResolve {
			f.held = append(f.held, task)
			continue
		}
		require.NoError(t, f.store.CompleteResolution(t.Context(), f.term, task.ID, controldb.Resolution{Attempt: task.Attempt, Targets: list}))
	}
	return len(result.Tasks)
}

// complete ends the first n held tasks.
func (f *fixture) complete(t testing.TB, n int, outcome func(i int, task controldb.Task) controldb.Outcome) {
	t.Helper()
	n = min(n, len(f.held))
	list := make([]controldb.Outcome, 0, n)
	for i, task := range f.held[:n] {
		o := outcome(i, task)
		o.Task, o.Attempt = task.ID, task.Attempt
		list = append(list, o)
	}
	f.held = f.held[n:]
	if len(list) == 0 {
		return
	}
	refused, err := f.store.CompleteTasks(t.Context(), f.term, list)
	require.NoError(t, err)
	require.Empty(t, refused)
}

// succeeded is the outcome of a success.
func succeeded(int, controldb.Task) controldb.Outcome {
	return controldb.Outcome{Outcome: targets.Succeeded}
}

// names returns n targets on some servers.
func names(n int) []targets.Target {
	list := make([]targets.Target, n)
	for i := range list {
		server, database := fmt.Sprintf("sql%02d.example.net", i%20), fmt.Sprintf("tenant%05d", i)
		list[i] = targets.Target{ID: uuid.NewSHA1(uuid.NameSpaceURL, []byte(server+"/"+database)), Server: server, Database: database}
	}
	return list
}

// client returns a browser without scripts that has signed in.
func (f *fixture) client(t testing.TB) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true} //nolint:gosec // the test's own server
	t.Cleanup(transport.CloseIdleConnections)
	c := &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.url+"/ui/login", strings.NewReader(url.Values{"token": {f.token}}.Encode()))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", f.url)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	a, err := c.Do(r)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	require.Equal(t, http.StatusSeeOther, a.StatusCode)
	return c
}

// get gets a path below /ui/main.
func (f *fixture) get(t testing.TB, c *http.Client, path string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/ui/main"+path, nil)
	require.NoError(t, err)
	a, err := c.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a.StatusCode, string(text)
}

// decode decodes JSON.
func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}
