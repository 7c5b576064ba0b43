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

// okAnswer describes an answer with status 200.
func okAnswer[T any]() map[int]reflect.Type {
	return map[int]reflect.Type{http.StatusOK: typeFor[T]()}
}

func (s *Surface) jobOperations() []rest.Operation {
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "Jobs_Create", Headers: []string{"Location"}, Method: http.MethodPost, Path: "/jobs", Role: rest.RoleAuthor, Summary: "Creates a job with its schedules.",
			Query: []rest.Parameter{queryFlag("dryRun", "Checks the job without storing it.")}, Body: typeFor[jobRequest](),
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[jobBody](), http.StatusOK: typeFor[jobBody]()},
		}, (*call).createJob),
		s.operation(rest.Operation{
			ID: "Jobs_List", Method: http.MethodGet, Path: "/jobs", Role: rest.RoleReader,
			Summary: "Lists jobs, or returns one job if jobId or name is given.",
			Query: append([]rest.Parameter{
				queryText("jobId", "Id of one job."), queryText("name", "Name of one job."),
				{Name: "jobType", Type: "string", Description: "Type of the jobs.", Words: "HTTP_ENDPOINT CF_TASK"}, queryText("tenantId", "Tenant of the jobs; for the provider."),
				queryText("filter", "Comparisons contains(name, 'x') or name eq 'x', joined by and, or."),
				{Name: "sort_by", Type: "string", Words: "name _id createdAt active"}, {Name: "sort_order", Type: "string", Words: "ASC DESC"},
				queryFlag("displaySchedules", "Returns the schedules of one job."),
			}, queryPage...), Answers: okAnswer[rest.Either[listBody[listedJobBody], jobBody]](),
		}, (*call).getJobs),
		s.operation(rest.Operation{
			ID: "Jobs_Get", Method: http.MethodGet, Path: "/jobs/{jobId}", Role: rest.RoleReader, Summary: "Returns a job.",
			Query: []rest.Parameter{queryFlag("displaySchedules", "Returns the schedules, too.")}, Answers: okAnswer[jobBody](),
		}, (*call).getJob),
		s.operation(rest.Operation{
			ID: "Jobs_Put", Headers: []string{"Location"}, Method: http.MethodPut, Path: "/jobs/{jobId}", Role: rest.RoleAuthor, Body: typeFor[jobRequest](),
			Summary: "Changes the job with an id, or creates or replaces the job with a name.",
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[jobBody](), http.StatusOK: typeFor[rest.Either[jobBody, successBody]]()},
		}, (*call).putJob),
		s.operation(rest.Operation{
			ID: "Jobs_Delete", Method: http.MethodDelete, Path: "/jobs/{jobId}", Role: rest.RoleAuthor,
			Summary: "Deletes a job with its schedules and logs.",
		}, (*call).deleteJob),
	}
}

func (s *Surface) scheduleOperations() []rest.Operation {
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "Schedules_Create", Headers: []string{"Location"}, Method: http.MethodPost, Path: "/jobs/{jobId}/schedules", Role: rest.RoleAuthor,
			Summary: "Adds a schedule to a job.", Body: typeFor[scheduleRequest](),
			Answers: map[int]reflect.Type{http.StatusCreated: typeFor[scheduleBody]()},
		}, (*call).createSchedule),
		s.operation(rest.Operation{
			ID: "Schedules_List", Method: http.MethodGet, Path: "/jobs/{jobId}/schedules", Role: rest.RoleReader,
			Summary: "Lists the schedules of a job.", Query: queryPage, Answers: okAnswer[listBody[listedScheduleBody]](),
		}, (*call).listSchedules),
		s.operation(rest.Operation{
			ID: "Schedules_DeleteAll", Method: http.MethodDelete, Path: "/jobs/{jobId}/schedules", Role: rest.RoleAuthor,
			Summary: "Deletes all schedules of a job with their logs.",
		}, (*call).deleteSchedules),
		s.operation(rest.Operation{
			ID: "Schedules_Activate", Method: http.MethodPost, Path: "/jobs/{jobId}/schedules/activationStatus", Role: rest.RoleAuthor,
			Summary: "Activates or deactivates all schedules of a job.", Body: typeFor[activationRequest](),
		}, (*call).activateSchedules),
		s.operation(rest.Operation{
			ID: "Schedules_Get", Method: http.MethodGet, Path: "/jobs/{jobId}/schedules/{scheduleId}", Role: rest.RoleReader,
			Summary: "Returns a schedule.", Query: []rest.Parameter{queryFlag("displayLogs", "Returns the latest 200 runs, too.")},
			Answers: okAnswer[listedScheduleBody](),
		}, (*call).getSchedule),
		s.operation(rest.Operation{
			ID: "Schedules_Update", Method: http.MethodPut, Path: "/jobs/{jobId}/schedules/{scheduleId}", Role: rest.RoleAuthor,
			Summary: "Changes a schedule.", Body: typeFor[scheduleRequest](), Answers: okAnswer[briefScheduleBody](),
		}, (*call).updateSchedule),
		s.operation(rest.Operation{
			ID: "Schedules_Delete", Method: http.MethodDelete, Path: "/jobs/{jobId}/schedules/{scheduleId}", Role: rest.RoleAuthor,
			Summary: "Deletes a schedule with its logs.",
		}, (*call).deleteSchedule),
		s.operation(rest.Operation{
			ID: "Schedules_Preview", Method: http.MethodPost, Path: "/schedules/preview", Role: rest.RoleAuthor,
			Summary: "Returns the next runs of a schedule that is not stored.", Body: typeFor[scheduleRequest](), Answers: okAnswer[previewBody](),
		}, (*call).previewSchedule),
	}
}

