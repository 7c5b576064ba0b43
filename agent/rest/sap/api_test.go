package sap

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/front"
)

// api sends requests with the token of a tenant.
type api struct {
	t     *testing.T
	f     *front.Front
	token string
}

// as returns the shared front with the token of a tenant.
func as(t *testing.T, token string) *api { return &api{t: t, f: front.Shared(t), token: token} }

// do sends a request below /scheduler. A job that it makes is deleted when the test ends.
func (a *api) do(method, path string, body any) front.Answer {
	a.t.Helper()
	answer := a.f.Do(a.t, method, root+path, body, "Authorization: Bearer "+a.token)
	if answer.Status == http.StatusCreated && !strings.HasSuffix(path, "/schedules") {
		forget(a.t, front.Shared(a.t).Store, answer.JSON(a.t))
	}
	return answer
}

// ok sends a request that succeeds with a status, and returns the answer.
func (a *api) ok(status int, method, path string, body any) object {
	a.t.Helper()
	answer := a.do(method, path, body)
	require.Equal(a.t, status, answer.Status, answer.Body)
	return answer.JSON(a.t)
}

// failure sends a request that fails with a status, and returns the message.
func (a *api) failure(status int, method, path string, body any) string {
	a.t.Helper()
	answer := a.do(method, path, body)
	require.Equal(a.t, status, answer.Status, answer.Body)
	var b errorBody
	answer.Into(a.t, &b)
	require.Equal(a.t, status, b.Code)
	require.Equal(a.t, errorTypes[status], b.Type)
	return b.Message
}

// job creates a job with a daily schedule far from now, and returns its path and the answer.
func (a *api) job(name string, more ...object) (path string, job object) {
	a.t.Helper()
	schedules := []object{{"repeatInterval": "1 years", "startTime": "2099-01-01T00:00:00Z", "active": true, "description": "yearly"}}
	if len(more) > 0 {
		schedules = more
	}
	job = a.ok(http.StatusCreated, "POST", "/jobs", object{
		"name": name, "description": "made by a test", "action": a.f.H.URL + "/" + strings.ReplaceAll(name, " ", ""), "active": true,
		"httpMethod": "POST", "endTime": nil, "schedules": schedules,
	})
	return fmt.Sprintf("/jobs/%v", job["_id"]), job
}

// scheduleOf returns the id of a schedule of an answer about a job.
func scheduleOf(t *testing.T, job object, i int) string {
	t.Helper()
	list, _ := job["schedules"].([]any)
	require.Greater(t, len(list), i)
	id, _ := list[i].(object)["scheduleId"].(string)
	require.Len(t, id, 36)
	return id
}

// results returns the results of a list.
func results(t *testing.T, list object) (all []object) {
	t.Helper()
	values, isList := list["results"].([]any)
	require.True(t, isList, "%v", list)
	for _, v := range values {
		all = append(all, v.(object))
	}
	return all
}

