package scheduler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/scheduler"
)

// Config is the part rest.scheduler of the configuration.
type Config struct {
	// Quotas is on or off; empty means on. off disregards the number of jobs and the frequency that
	// collections permit.
	Quotas string `json:"quotas,omitempty"`
	// QueueEncoding is base64 or none; empty means base64. none puts the texts of Storage queue
	// messages on the queue as they are, without the envelope.
	QueueEncoding string `json:"queue_encoding,omitempty"`
	// Authority is the URL that issues the tokens of ActiveDirectoryOAuth; empty means
	// https://login.microsoftonline.com.
	Authority string `json:"authority,omitempty"`
}

// Check returns all faults of the configuration.
func (c Config) Check() error {
	var errs []error
	if c.Quotas != "" && c.Quotas != "on" && c.Quotas != "off" {
		errs = append(errs, fmt.Errorf("invalid quotas %q: want on or off", c.Quotas))
	}
	if c.QueueEncoding != "" && c.QueueEncoding != "base64" && c.QueueEncoding != "none" {
		errs = append(errs, fmt.Errorf("invalid queue_encoding %q: want base64 or none", c.QueueEncoding))
	}
	if c.Authority != "" && !strings.HasPrefix(c.Authority, "https://") && !strings.HasPrefix(c.Authority, "http://") {
		errs = append(errs, fmt.Errorf("invalid authority %q: want a URL", c.Authority))
	}
	return errors.Join(errs...)
}

// Surface is the API. It is safe for concurrent use.
type Surface struct {
	cfg       Config
	directory *rest.Directory
	guard     func(address string) error
	now       func() time.Time

	// historySize is the number of records of a page of a history without $top, and runsAtOnce that
	// of runs that one query reads.
	historySize, runsAtOnce int
}

// New returns the API over the control databases of a directory. guard reports whether host:port
// may be called as far as the address tells (outbound.Network.Check); nil permits everything, and
// leaves the decision to agents.
func New(cfg Config, directory *rest.Directory, guard func(address string) error) *Surface {
	if cfg.Authority == "" {
		cfg.Authority = "https://login.microsoftonline.com"
	}
	cfg.Authority = strings.TrimSuffix(cfg.Authority, "/")
	if guard == nil {
		guard = func(string) error { return nil }
	}
	return &Surface{cfg: cfg, directory: directory, guard: guard, now: time.Now, historySize: 1000, runsAtOnce: 200}
}

// Name implements rest.Surface.
func (s *Surface) Name() string { return "scheduler" }

// Paths of the operations.
const (
	pathSubscription = "/subscriptions/{subscription}/providers/Microsoft.Scheduler/jobCollections"
	pathCollections  = "/subscriptions/{subscription}/resourceGroups/{resourceGroup}/providers/Microsoft.Scheduler/jobCollections"
	pathCollection   = pathCollections + "/{collection}"
	pathJobs         = pathCollection + "/jobs"
	pathJob          = pathJobs + "/{job}"
)

// handler carries out an operation.
type handler = func(context.Context, *rest.Request) (*rest.Response, error)

// with is the handler that calls h with a flag.
func with(h func(context.Context, *rest.Request, bool) (*rest.Response, error), flag bool) handler {
	return func(ctx context.Context, r *rest.Request) (*rest.Response, error) { return h(ctx, r, flag) }
}

