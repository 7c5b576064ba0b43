package sap

import (
	"context"
	"net/http"
	"reflect"

	"github.com/jobagent/jobagent/agent/rest"
)

// typeFor returns the type of a body.
func typeFor[T any]() reflect.Type { return reflect.TypeFor[T]() }

// These describe the bodies of requests in the OpenAPI document. The handlers read bodies by
// themselves, because SAP's API accepts several types for most members.

// dateTime is a start or an end: a text, an object {date, format}, or null.
type dateTime = rawJSON

// jobRequest is the body of E1 and E6, and without name and schedules of E5.
type jobRequest struct {
	Name        string            `json:"name"`
	Type        string            `json:"jobType,omitempty" enum:"HTTP_ENDPOINT CF_TASK"`
	Description string            `json:"description,omitempty"`
	Action      string            `json:"action"`
	Active      bool              `json:"active,omitempty"`
	Method      string            `json:"httpMethod,omitempty" enum:"GET POST PUT DELETE"`
	Start       dateTime          `json:"startTime,omitempty"`
	End         dateTime          `json:"endTime,omitempty"`
	ANS         *ansRequest       `json:"ansConfig,omitempty"`
	CALM        *calmRequest      `json:"calmConfig,omitempty"`
	User        string            `json:"user,omitempty"`
	Password    string            `json:"password,omitempty"`
	Schedules   []scheduleRequest `json:"schedules"`
}

type ansRequest struct {
	OnSuccess bool `json:"onSuccess,omitempty"`
	OnError   bool `json:"onError,omitempty"`
	OnDelay   bool `json:"onDelay,omitempty"`
}

type calmRequest struct {
	Enabled bool `json:"enabled"`
}

// scheduleRequest is the body of E8, E11 and E23. Exactly one of cron, time, repeatInterval and
// repeatAt is given.
type scheduleRequest struct {
	Data           map[string]any `json:"data,omitempty"`
	Description    string         `json:"description,omitempty"`
	Active         bool           `json:"active,omitempty"`
	Start          dateTime       `json:"startTime,omitempty"`
	End            dateTime       `json:"endTime,omitempty"`
	Cron           string         `json:"cron,omitempty"`
	Time           dateTime       `json:"time,omitempty"`
	RepeatInterval string         `json:"repeatInterval,omitempty"`
	RepeatAt       string         `json:"repeatAt,omitempty"`
}

type activationRequest struct {
	Status bool `json:"activationStatus"`
}

type parametersRequest struct {
	Timeout string `json:"ASYNC_EXEC_TIMEOUT"`
}

type reportRequest struct {
	Success bool    `json:"success"`
	Message rawJSON `json:"message,omitempty"`
}

// Query parameters.
var (
	queryPage = []rest.Parameter{
		{Name: "page_size", Type: "integer", Description: "Number of results."},
		{Name: "offset", Type: "integer", Description: "Number of results to skip."},
	}
	queryFlag = func(name, text string) rest.Parameter {
		return rest.Parameter{Name: name, Type: "boolean", Description: text}
	}
	queryText = func(name, text string) rest.Parameter {
		return rest.Parameter{Name: name, Type: "string", Description: text}
	}
)

// Operations implements rest.Surface.
func (s *Surface) Operations() []rest.Operation {
	all := append(s.jobOperations(), s.scheduleOperations()...)
	all = append(all, s.runOperations()...)
	all = append(all, s.otherOperations()...)
	return append(all, s.adminOperations()...)
}

// operation completes an operation below /scheduler.
func (s *Surface) operation(o rest.Operation, h func(*call, context.Context) (*rest.Response, error)) rest.Operation {
	o.Path = root + o.Path
	o.Handle = s.handle(o.ID, func(ctx context.Context, c *call) (*rest.Response, error) { return h(c, ctx) })
	if o.Answers == nil {
		o.Answers = map[int]reflect.Type{http.StatusOK: typeFor[successBody]()}
	}
	o.Failure, o.Headers = typeFor[errorBody](), append(o.Headers, "Throttling")
	if o.Method != http.MethodGet {
		o.RequestHeaders = []string{"Idempotency-Key"}
	}
	return o
}

