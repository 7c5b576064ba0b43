package sap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/testenv/bounds"
)

var testNow = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)

// read reads the body of a job for tests.
func read(t *testing.T, body string, whole bool) (*jobDefinition, []fault) {
	t.Helper()
	v, faults := readObject([]byte(body))
	if len(faults) > 0 {
		return nil, faults
	}
	r := &definitionReader{now: testNow, minInterval: 300 * time.Second}
	d := r.job(v, whole)
	return d, r.faults
}

// texts returns the message and detailedError of a request with faults.
func texts(t *testing.T, beginning string, faults []fault) (message, detailed string) {
	t.Helper()
	var e *rest.Error
	require.True(t, errors.As(invalid(beginning, faults...), &e))
	return e.Message, e.Details[0].Message
}

func TestJobDefinition(t *testing.T) {
	t.Parallel()
	d, faults := read(t, `{"name":"validateSalesOrder","description":"cron job that validates sales order requests",
		"action":"https://salesOrderApp.hana.ondemand.com:40023/salesOrders/validate","active":"true","httpMethod":"put","startTime":null,
		"ansConfig":{"onSuccess":false},"calmConfig":{ "enabled" : true },"unknown":1,
		"schedules":[{"cron":"* * * * * */10 0","description":"d","data":{ "b" : 1.0e3, "a":"<&>\u00e9" , "c":[null,-0]},"active":1,
		"startTime":{"date":"2015-10-20 04:30 +0000","format":"YYYY-MM-DD HH:mm Z"},"endTime":"2099-W01-1","time":null}]}`, true)
	require.Empty(t, faults)
	require.Equal(t, "validateSalesOrder", d.Name)
	require.True(t, *d.Active)
	require.Equal(t, "PUT", *d.Method)
	require.Equal(t, &bound{Raw: "null"}, d.Start)
	require.Nil(t, d.End)
	require.Equal(t, `{"enabled":true}`, d.CALM)
	require.Equal(t, []string{"unknown"}, d.Ignored)
	s := d.Schedules[0]
	require.Equal(t, `{"b":1.0e3,"a":"<&>\u00e9","c":[null,-0]}`, s.Data, "S-9")
	require.Equal(t, "cron", s.Mode)
	require.Equal(t, time.Date(2015, 10, 20, 4, 30, 0, 0, time.UTC), s.Start.At)
	require.Equal(t, time.Date(2098, 12, 29, 0, 0, 0, 0, time.UTC), s.End.At)
	require.True(t, *s.Active)

	d, faults = read(t, `{"name":"a","action":"http://h/","schedules":[]}`, true)
	require.Empty(t, faults, "S-11")
	require.NotNil(t, d.Schedules)
	require.Empty(t, d.Schedules)
}

