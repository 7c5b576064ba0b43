package sap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// jwtTail is a JWT without a signature that the client accepts: it reads exp only. The front of the
// tests knows it as the token of a tenant.
const jwtTail = ".eyJleHAiOjk5OTk5OTk5OTl9.c2lnbmF0dXJl" // {"exp":9999999999}

// clientOf starts SAP's client with a token of a tenant.
func clientOf(t *testing.T, f *front.Front, tenant string) *sapClient {
	t.Helper()
	return newSAPClient(t, f.TLS, map[string]any{"baseURL": f.URL, "token": tenant + jwtTail})
}

// TestClient walks all methods of @sap/jobs-client.
func TestClient(t *testing.T) {
	f := front.Shared(t)
	c := clientOf(t, f, tenantOne)
	sample := object{
		"name": "client", "description": "cron job", "action": f.H.URL + "/client", "active": true, "httpMethod": "PUT", "endTime": nil,
		"schedules": []object{{
			"cron": "* * * * * */10 0", "description": "every 10 minutes", "data": object{"salesOrderId": "1234"}, "active": true,
			"startTime": object{"date": "2015-10-20 04:30 +0000", "format": "YYYY-MM-DD HH:mm Z"},
		}},
	}
	job := c.call("createJob", object{"job": sample})
	id := job["_id"]

	t.Run("2", func(t *testing.T) {
		created := job["schedules"].([]any)[0].(object)
		require.Equal(t, `{"salesOrderId":"1234"}`, created["data"])
		require.Equal(t, "2015-10-20 04:30:00", created["startTime"])
		require.Nil(t, created["endTime"])
		require.Equal(t, "recurring", created["type"])
	})
	t.Run("4", func(t *testing.T) {
		require.Equal(t, "Not Found", c.fail(404, "fetchJob", object{"name": "no such job"}))
		require.Equal(t, id, c.call("fetchJob", object{"name": "client"})["_id"])
		require.Contains(t, c.call("fetchJob", object{"jobId": id, "displaySchedules": true}), "schedules")
	})
	t.Run("6 and 8", func(t *testing.T) {
		tenant := ownTenant(t)
		pages := clientOf(t, f, tenant)
		for i := range 100 {
			as(t, tenant).job(fmt.Sprintf("all %03d", i), object{"time": "2099-01-01"})
		}
		list := pages.call("fetchJobs", object{})
		require.Len(t, results(t, list), 10)
		require.Equal(t, 100.0, list["total"])
		require.Nil(t, list["prev_url"])
		require.Equal(t, "/scheduler/jobs?page_size=10&offset=10", list["next_url"])
		requests := func() int { return strings.Count(f.Log.String(), `"operation":"Jobs_List"`) }
		before := requests()
		all := pages.call("fetchAllJobs", object{})
		require.Len(t, results(t, all), 100)
		eventually(t, "the request is in the log", func() bool { return requests() > before })
		require.Equal(t, before+1, requests(), "one request")
		require.Nil(t, pages.call("fetchJobs", object{"page_size": 100})["next_url"])
	})
	t.Run("10", func(t *testing.T) {
		text := c.fail(400, "upsertJob", object{"name": "my job/(x)'%", "job": object{"name": "my job/(x)'%", "action": "https://h/", "schedules": []object{}}})
		require.True(t, strings.HasPrefix(text, creatingJob), text)
	})
	t.Run("12", func(t *testing.T) {
		before := c.call("fetchJobs", object{})["total"]
		c.fail(404, "updateJob", object{"jobId": 999999, "job": object{"description": "x"}})
		require.Equal(t, before, c.call("fetchJobs", object{})["total"])
		require.Equal(t, object{"success": true}, c.call("updateJob", object{"jobId": id, "job": object{"description": "x"}}))
	})
	t.Run("upsertJob", func(t *testing.T) {
		put := object{"name": "upsert by client", "action": f.H.URL, "schedules": []object{{"time": "2099-01-01"}}}
		first := c.call("upsertJob", object{"name": put["name"], "job": put})
		require.Equal(t, first["_id"], c.call("upsertJob", object{"name": put["name"], "job": put})["_id"])
		require.Equal(t, object{"success": true}, c.call("deleteJob", object{"jobId": first["_id"]}))
		c.fail(404, "deleteJob", object{"jobId": first["_id"]})
	})
	t.Run("14", func(t *testing.T) {
		many := as(t, tenantOne)
		list := []object{}
		for i := range 37 {
			list = append(list, object{"time": "2099-01-01", "data": object{"n": i}})
		}
		path, made := many.job("many schedules", list...)
		all := results(t, c.call("fetchJobSchedules", object{"jobId": made["_id"]}))
		require.Len(t, all, 37)
		for _, s := range all {
			require.True(t, json.Valid([]byte(s["data"].(string))))
		}
		require.Equal(t, object{"success": true}, c.call("deleteAllJobSchedules", object{"jobId": made["_id"]}))
		require.Equal(t, 0.0, many.ok(200, "GET", path+"/schedules", nil)["total"])
	})
	t.Run("20", func(t *testing.T) {
		counts := func() [2]any {
			list := results(t, as(t, tenantOne).ok(200, "GET", "/jobs?filter=name+eq+'client'", nil))
			return [2]any{list[0]["ACTIVECOUNT"], list[0]["INACTIVECOUNT"]}
		}
		require.Equal(t, object{"success": true}, c.call("deactivateAllSchedules", object{"jobId": id}))
		require.Equal(t, [2]any{0.0, 1.0}, counts())
		require.Equal(t, object{"success": true}, c.call("activateAllSchedules", object{"jobId": id}))
		require.Equal(t, [2]any{1.0, 0.0}, counts())
	})
	t.Run("22", func(t *testing.T) {
		tenant := ownTenant(t)
		for i := range 15 {
			as(t, tenant).ok(201, "POST", "/jobs", object{"name": fmt.Sprintf("count %d", i), "action": f.H.URL, "active": i < 12, "schedules": []object{}})
		}
		counts := clientOf(t, f, tenant)
		require.Equal(t, object{"active": 12.0}, counts.call("getJobCount", object{"activeStatus": true}))
		require.Equal(t, object{"inactive": 3.0}, counts.call("getJobCount", object{"activeStatus": false}))
		require.Equal(t, object{"active": 12.0, "inactive": 3.0}, as(t, tenant).ok(200, "GET", "/jobCount", nil), "on the wire")
	})
	t.Run("24", func(t *testing.T) {
		as(t, tenantOne).ok(201, "POST", "/jobs", object{
			"name": "searched", "description": "a JOB", "action": f.H.URL, "active": false, "startTime": "2012-01-01", "schedules": []object{},
		})
		found := c.call("searchJobs", object{"q": "job startTime:>2011-02-18 active:false", "displaySchedules": "false", "offset": 0, "page_size": 5})
		require.Equal(t, true, found["pagination_enabled"])
		list := results(t, found)
		require.Len(t, list, 1)
		require.Equal(t, "searched", list[0]["name"])
		require.Equal(t, false, list[0]["jobActive"])
		require.NotContains(t, list[0], "schedules")
		require.Len(t, results(t, c.call("searchSchedules", object{"q": "every active:true"})), 1)
		require.Equal(t, inAction+"Field not recognized", c.fail(400, "searchJobs", object{"q": "x:y"}))
	})
	t.Run("30", func(t *testing.T) {
		body := object{"jobId": id, "schedule": object{"repeatAt": "4.40pm", "data": object{"same": true}}}
		first, second := c.call("createJobSchedule", body), c.call("createJobSchedule", body)
		require.NotEqual(t, first["scheduleId"], second["scheduleId"])
		for _, s := range []object{first, second} {
			require.Equal(t, object{"success": true}, c.call("deleteJobSchedule", object{"jobId": id, "scheduleId": s["scheduleId"]}))
		}
	})
	t.Run("schedules and logs", func(t *testing.T) {
		// Its run must not start meanwhile.
		later := c.call("createJobSchedule", object{"jobId": id, "schedule": object{"time": "2099-01-01", "active": true}})["scheduleId"]
		ofLater := object{"jobId": id, "scheduleId": later}
		got := c.call("fetchJobSchedule", object{"jobId": id, "scheduleId": later, "displayLogs": true})
		require.Equal(t, later, got["scheduleId"])
		require.Contains(t, got, "logs")
		changed := c.call("updateJobSchedule", object{"jobId": id, "scheduleId": later, "schedule": object{"description": "changed"}})
		require.Equal(t, "changed", changed["description"])
		eventually(t, "the agent computes the next run", func() bool {
			return len(results(t, c.call("getRunLogs", ofLater))) == 1
		})
		run := results(t, c.call("getRunLogs", ofLater))[0]
		byID := object{"jobId": id, "scheduleId": later, "runId": run["runId"]}
		require.Equal(t, run["runId"], c.call("getRunLogsById", byID)["runId"])
		byID["data"] = object{"success": true}
		require.Equal(t, updatingRun+"Run has not been started", c.fail(400, "updateJobRunLog", byID))
		require.NotEmpty(t, results(t, c.call("getJobActionLogs", object{"jobId": id})))
		require.NotEmpty(t, results(t, c.call("getScheduleActionLogs", ofLater)))
		require.Equal(t, object{"success": true}, c.call("deleteJobSchedule", ofLater))
	})
	t.Run("16", func(t *testing.T) {
		skipUnderRace(t)
		once := as(t, tenantOne)
		path, made := once.job("client once", object{"time": "now", "active": true})
		id := scheduleOf(t, made, 0)
		ended := func(n int) func() bool {
			return func() bool {
				count := 0
				for _, run := range results(t, once.ok(200, "GET", path+"/schedules/"+id+"/runs", nil)) {
					if run["runState"] == "SUCCESS" {
						count++
					}
				}
				return count == n
			}
		}
		eventually(t, "the run ends", ended(1))
		again := c.call("updateJobSchedule", object{"jobId": made["_id"], "scheduleId": id, "schedule": object{"time": "now", "active": true}})
		require.Equal(t, id, again["scheduleId"])
		eventually(t, "the second run ends", ended(2))
	})
}

