package agent_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/testenv"
)

// An error action names the failure before it: of its own target, or of any. A step that runs in
// any case gets null when nothing failed.
func TestErrorActionNamesTheFailure(t *testing.T) {
	status := http.StatusInternalServerError
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main" {
			w.WriteHeader(status)
		}
	}
	const report = `{"method": "POST", "url": "http://api.example.com:8080/report", "allow_http": true, "body": {"outcome": "$(error.outcome)",
		"message": "$(error.message)", "attempts": "$(json:error.attempts)", "target": "$(error.target)", "status": "$(json:error.http_status)"}}`
	actionBubble(t, 1, answer, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "call", "", `{"url": "http://api.example.com:8080/main", "allow_http": true}`, retries(1, 1))
		for _, name := range []string{"on error", "in any case"} {
			_, err := catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
				JobName: "call", StepName: ptr(name), CommandType: ptr("Http"), Command: new(report),
			})
			require.NoError(t, err)
		}
		f.exec(t, f.Control, `EXECUTE jobs.sp_set_jobstep_options N'call', 2, @run_when = N'Failed';
EXECUTE jobs.sp_set_jobstep_options N'call', 3, @run_when = N'Finished', @after = N'JobStep';`)
		rows := f.ended(t, f.startWith(t, "call", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 4)
		for _, r := range requests[2:] {
			var got map[string]any
			require.NoError(t, json.Unmarshal([]byte(r.Body), &got), r.Body)
			require.NotEmpty(t, got["message"])
			delete(got, "message")
			require.Equal(t, map[string]any{"outcome": "Failed", "attempts": 2.0, "target": "api.example.com:8080", "status": 500.0}, got)
		}

		status = http.StatusOK
		rows = f.ended(t, f.startWith(t, "call", ""), time.Minute)
		require.Equal(t, jobs.Succeeded, rows[0].Lifecycle)
		requests = f.endpoint.Requests()
		require.Len(t, requests, 6)
		require.JSONEq(t, `{"outcome": "", "message": "", "attempts": null, "target": "", "status": null}`, requests[5].Body)
	})
}

// Each target has its own failure, and a script fails without a status code.
func TestErrorActionOnTheTargetsThatFailed(t *testing.T) {
	actionBubble(t, 2, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: "j"})
		require.NoError(t, err)
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: "j", Command: new("DECLARE @m NVARCHAR(100) = CONCAT(N'no in ', DB_NAME()); IF DB_NAME() LIKE N'%2' THROW 50000, @m, 1;"),
			TargetGroup: new(testenv.Group), RetryAttempts: ptr(0),
		})
		require.NoError(t, err)
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: "j", StepName: ptr("report"), CommandType: ptr("Http"), TargetGroup: new(testenv.Group),
			Command: new(`{"method": "GET", "url": "http://api.example.com:8080/$(database_name)?m=$(error.message)&t=$(error.target)&s=$(error.http_status)", "allow_http": true}`),
		})
		require.NoError(t, err)
		f.exec(t, f.Control, "EXECUTE jobs.sp_set_jobstep_options N'j', 2, @run_when = N'Failed', @on_targets = N'Failed';")
		f.ended(t, f.startWith(t, "j", ""), time.Minute)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 1)
		require.Equal(t, fmt.Sprintf("/%s?m=%s&t=%s&s=", f.Targets[1], url.QueryEscape("Msg 50000, Level 16, State 1, Line 1: no in "+f.Targets[1]),
			url.QueryEscape(f.ServerName+"/"+f.Targets[1])), requests[0].Path)
	})
}

// With @on_targets = Succeeded, an action is called for each database on which the script
// succeeded, and for no other; the run has failed nevertheless.
func TestActionOnTheTargetsThatSucceeded(t *testing.T) {
	actionBubble(t, 3, func(http.ResponseWriter, *http.Request) {}, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		_, err := catalog.On(f.Store).AddJob(t.Context(), model.JobSpec{Name: "j"})
		require.NoError(t, err)
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: "j", Command: new("IF DB_NAME() LIKE N'%2' THROW 50000, N'no', 1;"), TargetGroup: new(testenv.Group), RetryAttempts: ptr(0),
		})
		require.NoError(t, err)
		_, err = catalog.On(f.Store).AddJobStep(t.Context(), model.StepSpec{
			JobName: "j", StepName: ptr("report"), CommandType: ptr("Http"), TargetGroup: new(testenv.Group),
			Command:   new(`{"method": "GET", "url": "http://api.example.com:8080/$(database_name)", "allow_http": true}`),
			OnTargets: ptr("Succeeded"),
		})
		require.NoError(t, err)
		rows := f.ended(t, f.startWith(t, "j", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		var paths []string
		for _, r := range f.endpoint.Requests() {
			paths = append(paths, r.Path)
		}
		require.ElementsMatch(t, []string{"/" + f.Targets[0], "/" + f.Targets[2]}, paths)
	})
}

// A run that a schedule started names the schedule; any other run has an empty text.
func TestActionNamesItsSchedule(t *testing.T) {
	skipUnderRace(t) // minutes of virtual time
	actionBubble(t, 0, done, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		f.addAction(t, "call", "", `{"url": "http://api.example.com:8080/$(job_name)?s=$(schedule_id)", "allow_http": true}`)
		f.ended(t, f.startWith(t, "call", ""), time.Minute)
		f.every(t, "call", 30)
		<-time.After(time.Minute)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 2)
		require.Equal(t, "/call?s=", requests[0].Path)
		require.Regexp(t, `^/call\?s=\d+$`, requests[1].Path)
	})
}