func TestFaultsOfJobs(t *testing.T) {
	t.Parallel()
	const good = `"name":"a","action":"https://h/","schedules":[]`
	for body, want := range map[string]string{
		`{` + good + `,"calmConfig":{}}`:                                                            creatingJob + "'calmConfig' object cannot be empty", // 32
		`{` + good + `,"calmConfig":{"enabled":1}}`:                                                 creatingJob + "'enabled' in 'calmConfig' must be of type 'boolean'",
		`{` + good + `,"calmConfig":{"x":true,"enabled":true}}`:                                     creatingJob + "'x' is not an allowed property for object 'calmConfig'",
		`{` + good + `,"calmConfig":[]}`:                                                            creatingJob + "'calmConfig' must be of type 'object'",
		`{` + good + `,"ansConfig":{"onError":"true"}}`:                                             creatingJob + "'onError' in 'ansConfig' must be of type 'boolean'",
		`{` + good + `,"ansConfig":{"onSucess":true}}`:                                              creatingJob + "'onSucess' is not an allowed property for object 'ansConfig'",
		`{` + good + `,"httpMethod":"PATCH"}`:                                                       creatingJob + "'httpMethod' must be one of GET, POST, PUT, DELETE", // 36
		`{` + good + `,"active":"yes"}`:                                                             creatingJob + "'active' must be of type 'boolean'",
		`{` + good + `,"active":2}`:                                                                 creatingJob + "'active' must be of type 'boolean'",
		`{` + good + `,"startTime":"soon"}`:                                                         creatingJob + "'startTime' is not a valid date",
		`{` + good + `,"startTime":"2026-01-02","endTime":"2026-01-01"}`:                            creatingJob + "'endTime' is before 'startTime'",
		`{` + good + `,"description":5}`:                                                            creatingJob + "'description' must be of type 'string'",
		`{"action":"https://h/","schedules":[]}`:                                                    creatingJob + "Job name is missing",
		`{"name":"17","action":"https://h/","schedules":[]}`:                                        creatingJob + "Invalid job name '17': it must not have digits only",
		`{"name":" a","action":"https://h/","schedules":[]}`:                                        creatingJob + "Invalid job name ' a': want 1 to 128 letters, digits, spaces and _ - . ( ), without a space at the beginning or the end",
		`{"name":"a","schedules":[]}`:                                                               creatingJob + "Job action is missing",
		`{"name":"a","action":"/x","schedules":[]}`:                                                 creatingJob + "Invalid action URL",
		`{"name":"a","action":"https://u:p@h/","schedules":[]}`:                                     creatingJob + "Invalid action URL",
		`{"name":"a","action":"ftp://h/","schedules":[]}`:                                           creatingJob + "Invalid action URL",
		`{"name":"a","action":"https://h/#f","schedules":[]}`:                                       creatingJob + "Invalid action URL",
		`{"name":"a","action":"https://h/%zz","schedules":[]}`:                                      creatingJob + "Invalid action URL",
		`{"name":"a","action":"https://h/"}`:                                                        creatingJob + "'schedules' is a required property",
		`{"name":"a","action":"https://h/","schedules":{}}`:                                         creatingJob + "'schedules' must be of type 'array'",
		`{"name":"a","action":"https://h/","schedules":[1]}`:                                        creatingJob + "'schedules[0]' must be of type 'object'",
		`{"name":"a","action":"https://h/","schedules":[{}]}`:                                       creatingJob + "No scheduling parameter passed: want one of cron, time, repeatInterval, repeatAt",
		`{"name":"a","action":"https://h/","schedules":[{"cron":"* * * * * */10 0","time":"now"}]}`: "Error while configuring job: Extra scheduling parameters passed", // 38
		`{"name":"a","action":"https://h/","schedules":[{"cron":"* * * 10:12 */30 0"}]}`:            "Invalid cron specified",
		`{"name":"a","action":"https://h/","schedules":[{"time":"soon"}]}`:                          "Invalid time specified",
		`{"name":"a","action":"https://h/","schedules":[{"repeatInterval":"2 minutes"}]}`:           creatingJob + "The interval between two runs must be at least 300 seconds", // 40
		`{"name":"a","action":"https://h/","schedules":[{"time":"now","data":"x"}]}`:                creatingJob + "'schedules[0].data' must be of type 'object'",
		`{` + good + `,"user":"a\nb"}`:                                                              creatingJob + "'user' contains a control character",
		`{` + good + `,"password":"p"}`:                                                             creatingJob + "'password' needs 'user'",
		`{"name":"a","action":"https://h/$(secret.x)","schedules":[]}`:                              creatingJob + "Invalid action URL: want no $(",
		`{` + good + `,"jobType":"CF_TASK"}`:                                                        creatingJob + "Jobs of the type \"CF_TASK\" cannot be created by REST",
		`{"name":"a","name":"b"}`:                                                                   creatingJob + "'name' is specified more than once",
		`{"schedules":[{"data":{"a":{"b":1,"b":2}}}]}`:                                              creatingJob + "'schedules[0].data.a.b' is specified more than once",
		``:           creatingJob + "Request body is missing",
		`[]`:         creatingJob + "Request body must be a JSON object",
		`{"name":`:   creatingJob + "Request body is not valid JSON: unexpected end of JSON input at byte 8",
		"{\"\xff\"}": creatingJob + "Request body is not text in UTF-8",
	} {
		_, faults := read(t, body, true)
		require.NotEmpty(t, faults, body)
		message, detailed := texts(t, creatingJob, faults)
		require.Equal(t, want, message, body)
		require.True(t, strings.HasPrefix(detailed, want), "%s: %s", body, detailed)
	}
	_, faults := read(t, `{"name":"1","httpMethod":"x","active":"x","calmConfig":{},"schedules":[{"cron":"x"},{"repeatAt":"x","endTime":"x"}]}`, true)
	message, detailed := texts(t, creatingJob, faults)
	require.Equal(t, creatingJob+"Invalid job name '1': it must not have digits only", message)
	for _, part := range []string{"Job action is missing", "'active' must", "'httpMethod' must", "'calmConfig' object", "Invalid cron specified (schedules[0]: ", "'schedules[1].endTime' is not"} {
		require.Contains(t, detailed, part, "all faults at once")
	}
	_, faults = read(t, `{"schedules":[]}`, false)
	require.Len(t, faults, 1, "S-15")
	_, faults = read(t, strings.Repeat(`{"a":`, 150)+"1"+strings.Repeat("}", 150), false)
	require.Equal(t, "Request body is nested deeper than 100 levels", faults[0].text)
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "send_reminder_for_event (t_1)", "my job", "1a", "a.b-c", "-", strings.Repeat("x", 128)} {
		require.Empty(t, nameFault(name), name)
	}
	for _, name := range []string{"", "12", " a", "a ", "a/b", "a%b", "ü", "a\nb", "a'b", strings.Repeat("x", 129)} {
		require.NotEmpty(t, nameFault(name), name)
	}
}

