package sap

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/testenv/front"
)

// task is the body of a task without schedules.
func task(name, entry string, more ...object) object {
	body := object{"name": name, "jobType": "CF_TASK", "action": "process:" + entry, "active": true, "schedules": []object{}}
	for _, one := range more {
		for member, value := range one {
			body[member] = value
		}
	}
	return body
}

// startTask creates a task of the provider, and starts a run.
func startTask(t *testing.T, f *front.Front, name, entry string, data object) *started {
	t.Helper()
	skipUnderRace(t)
	a := &api{t: t, f: f, token: provider}
	answer := f.Do(t, "POST", root+"/jobs", task(name, entry, object{"schedules": []object{{"time": "now", "active": true, "data": data}}}), "Authorization: Bearer "+provider)
	require.Equal(t, 201, answer.Status, answer.Body)
	s := &started{api: a, job: answer.JSON(t)}
	forget(t, f.Store, s.job)
	s.schedule = scheduleOf(t, s.job, 0)
	s.path = strings.TrimPrefix(jobPath(int64(s.job["_id"].(float64))), root) + "/schedules/" + s.schedule
	return s
}

// logs returns the statusMessage of the latest run, and the states that it has passed with their
// texts.
func (s *started) logs() (message string, states []string) {
	s.t.Helper()
	answer := s.do("GET", s.path+"?displayLogs=true", nil)
	message, _ = answer.At(s.t, "logs.0.statusMessage").(string)
	text, _ := answer.At(s.t, "logs.0.runText").(string)
	for _, event := range (front.Answer{Body: `{"all":` + text + `}`}).JSON(s.t)["all"].([]any) {
		states = append(states, fmt.Sprintf("%s: %s", event.(object)["type"], event.(object)["text"]))
	}
	return message, states
}

func TestTaskSucceeds(t *testing.T) {
	t.Parallel()
	s := startTask(t, front.Shared(t), "task succeeds", front.ProcessCopy, object{"memory_in_mb": 512, "order": "4711"})
	require.Equal(t, "CF_TASK", s.job["jobType"])
	require.Equal(t, "process:copy", s.job["action"])
	require.Equal(t, "POST", s.job["httpMethod"])
	run := s.run("SUCCESS")
	require.Equal(t, "COMPLETED", run["runStatus"])
	require.Nil(t, run["httpStatus"])
	require.JSONEq(t, `{"memory_in_mb":512,"order":"4711"}`, run["runText"].(string), "the process has its options and all other data")
	for _, member := range []string{"executionTimestamp", "scheduleTimestamp", "completionTimestamp"} {
		require.NotNil(t, run[member], member)
	}
	message, states := s.logs()
	require.Empty(t, message)
	require.Len(t, states, 4)
	require.Equal(t, []string{
		"SCHEDULED: The job has been scheduled for a future run", "TRIGGERED: The process is about to start", "ACK_RECVD: The process has been started",
	}, states[:3])
	require.Contains(t, states[3], "SUCCESS: {")

	text := s.messages(run)
	require.Contains(t, text, "Memory is limited to 512 MiB")
	require.Contains(t, text, "exit code 0")
}

// messages returns all messages of a run.
func (s *started) messages(run object) string {
	s.t.Helper()
	list, err := executions.On(s.f.Store).Messages(s.t.Context(), uuid.MustParse(run["runId"].(string)))
	require.NoError(s.t, err)
	return fmt.Sprint(list)
}

func TestTaskFails(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	s := startTask(t, f, "task fails", front.ProcessFail, nil)
	run := s.run("ERROR")
	require.Equal(t, "COMPLETED", run["runStatus"])
	require.Equal(t, "The process ended with exit code 3. Standard error ended with: out of paper", run["runText"])
	message, states := s.logs()
	require.Equal(t, "The task has failed", message)
	require.Contains(t, states[2], "ACK_RECVD")
	require.Equal(t, 400, s.report(run["runId"], object{"success": true}).Status)

	missing := startTask(t, f, "task cannot start", front.ProcessMissing, nil)
	run = missing.run("REQUEST_ERROR")
	require.Contains(t, run["runText"], "the executable file cannot be read")
	require.Nil(t, run["executionTimestamp"], "nothing was started")
	message, states = missing.logs()
	require.Equal(t, "Error encountered while creating the task", message)
	require.Len(t, states, 2, "it was neither triggered nor acknowledged: %v", states)

	unknown := startTask(t, f, "task of no agent", "of-no-agent", nil)
	require.Contains(t, unknown.run("REQUEST_ERROR")["runText"], `Process "of-no-agent"`)
}

