package scheduler_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/agents"
	"github.com/jobagent/jobagent/testenv/endpoint"
	"github.com/jobagent/jobagent/testenv/front"
)

// virtual is a front in virtual time, with an agent and an endpoint in memory.
type virtual struct {
	server   *rest.Server
	surface  *scheduler.Surface
	endpoint *endpoint.Endpoint
}

// admin lets everybody do everything.
type admin struct{}

func (admin) Authenticate(*rest.Request) (rest.Principal, error) {
	return rest.Principal{ID: "token:admin", Name: "admin"}, nil
}
func (admin) Role(rest.Principal, string, rest.Scope) rest.Role { return rest.RoleAdmin }
func (admin) Sees(rest.Principal, string, rest.Scope) bool      { return true }

// inVirtualTime runs a test in a bubble. The job collection jc exists.
func inVirtualTime(t *testing.T, handler http.HandlerFunc, fn func(t *testing.T, v *virtual)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		env := testenv.Embedded(t, testenv.Options{})
		store, _ := env.Control(t)
		v := &virtual{endpoint: endpoint.New(t, handler)}
		tools := agents.Tools(t, env, store)
		tools.Actions = agent.Actions{Runners: v.endpoint.Runners(t), CallbackURL: "https://agent.example.com/jobs"}
		hosting, err := agent.New(agent.Config{}, store, tools, nil, zaptest.NewLogger(t))
		require.NoError(t, err)
		agents.Run(t, hosting)
		directory, err := rest.NewDirectory(&rest.Entry{
			Name: "jobdb1", Subscription: front.Subscription, ResourceGroup: front.ResourceGroup, Server: front.Server, Location: "onprem", Store: store,
		})
		require.NoError(t, err)
		v.surface = scheduler.New(scheduler.Config{}, directory, nil)
		v.server, err = rest.New(rest.Config{
			Mounts:        []*rest.Mount{{Surface: v.surface, ARM: true}},
			Authenticator: admin{}, Authorizer: admin{}, PublicURL: "https://front.example", Log: zaptest.NewLogger(t),
		})
		require.NoError(t, err)
		v.do(t, "PUT", "/jc", `{}`, 201)
		fn(t, v)
	})
}

// do sends a request below the job collections, and returns the body.
func (v *virtual) do(t *testing.T, method, path string, body any, want int) object {
	t.Helper()
	text, ok := body.(string)
	if !ok && body != nil {
		b, err := json.Marshal(body)
		require.NoError(t, err)
		text = string(b)
	}
	if !strings.Contains(path, "?") {
		path += version
	}
	path, _ = strings.CutPrefix(path, "https://front.example"+front.C)
	w := httptest.NewRecorder()
	v.server.ServeHTTP(w, httptest.NewRequest(method, front.C+path, strings.NewReader(text)))
	require.Equal(t, want, w.Code, "%s %s: %s", method, path, w.Body)
	var answer object
	if w.Body.Len() > 0 {
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	}
	return answer
}

// job is a body of a job that calls /main.
func (v *virtual) job(properties object, action object) object {
	a := object{"type": "Http", "request": object{"uri": "http://api.example.com:8080/main", "method": "GET"}}
	for name, value := range action {
		a[name] = value
	}
	p := object{"action": a}
	for name, value := range properties {
		p[name] = value
	}
	return object{"properties": p}
}

// properties returns the properties of the job h1.
func (v *virtual) properties(t *testing.T) object {
	t.Helper()
	return v.do(t, "GET", "/jc/jobs/h1", nil, 200)["properties"].(object)
}

// records returns the properties of history records.
func records(answer object) (list []object) {
	for _, r := range answer["value"].([]any) {
		list = append(list, r.(object)["properties"].(object))
	}
	return list
}

// once is a retry policy of one retry after 15 seconds.
var once = object{"retryPolicy": object{"retryType": "Fixed", "retryInterval": "PT15S", "retryCount": 1}}