// TestCase028AnswerLost cuts the connection after the server has committed a change and before the
// answer: the client's second request gets the first answer.
func TestCase028AnswerLost(t *testing.T) {
	f := front.Shared(t)
	var cut atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") && cut.Add(1) == 1 {
			f.Rest.ServeHTTP(&brokenWriter{ResponseWriter: w}, r)
			panic(http.ErrAbortHandler) // closes the connection
		}
		f.Rest.ServeHTTP(w, r)
	}))
	server.StartTLS()
	t.Cleanup(server.Close)
	c := newSAPClient(t, server, map[string]any{"baseURL": server.URL, "token": tenantOne + jwtTail})
	job := c.call("createJob", object{"job": object{
		"name": "answer lost", "action": f.H.URL, "schedules": []object{{"time": "2099-01-01"}, {"repeatAt": "4.40pm"}},
	}})
	require.EqualValues(t, 2, cut.Load(), "the client has sent the request twice")
	list := results(t, as(t, tenantOne).ok(200, "GET", "/jobs?filter=name+eq+'answer+lost'", nil))
	require.Len(t, list, 1)
	require.Equal(t, list[0]["_id"], job["_id"])
	schedules := results(t, c.call("fetchJobSchedules", object{"jobId": job["_id"]}))
	require.Len(t, schedules, 2)
	require.Equal(t, schedules[0]["scheduleId"], scheduleOf(t, job, 0))
}

