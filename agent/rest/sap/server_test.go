package sap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/gateway"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/targets/mssql"
	faults "github.com/jobagent/jobagent/testenv/fault"
	"github.com/jobagent/jobagent/testenv/front"
)

// serveAgain starts another front with the tokens of the shared one.
func serveAgain(t *testing.T, f *front.Front, store *controldb.Store, limit RateLimit) *front.Front {
	t.Helper()
	s, err := New([]Service{{
		Instance: Instance{Name: "instance", Tenant: provider, SubDomain: "provider-subdomain", AllowAnonymousActions: true, Limit: limit}, Store: store,
	}}, unlimited, logger(f.Log))
	require.NoError(t, err)
	require.NoError(t, s.Start(t.Context()))
	server, err := rest.New(rest.Config{
		Mounts:        []*rest.Mount{{Surface: s, MaxBody: MaxBody, Timeout: Timeout}},
		Authenticator: f.Tokens, Authorizer: f.Tokens, PublicURL: f.URL, Log: logger(f.Log),
	})
	require.NoError(t, err)
	again := *f
	again.TLS = httptest.NewTLSServer(server)
	t.Cleanup(again.TLS.Close)
	again.URL, again.HTTP = again.TLS.URL, again.TLS.Client()
	return &again
}

// breaker breaks the nth request of a network after it was armed.
type breaker struct {
	mu   sync.Mutex
	kind faults.Kind
	left int
}

func (b *breaker) arm(kind faults.Kind, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kind, b.left = kind, n
}

// plan is the plan of a network.
func (b *breaker) plan(faults.Call) faults.Kind {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left--
	if b.left == 0 {
		return b.kind
	}
	return faults.None
}

// broken reports whether a request was broken since the breaker was armed.
func (b *breaker) broken() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left <= 0
}

// TestControlDatabaseBreaks breaks the connection to the control database at each request of a
// change. The client gets the answer, or 503; it sends the request again, and its change is made
// once.
func TestControlDatabaseBreaks(t *testing.T) {
	t.Parallel()
	shared := front.Shared(t)
	var b breaker
	network := faults.NewNetwork(shared.Server.Dialer(), b.plan)
	connector, err := mssql.NewConnector(shared.DSN(shared.Control), network)
	require.NoError(t, err)
	store, err := controldb.New(controldb.Config{Connector: connector, ServerName: shared.ServerName})
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	a := &api{t: t, f: serveAgain(t, shared, store, unlimited), token: tenantOne}
	refused := 0
	run := uuid.NewString() // an equal request of an earlier run may have an answer that was not delivered (S-4)
	for _, kind := range []faults.Kind{faults.BeforeSending, faults.AfterSending, faults.Cut, faults.Transient} {
		place := 1
		for ; ; place++ {
			name := fmt.Sprintf("breaks %v at %d in %s", kind, place, run)
			body := object{"name": name, "action": "https://h.example/", "schedules": []object{{"time": "2099-01-01"}}}
			b.arm(kind, place)
			answer := a.do("POST", "/jobs", body)
			broken := b.broken()
			b.arm(faults.None, 0)
			if answer.Status == http.StatusServiceUnavailable {
				refused++
				require.Regexp(t, `^[1-9]\d?$`, answer.Header.Get("Retry-After"))
				require.JSONEq(t, `{"code":503,"message":"Service Unavailable","type":"Service Unavailable","detailedError":"Service Unavailable"}`, answer.Body)
				answer = a.do("POST", "/jobs", body)
			}
			require.Equal(t, 201, answer.Status, "%s: %s", name, answer.Body)
			job := a.ok(200, "GET", "/jobs?name="+strings.ReplaceAll(name, " ", "+")+"&displaySchedules=true", nil)
			require.Equal(t, answer.JSON(t)["_id"], job["_id"])
			require.Len(t, job["schedules"], 1)
			require.Equal(t, scheduleOf(t, job, 0), scheduleOf(t, answer.JSON(t), 0))
			if !broken {
				break
			}
		}
		require.Greater(t, place, 3, "%v: the tenant, the settings, the change and the answer", kind)
	}
	require.Positive(t, refused, "some faults were answered 503")
}