func (s *Surface) runOperations() []rest.Operation {
	const path = "/jobs/{jobId}/schedules/{scheduleId}/runs"
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "RunLogs_List", Method: http.MethodGet, Path: path, Role: rest.RoleReader, Summary: "Lists the runs of a schedule, newest first.",
			Query: append([]rest.Parameter{
				queryText("next", "Id of a run; older runs follow."), queryText("prev", "Id of a run; newer runs follow."),
			}, queryPage...), Answers: okAnswer[rest.Either[listBody[runBody], cursorBody]](),
		}, (*call).listRuns),
		s.operation(rest.Operation{
			ID: "RunLogs_Get", Method: http.MethodGet, Path: path + "/{runId}", Role: rest.RoleReader, Summary: "Returns a run.",
			Answers: okAnswer[runBody](),
		}, (*call).getRun),
		s.operation(rest.Operation{
			ID: reportOperation, Method: http.MethodPut, Path: path + "/{runId}", Role: rest.RoleOperator,
			Summary: "Reports how an asynchronous run ended.", Body: typeFor[reportRequest](),
		}, (*call).reportRun),
	}
}

func (s *Surface) otherOperations() []rest.Operation {
	search := append([]rest.Parameter{{Name: "q", Type: "string", Required: true, Description: "Words, active:true, startTime:>2026-01-31, endTime:<2026-01-31."}}, queryPage...)
	return []rest.Operation{
		s.operation(rest.Operation{
			ID: "Jobs_Count", Method: http.MethodGet, Path: "/jobCount", Role: rest.RoleReader, Summary: "Counts active and inactive jobs.",
			Answers: okAnswer[countBody](),
		}, (*call).countJobs),
		s.operation(rest.Operation{
			ID: "GlobalParameters_Get", Method: http.MethodGet, Path: "/globalParameters", Role: rest.RoleReader,
			Summary: "Returns the parameters of the instance.", Answers: okAnswer[parametersBody](),
		}, (*call).getParameters),
		s.operation(rest.Operation{
			ID: "GlobalParameters_Update", Method: http.MethodPut, Path: "/globalParameters", Role: rest.RoleAuthor,
			Summary: "Sets the parameters of the instance.", Body: typeFor[parametersRequest](),
		}, (*call).setParameters),
		s.operation(rest.Operation{
			ID: "Jobs_Search", Method: http.MethodGet, Path: "/search/jobs", Role: rest.RoleReader, Summary: "Searches jobs.",
			Query: append(search[:len(search):len(search)], queryFlag("displaySchedules", "Returns the schedules, too; default true.")), Answers: okAnswer[searchBody[foundJobBody]](),
		}, (*call).searchJobs),
		s.operation(rest.Operation{
			ID: "Schedules_Search", Method: http.MethodGet, Path: "/search/schedules", Role: rest.RoleReader, Summary: "Searches schedules.",
			Query: search, Answers: okAnswer[searchBody[foundScheduleBody]](),
		}, (*call).searchSchedules),
		s.operation(rest.Operation{
			ID: "ActionLogs_List", Method: http.MethodGet, Path: "/actionLogs", Role: rest.RoleReader,
			Summary: "Lists the changes of a job, newest first.",
			Query:   []rest.Parameter{{Name: "jobId", Type: "string", Required: true}, queryText("scheduleId", "Id of one schedule.")},
			Answers: okAnswer[actionsBody](),
		}, (*call).listActions),
	}
}
