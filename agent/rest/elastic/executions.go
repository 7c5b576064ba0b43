package elastic

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
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
	return []rest.Operation{
		{
			ID: "JobExecutions_ListByAgent", Method: http.MethodGet, Path: agentPath + "/executions", Role: rest.RoleReader, Handle: s.listRuns,
			Summary: "Lists the runs of all jobs, the latest first.", Query: runParameters, Answers: map[int]reflect.Type{http.StatusOK: many},
		},
		{
			ID: "JobExecutions_ListByJob", Method: http.MethodGet, Path: executionPath, Role: rest.RoleReader, Handle: s.listRuns,
			Summary: "Lists the runs of a job, the latest first.", Query: runParameters, Answers: map[int]reflect.Type{http.StatusOK: many},
		},
		{
			ID: "JobExecutions_Get", Headers: runHeaders, Method: http.MethodGet, Path: executionPath + "/{execution}", Role: rest.RoleReader, Handle: s.getRun,
			Summary: "Gets a run.", Answers: map[int]reflect.Type{http.StatusOK: one},
		},
		{
			ID: "JobExecutions_Create", Headers: append(runHeaders[:len(runHeaders):len(runHeaders)], "Location"), RequestHeaders: []string{"Idempotency-Key"}, Method: http.MethodPost, Path: jobPath + "/start", Role: rest.RoleOperator, Handle: s.startJob,
			Summary: "Starts a job. The operation lasts until the run has ended: poll the Location. A body is optional.", Body: reflect.TypeFor[startInput](),
			Answers: map[int]reflect.Type{http.StatusOK: one, http.StatusAccepted: one},
		},
		{
			ID: "JobExecutions_OperationResult", Headers: append(runHeaders[:len(runHeaders):len(runHeaders)], "Location"), Method: http.MethodGet, Path: executionPath + "/{execution}/operationResult", Role: rest.RoleReader,
			Handle: s.runResult, Summary: "Gets a run when it has ended; until then, the status is 202.",
			Answers: map[int]reflect.Type{http.StatusOK: one, http.StatusAccepted: one},
		},
		{
			ID: "JobExecutions_CreateOrUpdate", Headers: runHeaders, Method: http.MethodPut, Path: executionPath + "/{execution}", Role: rest.RoleOperator,
			Handle: s.putRun, Summary: "Starts a run with a given id, unless there is one already. A body is optional.", Body: reflect.TypeFor[startInput](),
			Answers: map[int]reflect.Type{http.StatusOK: one, http.StatusCreated: one},
		},
		{
			ID: "JobExecutions_Cancel", Method: http.MethodPost, Path: executionPath + "/{execution}/cancel", Role: rest.RoleOperator,
			Handle: s.cancelRun, Summary: "Requests the end of a run.", Answers: map[int]reflect.Type{http.StatusOK: nil},
		},
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
func (p *place) properties(e controldb.Execution) executionProperties {
	return executionProperties{
		JobVersion: e.JobVersion, StepID: e.StepID, JobExecutionID: e.ID, Lifecycle: string(e.Lifecycle),
		ProvisioningState: provisioningState(e.Lifecycle), CreateTime: instant(e.CreateTime), StartTime: instant(e.StartTime),
		EndTime: instant(e.EndTime), CurrentAttempts: e.Attempts, CurrentAttemptStartTime: instant(e.AttemptStart),
		LastMessage: e.LastMessage,
	}
}

// runID returns the id of a run.
func (p *place) runID(e controldb.Execution) string {
	return p.id("jobs", e.JobName, "executions", e.ID.String())
}

// runView describes a run.
func (p *place) runView(e controldb.Execution) executionView {
	return executionView{
		envelope: envelope{ID: p.runID(e), Name: e.ID.String(), Type: typeExecution}, Properties: p.properties(e),
	}
}

// answerRun returns the answer with a run: an active one with the time after which to ask again, a
// failed one with the code of its error.
func (s *Surface) answerRun(at *place, status int, e controldb.Execution) *rest.Response {
	h := http.Header{}
	code := map[jobs.Lifecycle]string{
		jobs.Failed: "JobExecutionFailed", jobs.TimedOut: "JobExecutionTimedOut", jobs.Canceled: "JobExecutionCanceled",
	}[e.Lifecycle]
	if code != "" {
		h.Set("X-Ms-Error-Code", code)
	}
	if e.Active {
		h.Set("Retry-After", strconv.Itoa(int(max(s.cfg.PollAfter, time.Second).Round(time.Second)/time.Second)))
		if s.cfg.PollAfter < time.Second {
			h.Set("Retry-After-Ms", strconv.FormatInt(s.cfg.PollAfter.Milliseconds(), 10))
		}
	}
	return &rest.Response{Status: status, Header: h, Body: at.runView(e)}
}

func (s *Surface) listRuns(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := readPage[controldb.RunKey](r, s.cfg.PageSize)
	if err != nil {
		return nil, err
	}
	filter, err := readRunFilter(r)
	if err != nil {
		return nil, err
	}
	name, id := "", at.id("executions")
	if text, ok := r.Path["job"]; ok {
		job, err := at.job(ctx, text)
		if err != nil {
			return nil, err
		}
		name, id = job.Name, at.id("jobs", job.Name, "executions")
	}
	rows, err := at.store.Runs(ctx, controldb.RunQuery{RunFilter: filter, JobName: name}, p.rows())
	if err != nil {
		return nil, err
	}
	l := result(p, rows, at, r, id,
		func(run controldb.Run) controldb.RunKey { return run.Key() }, func(run controldb.Run) executionView { return at.runView(run.Row()) })
	return &rest.Response{Status: http.StatusOK, Body: l}, nil
}

// runOf returns a run of a job.
func (p *place) runOf(ctx context.Context, job string, id uuid.UUID) (controldb.Execution, error) {
	run, err := p.store.RunOf(ctx, job, id)
	return run.Row(), err
}

// run returns the run that a path names.
func (p *place) run(ctx context.Context, r *rest.Request) (controldb.Execution, error) {
	name, text := r.Path["job"], r.Path["execution"]
	if err := hidden(name); err != nil {
		return controldb.Execution{}, err
	}
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 {
		return controldb.Execution{}, notFound(typeExecution, text)
	}
	e, err := p.runOf(ctx, name, id)
	return e, orNotFound(err, dberror.ErrExecutionNotFound, typeExecution, text)
}

func (s *Surface) getRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	return s.answerRun(at, http.StatusOK, e), nil
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

func (s *Surface) startJob(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := hidden(r.Path["job"]); err != nil {
		return nil, err
	}
	req, err := at.readStart(r, repeatable(r, at.id("jobs", r.Path["job"])))
	if err != nil {
		return nil, err
	}
	response, e, err := s.start(ctx, at, req)
	if err != nil {
		return nil, err
	}
	response.Status = http.StatusOK
	location := at.runID(e)
	if s.cfg.StartStatus == http.StatusAccepted {
		response.Status = http.StatusAccepted
		location += "/operationResult"
	}
	response.Header.Set("Location", at.self(r, location))
	return response, nil
}

// runResult answers where a start with the status 202 sends clients: they poll until it is no 202.
func (s *Surface) runResult(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	response := s.answerRun(at, http.StatusOK, e)
	if e.Active {
		response.Status = http.StatusAccepted
		response.Header.Set("Location", at.self(r, at.runID(e)+"/operationResult"))
	}
	return response, nil
}

func (s *Surface) putRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
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
	response, _, err := s.start(ctx, at, req)
	return response, err
}

func (s *Surface) cancelRun(ctx context.Context, r *rest.Request) (*rest.Response, error) {
	at, err := s.place(ctx, r)
	if err != nil {
		return nil, err
	}
	e, err := at.run(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := at.store.StopJob(ctx, e.ID); err != nil {
		return nil, orNotFound(err, dberror.ErrExecutionNotFound, typeExecution, r.Path["execution"])
	}
	return &rest.Response{Status: http.StatusOK}, nil
}