// op is an operation whose successful answer has the status 200; nil: the type of its body is
// successBody.
func (s *Surface) op(
	method, id, path string, role rest.Role, h func(*call, context.Context) (*rest.Response, error), summary string, body, answer reflect.Type, query ...rest.Parameter,
) rest.Operation {
	o := rest.Operation{ID: id, Method: method, Path: path, Role: role, Summary: summary, Body: body, Query: query}
	if answer != nil {
		o.Answers = map[int]reflect.Type{http.StatusOK: answer}
	}
	return s.operation(o, h)
}

func (s *Surface) jobOperations() []rest.Operation {
	search := append([]rest.Parameter{
		queryText("jobId", "Id of one job."), queryText("name", "Name of one job."),
		{Name: "jobType", Type: "string", Description: "Type of the jobs.", Words: "HTTP_ENDPOINT CF_TASK"}, queryText("tenantId", "Tenant of the jobs; for the provider."),
		queryText("filter", "Comparisons contains(name, 'x') or name eq 'x', joined by and, or."),
		{Name: "sort_by", Type: "string", Words: "name _id createdAt active"}, {Name: "sort_order", Type: "string", Words: "ASC DESC"},
		queryFlag("displaySchedules", "Returns the schedules of one job."),
	}, queryPage...)
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "Jobs_Create", Headers: []string{"Location"}, Method: http.MethodPost, Path: "/jobs", Role: rest.RoleAuthor, Summary: "Creates a job with its schedules.",
			Query: []rest.Parameter{queryFlag("dryRun", "Checks the job without storing it.")}, Body: typeFor[jobRequest](),
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[jobBody](), http.StatusOK: typeFor[jobBody]()},
		}, (*call).createJob),
		s.op(http.MethodGet, "Jobs_List", "/jobs", rest.RoleReader, (*call).getJobs,
			"Lists jobs, or returns one job if jobId or name is given.", nil, typeFor[rest.Either[listBody[listedJobBody], jobBody]](), search...),
		s.op(http.MethodGet, "Jobs_Get", "/jobs/{jobId}", rest.RoleReader, (*call).getJob,
			"Returns a job.", nil, typeFor[jobBody](), queryFlag("displaySchedules", "Returns the schedules, too.")),
		s.operation(rest.Operation{
			ID: "Jobs_Put", Headers: []string{"Location"}, Method: http.MethodPut, Path: "/jobs/{jobId}", Role: rest.RoleAuthor, Body: typeFor[jobRequest](),
			Summary: "Changes the job with an id, or creates or replaces the job with a name.",
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[jobBody](), http.StatusOK: typeFor[rest.Either[jobBody, successBody]]()},
		}, (*call).putJob),
		s.op(http.MethodDelete, "Jobs_Delete", "/jobs/{jobId}", rest.RoleAuthor, (*call).deleteJob, "Deletes a job with its schedules and logs.", nil, nil),
	}
}

