package sap

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// TestRepeatsThroughAProxy: a reverse proxy takes each answer, whether or not the client
// gets it. So an equal request of the same caller within a minute is a repeat if a proxy has
// passed it on (S-4).
func TestRepeatsThroughAProxy(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	send := func(status int, token, method, path string, body any, headers ...string) object {
		t.Helper()
		answer := f.Do(t, method, root+path, body, append([]string{"Authorization: Bearer " + token}, headers...)...)
		require.Equal(t, status, answer.Status, answer.Body)
		return answer.JSON(t)
	}
	body := object{"name": "proxied " + uuid.NewString(), "action": "https://h.example/", "schedules": []object{{"time": "2099-01-01"}}}
	const proxy = "X-Forwarded-For: 192.0.2.7"
	job := send(201, tenantOne, "POST", "/jobs", body, proxy)
	forget(t, f.Store, job)
	require.Equal(t, job, send(201, tenantOne, "POST", "/jobs", body, "Via: 1.1 cache"))
	send(400, tenantOne, "POST", "/jobs", body, proxy, "Idempotency-Key: another")
	other := send(201, tenantTwo, "POST", "/jobs", body, proxy)
	forget(t, f.Store, other)
	require.NotEqual(t, job["_id"], other["_id"], "another caller")

	path := fmt.Sprintf("/jobs/%v", job["_id"])
	once := object{"time": "2099-02-01", "data": object{"n": 1}}
	first := send(201, tenantOne, "POST", path+"/schedules", once, proxy)
	require.Equal(t, first, send(201, tenantOne, "POST", path+"/schedules", once, proxy))
	second := send(201, tenantOne, "POST", path+"/schedules", once, proxy, "Idempotency-Key: second")
	require.NotEqual(t, first["scheduleId"], second["scheduleId"])
	for range 2 {
		send(200, tenantOne, "DELETE", path+"/schedules/"+first["scheduleId"].(string), nil, proxy)
	}
	third := send(201, tenantOne, "POST", path+"/schedules", once, proxy)
	require.NotEqual(t, first["scheduleId"], third["scheduleId"], "what a repeat names exists")

	// Of other changes, each one counts.
	for _, description := range []string{"a", "b", "a"} {
		send(200, tenantOne, "PUT", path+"/schedules/"+third["scheduleId"].(string), object{"description": description}, proxy)
	}
	require.Equal(t, "a", send(200, tenantOne, "GET", path+"/schedules/"+third["scheduleId"].(string), nil)["description"])

	for range 2 {
		send(200, tenantOne, "DELETE", path, nil, proxy)
	}
	again := send(201, tenantOne, "POST", "/jobs", body, proxy)
	forget(t, f.Store, again)
	require.NotEqual(t, job["_id"], again["_id"], "what a repeat names exists")

	body["name"] = "direct " + uuid.NewString()
	forget(t, f.Store, send(201, tenantOne, "POST", "/jobs", body))
	send(400, tenantOne, "POST", "/jobs", body)
}
