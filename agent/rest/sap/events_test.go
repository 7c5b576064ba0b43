package sap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/alerting"
	"github.com/jobagent/jobagent/controldb/sap"
	"github.com/jobagent/jobagent/testenv/front"
)

// Jobs ask by ansConfig for the events of their runs, which go to the alert channel of the instance
// (S-65).
func TestEvents(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	f := front.Start(t, func(t testing.TB, f *front.Front) []*rest.Mount {
		require.NoError(t, alerting.On(f.Store).AddChannel(t.Context(), "sap events", "Http", `{"url":"`+f.H.URL+`/events","allow_http":true}`, true))
		mounts := surfaces(t, f)
		require.NoError(t, sap.On(f.Store).SetProvider(t.Context(), provider, "provider-subdomain", "sap events"))
		return mounts
	})
	f.H.Handle("/fails", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	both, none := object{"onSuccess": true, "onError": true}, object{"onSuccess": false}
	now := []object{{"time": "now", "active": true, "description": "once"}}
	ids := map[string]any{}
	for name, body := range map[string]object{
		"works":          {"action": f.H.URL + "/works", "ansConfig": both},
		"fails":          {"action": f.H.URL + "/fails", "ansConfig": both},
		"fails silently": {"action": f.H.URL + "/fails", "ansConfig": object{"onSuccess": true}},
		"says nothing":   {"action": f.H.URL + "/works", "ansConfig": none},
		"no config":      {"action": f.H.URL + "/works"},
		"task":           task("", front.ProcessFail, object{"ansConfig": both}),
	} {
		body["name"], body["active"], body["schedules"] = name, true, now
		a := f.Do(t, "POST", root+"/jobs", body, "Authorization: Bearer "+provider)
		require.Equal(t, 201, a.Status, a.Body)
		ids[name] = a.JSON(t)["_id"]
	}
	var requests []front.Received
	eventually(t, "three events have arrived", func() bool {
		requests = f.H.Requests("/events")
		return len(requests) >= 3
	})
	eventually(t, "all runs have ended and were looked at", func() bool {
		active, err := f.DB(t, f.Control).QueryContext(t.Context(),
			"SELECT 1 FROM jobs_internal.job_executions AS e WHERE e.is_active = 1 UNION ALL SELECT 1 FROM jobs_internal.alert_runs AS q")
		require.NoError(t, err)
		defer active.Close()
		return !active.Next() && active.Err() == nil
	})
	require.Len(t, f.H.Requests("/events"), 3, "each event once, and no others")
	got := map[string]object{}
	for _, r := range requests {
		var event object
		require.NoError(t, json.Unmarshal([]byte(r.Body), &event), r.Body)
		got[event["tags"].(object)["jobName"].(string)] = event
		require.NotEmpty(t, r.Header.Get("Idempotency-Key"))
	}
	for name, want := range map[string][]any{
		"works": {"JobSchedulerJobExecution", "INFO", "NOTIFICATION", "The job 'works' has succeeded", "SUCCESS", "200"},
		"fails": {"JobSchedulerJobExecution", "ERROR", "EXCEPTION", "The job 'fails' has failed: ERROR", "ERROR", "500"},
		"task":  {"JobSchedulerTaskExecution", "ERROR", "EXCEPTION", "The job 'task' has failed: ERROR", "ERROR", nil},
	} {
		event := got[name]
		require.NotNil(t, event, "%s: %v", name, got)
		tags := event["tags"].(object)
		require.Equal(t, want, []any{event["eventType"], event["severity"], event["category"], event["subject"], tags["runState"], tags["httpStatus"]}, name)
		require.Equal(t, object{"resourceName": name, "resourceType": "job"}, event["resource"])
		require.Equal(t, []any{fmt.Sprint(ids[name]), provider, "once", "COMPLETED"}, []any{tags["jobId"], tags["tenantId"], tags["scheduleDescription"], tags["runStatus"]})
		require.NotEmpty(t, event["body"])
		require.Regexp(t, "^[0-9a-f-]{36}$", tags["runId"])
		require.Regexp(t, "^[0-9a-f-]{36}$", tags["scheduleId"])
		require.Greater(t, event["eventTimestamp"], 1.7e9)
	}
	list, err := alerting.On(f.Store).Deliveries(t.Context(), alerting.DeliveryFilter{})
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, "Event", list[0].Kind)
}
