package elastic

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// executionView is a run, a step of a run, or a step on one target.
type executionView struct {
	envelope
	Properties executionProperties `json:"properties"`
}

type executionProperties struct {
	JobVersion              int         `json:"jobVersion"`
	StepName                string      `json:"stepName,omitempty"`
	StepID                  *int        `json:"stepId,omitempty"`
	JobExecutionID          uuid.UUID   `json:"jobExecutionId"`
	Lifecycle               string      `json:"lifecycle"`
	ProvisioningState       string      `json:"provisioningState" enum:"Created InProgress Succeeded Failed Canceled"`
	CreateTime              *timestamp  `json:"createTime,omitempty"`
	StartTime               *timestamp  `json:"startTime,omitempty"`
	EndTime                 *timestamp  `json:"endTime,omitempty"`
	CurrentAttempts         int         `json:"currentAttempts"`
	CurrentAttemptStartTime *timestamp  `json:"currentAttemptStartTime,omitempty"`
	LastMessage             string      `json:"lastMessage,omitempty"`
	Target                  *targetView `json:"target,omitempty"`
}

type targetView struct {
	Type         string `json:"type" enum:"SqlDatabase Endpoint"`
	ServerName   string `json:"serverName,omitempty"`
	DatabaseName string `json:"databaseName,omitempty"`
}

const executionPath = jobPath + "/executions"

// runNamespace is the name space of ids of runs that clients may ask for twice: a random
// UUID that must never change.
var runNamespace = uuid.MustParse("3c1f6f0a-9d43-4c5c-8a0a-5e5f0a4d6b27")

// recheckTime bounds the question whether a run has been started, when the answer to the start was
// lost.
const recheckTime = 10 * time.Second

// executionOperations are A26 to A31.
func (s *Surface) executionOperations() []rest.Operation {
	one, many := reflect.TypeFor[executionView](), reflect.TypeFor[list[executionView]]()
	located := slices.Concat(runHeaders, []string{"Location"})
	start := withHeaders(s.change(http.MethodPost, "JobExecutions_Create", jobPath+"/start", rest.RoleOperator, (*place).startJob,
		"Starts a job. The operation lasts until the run has ended: poll the Location. A body is optional.", reflect.TypeFor[startInput](), one, http.StatusAccepted), located...)
	start.RequestHeaders = []string{"Idempotency-Key"}
	result := withHeaders(s.get("JobExecutions_OperationResult", executionPath+"/{execution}/operationResult", (*place).runResult,
		"Gets a run when it has ended; until then, the status is 202.", one), located...)
	result.Answers[http.StatusAccepted] = one
	return []rest.Operation{
		s.get("JobExecutions_ListByAgent", agentPath+"/executions", (*place).listRuns, "Lists the runs of all jobs, the latest first.", many, runParameters...),
		s.get("JobExecutions_ListByJob", executionPath, (*place).listRuns, "Lists the runs of a job, the latest first.", many, runParameters...),
		withHeaders(s.get("JobExecutions_Get", executionPath+"/{execution}", (*place).getRun, "Gets a run.", one), runHeaders...),
		start,
		result,
		withHeaders(s.change(http.MethodPut, "JobExecutions_CreateOrUpdate", executionPath+"/{execution}", rest.RoleOperator, (*place).putRun,
			"Starts a run with a given id, unless there is one already. A body is optional.", reflect.TypeFor[startInput](), one, http.StatusCreated), runHeaders...),
		s.change(http.MethodPost, "JobExecutions_Cancel", executionPath+"/{execution}/cancel", rest.RoleOperator, (*place).cancelRun,
			"Requests the end of a run.", nil, nil),
	}
}

// OpenAPIMembers returns the type of the member with a lifecycle, for the OpenAPI document.
func (executionProperties) OpenAPIMembers() map[string]reflect.Type {
	return map[string]reflect.Type{"lifecycle": reflect.TypeFor[lifecycles]()}
}

// runHeaders are the headers of an answer with a run; see answerRun.
var runHeaders = []string{"Retry-After", "Retry-After-Ms", "X-Ms-Error-Code"}

// provisioningState returns the state that pollers understand.
func provisioningState(l jobs.Lifecycle) string {
	switch l {
	case jobs.Created:
		return "Created"
	case jobs.Succeeded, jobs.SucceededWithSkipped, jobs.Skipped:
		return "Succeeded"
	case jobs.Failed, jobs.TimedOut:
		return "Failed"
	case jobs.Canceled:
		return "Canceled"
	}
	return "InProgress"
}

// properties describes a row of a run.
func (at *place) properties(e executions.Execution) executionProperties {
	return executionProperties{
		JobVersion: e.JobVersion, StepID: e.StepID, JobExecutionID: e.ID, Lifecycle: string(e.Lifecycle),
		ProvisioningState: provisioningState(e.Lifecycle), CreateTime: instant(e.CreateTime), StartTime: instant(e.StartTime),
		EndTime: instant(e.EndTime), CurrentAttempts: e.Attempts, CurrentAttemptStartTime: instant(e.AttemptStart),
		LastMessage: e.LastMessage,
	}
}

