package agent_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/importer"
	"github.com/jobagent/jobagent/testenv"
)

// importJobs runs the script of an import on the control database.
func (f *actionFixture) importJobs(t *testing.T, r *importer.Result, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Zero(t, r.Count(importer.Lost), r.Findings)
	for batch := range strings.SplitSeq(r.Script(), "\nGO\n") {
		if strings.TrimSpace(batch) != "" {
			f.exec(t, f.Control, batch)
		}
	}
}

// An imported job of Azure Scheduler repeats its action by its retry policy, and then runs its
// error action once. The run stays Failed.
func TestImportedErrorActionRuns(t *testing.T) {
	testenv.Long(t)
	skipUnderRace(t) // minutes of virtual time
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/main" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	actionBubble(t, 0, answer, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		r, err := importer.AzureScheduler([]byte(`{"name": "jc/j", "properties": {"state": "Disabled", "action": {
			"type": "http", "request": {"uri": "http://h.example.com/main?x=1", "method": "PUT", "body": "text", "headers": {"X-A": "$(x)"}},
			"retryPolicy": {"retryType": "fixed", "retryInterval": "PT15S", "retryCount": 1},
			"errorAction": {"type": "http", "request": {"uri": "http://h.example.com/err", "method": "POST"}}}}}`), importer.Options{Now: time.Now()})
		f.importJobs(t, r, err)
		rows := f.ended(t, f.startWith(t, "j", ""), time.Minute)
		require.Equal(t, jobs.Failed, rows[0].Lifecycle)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 3)
		require.Equal(t, "PUT /main?x=1", requests[0].Method+" "+requests[0].Path)
		require.Equal(t, "text", requests[0].Body)
		require.Equal(t, "$(x)", requests[0].Header.Get("X-A"))
		require.Equal(t, "jc", requests[0].Header.Get("x-ms-scheduler-jobcollectionid"))
		require.Equal(t, "/main?x=1", requests[1].Path)
		require.Equal(t, 15*time.Second, requests[1].At.Sub(requests[0].At).Round(time.Second))
		require.Equal(t, "POST /err", requests[2].Method+" "+requests[2].Path)
	})
}

// An imported job of SAP sends the data of its schedule, and waits for a report after the answer
// 202.
func TestImportedSAPJobWaitsForItsReport(t *testing.T) {
	skipUnderRace(t) // minutes of virtual time
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, "accepted")
	}
	actionBubble(t, 0, answer, func(t *testing.T, f *actionFixture) {
		f.startAgent(t, agent.Config{})
		r, err := importer.SAP([]byte(`{"name": "j", "action": "http://h.example.com/run?k=v", "httpMethod": "POST", "active": true,
			"schedules": [{"repeatInterval": "2 hours", "active": true, "data": {"order": 7}}]}`), importer.Options{Now: time.Now()})
		f.importJobs(t, r, err)
		<-time.After(time.Minute)
		requests := f.endpoint.Requests()
		require.Len(t, requests, 1)
		require.JSONEq(t, `{"order": 7}`, requests[0].Body)
		require.Equal(t, "/run?k=v", requests[0].Path)
		require.Equal(t, "application/json", requests[0].Header.Get("Content-Type"))
		require.Regexp(t, `^\d+$`, requests[0].Header.Get("X-Sap-Job-Schedule-Id"))
		rows, err := executions.On(f.Store).List(t.Context(), executions.Query{JobName: "j", Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{})
		require.NoError(t, err)
		require.NotEmpty(t, rows, "the run waits for a report")
		f.exec(t, f.Control, "EXECUTE jobs.sp_complete_callback @job_execution_id = @p1, @success = 1, @message = N'all sold';", rows[0].ID.String())
		ended := f.ended(t, rows[0].ID, time.Minute)
		require.Equal(t, jobs.Succeeded, ended[0].Lifecycle)
		require.Contains(t, ended[2].LastMessage, "all sold")
	})
}
