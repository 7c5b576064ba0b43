package scheduler_test

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/controldb/scheduler"
	"github.com/jobagent/jobagent/testenv/front"
)

const version = front.SchedulerVersion

// object is a JSON object.
type object = map[string]any

// collection creates a job collection and returns its path.
func collection(t *testing.T, f *front.Front, name string, properties object) string {
	t.Helper()
	if properties == nil {
		properties = object{"sku": object{"name": "Standard"}}
	}
	a := f.Do(t, "PUT", front.C+"/"+name+version, object{"name": name, "location": "onprem", "properties": properties})
	require.Equal(t, 201, a.Status, a.Body)
	t.Cleanup(func() {
		require.NoError(t, scheduler.On(f.Store).DeleteCollection(context.WithoutCancel(t.Context()), name, nil))
	})
	return front.C + "/" + name
}

// httpJob is a body with a weekly GET of a path of the endpoint.
func httpJob(f *front.Front, path string, change ...func(properties, request object)) object {
	q := object{"uri": f.H.URL + path, "method": "GET"}
	p := object{
		"startTime": "2015-07-13T00:00:00.000Z",
		"action": object{
			"type": "Http", "request": q,
			"retryPolicy": object{"retryType": "Fixed", "retryInterval": "00:01:00", "retryCount": 2},
		},
		"recurrence": object{"frequency": "Week", "interval": 1, "count": 10000, "endTime": "2100-01-01T00:00:00Z"},
	}
	for _, c := range change {
		c(p, q)
	}
	return object{"properties": p}
}

// put creates or replaces a job.
func put(t *testing.T, f *front.Front, path string, body object) front.Answer {
	t.Helper()
	a := f.Do(t, "PUT", path+version, body)
	require.Contains(t, []int{200, 201}, a.Status, a.Body)
	return a
}

// history returns the records of a job's history once there are n of them.
func history(t *testing.T, f *front.Front, path string, n int) []any {
	t.Helper()
	var list []any
	require.Eventually(t, func() bool {
		a := f.Do(t, "GET", path+"/history"+version, nil)
		require.Equal(t, 200, a.Status, a.Body)
		list, _ = a.At(t, "value").([]any)
		return len(list) >= n
	}, 20*time.Second, 20*time.Millisecond)
	return list
}

func TestCase074CollectionIsCreatedAndRepeated(t *testing.T) {
	f := front.Shared(t)
	body := `{"name":"c74","location":"onprem","properties":{"sku":{"name":"Standard"},"state":"Enabled",
		"quota":{"maxJobCount":2,"maxRecurrence":{"frequency":"Minute","interval":1}}}}`
	a := f.Do(t, "PUT", front.C+"/c74"+version, body)
	require.Equal(t, 201, a.Status, a.Body)
	require.JSONEq(t, `{"id":"`+front.C+`/c74","type":"Microsoft.Scheduler/jobCollections","name":"c74","location":"onprem",
		"properties":{"sku":{"name":"Standard"},"state":"Enabled",
		"quota":{"maxJobCount":2,"maxRecurrence":{"frequency":"minute","interval":1}}}}`, a.Body)
	tag := a.Header.Get("Etag")
	require.NotEmpty(t, tag)
	a = f.Do(t, "PUT", front.C+"/C74"+version, body)
	require.Equal(t, 200, a.Status, a.Body)
	require.Equal(t, "c74", a.At(t, "name"))
	require.Equal(t, tag, a.Header.Get("Etag"), "nothing has changed")
	require.Equal(t, 200, f.Do(t, "DELETE", front.C+"/c74"+version, nil).Status)
	require.Equal(t, 404, f.Do(t, "DELETE", front.C+"/c74"+version, nil).Status)
}

