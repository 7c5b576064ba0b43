package sap

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/testenv/front"
)

// skipUnderRace skips a test that waits for runs. Its cost is T-SQL in the embedded server, which
// is five times slower under the race detector. Tests without runs go through the same code here.
func skipUnderRace(t *testing.T) {
	t.Helper()
	if underRace {
		t.Skip("waits for runs, and the embedded server is five times slower under the race detector; tests without runs go through the same code")
	}
}

// started is a job with one run.
type started struct {
	*api
	path     string // of the schedule
	job      object
	schedule string
}

// start creates a job whose endpoint is handler, and starts a run.
func start(t *testing.T, name string, handler http.HandlerFunc, change ...func(job object)) *started {
	t.Helper()
	skipUnderRace(t)
	a := as(t, tenantOne)
	if handler != nil {
		a.f.H.Handle("/"+name, handler)
	}
	t.Cleanup(func() { a.f.H.Forget("/" + name) })
	body := object{
		"name": name, "action": a.f.H.URL + "/" + name, "active": true, "httpMethod": "POST",
		"schedules": []object{{"time": "now", "active": true, "data": object{"n": 1}}},
	}
	for _, one := range change {
		one(body)
	}
	s := &started{api: a, job: a.ok(201, "POST", "/jobs", body)}
	s.schedule = scheduleOf(t, s.job, 0)
	s.path = strings.TrimPrefix(jobPath(int64(s.job["_id"].(float64))), root) + "/schedules/" + s.schedule
	return s
}

// run returns the latest run, once it has one of some states.
func (s *started) run(states ...string) (run object) {
	s.t.Helper()
	eventually(s.t, "the run becomes "+strings.Join(states, " or "), func() bool {
		list := results(s.t, s.ok(200, "GET", s.path+"/runs", nil))
		if len(list) == 0 {
			return false
		}
		run = list[0]
		for _, state := range states {
			if run["runState"] == state {
				return true
			}
		}
		return false
	})
	return run
}

// report reports on a run, and returns the answer.
func (s *started) report(run, body any) front.Answer {
	s.t.Helper()
	return s.do("PUT", s.path+"/runs/"+run.(string), body)
}

// accept answers 202.
func accept(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }

func TestCase058Statuses(t *testing.T) {
	t.Parallel()
	s := start(t, "case058", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "done by the endpoint") })
	run := s.run("SUCCESS")
	require.Equal(t, "COMPLETED", run["runStatus"])
	require.Equal(t, 200.0, run["httpStatus"])
	require.Equal(t, "done by the endpoint", run["runText"])
	for _, member := range []string{"executionTimestamp", "scheduleTimestamp", "completionTimestamp"} {
		require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`, run[member])
	}
	moved := start(t, "case058moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/case058target", http.StatusFound)
	})
	require.Equal(t, 302.0, moved.run("SUCCESS")["httpStatus"])
	require.Empty(t, moved.f.H.Requests("/case058target"), "S-51")

	t.Run("68 a one-time schedule is done", func(t *testing.T) {
		failed := start(t, "case068", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
		require.Equal(t, 500.0, failed.run("ERROR")["httpStatus"])
		schedule := failed.ok(200, "GET", failed.path, nil)
		require.Equal(t, false, schedule["active"])
		require.Nil(t, schedule["nextRunAt"])
		require.Equal(t, true, failed.ok(200, "GET", "/jobs?name=case068", nil)["active"])
		require.Contains(t, failed.do("GET", "/actionLogs?jobId="+failed.path[len("/jobs/"):strings.Index(failed.path, "/schedules")], nil).Body, "DEACTIVATION_ON_COMPLETION")
	})
}

func TestCase060NoHost(t *testing.T) {
	t.Parallel()
	s := start(t, "case060", nil, func(job object) { job["action"] = "http://does-not-exist.invalid/x" })
	run := s.run("REQUEST_ERROR")
	require.Nil(t, run["httpStatus"])
	require.Regexp(t, `^Request Error: Code:-E[A-Z]+, Message:-`, run["runText"])
	logs := s.ok(200, "GET", s.path+"?displayLogs=true", nil)["logs"].([]any)
	require.Equal(t, "Error encountered while sending job execution request to the endpoint", logs[0].(object)["statusMessage"])
}

func TestCase062Broken(t *testing.T) {
	t.Parallel()
	s := start(t, "case062", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	require.Nil(t, s.run("REQUEST_ERROR")["httpStatus"])
	require.Len(t, s.f.H.Requests("/case062"), 1)
}

func TestCase064Query(t *testing.T) {
	t.Parallel()
	s := start(t, "case064", nil, func(job object) {
		job["httpMethod"], job["action"] = "GET", job["action"].(string)+"?k=v"
		job["schedules"] = []any{json.RawMessage(`{"time":"now","active":true,"data":{"a": 1, "b": [1, 2], "c": {"d": null}, "e": "x y"}}`)}
	})
	s.run("SUCCESS")
	requests := s.f.H.Requests("/case064")
	require.Equal(t, "/case064?k=v&a=1&b=1&b=2&c=%7B%22d%22%3Anull%7D&e=x+y", requests[0].Path)
	require.Empty(t, requests[0].Body)
}

func TestCase066Headers(t *testing.T) {
	t.Parallel()
	s := start(t, "case066", nil)
	run := s.run("SUCCESS")
	h := s.f.H.Requests("/case066")[0].Header
	require.Equal(t, s.path[len("/jobs/"):strings.Index(s.path, "/schedules")], h.Get("x-sap-job-id"))
	require.Equal(t, s.schedule, h.Get("x-sap-job-schedule-id"))
	require.Equal(t, run["runId"], h.Get("x-sap-job-run-id"))
	require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`, h.Get("x-sap-run-at"))
	require.Equal(t, "application/json", h.Get("Content-Type"))
	require.Equal(t, "application/json", h.Get("Accept"))
	require.NotEmpty(t, h.Get("Idempotency-Key"))
	require.Equal(t, `{"n":1}`, s.f.H.Requests("/case066")[0].Body)
}