func TestCase092ErrorActionAndHistory(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main" {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, "broken")
		}
	}
	inVirtualTime(t, answer, func(t *testing.T, v *virtual) {
		start := time.Now().UTC().Add(time.Minute).Truncate(time.Second)
		v.do(t, "PUT", "/jc/jobs/h1", v.job(
			object{"startTime": start.Format(time.RFC3339), "recurrence": object{"frequency": "Day"}},
			object{
				"retryPolicy": once["retryPolicy"],
				"errorAction": object{"type": "Http", "request": object{"uri": "http://api.example.com:8080/err", "method": "POST"}},
			}), 201)
		<-time.After(150 * time.Second)
		var paths []string
		for _, r := range v.endpoint.Requests() {
			paths = append(paths, r.Method+" "+r.Path)
		}
		require.Equal(t, []string{"GET /main", "GET /main", "POST /err"}, paths)
		list := records(v.do(t, "GET", "/jc/jobs/h1/history", nil, 200))
		var shown []string
		for _, r := range list {
			require.Equal(t, start.Format(time.RFC3339), r["expectedExecutionTime"])
			shown = append(shown, fmt.Sprint(r["actionName"], " ", r["status"], " ", r["retryCount"], " ", r["repeatCount"]))
		}
		require.Equal(t, []string{"ErrorAction Completed 0 1", "MainAction Failed 1 1", "MainAction Postponed 0 1"}, shown)
		require.Regexp(t, `^Http Action - Response from host 'api\.example\.com:8080': 'Internal Server Error' Response Headers: (?s:.*)Retry-After: 1`+
			"\r\n Body: broken$", list[1]["message"])
		status := v.properties(t)["status"].(object)
		require.EqualValues(t, 2, status["executionCount"])
		require.EqualValues(t, 2, status["failureCount"])
		require.EqualValues(t, 1, status["faultedCount"])
		require.Equal(t, start.AddDate(0, 0, 1).Format(time.RFC3339), status["nextExecutionTime"])
		require.Contains(t, status["lastExecutionTime"], start.Format("2006-01-02T15:04:0"))
		for filter, want := range map[string]int{"Completed": 1, "Failed": 1, "postponed": 1} {
			require.Len(t, records(v.do(t, "GET", "/jc/jobs/h1/history"+version+"&$filter=status+eq+"+filter, nil, 200)), want, filter)
		}
	})
}

// A job that is due once ends Completed or Faulted, and then can only be deleted.
func TestOneTimeJobs(t *testing.T) {
	for path, want := range map[string]string{"/main": "completed", "/broken": "faulted"} {
		answer := func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/broken" {
				w.WriteHeader(http.StatusNotFound)
			}
		}
		inVirtualTime(t, answer, func(t *testing.T, v *virtual) {
			start := time.Now().UTC().Add(time.Minute).Truncate(time.Second).Format(time.RFC3339)
			body := v.job(object{"startTime": start}, object{"request": object{"uri": "http://api.example.com:8080" + path}})
			v.do(t, "PUT", "/jc/jobs/h1", body, 201)
			p := v.properties(t)
			require.Equal(t, "enabled", p["state"])
			require.Equal(t, start, p["status"].(object)["nextExecutionTime"])
			<-time.After(2 * time.Minute)
			require.Len(t, v.endpoint.Requests(), 1)
			p = v.properties(t)
			require.Equal(t, want, p["state"])
			require.NotContains(t, p["status"].(object), "nextExecutionTime")
			for method, text := range map[string]any{"PUT": body, "PATCH": `{"properties":{"state":"Disabled"}}`} {
				e := v.do(t, method, "/jc/jobs/h1", text, 409)["error"].(object)
				require.Equal(t, "ConflictError", e["code"])
			}
			if want == "faulted" {
				v.do(t, "POST", "/jc/jobs/h1/run", nil, 409)
			} else {
				v.do(t, "POST", "/jc/jobs/h1/run", nil, 200)
			}
			v.do(t, "DELETE", "/jc/jobs/h1", nil, 200)
		})
	}
}