func TestCase076JobIsCreated(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c76", nil)
	a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "/ok"))
	require.Equal(t, 201, a.Status, a.Body)
	next := a.At(t, "properties.status.nextExecutionTime")
	require.JSONEq(t, fmt.Sprintf(`{"id":"%s/jobs/h1","type":"Microsoft.Scheduler/jobCollections/jobs","name":"c76/h1","properties":{
		"startTime":"2015-07-13T00:00:00Z","state":"enabled",
		"action":{"type":"Http","request":{"uri":"%s/ok","method":"GET"},"retryPolicy":{"retryType":"fixed","retryInterval":"00:01:00","retryCount":2}},
		"recurrence":{"frequency":"week","interval":1,"count":10000,"endTime":"2100-01-01T00:00:00Z"},
		"status":{"nextExecutionTime":"%s","executionCount":0,"failureCount":0,"faultedCount":0}}}`, jc, f.H.URL, next), a.Body)
	at, err := time.Parse(time.RFC3339, next.(string))
	require.NoError(t, err)
	require.True(t, at.After(time.Now()), next)
	require.Equal(t, time.Monday, at.Weekday())
	jobs, err := catalog.On(f.Store).Jobs(t.Context(), "c76/h1")
	require.NoError(t, err)
	require.Len(t, jobs, 1)
	a = f.Do(t, "PUT", jc+"/jobs/H1"+version, httpJob(f, "/ok"))
	require.Equal(t, 200, a.Status, a.Body)
	require.Equal(t, "c76/h1", a.At(t, "name"))
	jobs, err = catalog.On(f.Store).Jobs(t.Context(), "c76/h1")
	require.NoError(t, err)
	require.Equal(t, 1, jobs[0].Version, "a job that is put again unchanged has no new version")
}

func TestCase078PatchMergesDeeply(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c78", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	a := f.Do(t, "PATCH", jc+"/jobs/h1"+version, `{"properties":{"recurrence":{"frequency":"Day","interval":1}}}`)
	require.Equal(t, 200, a.Status, a.Body)
	require.Equal(t, "day", a.At(t, "properties.recurrence.frequency"))
	require.EqualValues(t, 10000, a.At(t, "properties.recurrence.count"))
	require.Equal(t, "2100-01-01T00:00:00Z", a.At(t, "properties.recurrence.endTime"))
	require.Equal(t, "00:01:00", a.At(t, "properties.action.retryPolicy.retryInterval"))
	require.EqualValues(t, 2, a.At(t, "properties.action.retryPolicy.retryCount"))
	a = f.Do(t, "PATCH", jc+"/jobs/h1"+version, `{"properties":{"recurrence":null,"action":{"request":{"headers":{"X-A":"1"}}}}}`)
	require.Equal(t, 200, a.Status, a.Body)
	require.Nil(t, a.At(t, "properties.recurrence"))
	require.Equal(t, "1", a.At(t, "properties.action.request.headers.X-A"))
	require.Equal(t, f.H.URL+"/ok", a.At(t, "properties.action.request.uri"))
	require.Equal(t, 404, f.Do(t, "PATCH", jc+"/jobs/nope"+version, `{"properties":{}}`).Status)
}

func TestCase080PutReplaces(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c80", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	a := f.Do(t, "PUT", jc+"/jobs/h1"+version, object{"properties": object{
		"startTime": "2015-07-13T00:00:00Z", "state": "Disabled",
		"action": object{"type": "http", "request": object{"method": "POST", "uri": f.H.URL + "/other", "body": "b"}},
	}})
	require.Equal(t, 200, a.Status, a.Body)
	require.Equal(t, object{
		"startTime": "2015-07-13T00:00:00Z", "state": "disabled",
		"action": object{"type": "Http", "request": object{"method": "POST", "uri": f.H.URL + "/other", "body": "b"}},
	}, a.At(t, "properties"))
}

func basic(username, password string) func(object, object) {
	return func(_, q object) {
		q["authentication"] = object{"type": "basic", "username": username, "password": password}
	}
}