// TestPassword checks S-53.
func TestPassword(t *testing.T) {
	t.Parallel()
	s := start(t, "password", nil, func(job object) { job["user"], job["password"] = "somebody", "of great secrecy" })
	s.run("SUCCESS")
	require.Equal(t, basic("somebody", "of great secrecy"), "Authorization: "+s.f.H.Requests("/password")[0].Header.Get("Authorization"))
	job := s.do("GET", "/jobs?name=password&displaySchedules=true", nil)
	require.Equal(t, "somebody", job.At(t, "user"))
	require.NotContains(t, job.Body, "secrecy")
	require.NotContains(t, s.f.Log.String(), "secrecy")
}

func TestCase074Report(t *testing.T) {
	t.Parallel()
	s := start(t, "case074", accept)
	run := s.run("ACK_RECVD")
	require.Equal(t, "RUNNING", run["runStatus"])
	require.Equal(t, 202.0, run["httpStatus"])
	t.Run("72 in T-SQL", func(t *testing.T) {
		id := uuid.MustParse(run["runId"].(string))
		list, err := executions.On(s.f.Store).Rows(t.Context(), id)
		require.NoError(t, err)
		require.Len(t, list, 3, "the run, its step and its target")
		require.Equal(t, jobs.InProgress, list[2].Lifecycle)
		require.True(t, list[2].Active)
		callbacks, err := callbacks.On(s.f.Store).OfRun(t.Context(), id)
		require.NoError(t, err)
		require.True(t, callbacks[0].Acknowledged)
		require.NotZero(t, callbacks[0].OpenedAt)
		require.NotZero(t, callbacks[0].DeadlineAt)
	})
	require.JSONEq(t, `{"success":true}`, s.report(run["runId"], object{"success": true, "message": "m"}).Body)
	ended := s.run("SUCCESS")
	require.Equal(t, "m", ended["runText"])
	require.NotNil(t, ended["completionTimestamp"])
	eventually(t, "the run is Succeeded in T-SQL", func() bool {
		list, err := executions.On(s.f.Store).List(t.Context(), executions.Query{ID: uuid.MustParse(run["runId"].(string))}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		return len(list) == 1 && list[0].Lifecycle == jobs.Succeeded
	})

	t.Run("80 another report", func(t *testing.T) {
		a := s.report(run["runId"], object{"success": false})
		require.Equal(t, updatingRun+"Run is already completed", a.JSON(t)["message"])
		require.Equal(t, 400, a.Status)
		require.Equal(t, "m", s.run("SUCCESS")["runText"])
		require.Equal(t, 200, s.report(run["runId"], object{"success": true, "message": "m"}).Status, "S-38")
	})
	t.Run("ids that do not belong together", func(t *testing.T) {
		other := start(t, "case074other", accept)
		require.Equal(t, 404, other.report(run["runId"], object{"success": true}).Status)
		require.Equal(t, 404, as(t, tenantTwo).do("PUT", s.path+"/runs/"+run["runId"].(string), object{"success": true}).Status)
	})
}

func TestCase076ReportBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	for name, success := range map[string]bool{"case076true": true, "case076false": false} {
		var s *started
		made := make(chan struct{})
		reported := make(chan front.Answer, 1)
		s = start(t, name, func(w http.ResponseWriter, r *http.Request) {
			<-made
			reported <- s.report(r.Header.Get("x-sap-job-run-id"), object{"success": success, "message": "from the handler"})
		})
		close(made)
		require.Equal(t, 200, (<-reported).Status)
		run := s.run(map[bool]string{true: "SUCCESS", false: "ERROR"}[success])
		require.Equal(t, "from the handler", run["runText"], "S-37")
	}
}