// TestLoginOfTheFront serves with a login that has the role jobs_front only.
func TestLoginOfTheFront(t *testing.T) {
	t.Parallel()
	shared := front.Shared(t)
	const password = "Pass-word-of-the-front-1"
	login := "sap_front_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	db := shared.DB(t, shared.Control)
	for _, text := range []string{
		"CREATE LOGIN " + login + " WITH PASSWORD = '" + password + "';", "CREATE USER " + login + " FOR LOGIN " + login + ";",
		"ALTER ROLE jobs_front ADD MEMBER " + login + ";",
	} {
		_, err := db.ExecContext(t.Context(), text)
		require.NoError(t, err)
	}
	f := serveAgain(t, shared, shared.OpenControlAs(t, shared.Control, login, password), unlimited)
	a := &api{t: t, f: f, token: tenantOne}
	path, job := a.job("login of the front", object{"time": "2099-01-01"})
	one := path + "/schedules/" + scheduleOf(t, job, 0)
	for _, get := range []string{"/jobs", path, path + "/schedules", one + "?displayLogs=true", one + "/runs", "/jobCount", "/globalParameters", "/search/jobs?q=x",
		"/search/schedules?q=x", "/actionLogs?jobId=" + path[len("/jobs/"):]} {
		require.Equal(t, 200, (&api{t: t, f: f, token: tenantOne + "-read"}).do("GET", get, nil).Status, get)
	}
	a.ok(200, "PUT", path, object{"description": "x"})
	a.ok(200, "PUT", one, object{"description": "x"})
	a.failure(404, "PUT", one+"/runs/00000000-0000-0000-0000-000000000001", object{"success": true})
	a.ok(200, "POST", path+"/schedules/activationStatus", object{"activationStatus": true})
	a.ok(200, "DELETE", path, nil)
	admin := "Authorization: Bearer " + provider + "-admin"
	require.Equal(t, 200, f.Do(t, "PUT", "/admin/tenants/tenant-login/subscriptions/app", object{}, admin).Status)
	require.Equal(t, 200, f.Do(t, "DELETE", "/admin/tenants/tenant-login/subscriptions/app", nil, admin).Status)
}

// TestLimitedClient is S-64 as SAP's client sees it: a request that is refused works after
// Retry-After.
func TestLimitedClient(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	a := &api{t: t, f: serveAgain(t, f, f.Store, RateLimit{Throttle: new(30), Deny: new(60)}), token: tenantOne}
	var last front.Answer
	for range 600 {
		if last = a.do("GET", "/jobCount", nil); last.Header.Get("throttling") != "" {
			break
		}
	}
	require.Equal(t, 200, last.Status)
	require.Regexp(t, `^\d+$`, last.Header.Get("throttling"))

	a = &api{t: t, f: serveAgain(t, f, f.Store, RateLimit{Throttle: new(0), Deny: new(60)}), token: tenantOne}
	for range 600 {
		if last = a.do("GET", "/jobCount", nil); last.Status != 200 {
			break
		}
	}
	require.JSONEq(t, `{"code":429,"message":"Too many requests","type":"Rate Limit Exceeded","detailedError":"Too many requests"}`, last.Body)
	require.Equal(t, "1", last.Header.Get("Retry-After"))
	t.Run("SAP's client waits", func(t *testing.T) {
		c := newSAPClient(t, a.f.TLS, map[string]any{"baseURL": a.f.URL, "token": tenantOne + jwtTail})
		c.call("getJobCount", object{"activeStatus": true})
	})
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	s, err := New(nil, unlimited, logger(&front.Buffer{}))
	require.NoError(t, err)
	text, err := gateway.Document(&rest.Mount{Surface: s, MaxBody: MaxBody}, "https://jobs.example")
	require.NoError(t, err)
	var document struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &document))
	require.Len(t, document.Paths, 15)
	require.Contains(t, document.Paths["/scheduler/jobs/{jobId}"], "put")
	schemas := document.Components.Schemas
	require.Contains(t, schemas["JobRequest"].Properties, "schedules")
	for _, member := range []string{"cron", "scheduleId", "nextRunAt", "data"} {
		require.Contains(t, schemas["ListedScheduleBody"].Properties, member)
	}
}