func TestCase082SecretsAreNotReturned(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c82", nil)
	a := put(t, f, jc+"/jobs/h1", httpJob(f, "/82", basic("u", "pw-82-secret")))
	want := object{"type": "Basic", "username": "u"}
	require.Equal(t, want, a.At(t, "properties.action.request.authentication"))
	a = f.Do(t, "GET", jc+"/jobs/h1"+version, nil)
	require.Equal(t, want, a.At(t, "properties.action.request.authentication"))
	require.NotContains(t, a.Body, "pw-82-secret")
	require.Equal(t, 200, f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil).Status)
	history(t, f, jc+"/jobs/h1", 1)
	sent := f.H.Requests("/82")
	require.Len(t, sent, 1)
	user, password, _ := (&http.Request{Header: sent[0].Header}).BasicAuth()
	require.Equal(t, "u pw-82-secret", user+" "+password)
	requireAbsent(t, f, "pw-82-secret")

	// What is left out is kept while its public half is the same.
	kept := put(t, f, jc+"/jobs/h1", httpJob(f, "/82", func(_, q object) { q["authentication"] = object{"type": "Basic", "username": "u"} }))
	require.Equal(t, want, kept.At(t, "properties.action.request.authentication"))
	for _, authentication := range []object{
		{"type": "Basic", "username": "other"}, {"type": "Basic", "username": "u", "password": ""},
		{"type": "Basic", "username": "u", "password": nil}, {"type": "Basic", "password": "x"}, {"type": "Digest"},
		{"type": "ActiveDirectoryOAuth", "tenant": "t", "audience": "https://a/", "clientId": "c"},
	} {
		a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "/82", func(_, q object) { q["authentication"] = authentication }))
		require.Equal(t, 400, a.Status, "%v: %s", authentication, a.Body)
		require.Contains(t, a.At(t, "error.target"), "$.properties.action.request.authentication", a.Body)
	}
}

func TestCase084AuthenticationNullRemovesIt(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c84", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/84", basic("u", "pw-84")))
	a := f.Do(t, "PATCH", jc+"/jobs/h1"+version, `{"properties":{"action":{"request":{"authentication":null}}}}`)
	require.Equal(t, 200, a.Status, a.Body)
	require.Nil(t, a.At(t, "properties.action.request.authentication"))
	require.Equal(t, 200, f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil).Status)
	history(t, f, jc+"/jobs/h1", 1)
	require.Empty(t, f.H.Requests("/84")[0].Header.Get("Authorization"))
}

func TestCase086ResultsCannotBeSet(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c86", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	for _, patch := range []string{
		`{"properties":{"state":"Completed"}}`, `{"properties":{"status":{}}}`, `{"properties":{"state":"faulted","startTime":"2030-01-01T00:00:00Z"}}`,
		`{"id":"/other","properties":{"startTime":"2027-01-01T00:00:00Z"}}`, `{"properties":{"startTime":5}}`, `{`, `[]`,
		`{"properties":{"action":null}}`,
	} {
		a := f.Do(t, "PATCH", jc+"/jobs/h1"+version, patch)
		require.Equal(t, 400, a.Status, patch)
		require.Equal(t, "BadRequest", a.Code(t), a.Body)
	}
	for _, state := range []string{"Suspended", "Deleted", "x"} {
		a := f.Do(t, "PATCH", jc+version, object{"properties": object{"state": state}})
		require.Equal(t, 400, a.Status, a.Body)
		require.Equal(t, "BadRequest", a.Code(t), a.Body)
	}
}

func TestCase088Quotas(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c88", object{"sku": object{"name": "Standard"}, "quota": object{"maxJobCount": 2}})
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	put(t, f, jc+"/jobs/h2", httpJob(f, "/ok"))
	a := f.Do(t, "PUT", jc+"/jobs/h3"+version, httpJob(f, "/ok"))
	require.Equal(t, 409, a.Status, a.Body)
	require.Equal(t, "ConflictError", a.Code(t))
	require.Contains(t, a.At(t, "error.details.0.message"), "maxJobCount permits: the limit is 2.")
	free := collection(t, f, "c88free", object{"sku": object{"name": "Free"}})
	minutely := func(p, _ object) { p["recurrence"] = object{"frequency": "Minute", "interval": 1} }
	a = f.Do(t, "PUT", free+"/jobs/h1"+version, httpJob(f, "/ok", minutely))
	require.Equal(t, 409, a.Status, a.Body)
	require.Equal(t, "ConflictError", a.Code(t))
	require.Contains(t, a.At(t, "error.details.0.message"), "the limit is hour/1")
	quarters := func(p, _ object) {
		p["recurrence"] = object{"frequency": "Day", "schedule": object{"hours": []int{1}, "minutes": []int{0, 15}}}
	}
	a = f.Do(t, "PUT", free+"/jobs/h1"+version, httpJob(f, "/ok", quarters))
	require.Equal(t, 409, a.Status, a.Body)
	require.Contains(t, a.At(t, "error.message"), "recurs every 900 s")
	a = f.Do(t, "PUT", free+"/jobs/h1"+version, httpJob(f, "/ok", basic("u", "p")))
	require.Equal(t, 400, a.Status, a.Body)
	require.Equal(t, "BadRequest", a.Code(t))
}