// While a task runs, its process decides. The end of the run by T-SQL, of the job and of the
// schedule end the process.
func TestTaskIsStopped(t *testing.T) {
	t.Parallel()
	f := front.Shared(t)
	s := startTask(t, f, "task is stopped", front.ProcessWait, nil)
	run := s.run("ACK_RECVD")
	require.Equal(t, "RUNNING", run["runStatus"])
	require.Equal(t, "The process has been started", run["runText"])
	require.NotNil(t, run["executionTimestamp"])
	require.Nil(t, run["completionTimestamp"])
	answer := s.report(run["runId"], object{"success": true})
	require.Equal(t, 400, answer.Status)
	require.Equal(t, updatingRun+"The run of a task ends with its process, not by a report", answer.JSON(t)["message"])

	require.NoError(t, executions.On(f.Store).Stop(t.Context(), uuid.MustParse(run["runId"].(string))))
	run = s.run("ERROR")
	require.Contains(t, run["runText"], "the process was ended")

	deleted := startTask(t, f, "task is deleted", front.ProcessWait, nil)
	id := uuid.MustParse(deleted.run("ACK_RECVD")["runId"].(string))
	deleted.ok(200, "DELETE", deleted.path, nil)
	eventually(t, "the run of the deleted schedule is canceled", func() bool {
		list, err := executions.On(f.Store).Rows(t.Context(), id)
		require.NoError(t, err)
		return len(list) > 0 && !list[0].Active
	})
}