func TestCase078TwoReports(t *testing.T) {
	t.Parallel()
	s := start(t, "case078", accept)
	run := s.run("ACK_RECVD")["runId"]
	answers := make(chan front.Answer, 2)
	for _, success := range []bool{true, false} {
		go func() { answers <- s.report(run, object{"success": success, "message": "m"}) }()
	}
	first, second := <-answers, <-answers
	require.ElementsMatch(t, []int{200, 400}, []int{first.Status, second.Status})
	s.run("SUCCESS", "ERROR")
}

func TestCase084Reports(t *testing.T) {
	t.Parallel()
	s := start(t, "case084", accept)
	run := s.run("ACK_RECVD")["runId"]
	require.Equal(t, updatingRun+"'success' is a required property", s.report(run, object{"message": "m"}).JSON(t)["message"])
	require.Equal(t, updatingRun+"'success' must be of type 'boolean'", s.report(run, object{"success": "yes"}).JSON(t)["message"])
	require.Equal(t, 400, s.report(run, `{"success":`).Status)
	require.Equal(t, 200, s.report(run, `{"success": "true", "message": {"n": 1}}`).Status)
	require.Equal(t, `{"n":1}`, s.run("SUCCESS")["runText"])
}

func TestReports(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", maxMessage)
	r, faults := readReport([]byte(`{"success":1,"message":"` + long + `"}`))
	require.Empty(t, faults)
	require.True(t, r.Success)
	require.Equal(t, long, r.Message)
	r, _ = readReport([]byte(`{"success":"false","message":"` + long + `x"}`))
	require.False(t, r.Success)
	require.Equal(t, strings.Repeat("ü", maxMessage-1)+"…", r.Message, "S-29")
	r, _ = readReport([]byte(`{"success":0,"message":null}`))
	require.Empty(t, r.Message)
	r, _ = readReport([]byte(`{"success":true,"message":"a\u0000b"}`))
	require.Equal(t, "a\uFFFDb", r.Message)
}