func TestCase090Run(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c90", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/90"))
	a := f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil, "x-ms-client-request-id: 0f8fad5b-d9cb-469f-a165-70867728950e")
	require.Equal(t, 200, a.Status, a.Body)
	require.Empty(t, a.Body)
	f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil, "x-ms-client-request-id: 0f8fad5b-d9cb-469f-a165-70867728950e")
	list := history(t, f, jc+"/jobs/h1", 1)
	require.Len(t, list, 1)
	sent := f.H.Requests("/90")
	require.Len(t, sent, 1, "the repeated request starts nothing")
	for name, want := range map[string]string{
		"X-Ms-Scheduler-Jobid": "h1", "X-Ms-Scheduler-Jobcollectionid": "c90", "X-Ms-Region": "onprem",
	} {
		require.Equal(t, want, sent[0].Header.Get(name), name)
	}
	require.Regexp(t, `^[0-9a-f]{32}$`, sent[0].Header.Get("X-Ms-Execution-Tag"))
	first := list[0].(object)
	require.Regexp(t, `^c90/h1/[0-9]{20}:[0-9]{20}$`, first["name"])
	require.Equal(t, "Microsoft.Scheduler/jobCollections/jobs/history", first["type"])
	p := first["properties"].(object)
	require.Equal(t, "MainAction", p["actionName"])
	require.Equal(t, "Completed", p["status"])
	require.EqualValues(t, 0, p["retryCount"])
	require.EqualValues(t, 1, p["repeatCount"])
	require.Regexp(t, `^Http Action - Response from host '127\.0\.0\.1:[0-9]+': 'OK' Response Headers: (?s:.*) Body: ok$`, p["message"])
	require.Eventually(t, func() bool {
		s, _ := f.Do(t, "GET", jc+"/jobs/h1"+version, nil).At(t, "properties.status").(object)
		return s != nil && s["executionCount"] == 1.0 && s["failureCount"] == 0.0 && s["lastExecutionTime"] != nil
	}, 10*time.Second, 20*time.Millisecond)
}

func TestCase094ListIsFiltered(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c94", nil)
	for _, name := range []string{"a", "b", "c"} {
		put(t, f, jc+"/jobs/"+name, httpJob(f, "/ok", func(p, _ object) {
			if name != "b" {
				p["state"] = "Disabled"
			}
		}))
	}
	var bodies []string
	for _, filter := range []string{"state+eq+Disabled&$top=5", "state%20eq%20'disabled'"} {
		a := f.Do(t, "GET", jc+"/jobs"+version+"&$filter="+filter, nil)
		require.Equal(t, 200, a.Status, a.Body)
		require.Len(t, a.At(t, "value"), 2)
		require.Contains(t, a.Body, `"nextLink":null`)
		bodies = append(bodies, a.Body)
	}
	require.JSONEq(t, bodies[0], bodies[1])
	a := f.Do(t, "GET", jc+"/jobs"+version+"&$top=1&$skip=1", nil)
	require.Equal(t, "c94/b", a.At(t, "value.0.name"))
	require.Len(t, a.At(t, "value"), 1)
	for _, query := range []string{"$top=0", "$top=101", "$top=x", "$skip=-1", "$filter=name+eq+a", "$filter=state+eq+Odd", "$skiptoken=x"} {
		a := f.Do(t, "GET", jc+"/jobs"+version+"&"+query, nil)
		require.Equal(t, 400, a.Status, query)
		require.Equal(t, "BadRequest", a.Code(t), a.Body)
	}
}