// A task has as much time as the setting says when it begins (S-44, S-63).
func TestTaskTimesOut(t *testing.T) {
	t.Parallel()
	skipUnderRace(t)
	f := front.Start(t, surfaces)
	a := &api{t: t, f: f, token: provider}
	require.Equal(t, 200, a.do("PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "2"}).Status)
	s := startTask(t, f, "task times out", front.ProcessWait, nil)
	run := s.run("TIMEOUT")
	require.Equal(t, "COMPLETED", run["runStatus"])
	require.Contains(t, run["runText"], "time limit passed; the process was ended")
	message, states := s.logs()
	require.Equal(t, "The task did not end in time and was stopped", message)
	require.Len(t, states, 4)

	// Another time for the next run, of the same version of the job.
	require.Equal(t, 200, a.do("PUT", "/globalParameters", object{"ASYNC_EXEC_TIMEOUT": "3600"}).Status)
	require.Equal(t, 200, a.do("PUT", s.path, object{"time": "now", "active": true}).Status)
	run = s.run("ACK_RECVD")
	require.NoError(t, executions.On(f.Store).Stop(t.Context(), uuid.MustParse(run["runId"].(string))))
	s.run("ERROR")
}

func TestCase056Tasks(t *testing.T) {
	t.Parallel()
	a := as(t, provider)
	for i := range 5 {
		a.ok(201, "POST", "/jobs", task(fmt.Sprintf("task056 %d", i), front.ProcessCopy))
		a.ok(201, "POST", "/jobs", object{"name": fmt.Sprintf("web056 %d", i), "action": "https://h.example/", "schedules": []object{}})
	}
	names := func(list object) (all []string) {
		for _, job := range results(t, list) {
			require.Equal(t, "CF_TASK", job["jobType"])
			require.Equal(t, "process:copy", job["action"])
			all = append(all, strings.TrimPrefix(job["name"].(string), "task056 "))
		}
		return all
	}
	filter := "&filter=" + url.QueryEscape("contains(name,'056')")
	list := a.ok(200, "GET", "/jobs?jobType=CF_TASK&sort_by=name&sort_order=desc"+filter, nil)
	require.Equal(t, []string{"4", "3", "2", "1", "0"}, names(list))
	require.Equal(t, 5.0, list["total"])
	require.Nil(t, list["next_url"])
	list = a.ok(200, "GET", "/jobs?jobType=CF_TASK&sort_by=name&sort_order=desc&page_size=2"+filter, nil)
	require.Equal(t, []string{"4", "3"}, names(list))
	require.Equal(t, "/scheduler/jobs?page_size=2&offset=2", list["next_url"], "nothing but page_size and offset")
	require.Equal(t, 5.0, a.ok(200, "GET", "/jobs?jobType=HTTP_ENDPOINT"+filter, nil)["total"])
}

func TestTaskDefinitions(t *testing.T) {
	t.Parallel()
	a := as(t, provider)
	for want, body := range map[string]object{
		"Invalid action of a task":                             task("wrong task", "of-nobody"),
		"Invalid action of a task ":                            task("wrong task", "copy", object{"action": "https://h.example/"}),
		"Invalid action of a task  ":                           task("wrong task", "copy", object{"action": "Process:copy"}),
		"Invalid action URL":                                   task("wrong task", "copy", object{"jobType": "HTTP_ENDPOINT"}),
		"A task sends no request":                              task("wrong task", "copy", object{"httpMethod": "PUT"}),
		"A task sends no request: leave":                       task("wrong task", "copy", object{"user": "u"}),
		"Invalid 'schedules[0].data.memory_in_mb'":             task("wrong task", "copy", object{"schedules": []object{{"time": "now", "data": object{"memory_in_mb": "1GB"}}}}),
		`Jobs of the type "DOCKER" cannot be created by REST`:  task("wrong task", "copy", object{"jobType": "DOCKER"}),
		`Jobs of the type "cf_task" cannot be created by REST`: task("wrong task", "copy", object{"jobType": "cf_task"}),
	} {
		require.Contains(t, a.failure(400, "POST", "/jobs", body), creatingJob+strings.TrimSpace(want))
	}
	require.Contains(t, as(t, tenantOne).failure(400, "POST", "/jobs", task("task of a subscriber", "copy")), `"CF_TASK" cannot be created by REST`)
	require.Equal(t, 200, a.do("POST", "/jobs?dryRun=true", task("dry task", "copy")).Status)

	job := a.ok(201, "POST", "/jobs", task("defined task", "copy", object{"description": "before"}))
	path := fmt.Sprintf("/jobs/%v", job["_id"])
	read := a.ok(200, "GET", path, nil)
	require.Equal(t, "CF_TASK", read["jobType"])
	a.ok(200, "PUT", path, read) // what was read can be sent back
	a.ok(200, "PUT", path, object{"action": "process:fail", "description": "after", "active": false})
	read = a.ok(200, "GET", path, nil)
	require.Equal(t, "process:fail", read["action"])
	require.Equal(t, "after", read["description"])
	for want, body := range map[string]object{
		"Invalid action of a task":           {"action": "https://h.example/"},
		"Invalid action of a task ":          {"action": "process:of-nobody"},
		"The type of a job cannot":           {"jobType": "HTTP_ENDPOINT"},
		"Invalid httpMethod or user: a task": {"httpMethod": "GET"},
		"A task sends no request":            {"user": "u", "password": "p"},
	} {
		require.Contains(t, a.failure(400, "PUT", path, body), creatingJob+strings.TrimSpace(want), "%v", body)
	}
	require.Contains(t, a.failure(400, "POST", path+"/schedules", object{"time": "now", "data": object{"memory_in_mb": 0}}), "Invalid 'data.memory_in_mb'")
	schedule := a.ok(201, "POST", path+"/schedules", object{"time": "2099-01-01", "data": object{"memory_in_mb": 64}})["scheduleId"].(string)
	require.Contains(t, a.failure(400, "PUT", path+"/schedules/"+schedule, object{"data": object{"memory_in_mb": 1.5}}), "Invalid 'data.memory_in_mb'")
	a.ok(200, "PUT", path+"/schedules/"+schedule, object{"data": object{"memory_in_mb": nil}})
	require.Equal(t, "process:fail", a.ok(200, "GET", path, nil)["action"], "nothing was changed")

	// By name: the type stays.
	require.Contains(t, a.failure(400, "PUT", "/jobs/defined%20task", object{"name": "defined task", "action": "https://h.example/", "schedules": []object{}}), "The type of a job cannot be changed")
	a.ok(200, "PUT", "/jobs/defined%20task", task("defined task", "wait"))
	web, _ := a.job("defined web")
	require.Contains(t, a.failure(400, "PUT", "/jobs/defined%20web", task("defined web", "copy")), "The type of a job cannot be changed")
	require.Contains(t, a.failure(400, "PUT", web, object{"action": "process:copy"}), creatingJob+"Invalid action URL")
	require.Equal(t, 201, a.do("POST", web+"/schedules", object{"time": "2099-01-01", "data": object{"memory_in_mb": "1GB"}}).Status, "it is no task")

	// Another tenant learns nothing.
	for _, body := range []object{{"action": "process:copy"}, {"action": "https://h.example/"}, {"jobType": "CF_TASK"}, {"httpMethod": "GET"}} {
		other, never := as(t, tenantOne).do("PUT", path, body), as(t, tenantOne).do("PUT", "/jobs/999999", body)
		require.Equal(t, never.Status, other.Status, "%v", body)
		require.Equal(t, never.Body, other.Body, "%v", body)
	}
}

// Without tasks in the configuration, the API creates none, as SAP's.
func TestTasksNeedTheConfiguration(t *testing.T) {
	t.Parallel()
	_, faults := read(t, `{"name":"a","jobType":"CF_TASK","action":"process:copy","schedules":[]}`, true)
	require.Equal(t, `Jobs of the type "CF_TASK" cannot be created by REST`, faults[0].text)
	_, faults = read(t, `{"action":"process:copy"}`, false)
	require.Equal(t, "Invalid action URL", faults[0].text)
	for name, valid := range map[string]bool{"nightly": true, "a.b-c_1": true, "": false, "/bin/sh": false, "$(param.x)": false, strings.Repeat("x", 129): false} {
		err := Config{Instances: []Instance{{Name: "i", Tenant: "t", AllowAnonymousActions: true, Tasks: []string{name}}}}.Check(nil)
		require.Equal(t, valid, err == nil, "%q: %v", name, err)
	}
}