func (at *place) runID(e executions.Execution) string {
	return at.id("jobs", e.JobName, "executions", e.ID.String())
}

// runView describes a run.
func (at *place) runView(e executions.Execution) executionView {
	return executionView{
		envelope: envelope{ID: at.runID(e), Name: e.ID.String(), Type: typeExecution}, Properties: at.properties(e),
	}
}

// answerRun returns the answer with a run: an active one with the time after which to ask again, a
// failed one with the code of its error.
func (at *place) answerRun(status int, e executions.Execution) *rest.Response {
	h := http.Header{}
	code := map[jobs.Lifecycle]string{
		jobs.Failed: "JobExecutionFailed", jobs.TimedOut: "JobExecutionTimedOut", jobs.Canceled: "JobExecutionCanceled",
	}[e.Lifecycle]
	if code != "" {
		h.Set("X-Ms-Error-Code", code)
	}
	if e.Active {
		h.Set("Retry-After", strconv.Itoa(int(max(at.cfg.PollAfter, time.Second).Round(time.Second)/time.Second)))
		if at.cfg.PollAfter < time.Second {
			h.Set("Retry-After-Ms", strconv.FormatInt(at.cfg.PollAfter.Milliseconds(), 10))
		}
	}
	return &rest.Response{Status: status, Header: h, Body: at.runView(e)}
}

func (at *place) listRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	return answerPage(at, r, func(page controldb.Page[executions.Key]) (string, []executions.Run, error) {
		filter, err := readRunFilter(r)
		if err != nil {
			return "", nil, err
		}
		name, id := "", at.id("executions")
		if text, ok := r.Path["job"]; ok {
			job, err := at.job(ctx, text)
			if err != nil {
				return "", nil, err
			}
			name, id = job.Name, at.id("jobs", job.Name, "executions")
		}
		rows, err := executions.On(at.store).List(ctx, executions.Query{Filter: filter, JobName: name}, page)
		return id, rows, err
	}, func(run executions.Run) executions.Key { return run.Key() }, func(run executions.Run) executionView { return at.runView(run.Row()) })
}

func (at *place) runOf(ctx context.Context, job string, id uuid.UUID) (executions.Execution, error) {
	run, err := executions.On(at.store).Of(ctx, job, id)
	return run.Row(), err
}

// run returns the run that a path names.
func (at *place) run(ctx context.Context, r *rest.Request) (executions.Execution, error) {
	name, text := r.Path["job"], r.Path["execution"]
	if err := hidden(name); err != nil {
		return executions.Execution{}, err
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return executions.Execution{}, notFound(typeExecution, text)
	}
	e, err := at.runOf(ctx, name, id)
	return e, orNotFound(err, dberror.ErrExecutionNotFound, typeExecution, text)
}

func (at *place) getRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	return at.answerRun(http.StatusOK, e), nil
}

// repeatable returns the id of the run that a request starts: the same one for a request that is
// repeated with the same key, by the same caller. Without a key it is a new one.
func repeatable(r *rest.Request, path string) uuid.UUID {
	key := r.HTTP.Header.Get("Idempotency-Key")
	if key == "" {
		if r.ClientRequestID == uuid.Nil {
			return uuid.New()
		}
		key = r.ClientRequestID.String()
	}
	return uuid.NewSHA1(runNamespace, []byte(strings.ToLower(path)+"\x00"+r.Principal.ID+"\x00"+key))
}

func (at *place) startJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	if err := hidden(r.Path["job"]); err != nil {
		return nil, err
	}
	req, err := at.readStart(r, repeatable(r, at.id("jobs", r.Path["job"])))
	if err != nil {
		return nil, err
	}
	response, e, err := at.start(ctx, req)
	if err != nil {
		return nil, err
	}
	response.Status = http.StatusOK
	location := at.runID(e)
	if at.cfg.StartStatus == http.StatusAccepted {
		response.Status = http.StatusAccepted
		location += "/operationResult"
	}
	response.Header.Set("Location", at.self(r, location))
	return response, nil
}

// runResult answers the address that a start with the status 202 gives in Location. Clients poll it
// until the status is not 202.
func (at *place) runResult(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	response := at.answerRun(http.StatusOK, e)
	if e.Active {
		response.Status = http.StatusAccepted
		response.Header.Set("Location", at.self(r, at.runID(e)+"/operationResult"))
	}
	return response, nil
}

func (at *place) putRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	name, text := r.Path["job"], r.Path["execution"]
	if err := hidden(name); err != nil {
		return nil, err
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil { // a start with this id would make another one
		return nil, badRequest(codeInvalidBody, "execution", "The id of the execution in the URL is invalid: want a GUID, and not only zeros.")
	}
	req, err := at.readStart(r, id)
	if err != nil {
		return nil, err
	}
	response, _, err := at.start(ctx, req)
	return response, err
}

func (at *place) cancelRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := executions.On(at.store).Stop(ctx, e.ID); err != nil {
		return nil, orNotFound(err, dberror.ErrExecutionNotFound, typeExecution, r.Path["execution"])
	}
	return &rest.Response{Status: http.StatusOK}, nil
}