func TestCase096DisabledCollection(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c96", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/96"))
	put(t, f, jc+"/jobs/h2", httpJob(f, "/96", func(p, _ object) { p["state"] = "Disabled" }))
	states := func() (list []any) {
		for _, name := range []string{"h1", "h2"} {
			list = append(list, f.Do(t, "GET", jc+"/jobs/"+name+version, nil).At(t, "properties.state"))
		}
		return list
	}
	require.Equal(t, 200, f.Do(t, "POST", jc+"/disable"+version, nil).Status)
	require.Equal(t, []any{"disabled", "disabled"}, states())
	require.Equal(t, "Disabled", f.Do(t, "GET", jc+version, nil).At(t, "properties.state"))
	a := f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil)
	require.Equal(t, 409, a.Status, a.Body)
	require.Equal(t, "ConflictError", a.Code(t))
	require.Equal(t, 200, f.Do(t, "POST", jc+"/enable"+version, nil).Status)
	require.Equal(t, []any{"enabled", "disabled"}, states())
	require.Empty(t, f.H.Requests("/96"))
}

func TestCase098DeletedJob(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c98", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	a := f.Do(t, "DELETE", jc+"/jobs/h1"+version, nil)
	require.Equal(t, 200, a.Status)
	require.Empty(t, a.Body)
	a = f.Do(t, "DELETE", jc+"/jobs/h1"+version, nil)
	require.Equal(t, 404, a.Status)
	require.Equal(t, "ResourceNotFound", a.Code(t))
}

func TestCase100StorageQueue(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c100", nil)
	f.H.Handle("/q/messages", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) })
	a := put(t, f, jc+"/jobs/h1", object{"properties": object{"state": "Disabled", "action": object{
		"type": "storageQueue", "queueMessage": object{"storageAccount": f.H.URL, "queueName": "q", "sasToken": "sig=tok", "message": "hi"},
	}}})
	require.Equal(t, object{"storageAccount": f.H.URL, "queueName": "q", "message": "hi"}, a.At(t, "properties.action.queueMessage"))
	require.Equal(t, "StorageQueue", a.At(t, "properties.action.type"))
	require.Equal(t, 200, f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil).Status)
	list := history(t, f, jc+"/jobs/h1", 1)
	require.Equal(t, "Completed", list[0].(object)["properties"].(object)["status"], list)
	sent := f.H.Requests("/q/messages")
	require.Len(t, sent, 1)
	require.Equal(t, "POST", sent[0].Method)
	require.Equal(t, "/q/messages?sig=tok", sent[0].Path)
	var envelope struct {
		XMLName                                                   xml.Name
		SchedulerJobId, SchedulerJobCollectionId, Message, Region string
	}
	var outer struct{ MessageText string }
	require.NoError(t, xml.Unmarshal([]byte(sent[0].Body), &outer))
	text, err := base64.StdEncoding.DecodeString(outer.MessageText)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal([]byte(strings.Replace(string(text), "utf-16", "utf-8", 1)), &envelope))
	require.Equal(t, "StorageQueueMessage h1 c100 hi onprem", strings.Join([]string{
		envelope.XMLName.Local, envelope.SchedulerJobId, envelope.SchedulerJobCollectionId, envelope.Message, envelope.Region,
	}, " "))
	requireAbsent(t, f, "sig=tok")
}