// Operations implements rest.Surface.
func (s *Surface) Operations() []rest.Operation {
	one, many, oneJob := reflect.TypeFor[collection](), reflect.TypeFor[page[collection]](), reflect.TypeFor[job]()
	top := rest.Parameter{Name: "$top", Type: "integer", Description: "Number of results, 1 to 100."}
	skip := rest.Parameter{Name: "$skip", Type: "integer", Description: "Number of results to leave out, from the first one."}
	token := rest.Parameter{Name: "$skiptoken", Type: "string", Description: "Place where the list goes on; part of nextLink."}
	// op is an operation whose answers are pairs of a status and the type of a body.
	op := func(method, id, path string, role rest.Role, handle handler, summary string, body reflect.Type, answers ...any) rest.Operation {
		o := rest.Operation{ID: id, Method: method, Path: path, Role: role, Handle: handle, Summary: summary, Body: body, Answers: map[int]reflect.Type{}}
		for i := 0; i < len(answers); i += 2 {
			o.Answers[answers[i].(int)], _ = answers[i+1].(reflect.Type)
		}
		return o
	}
	// list is an operation that lists something.
	list := func(id, path string, handle handler, summary string, answer reflect.Type, query ...rest.Parameter) rest.Operation {
		o := op(http.MethodGet, id, path, rest.RoleReader, handle, summary, nil, 200, answer)
		o.Query = query
		return o
	}
	run := op(http.MethodPost, "Jobs_Run", pathJob+"/run", rest.RoleOperator, s.runJob, "Runs a job now.", nil, 200, nil)
	run.RequestHeaders = []string{"Idempotency-Key"}
	return []rest.Operation{
		list("JobCollections_ListBySubscription", pathSubscription, s.listCollections, "Lists the job collections of a subscription.", many, token),
		list("JobCollections_ListByResourceGroup", pathCollections, s.listCollections, "Lists the job collections of a resource group.", many, token),
		rest.Versioned(op(http.MethodGet, "JobCollections_Get", pathCollection, rest.RoleReader, s.getCollection, "Gets a job collection.", nil, 200, one)),
		rest.Versioned(op(http.MethodPut, "JobCollections_CreateOrUpdate", pathCollection, rest.RoleAdmin, with(s.writeCollection, false),
			"Creates a job collection, or replaces its settings.", one, 200, one, 201, one)),
		rest.Versioned(op(http.MethodPatch, "JobCollections_Patch", pathCollection, rest.RoleOperator, with(s.writeCollection, true),
			"Changes settings of a job collection.", one, 200, one)),
		rest.Versioned(op(http.MethodDelete, "JobCollections_Delete", pathCollection, rest.RoleAdmin, s.deleteCollection,
			"Deletes a job collection with its jobs and their history.", nil, 200, nil)),
		op(http.MethodPost, "JobCollections_Enable", pathCollection+"/enable", rest.RoleOperator, with(s.switchCollection, true),
			"Enables the jobs of a job collection that were enabled before it was disabled.", nil, 200, nil),
		op(http.MethodPost, "JobCollections_Disable", pathCollection+"/disable", rest.RoleOperator, with(s.switchCollection, false),
			"Disables all jobs of a job collection.", nil, 200, nil),
		list("Jobs_List", pathJobs, s.listJobs, "Lists the jobs of a job collection.", reflect.TypeFor[page[job]](),
			top, skip, token, rest.Parameter{Name: "$filter", Type: "string", Description: "state eq Enabled, Disabled, Completed or Faulted."}),
		rest.Versioned(op(http.MethodGet, "Jobs_Get", pathJob, rest.RoleReader, s.getJob, "Gets a job.", nil, 200, oneJob)),
		rest.Versioned(op(http.MethodPut, "Jobs_CreateOrUpdate", pathJob, rest.RoleAuthor, s.putJob, "Creates a job, or replaces it.", oneJob, 200, oneJob, 201, oneJob)),
		rest.Versioned(op(http.MethodPatch, "Jobs_Patch", pathJob, rest.RoleOperator, s.patchJob, "Changes parts of a job.", oneJob, 200, oneJob)),
		rest.Versioned(op(http.MethodDelete, "Jobs_Delete", pathJob, rest.RoleAuthor, s.deleteJob, "Deletes a job with its history.", nil, 200, nil)),
		run,
		list("Jobs_ListJobHistory", pathJob+"/history", s.listHistory, "Lists the attempts of a job, newest first.", reflect.TypeFor[page[record]](),
			top, skip, token, rest.Parameter{Name: "$filter", Type: "string", Description: "status eq Completed, Failed or Postponed."}),
	}
}

// versions are the versions of the API, which behave alike.
var versions = []string{"2014-08-01-preview", "2016-01-01", "2016-03-01"}

// Check implements rest.Surface.
func (s *Surface) Check(r *rest.Request) error {
	version, ok := r.Query.Get("api-version")
	if !ok || version == "" {
		return &rest.Error{
			Status: http.StatusBadRequest, Code: "MissingApiVersionParameter", Target: "api-version",
			Message: "The api-version query parameter (?api-version=) is required for all requests.",
		}
	}
	for _, v := range versions {
		if strings.EqualFold(v, version) {
			return nil
		}
	}
	return &rest.Error{
		Status: http.StatusBadRequest, Code: "InvalidApiVersionParameter", Target: "api-version",
		Message: fmt.Sprintf("The api-version '%.40s' is invalid. The supported versions are '%s'.", version, strings.Join(versions, ", ")),
	}
}