func TestCommandHoldsTheURLLiterally(t *testing.T) {
	t.Parallel()
	require.Equal(t, `{"method":"PUT","url":"https://h/$$(secret.x)?a=b","headers":{"Accept":"application/json"},"payload":"body","success":"sap"}`,
		Command("https://h/$(secret.x)?a=b", "PUT"))
	require.Contains(t, Command("http://h/", "GET"), `"payload":"query"`)
}

func TestIntervalLimitIsPerInstance(t *testing.T) {
	t.Parallel()
	v, _ := readObject([]byte(`{"repeatInterval":"2 minutes"}`))
	r := &definitionReader{now: testNow}
	r.schedule(v, true)
	require.Empty(t, r.faults, "40: min_interval 0")
}

func FuzzJobBody(f *testing.F) {
	f.Add([]byte(`{"name":"a","action":"https://h/","schedules":[{"cron":"* * * * * */10 0","data":{"a":[1]},"startTime":{"date":"2015","format":"YYYY"}}]}`), true)
	f.Add([]byte(`{"a":1,"a":[{"\u0061":null}]}`), false)
	f.Fuzz(func(t *testing.T, body []byte, whole bool) {
		var v *value
		var faults []fault
		r := &definitionReader{now: testNow, minInterval: 300 * time.Second}
		var d *jobDefinition
		bounds.Allocations(t, len(body), 1<<20, 4000, func() {
			if v, faults = readObject(body); len(faults) == 0 && v != nil {
				d = r.job(v, whole)
			}
		})
		if len(faults) > 0 || v == nil {
			return
		}
		require.JSONEq(t, string(body), v.Compact())
		if len(r.faults) > 0 {
			_ = invalid(creatingJob, r.faults...)
			return
		}
		if whole {
			require.Empty(t, nameFault(d.Name))
		}
		for _, s := range d.Schedules {
			require.NotEmpty(t, s.Mode)
		}
	})
}

// TestIgnoredMembers checks S-14: the action log names members that are not known.
func TestIgnoredMembers(t *testing.T) {
	a := as(t, provider)
	job := a.ok(201, "POST", "/jobs", object{
		"name": "ignored", "action": "https://h.example/", "nom": "hunter2", "schedules": []object{{"time": "2099-01-01", "zeit": 1}, {"time": "2098-01-01"}},
	})
	path := fmt.Sprintf("/jobs/%v", job["_id"])
	a.ok(200, "PUT", path, object{"description": "x", "a \"b\"": 1})
	a.ok(200, "PUT", path, object{"description": "y", "_id": 1, "createdAt": "x"})
	a.ok(200, "PUT", "/jobs/ignored", object{"name": "ignored", "action": "https://h.example/", "schedules": []object{}, "\x00": 1})
	a.ok(201, "POST", path+"/schedules", object{"time": "2099-01-01", "c": 1})
	job = a.ok(200, "GET", path+"?displaySchedules=true", nil)
	a.ok(200, "PUT", path+"/schedules/"+scheduleOf(t, job, 0), object{"description": "z", "d": 1, strings.Repeat("ü", 2*maxNote): 2})
	var texts []string
	for _, entry := range results(t, a.ok(200, "GET", "/actionLogs?jobId="+path[len("/jobs/"):], nil)) {
		texts = append(texts, fmt.Sprintf("%v %v", entry["action"], entry["text"]))
	}
	require.Len(t, texts, 6)
	require.Regexp(t, `^UPDATE Ignored members: "d", "ü+…$`, texts[0])
	require.Equal(t, maxNote, utf8.RuneCountInString(texts[0])-len("UPDATE "))
	require.Equal(t, []string{ // no values
		`CREATE Ignored members: "c"`,
		`UPDATE Ignored members: "\x00"`,
		"UPDATE ",
		`UPDATE Ignored members: "a \"b\""`,
		`CREATE Ignored members: "nom", "schedules[0].zeit"`,
	}, texts[1:])
}