func TestCase102FaultsNameTheElement(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c102", nil)
	long := strings.Repeat("x", 8193)
	for target, change := range map[string]func(p, q object){
		"$.properties.recurrence.schedule.monthDays": func(p, _ object) {
			p["recurrence"] = object{"frequency": "Week", "schedule": object{"monthDays": []int{1}}}
		},
		"$.properties.recurrence.interval":         func(p, _ object) { p["recurrence"] = object{"frequency": "Hour", "interval": 1001} },
		"$.properties.action.request.body":         func(_, q object) { q["method"], q["body"] = "POST", long },
		"$.properties.action.request.uri":          func(_, q object) { q["uri"] = "https://h.example/" },
		"$.properties.action.request.headers.Host": func(_, q object) { q["headers"] = object{"Host": "x"} },
		"$.properties.action.request.headers": func(_, q object) {
			h := object{}
			for i := range 51 {
				h[fmt.Sprint("H", i)] = "x"
			}
			q["headers"] = h
		},
		"$.properties.startTime":        func(p, _ object) { p["startTime"] = "2050-01-01T00:00:00Z" },
		"$.properties.recurrence.bogus": func(p, _ object) { p["recurrence"] = object{"frequency": "Day", "bogus": 1} },
		"$.properties.action.retryPolicy.retryCount": func(p, _ object) {
			p["action"].(object)["retryPolicy"] = object{"retryType": "Fixed", "retryCount": 21}
		},
		"$.properties.action.retryPolicy.retryInterval": func(p, _ object) {
			p["action"].(object)["retryPolicy"] = object{"retryType": "Fixed", "retryInterval": "PT14S"}
		},
		"$.properties.action.retryPolicy.retryType": func(p, _ object) { p["action"].(object)["retryPolicy"] = object{"retryType": "Always"} },
		"$.properties.action.type":                  func(p, _ object) { p["action"].(object)["type"] = "Smtp" },
		"$.properties.action.queueMessage":          func(p, _ object) { p["action"].(object)["type"] = "StorageQueue" },
		"$.properties.action":                       func(p, _ object) { delete(p, "action") },
	} {
		a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "/ok", change))
		require.Equal(t, 400, a.Status, target)
		require.Equal(t, "BadRequest", a.Code(t), a.Body)
		require.Equal(t, target, a.At(t, "error.details.0.target"), a.Body)
	}
	// All faults at once.
	a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "/ok", func(p, q object) {
		p["recurrence"], q["uri"] = object{"frequency": "Day", "interval": 0}, "ftp://x"
	}))
	require.Len(t, a.At(t, "error.details"), 2, a.Body)
	require.Equal(t, 404, f.Do(t, "GET", jc+"/jobs/h1"+version, nil).Status)
}

func TestCase104Guard(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "c104", nil)
	a := f.Do(t, "PUT", jc+"/jobs/h1"+version, httpJob(f, "", func(_, q object) { q["uri"] = "http://169.254.169.254/latest" }))
	require.Equal(t, 400, a.Status, a.Body)
	require.Equal(t, "$.properties.action.request.uri", a.At(t, "error.details.0.target"))
	require.Contains(t, a.At(t, "error.message"), "the agent's outbound rules refuse it")
}

// TestRoles: what an operator may, and no more.
func TestRoles(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "croles", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/ok"))
	for _, test := range []struct {
		role         rest.Role
		method, path string
		body         any
		want         int
	}{
		{rest.RoleReader, "GET", jc, nil, 200},
		{rest.RoleReader, "GET", jc + "/jobs/h1/history", nil, 200},
		{rest.RoleReader, "POST", jc + "/jobs/h1/run", nil, 403},
		{rest.RoleOperator, "PATCH", jc + "/jobs/h1", `{"properties":{"state":"Disabled"}}`, 200},
		{rest.RoleOperator, "PATCH", jc + "/jobs/h1", `{"properties":{"state":"Enabled","startTime":"2026-01-01T00:00:00Z"}}`, 403},
		{rest.RoleOperator, "PATCH", jc, `{"properties":{"state":"Disabled"}}`, 200},
		{rest.RoleOperator, "POST", jc + "/enable", nil, 200},
		{rest.RoleOperator, "PUT", jc + "/jobs/h1", httpJob(f, "/ok"), 403},
		{rest.RoleAuthor, "PUT", jc + "/jobs/h1", httpJob(f, "/ok"), 200},
		{rest.RoleAuthor, "PATCH", jc, `{"tags":{"a":"b"}}`, 403},
		{rest.RoleAuthor, "DELETE", jc, nil, 403},
		{rest.RoleAdmin, "PATCH", jc, `{"tags":{"a":"b"}}`, 200},
	} {
		a := f.DoAs(t, test.role, test.method, test.path+version, test.body)
		require.Equal(t, test.want, a.Status, "%s %s %s: %s", test.role, test.method, test.path, a.Body)
	}
}