func TestCase082Late(t *testing.T) {
	// Not parallel: it changes the time-out of the instance.
	p := as(t, provider)
	waiting := start(t, "case048", accept)
	waiting.run("ACK_RECVD")
	p.ok(200, "PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "1"})
	s := start(t, "case082", accept)
	run := s.run("UNKNOWN")
	p.ok(200, "PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "604800"})
	a := s.report(run["runId"], object{"success": true, "message": "too late"})
	require.Equal(t, 400, a.Status, a.Body)
	late := s.run("UNKNOWN")
	require.Contains(t, late["runText"], "too late", "S-40")
	require.Equal(t, "ACK_RECVD", waiting.run("ACK_RECVD")["runState"], "48: a wait that began before keeps its deadline")

	t.Run("88 delete while a run waits", func(t *testing.T) {
		run := waiting.run("ACK_RECVD")["runId"]
		waiting.ok(200, "DELETE", strings.TrimSuffix(waiting.path, "/schedules/"+waiting.schedule), nil)
		require.Equal(t, 404, waiting.report(run, object{"success": true}).Status)
	})
}

func TestCase018Pages(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	a := as(t, provider)
	from := time.Now().UTC().Add(-26 * time.Hour).Truncate(5 * time.Minute).Add(time.Minute)
	until := from.Add(230 * 5 * time.Minute)
	path, made := a.job("case018", object{"cron": "* * * * * */5 0", "active": true, "endTime": until.Format(time.RFC3339)})
	id := scheduleOf(t, made, 0)
	runs := path + "/schedules/" + id + "/runs"
	require.Equal(t, listingRuns+"Invalid Page Size", a.failure(400, "GET", runs+"?page_size=0", nil))
	a.failure(400, "GET", runs+"?next="+uuid.NewString()+"&prev="+uuid.NewString(), nil)
	a.failure(400, "GET", runs+"?next=x", nil)
	a.failure(400, "GET", runs+"?next="+uuid.NewString()+"&offset=1", nil)
	require.Equal(t, 0.0, a.ok(200, "GET", runs, nil)["total"])

	eventually(t, "the agent has read the schedule", func() bool {
		_, err := timetable.On(a.f.Store).Backfill(t.Context(), timetable.BackfillRequest{
			JobName: "case018", Name: id, From: from, To: until, Overlap: "AllowAll",
		})
		return err == nil
	})
	eventually(t, "230 runs are made", func() bool { return a.ok(200, "GET", runs, nil)["total"] == 230.0 })
	ids := func(list object) (all []string) {
		for _, run := range results(t, list) {
			all = append(all, run["runId"].(string))
		}
		return all
	}
	list := a.ok(200, "GET", runs, nil)
	all := ids(list)
	require.Len(t, all, 200)
	page := a.ok(200, "GET", runs+"?page_size=15&offset=0", nil)
	require.Equal(t, all[:15], ids(page))
	require.Equal(t, "/scheduler"+runs+"?page_size=15&offset=15", page["next_url"])
	require.Nil(t, page["prev_url"])
	require.Len(t, ids(a.ok(200, "GET", runs+"?offset=5", nil)), 10)
	page = a.ok(200, "GET", runs+"?page_size=15&next="+all[14], nil)
	require.Equal(t, all[15:30], ids(page))
	require.Equal(t, "/scheduler"+runs+"?page_size=15&next="+all[29], page["next_url"])
	require.Equal(t, "/scheduler"+runs+"?page_size=15&prev="+all[15], page["prev_url"])
	page = a.ok(200, "GET", strings.TrimPrefix(page["prev_url"].(string), "/scheduler"), nil)
	require.Equal(t, all[:15], ids(page))
	require.NotContains(t, page, "prev_url", "a missing page has no such key")
	seen := map[string]bool{}
	for next := runs + "?page_size=100&next=" + all[0]; next != ""; {
		page := a.ok(200, "GET", strings.TrimPrefix(next, "/scheduler"), nil)
		for _, one := range ids(page) {
			require.False(t, seen[one])
			seen[one] = true
		}
		next, _ = page["next_url"].(string)
	}
	require.Len(t, seen, 229)

	t.Run("70", func(t *testing.T) {
		oldest := ids(a.ok(200, "GET", runs+"?page_size=10&offset=220", nil))[9]
		a.ok(200, "GET", runs+"/"+oldest, nil)
		db := a.f.DB(t, a.f.Control)
		set := func(days int) {
			_, err := db.ExecContext(t.Context(), "EXECUTE jobs.sp_set_setting N'sap_run_log_days', @p1;", days)
			require.NoError(t, err)
		}
		set(1)
		defer set(15)
		total := a.ok(200, "GET", runs, nil)["total"].(float64)
		require.Less(t, total, 230.0)
		require.Greater(t, total, 190.0)
		a.failure(404, "GET", runs+"/"+oldest, nil)
		list, err := executions.On(a.f.Store).List(t.Context(), executions.Query{ID: uuid.MustParse(oldest)}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.Len(t, list, 1, "the history still has it")
	})
	a.ok(200, "DELETE", path, nil)
}