// The history is read page by page, newest first; each record has the number of its occurrence.
func TestHistoryPages(t *testing.T) {
	testenv.Long(t)
	answer := func(w http.ResponseWriter, r *http.Request) {
		if strings.ContainsAny(r.Header.Get("X-Ms-Scheduler-Expected-Execution-Time")[15:16], "37") { // of the minute
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	inVirtualTime(t, answer, func(t *testing.T, v *virtual) {
		start := time.Now().UTC().Truncate(time.Minute).Add(time.Minute) // the bubble begins at midnight
		v.do(t, "PUT", "/jc/jobs/h1", v.job(object{
			"startTime": start.Format(time.RFC3339), "recurrence": object{"frequency": "Minute", "count": 8},
		}, once), 201)
		<-time.After(time.Until(start.Add(470 * time.Second)))
		require.Equal(t, "completed", v.properties(t)["state"], "the count is reached")
		status := v.properties(t)["status"].(object)
		require.EqualValues(t, 10, status["executionCount"])
		require.EqualValues(t, 4, status["failureCount"])
		require.EqualValues(t, 2, status["faultedCount"])
		v.do(t, "POST", "/jc/jobs/h1/run", nil, 200)
		<-time.After(30 * time.Second)

		all := records(v.do(t, "GET", "/jc/jobs/h1/history", nil, 200))
		require.Len(t, all, 11)
		require.EqualValues(t, 8, all[0]["repeatCount"], "started by hand")
		require.EqualValues(t, 8, all[1]["repeatCount"])
		require.EqualValues(t, 1, all[10]["repeatCount"])
		for i := 1; i < len(all); i++ {
			require.LessOrEqual(t, all[i]["repeatCount"], all[i-1]["repeatCount"])
			require.LessOrEqual(t, all[i]["startTime"], all[i-1]["startTime"])
		}
		failed := records(v.do(t, "GET", "/jc/jobs/h1/history"+version+"&$filter=status+eq+Failed", nil, 200))
		require.Len(t, failed, 2)
		for size := 1; size < 6; size++ { // pages end within runs, and reads between pages
			v.surface.SetPages(size, 3)
			require.Equal(t, all, v.pages(t, "/jc/jobs/h1/history"+version), size)
			require.Equal(t, failed, v.pages(t, "/jc/jobs/h1/history"+version+"&$filter=status+eq+Failed"), size)
			require.Equal(t, all[5:], v.pages(t, "/jc/jobs/h1/history"+version+"&$skip=5"), size)
		}
		page := v.do(t, "GET", "/jc/jobs/h1/history"+version+"&$top=4&$skip=5", nil, 200)
		require.Equal(t, all[5:9], records(page))
		require.Contains(t, page, "nextLink")
		require.Nil(t, page["nextLink"])
		require.Empty(t, records(v.do(t, "GET", "/jc/jobs/h1/history"+version+"&$skip=11", nil, 200)))
	})
}

// pages returns the records of all pages of a history.
func (v *virtual) pages(t *testing.T, path string) (all []object) {
	t.Helper()
	for range 100 {
		page := v.do(t, "GET", path, nil, 200)
		all = append(all, records(page)...)
		next, ok := page["nextLink"].(string)
		if !ok {
			return all
		}
		path = next
	}
	t.Fatal("the list does not end")
	return nil
}

// Nothing fires while a collection is disabled, and what was due meanwhile is dropped.
func TestDisabledCollectionFiresNothing(t *testing.T) {
	testenv.Long(t)
	inVirtualTime(t, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, v *virtual) {
		v.do(t, "PUT", "/jc/jobs/h1", v.job(object{"recurrence": object{"frequency": "Minute"}}, nil), 201)
		<-time.After(90 * time.Second)
		require.Len(t, v.endpoint.Requests(), 2)
		v.do(t, "POST", "/jc/disable", nil, 200)
		<-time.After(160 * time.Second)
		require.Len(t, v.endpoint.Requests(), 2)
		v.do(t, "POST", "/jc/enable", nil, 200)
		<-time.After(time.Minute)
		require.Len(t, v.endpoint.Requests(), 3)
		// The same body again does not begin the recurrence anew.
		v.do(t, "PUT", "/jc/jobs/h1", v.job(object{"recurrence": object{"frequency": "Minute"}}, nil), 200)
		<-time.After(10 * time.Second)
		require.Len(t, v.endpoint.Requests(), 3)
		v.do(t, "DELETE", "/jc", nil, 200)
		<-time.After(160 * time.Second)
		require.Len(t, v.endpoint.Requests(), 3)
	})
}