func TestPreconditions(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "cetag", nil)
	path := jc + "/jobs/h1" + version
	tag := put(t, f, jc+"/jobs/h1", httpJob(f, "/ok")).Header.Get("Etag")
	require.Equal(t, tag, f.Do(t, "GET", path, nil).Header.Get("Etag"))
	a := f.Do(t, "PUT", path, httpJob(f, "/ok"), "If-None-Match: *")
	require.Equal(t, 412, a.Status, a.Body)
	require.Equal(t, "PreconditionFailed", a.Code(t))
	a = f.Do(t, "PATCH", path, `{"properties":{"state":"Disabled"}}`, "If-Match: "+tag)
	require.Equal(t, 200, a.Status, a.Body)
	require.NotEqual(t, tag, a.Header.Get("Etag"))
	require.Equal(t, 412, f.Do(t, "PATCH", path, `{"properties":{"state":"Enabled"}}`, "If-Match: "+tag).Status)
	require.Equal(t, 412, f.Do(t, "DELETE", path, nil, "If-Match: "+tag).Status)
	require.Equal(t, 412, f.Do(t, "PATCH", jc+version, `{"tags":{"a":"b"}}`, "If-Match: "+tag).Status)
	require.Equal(t, 200, f.Do(t, "DELETE", path, nil, "If-Match: *").Status)
	require.Equal(t, 412, f.Do(t, "PUT", path, httpJob(f, "/ok"), "If-Match: *").Status)
}

func TestVersions(t *testing.T) {
	f := front.Shared(t)
	for version, want := range map[string]string{
		"": "MissingApiVersionParameter", "?api-version=2020-01-01": "InvalidApiVersionParameter",
	} {
		a := f.Do(t, "GET", front.C+version, nil)
		require.Equal(t, 400, a.Status)
		require.Equal(t, want, a.Code(t))
	}
	for _, version := range []string{"2014-08-01-preview", "2016-01-01", "2016-03-01"} {
		require.Equal(t, 200, f.Do(t, "GET", front.C+"?api-version="+version, nil).Status)
	}
	a := f.Do(t, "PUT", front.C+"/cpremium?api-version=2014-08-01-preview", `{"properties":{"sku":{"name":"Premium"}}}`)
	require.Equal(t, 201, a.Status, a.Body)
	require.Equal(t, "P10Premium", a.At(t, "properties.sku.name"))
	require.Equal(t, "onprem", a.At(t, "location"))
	require.Equal(t, 200, f.Do(t, "DELETE", front.C+"/cpremium"+version, nil).Status)
	require.Equal(t, 404, f.Do(t, "GET", "/subscriptions/"+front.Subscription+"/resourceGroups/none/providers/Microsoft.Scheduler/jobCollections"+version, nil).Status)
}

// A paused control database refuses a run with 409.
func TestRunWhilePaused(t *testing.T) {
	f := front.Shared(t)
	jc := collection(t, f, "paused", nil)
	put(t, f, jc+"/jobs/h1", httpJob(f, "/paused"))
	require.NoError(t, identity.On(f.Store).Pause(t.Context(), "maintenance"))
	defer func() {
		require.NoError(t, identity.On(f.Store).Resume(context.WithoutCancel(t.Context()), time.Time{}))
	}()
	a := f.Do(t, "POST", jc+"/jobs/h1/run"+version, nil)
	require.Equal(t, 409, a.Status, a.Body)
	require.Equal(t, "ConflictError", a.Code(t))
	require.Contains(t, a.Body, "50193")
	require.Contains(t, a.Body, "maintenance")
	require.Empty(t, f.H.Requests("/paused"))
}