func (s *Surface) scheduleOperations() []rest.Operation {
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "Schedules_Create", Headers: []string{"Location"}, Method: http.MethodPost, Path: "/jobs/{jobId}/schedules", Role: rest.RoleAuthor,
			Summary: "Adds a schedule to a job.", Body: typeFor[scheduleRequest](),
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[scheduleBody]()},
		}, (*call).createSchedule),
		s.op(http.MethodGet, "Schedules_List", "/jobs/{jobId}/schedules", rest.RoleReader, (*call).listSchedules,
			"Lists the schedules of a job.", nil, typeFor[listBody[listedScheduleBody]](), queryPage...),
		s.op(http.MethodDelete, "Schedules_DeleteAll", "/jobs/{jobId}/schedules", rest.RoleAuthor, (*call).deleteSchedules,
			"Deletes all schedules of a job with their logs.", nil, nil),
		s.op(http.MethodPost, "Schedules_Activate", "/jobs/{jobId}/schedules/activationStatus", rest.RoleAuthor, (*call).activateSchedules,
			"Activates or deactivates all schedules of a job.", typeFor[activationRequest](), nil),
		s.op(http.MethodGet, "Schedules_Get", "/jobs/{jobId}/schedules/{scheduleId}", rest.RoleReader, (*call).getSchedule,
			"Returns a schedule.", nil, typeFor[listedScheduleBody](), queryFlag("displayLogs", "Returns the latest 200 runs, too.")),
		s.op(http.MethodPut, "Schedules_Update", "/jobs/{jobId}/schedules/{scheduleId}", rest.RoleAuthor, (*call).updateSchedule,
			"Changes a schedule.", typeFor[scheduleRequest](), typeFor[briefScheduleBody]()),
		s.op(http.MethodDelete, "Schedules_Delete", "/jobs/{jobId}/schedules/{scheduleId}", rest.RoleAuthor, (*call).deleteSchedule,
			"Deletes a schedule with its logs.", nil, nil),
		s.op(http.MethodPost, "Schedules_Preview", "/schedules/preview", rest.RoleAuthor, (*call).previewSchedule,
			"Returns the next runs of a schedule that is not stored.", typeFor[scheduleRequest](), typeFor[previewBody]()),
	}
}

func (s *Surface) runOperations() []rest.Operation {
	const path = "/jobs/{jobId}/schedules/{scheduleId}/runs"
	return []rest.Operation{
		s.op(http.MethodGet, "RunLogs_List", path, rest.RoleReader, (*call).listRuns,
			"Lists the runs of a schedule, newest first.", nil, typeFor[rest.Either[listBody[runBody], cursorBody]](),
			append([]rest.Parameter{queryText("next", "Id of a run; older runs follow."), queryText("prev", "Id of a run; newer runs follow.")}, queryPage...)...),
		s.op(http.MethodGet, "RunLogs_Get", path+"/{runId}", rest.RoleReader, (*call).getRun, "Returns a run.", nil, typeFor[runBody]()),
		s.op(http.MethodPut, reportOperation, path+"/{runId}", rest.RoleOperator, (*call).reportRun,
			"Reports how an asynchronous run ended.", typeFor[reportRequest](), nil),
	}
}

func (s *Surface) otherOperations() []rest.Operation {
	search := append([]rest.Parameter{{Name: "q", Type: "string", Required: true, Description: "Words, active:true, startTime:>2026-01-31, endTime:<2026-01-31."}}, queryPage...)
	return []rest.Operation{
		s.op(http.MethodGet, "Jobs_Count", "/jobCount", rest.RoleReader, (*call).countJobs, "Counts active and inactive jobs.", nil, typeFor[countBody]()),
		s.op(http.MethodGet, "GlobalParameters_Get", "/globalParameters", rest.RoleReader, (*call).getParameters,
			"Returns the parameters of the instance.", nil, typeFor[parametersBody]()),
		s.op(http.MethodPut, "GlobalParameters_Update", "/globalParameters", rest.RoleAuthor, (*call).setParameters,
			"Sets the parameters of the instance.", typeFor[parametersRequest](), nil),
		s.op(http.MethodGet, "Jobs_Search", "/search/jobs", rest.RoleReader, (*call).searchJobs,
			"Searches jobs.", nil, typeFor[searchBody[foundJobBody]](), append(search[:len(search):len(search)], queryFlag("displaySchedules", "Returns the schedules, too; default true."))...),
		s.op(http.MethodGet, "Schedules_Search", "/search/schedules", rest.RoleReader, (*call).searchSchedules,
			"Searches schedules.", nil, typeFor[searchBody[foundScheduleBody]](), search...),
		s.op(http.MethodGet, "ActionLogs_List", "/actionLogs", rest.RoleReader, (*call).listActions,
			"Lists the changes of a job, newest first.", nil, typeFor[actionsBody](), rest.Parameter{Name: "jobId", Type: "string", Required: true}, queryText("scheduleId", "Id of one schedule.")),
	}
}