// eventually repeats a check until it holds; the agent acts within a second or two.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	const most = time.Minute // the race detector makes the embedded server about five times slower
	deadline := time.After(most)
	for !check() {
		select {
		case <-deadline:
			require.FailNow(t, "it did not happen within "+most.String()+": "+what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestCase002CreateJob(t *testing.T) {
	a := as(t, provider)
	answer := a.do("POST", "/jobs", `{"name":"validateSalesOrder","description":"cron job that validates sales order requests",
		"action":"https://salesOrderApp.hana.ondemand.com:40023/salesOrders/validate","active":true,"httpMethod":"PUT","endTime":null,
		"schedules":[{"cron":"* * * * * */10 0","description":"this schedule runs every 10 minutes","data":{"salesOrderId":"1234"},
		"active":true,"startTime":{"date":"2015-10-20 04:30 +0000","format":"YYYY-MM-DD HH:mm Z"}}]}`)
	require.Equal(t, 201, answer.Status, answer.Body)
	job := answer.JSON(t)
	require.Equal(t, fmt.Sprintf("/scheduler/jobs/%v", job["_id"]), answer.Header.Get("Location"))
	require.Equal(t, `{"salesOrderId":"1234"}`, answer.At(t, "schedules.0.data"))
	require.Equal(t, "2015-10-20 04:30:00", answer.At(t, "schedules.0.startTime"))
	require.Equal(t, "recurring", answer.At(t, "schedules.0.type"))
	schedule := job["schedules"].([]any)[0].(object)
	require.Contains(t, schedule, "endTime")
	require.Nil(t, schedule["endTime"])
	require.NotContains(t, schedule, "time", "only the used mode")
	for member, want := range (object{"active": true, "httpMethod": "PUT", "startTime": nil, "endTime": nil, "signatureVersion": 0.0}) {
		require.Contains(t, job, member)
		require.Equal(t, want, job[member], member)
	}
	require.NotContains(t, job, "user")
}

// TestShapes checks the members of every answer about jobs and schedules, by the table of want.
func TestShapes(t *testing.T) {
	a := as(t, provider)
	path, job := a.job("shapes", object{
		"cron": "* * * * 10 0 0", "active": true, "startTime": "2015-10-19T23:00:00Z", "endTime": "2099-10-19", "data": json.RawMessage(`{"b":1.0,"a":"ü"}`),
	}, object{"time": object{"date": "2098-02-06"}, "active": false})
	one, two := path+"/schedules/"+scheduleOf(t, job, 0), path+"/schedules/"+scheduleOf(t, job, 1)

	t.Run("E3 and E4", func(t *testing.T) {
		for _, query := range []string{path + "?displaySchedules=true", "/jobs?name=shapes&displaySchedules=true", "/jobs?displaySchedules=true&jobId=" + path[len("/jobs/"):]} {
			answer := a.do("GET", query, nil)
			require.Equal(t, 200, answer.Status, answer.Body)
			require.Equal(t, "2015-10-19T23:00:00.000Z", answer.At(t, "schedules.0.startTime"))
			require.Contains(t, answer.Body, `"data":{"b":1.0,"a":"ü"}`, "an object")
			require.NotContains(t, answer.At(t, "schedules.0"), "nextRunAt")
			require.NotContains(t, answer.At(t, "schedules.1"), "data", "absent where it is an object")
			require.Equal(t, object{"date": "2098-02-06"}, answer.At(t, "schedules.1.time"))
			require.Equal(t, "one-time", answer.At(t, "schedules.1.type"))
			require.Contains(t, answer.JSON(t), "user")
		}
		require.NotContains(t, a.ok(200, "GET", path, nil), "schedules")
	})
	t.Run("E2", func(t *testing.T) {
		list := results(t, a.ok(200, "GET", "/jobs?filter=name%20eq%20'shapes'", nil))
		require.Len(t, list, 1)
		require.Equal(t, list[0]["_id"], list[0]["jobId"])
		require.Equal(t, 1.0, list[0]["ACTIVECOUNT"])
		require.Equal(t, 1.0, list[0]["INACTIVECOUNT"])
		require.Equal(t, "HTTP_ENDPOINT", list[0]["jobType"])
		require.Equal(t, "provider-subdomain", list[0]["subDomain"])
		require.Regexp(t, `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`, list[0]["createdAt"])
		require.NotContains(t, list[0], "schedules")
	})
	t.Run("E9 and E10", func(t *testing.T) {
		list := results(t, a.ok(200, "GET", path+"/schedules", nil))
		require.Len(t, list, 2)
		eventually(t, "the agent computes the next run", func() bool {
			list = results(t, a.ok(200, "GET", path+"/schedules", nil))
			return list[0]["nextRunAt"] != nil
		})
		require.Regexp(t, ` 10:00:00$`, list[0]["nextRunAt"])
		for _, one := range list {
			for _, mode := range modes {
				require.Contains(t, one, mode)
			}
			require.Contains(t, one, "modifiedAt")
		}
		require.Equal(t, `{"b":1.0,"a":"ü"}`, list[0]["data"], "a text")
		require.Nil(t, list[1]["data"])
		require.Equal(t, "* * * * 10 0 0", list[0]["cron"])
		require.Nil(t, list[0]["time"])
		require.Equal(t, list[0], a.ok(200, "GET", one+"?displayLogs=false", nil))
		logs := a.ok(200, "GET", one+"?displayLogs=true", nil)["logs"].([]any)
		require.Len(t, logs, 1, "the next run")
		next := logs[0].(object)
		require.Equal(t, "SCHEDULED", next["runState"])
		require.Equal(t, "The job has been scheduled for a future run", next["statusMessage"])
		require.Equal(t, "en", next["locale"])
		var events []object
		require.NoError(t, json.Unmarshal([]byte(next["runText"].(string)), &events), "runText is a JSON text")
		runs := results(t, a.ok(200, "GET", one+"/runs", nil))
		require.Equal(t, next["runId"], runs[0]["runId"], "S-31")
		require.NotContains(t, runs[0], "statusMessage")
		require.Equal(t, runs[0], a.ok(200, "GET", one+"/runs/"+runs[0]["runId"].(string), nil))
	})
	t.Run("E8 and E11", func(t *testing.T) {
		answer := a.do("POST", path+"/schedules", object{"repeatAt": "4.40pm", "data": object{"x": 1}})
		require.Equal(t, 201, answer.Status, answer.Body)
		added := answer.JSON(t)
		require.Equal(t, "/scheduler"+path+"/schedules/"+added["scheduleId"].(string), answer.Header.Get("Location"))
		require.Equal(t, `{"x":1}`, added["data"])
		require.Equal(t, false, added["active"])
		require.Contains(t, added, "cron")
		require.NotContains(t, added, "nextRunAt")
		require.NotNil(t, added["jobId"])
		changed := a.ok(200, "PUT", two, object{"description": "new", "data": object{"y": []int{1}}})
		require.Equal(t, object{"y": []any{1.0}}, changed["data"], "an object")
		require.Equal(t, "new", changed["description"])
		require.NotContains(t, changed, "cron")
		require.NotNil(t, changed["jobId"])
		require.Equal(t, `{"y":[1]}`, a.ok(200, "GET", two, nil)["data"])
	})
	t.Run("E20 and E21", func(t *testing.T) {
		jobs := a.ok(200, "GET", "/search/jobs?q=SHAPES", nil)
		require.Equal(t, false, jobs["pagination_enabled"])
		found := results(t, jobs)[0]
		require.Equal(t, true, found["jobActive"])
		require.Contains(t, found, "jobStartTime")
		require.Equal(t, "", found["schedules"].([]any)[0].(object)["scheduleDescription"])
		require.NotContains(t, results(t, a.ok(200, "GET", "/search/jobs?q=shapes&displaySchedules=false", nil))[0], "schedules")
		schedules := results(t, a.ok(200, "GET", "/search/schedules?q=%22b%22&page_size=1", nil))
		require.Len(t, schedules, 1)
		require.Equal(t, object{"_id": job["_id"], "name": "shapes", "jobUrl": "/scheduler" + path}, schedules[0]["parent"])
		require.Equal(t, `{"b":1.0,"a":"ü"}`, schedules[0]["data"])
	})
	t.Run("E22", func(t *testing.T) {
		log := results(t, a.ok(200, "GET", "/actionLogs?jobId="+path[len("/jobs/"):], nil))
		require.Equal(t, "CREATE", log[len(log)-1]["action"])
		require.Equal(t, "client of "+provider, log[len(log)-1]["user"])
	})
}

// TestUpsert checks E6 by S-16.
func TestUpsert(t *testing.T) {
	a := as(t, provider)
	start := object{"date": "2015-10-20 04:30 +0000", "format": "YYYY-MM-DD HH:mm Z"}
	body := object{
		"name": "upsert", "action": "https://h.example/x", "startTime": start, "active": true,
		"schedules": []object{{"cron": "* * * * 10 0 0", "active": true, "data": object{"k": 1}}, {"cron": "* * * * 11 0 0", "active": true}},
	}
	first := a.ok(201, "PUT", "/jobs/upsert", body)
	require.Equal(t, start, first["startTime"], "as it was sent")
	again := a.ok(200, "PUT", "/jobs/upsert", body)
	require.Equal(t, first["_id"], again["_id"])
	require.Equal(t, scheduleOf(t, first, 0), scheduleOf(t, again, 0), "an equal schedule keeps its id")
	delete(body, "active")
	delete(body, "startTime")
	body["schedules"] = []object{{"cron": "* * * * 11 0 0", "active": false}}
	third := a.ok(200, "PUT", "/jobs/upsert", body)
	require.Equal(t, scheduleOf(t, first, 1), scheduleOf(t, third, 0))
	require.Equal(t, false, third["active"])
	require.Nil(t, third["startTime"])
	list := a.ok(200, "GET", fmt.Sprintf("/jobs/%v/schedules", first["_id"]), nil)
	require.Equal(t, 1.0, list["total"])
	require.Equal(t, false, results(t, list)[0]["active"])
}

func TestCase006Pages(t *testing.T) {
	tenant := ownTenant(t)
	a := as(t, tenant)
	for i := range 25 {
		a.job(fmt.Sprintf("page %02d", i))
	}
	list := a.ok(200, "GET", "/jobs", nil)
	require.Len(t, results(t, list), 10)
	require.Equal(t, 25.0, list["total"])
	require.Nil(t, list["prev_url"])
	require.Equal(t, "/scheduler/jobs?page_size=10&offset=10", list["next_url"])
	list = a.ok(200, "GET", "/jobs/?offset=99999", nil)
	require.Empty(t, results(t, list))
	require.Nil(t, list["next_url"])
	require.Equal(t, "/scheduler/jobs?page_size=10&offset=99989", list["prev_url"])
	list = a.ok(200, "GET", "/jobs?sort_by=name&sort_order=desc&page_size=2&jobType=HTTP_ENDPOINT", nil)
	require.Equal(t, "page 24", results(t, list)[0]["name"])
	require.Equal(t, "/scheduler/jobs?page_size=2&offset=2", list["next_url"])
	require.Equal(t, listingJobs+"Invalid Page Size", a.failure(400, "GET", "/jobs?page_size=101", nil))
	require.Equal(t, listingJobs+"tenantId is not allowed for a subscriber", a.failure(400, "GET", "/jobs?tenantId="+tenant, nil))
	search := a.ok(200, "GET", "/search/jobs?q=page&page_size=5&offset=5", nil)
	require.Equal(t, true, search["pagination_enabled"])
	require.Equal(t, "/scheduler/search/jobs?q=page&page_size=5", search["prev_url"])
	require.Equal(t, "/scheduler/search/jobs?q=page&page_size=5&offset=10", search["next_url"])
}

// TestValidation holds the cases 32 to 56 that need the server or the control database. The others
// are in TestFaultsOfJobs and TestFilter.
func TestValidation(t *testing.T) {
	a := as(t, provider)
	path, job := a.job("validation")
	body := func(more object) object {
		b := object{"name": "validation new", "action": "https://h.example/", "schedules": []object{}}
		for name, value := range more {
			b[name] = value
		}
		return b
	}
	t.Run("10 a name with slash and percent", func(t *testing.T) {
		require.Contains(t, a.failure(400, "PUT", "/jobs/my%20job%2F(x)'%25", body(object{"name": "my job/(x)'%"})), creatingJob)
	})
	t.Run("32 calmConfig", func(t *testing.T) {
		answer := a.do("POST", "/jobs", body(object{"calmConfig": object{}}))
		const text = "Error while creating job: 'calmConfig' object cannot be empty"
		require.JSONEq(t, `{"code":400,"message":"`+text+`","type":"Bad Request/Invalid Request","detailedError":"`+text+`"}`, answer.Body)
		require.Equal(t, text, a.failure(400, "PUT", path, object{"calmConfig": object{}}))
	})
	t.Run("34 the name exists", func(t *testing.T) {
		require.Equal(t, creatingJob+"Job with name 'validation' already exists", a.failure(400, "POST", "/jobs", body(object{"name": "validation"})))
		require.Equal(t, "made by a test", a.ok(200, "GET", path, nil)["description"])
		require.Equal(t, creatingJob+"Job with name 'validation' already exists", a.failure(400, "POST", "/jobs?dryRun=true", body(object{"name": "validation"})))
	})
	t.Run("36 methods", func(t *testing.T) {
		a.failure(400, "POST", "/jobs", body(object{"httpMethod": "PATCH"}))
		require.Equal(t, "POST", a.ok(201, "POST", "/jobs", body(object{"name": "validation post"}))["httpMethod"])
	})
	t.Run("38 two modes, and dryRun uses no id", func(t *testing.T) {
		two := []object{{"cron": "* * * * * */10 0", "time": "now"}}
		require.Contains(t, a.failure(400, "POST", "/jobs", body(object{"schedules": two})), "Extra scheduling parameters passed")
		dry := a.ok(200, "POST", "/jobs?dryRun=true", body(object{"schedules": []object{{"time": "now"}}}))
		require.Contains(t, dry, "_id")
		require.Nil(t, dry["_id"])
		require.Nil(t, dry["schedules"].([]any)[0].(object)["scheduleId"])
		_, last := a.job("validation last")
		_, next := a.job("validation next")
		require.Equal(t, last["_id"].(float64)+1, next["_id"])
		a.failure(404, "GET", "/jobs?name=validation%20new", nil)
	})
	t.Run("40 the interval", func(t *testing.T) {
		text := a.failure(400, "POST", path+"/schedules", object{"repeatInterval": "2 minutes"})
		require.Equal(t, creatingSchedule+"The interval between two runs must be at least 300 seconds", text)
		a.failure(400, "PUT", path+"/schedules/"+scheduleOf(t, job, 0), object{"repeatInterval": "2 minutes"})
	})
	t.Run("42 sizes", func(t *testing.T) {
		text := func(size int) string { return `{"name":"` + strings.Repeat("x", size-len(`{"name":""}`)) + `"}` }
		answer := a.do("POST", "/jobs", text(MaxBody+1))
		require.JSONEq(t, `{"code":413,"message":"Request entity too large","type":"Request Too Large","detailedError":"Request entity too large"}`, answer.Body)
		require.Equal(t, 413, a.do("PUT", path, text(MaxBody+1)).Status)
		require.Equal(t, 400, a.do("POST", "/jobs", text(MaxBody)).Status)
	})
	t.Run("44 another name", func(t *testing.T) {
		a.failure(400, "PUT", "/jobs/validation", body(object{"name": "other"}))
	})
	t.Run("46 schedules in E5", func(t *testing.T) {
		a.failure(400, "PUT", path, object{"description": "changed", "schedules": []object{}})
		a.failure(400, "PUT", path, object{"description": "changed", "name": "other"})
		require.Equal(t, "made by a test", a.ok(200, "GET", path, nil)["description"])
		require.Equal(t, object{"success": true}, a.ok(200, "PUT", path, object{"description": "changed", "name": "validation"}))
		require.Equal(t, "changed", a.ok(200, "GET", path, nil)["description"])
	})
	t.Run("50 52", func(t *testing.T) {
		require.Equal(t, inAction+"displaySchedules is not supported", a.failure(400, "GET", "/search/schedules?q=x&displaySchedules=true", nil))
		require.Equal(t, inAction+"Search query not provided", a.failure(400, "GET", "/search/jobs", nil))
		require.Equal(t, fetchingJob+"Invalid query", a.failure(400, "GET", "/jobs?name=a&page_size=10", nil))
	})
	t.Run("54 filters", func(t *testing.T) {
		require.Contains(t, a.failure(400, "GET", "/jobs?filter=(name%20eq%20'a')", nil), listingJobs+"Invalid filter at position 1")
		list := results(t, a.ok(200, "GET", "/jobs?filter=name+eq+'validation'+and+subDomain+eq+'x'+or+contains(name,'DATION+LA')", nil))
		require.Len(t, list, 1)
		require.Equal(t, "validation last", list[0]["name"])
	})
	t.Run("12 ids that do not exist", func(t *testing.T) {
		for _, path := range []string{"/jobs/999999", "/jobs?jobId=x", "/jobs?name=none", "/jobs?jobId=999999&name=validation", path + "/schedules/x"} {
			require.Equal(t, "Not Found", a.failure(404, "GET", path, nil), path)
		}
		require.Equal(t, "Not Found", a.failure(404, "PUT", "/jobs/999999", object{"description": "x"}))
	})
	t.Run("1 paths and methods", func(t *testing.T) {
		answer := a.do("PATCH", "/jobs", nil)
		require.Equal(t, 405, answer.Status)
		require.Equal(t, "GET, HEAD, POST", answer.Header.Get("Allow"))
		require.JSONEq(t, `{"code":405,"message":"Method Not Allowed","type":"Method Not Allowed","detailedError":"Method Not Allowed"}`, answer.Body)
		require.JSONEq(t, `{"code":404,"message":"Not Found","type":"Resource Not Found","detailedError":"Not Found"}`, a.do("GET", "/nothing", nil).Body)
		a.ok(200, "GET", path+"/?displaySchedules=true", nil)
		require.Equal(t, inAction+"The query parameter 'offset' is given twice.", a.failure(400, "GET", "/jobs?offset=1&offset=2", nil))
	})
	t.Run("E11", func(t *testing.T) {
		path := path + "/schedules/" + scheduleOf(t, job, 0)
		require.Equal(t, configuringSchedule+"Changing the scheduling mode is not supported", a.failure(400, "PUT", path, object{"cron": "* * * * 10 0 0"}))
		require.Equal(t, configuringSchedule+"No schedule attributes passed", a.failure(400, "PUT", path, object{"scheduleId": "x", "other": 1}))
		a.failure(400, "PUT", path, object{"repeatInterval": "1 days", "time": "now"})
		changed := a.ok(200, "PUT", path, object{"startTime": "2098-01-01"})
		require.Equal(t, "2098-01-01 00:00:00", changed["startTime"])
		require.Equal(t, "1 years", changed["repeatInterval"])
		require.Equal(t, "2098-01-01 00:00:00", a.ok(200, "GET", path, nil)["startTime"])
	})
	t.Run("E14", func(t *testing.T) {
		a.failure(400, "POST", path+"/schedules/activationStatus", object{"activationStatus": "maybe"})
		a.failure(400, "POST", path+"/schedules/activationStatus", object{})
		a.ok(200, "POST", path+"/schedules/activationStatus", object{"activationStatus": false}) // 20
		list := results(t, a.ok(200, "GET", "/jobs?filter=name+eq+'validation'", nil))
		require.Equal(t, 0.0, list[0]["ACTIVECOUNT"])
		a.ok(200, "POST", path+"/schedules/activationStatus", object{"activationStatus": true})
		list = results(t, a.ok(200, "GET", "/jobs?filter=name+eq+'validation'", nil))
		require.Equal(t, 1.0, list[0]["ACTIVECOUNT"])
	})
	t.Run("E23", func(t *testing.T) {
		preview := a.ok(200, "POST", "/schedules/preview", object{"cron": "2098 * * * 10 0 0"})
		require.Equal(t, "2098-01-01 10:00:00", preview["nextRunAt"])
		require.Len(t, preview["upcoming"], 5)
		require.Equal(t, "Invalid cron specified", a.failure(400, "POST", "/schedules/preview", object{"cron": "x"}))
	})
	t.Run("E7 E12 E13", func(t *testing.T) {
		one := path + "/schedules/" + scheduleOf(t, job, 0)
		a.ok(200, "DELETE", one, nil)
		a.failure(404, "DELETE", one, nil)
		a.ok(201, "POST", path+"/schedules", object{"time": "2099-01-01"})
		a.ok(200, "DELETE", path+"/schedules", nil)
		require.Equal(t, 0.0, a.ok(200, "GET", path+"/schedules", nil)["total"])
		a.ok(200, "DELETE", path, nil)
		a.failure(404, "DELETE", path, nil)
		a.failure(404, "GET", path, nil)
	})
}

func TestParameters(t *testing.T) {
	a := as(t, provider)
	get := func() any { return a.do("GET", "/globalParameters", nil).At(t, "config.0.CONFIG_VALUE") }
	require.Equal(t, "604800", get())
	a.ok(200, "PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "600"})
	require.Equal(t, "600", get())
	a.ok(200, "PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "604800"})
	as(t, tenantOne).failure(403, "PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "600"})
	const incorrect = inAction + "Incorrect ASYNC_EXEC_TIMEOUT value - "
	for body, want := range map[string]string{
		`{"ASYNC_EXEC_TIMEOUT":"604801"}`:               incorrect + "maximum value for ASYNC_EXEC_TIMEOUT is 604800",
		`{"ASYNC_EXEC_TIMEOUT":"99999999999999999999"}`: incorrect + "maximum value for ASYNC_EXEC_TIMEOUT is 604800",
		`{"ASYNC_EXEC_TIMEOUT":"-604800"}`:              incorrect + "value for ASYNC_EXEC_TIMEOUT must be positive (provided -604800)",
		`{"ASYNC_EXEC_TIMEOUT":"0"}`:                    incorrect + "value for ASYNC_EXEC_TIMEOUT must be positive (provided 0)",
		`{"ASYNC_EXEC_TIMEOUT":"1.5"}`:                  incorrect + "ASYNC_EXEC_TIMEOUT must be a number",
		`{"ASYNC_EXEC_TIMEOUT":true}`:                   incorrect + "ASYNC_EXEC_TIMEOUT must be a number",
		`{"OTHER":"1"}`:                                 inAction + "Unallowed Configuration",
		`{"ASYNC_EXEC_TIMEOUT":"1","OTHER":"1"}`:        inAction + "Unallowed Configuration",
		`{}`:                                            inAction + "Unallowed Configuration",
	} {
		require.Equal(t, want, a.failure(400, "PUT", "/globalParameters", body), body)
	}
	require.Equal(t, "604800", get())
}