// The codes of the API.
const (
	codeBadRequest = "BadRequest"
	codeNotFound   = "ResourceNotFound"
	codeConflict   = "ConflictError"
	codeMismatch   = "PreconditionFailed"
)

// errNoKey is the message for a secret that no agent could open.
const errNoKey = "The secret cannot be stored: the control database has no active key for secrets. Make one with jobagent key generate."

// Failure implements rest.Surface.
func (s *Surface) Failure(_ *rest.Request, err error) *rest.Response {
	var e *rest.Error
	if errors.As(err, &e) {
		if e.Code == rest.CodeInvalidBody || e.Code == rest.CodeInvalidQuery {
			changed := *e
			changed.Code, changed.Details = codeBadRequest, nil
			for _, d := range e.Details {
				changed.Details = append(changed.Details, rest.Detail{Code: codeBadRequest, Message: d.Message, Target: d.Target})
			}
			return rest.ARMFailure(&changed)
		}
		return rest.ARMFailure(e)
	}
	return rest.ARMFailure(translated(err))
}

// translated returns the error of the API for an error of controldb; other errors are returned as
// they are.
func translated(err error) error {
	e := &rest.Error{Message: dberror.MessageOf(err)}
	switch kind := dberror.KindOf(err); {
	case errors.Is(err, dberror.ErrRevision):
		e.Status, e.Code = http.StatusPreconditionFailed, codeMismatch
	case errors.Is(err, dberror.ErrSecretKeysChanged) && e.Message == "":
		// There is no key at all: the database was not asked.
		return &rest.Error{Status: http.StatusConflict, Code: codeConflict, Message: errNoKey}
	case kind == dberror.KindNotFound:
		e.Status, e.Code = http.StatusNotFound, codeNotFound
	case kind == dberror.KindConflict:
		e.Status, e.Code = http.StatusConflict, codeConflict
	case kind == dberror.KindInvalid:
		e.Status, e.Code = http.StatusBadRequest, codeBadRequest
	default:
		return err
	}
	e.Details = []rest.Detail{{Code: fmt.Sprint(dberror.NumberOf(err)), Message: e.Message}}
	return e
}

// notFound returns the error about a resource of the path that does not exist.
func notFound(r *rest.Request) *rest.Error {
	kind, name := "jobCollections", r.Path["collection"]
	if j, ok := r.Path["job"]; ok {
		kind, name = "jobCollections/jobs", name+"/"+j
	}
	return &rest.Error{
		Status: http.StatusNotFound, Code: codeNotFound,
		Message: fmt.Sprintf("The resource 'Microsoft.Scheduler/%s' with the name '%.300s' in the resource group '%.100s' was not found.",
			kind, name, r.Path["resourceGroup"]),
	}
}

// entries returns the control databases of a path.
func (s *Surface) entries(r *rest.Request) ([]*rest.Entry, error) {
	group, ok := r.Path["resourceGroup"]
	if !ok {
		return s.directory.InSubscription(r.Path["subscription"])
	}
	list, err := s.directory.InGroup(r.Path["subscription"], group)
	if err == nil && len(list) == 0 {
		err = &rest.Error{
			Status: http.StatusNotFound, Code: "ResourceGroupNotFound",
			Message: fmt.Sprintf("Resource group '%.100s' could not be found.", group),
		}
	}
	return list, err
}

// place is a job collection and its control database.
type place struct {
	*rest.Entry
	collection scheduler.Collection
}

// find returns the job collection of a path.
func (s *Surface) find(ctx context.Context, r *rest.Request) (place, error) {
	list, err := s.entries(r)
	if err != nil {
		return place{}, err
	}
	for _, e := range list {
		c, err := scheduler.On(e.Store).Collection(ctx, r.Path["collection"])
		if err == nil {
			return place{e, c}, nil
		}
		if !errors.Is(err, dberror.ErrCollectionNotFound) {
			return place{}, err
		}
	}
	missing := *r
	missing.Path = map[string]string{"collection": r.Path["collection"], "resourceGroup": r.Path["resourceGroup"]}
	return place{}, notFound(&missing)
}