// brokenWriter is the writer of a connection that breaks when the answer is written.
type brokenWriter struct{ http.ResponseWriter }

func (*brokenWriter) WriteHeader(int) {}

func (*brokenWriter) Write([]byte) (int, error) { return 0, http.ErrHandlerTimeout }

// TestCase028ClientGone is the same without SAP's client: the client goes away while the server
// works.
func TestCase028ClientGone(t *testing.T) {
	a := as(t, tenantOne)
	path, _ := a.job("client gone")
	body := object{"repeatAt": "5.50pm", "data": object{"once": true}}
	var repeated object
	gone := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.f.Rest.ServeHTTP(&brokenWriter{ResponseWriter: w}, r)
		panic(http.ErrAbortHandler)
	}))
	gone.StartTLS()
	t.Cleanup(gone.Close)
	text, err := json.Marshal(body)
	require.NoError(t, err)
	for range 2 {
		r, err := http.NewRequestWithContext(t.Context(), "POST", gone.URL+root+path+"/schedules", strings.NewReader(string(text)))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+tenantOne)
		_, err = gone.Client().Do(r) //nolint:bodyclose // there is no answer
		require.Error(t, err)
	}
	repeated = a.ok(201, "POST", path+"/schedules", string(text))
	list := a.ok(200, "GET", path+"/schedules", nil)
	require.Equal(t, 2.0, list["total"], "the first one of the job, and one that was sent three times")
	require.Equal(t, results(t, list)[1]["scheduleId"], repeated["scheduleId"])
	again := a.ok(201, "POST", path+"/schedules", string(text))
	require.NotEqual(t, repeated["scheduleId"], again["scheduleId"], "the answer was delivered")
}

// TestTimeoutIsBeforeTheClients checks S-3: the client sends a request again after 15 s.
func TestTimeoutIsBeforeTheClients(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, Timeout, 12*time.Second)
}
