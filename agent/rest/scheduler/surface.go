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

// Operations implements rest.Surface.
func (s *Surface) Operations() []rest.Operation {
	one, list := reflect.TypeFor[collection](), reflect.TypeFor[page[collection]]()
	oneJob, jobList, history := reflect.TypeFor[job](), reflect.TypeFor[page[job]](), reflect.TypeFor[page[record]]()
	top := rest.Parameter{Name: "$top", Type: "integer", Description: "Number of results, 1 to 100."}
	skip := rest.Parameter{Name: "$skip", Type: "integer", Description: "Number of results to leave out, from the first one."}
	token := rest.Parameter{Name: "$skiptoken", Type: "string", Description: "Place where the list goes on; part of nextLink."}
	answers := func(types ...any) map[int]reflect.Type {
		m := map[int]reflect.Type{}
		for i := 0; i < len(types); i += 2 {
			t, _ := types[i+1].(reflect.Type)
			m[types[i].(int)] = t
		}
		return m
	}
	return []rest.Operation{
		{
			ID: "JobCollections_ListBySubscription", Method: http.MethodGet, Path: pathSubscription, Role: rest.RoleReader,
			Handle: s.listCollections, Summary: "Lists the job collections of a subscription.", Query: []rest.Parameter{token},
			Answers: answers(200, list),
		},
		{
			ID: "JobCollections_ListByResourceGroup", Method: http.MethodGet, Path: pathCollections, Role: rest.RoleReader,
			Handle: s.listCollections, Summary: "Lists the job collections of a resource group.", Query: []rest.Parameter{token},
			Answers: answers(200, list),
		},
		{
			ID: "JobCollections_Get", Headers: []string{"ETag"}, RequestHeaders: []string{"If-None-Match"}, Method: http.MethodGet, Path: pathCollection, Role: rest.RoleReader,
			Handle: s.getCollection, Summary: "Gets a job collection.", Answers: answers(200, one),
		},
		{
			ID: "JobCollections_CreateOrUpdate", Headers: []string{"ETag"}, RequestHeaders: []string{"If-Match", "If-None-Match"}, Method: http.MethodPut, Path: pathCollection, Role: rest.RoleAdmin,
			Handle: s.putCollection, Summary: "Creates a job collection, or replaces its settings.", Body: one,
			Answers: answers(200, one, 201, one),
		},
		{
			ID: "JobCollections_Patch", Headers: []string{"ETag"}, RequestHeaders: []string{"If-Match"}, Method: http.MethodPatch, Path: pathCollection, Role: rest.RoleOperator,
			Handle: s.patchCollection, Summary: "Changes settings of a job collection.", Body: one, Answers: answers(200, one),
		},
		{
			ID: "JobCollections_Delete", RequestHeaders: []string{"If-Match"}, Method: http.MethodDelete, Path: pathCollection, Role: rest.RoleAdmin,
			Handle: s.deleteCollection, Summary: "Deletes a job collection with its jobs and their history.",
			Answers: answers(200, nil),
		},
		{
			ID: "JobCollections_Enable", Method: http.MethodPost, Path: pathCollection + "/enable", Role: rest.RoleOperator,
			Handle: s.enableCollection, Summary: "Enables the jobs of a job collection that were enabled before it was disabled.",
			Answers: answers(200, nil),
		},
		{
			ID: "JobCollections_Disable", Method: http.MethodPost, Path: pathCollection + "/disable", Role: rest.RoleOperator,
			Handle: s.disableCollection, Summary: "Disables all jobs of a job collection.", Answers: answers(200, nil),
		},
		{
			ID: "Jobs_List", Method: http.MethodGet, Path: pathJobs, Role: rest.RoleReader, Handle: s.listJobs,
			Summary: "Lists the jobs of a job collection.",
			Query: []rest.Parameter{
				top, skip, token, {Name: "$filter", Type: "string", Description: "state eq Enabled, Disabled, Completed or Faulted."},
			},
			Answers: answers(200, jobList),
		},
		{
			ID: "Jobs_Get", Headers: []string{"ETag"}, RequestHeaders: []string{"If-None-Match"}, Method: http.MethodGet, Path: pathJob, Role: rest.RoleReader, Handle: s.getJob,
			Summary: "Gets a job.", Answers: answers(200, oneJob),
		},
		{
			ID: "Jobs_CreateOrUpdate", Headers: []string{"ETag"}, RequestHeaders: []string{"If-Match", "If-None-Match"}, Method: http.MethodPut, Path: pathJob, Role: rest.RoleAuthor, Handle: s.putJob,
			Summary: "Creates a job, or replaces it.", Body: oneJob, Answers: answers(200, oneJob, 201, oneJob),
		},
		{
			ID: "Jobs_Patch", Headers: []string{"ETag"}, RequestHeaders: []string{"If-Match"}, Method: http.MethodPatch, Path: pathJob, Role: rest.RoleOperator, Handle: s.patchJob,
			Summary: "Changes parts of a job.", Body: oneJob, Answers: answers(200, oneJob),
		},
		{
			ID: "Jobs_Delete", RequestHeaders: []string{"If-Match"}, Method: http.MethodDelete, Path: pathJob, Role: rest.RoleAuthor, Handle: s.deleteJob,
			Summary: "Deletes a job with its history.", Answers: answers(200, nil),
		},
		{
			ID: "Jobs_Run", RequestHeaders: []string{"Idempotency-Key"}, Method: http.MethodPost, Path: pathJob + "/run", Role: rest.RoleOperator, Handle: s.runJob,
			Summary: "Runs a job now.", Answers: answers(200, nil),
		},
		{
			ID: "Jobs_ListJobHistory", Method: http.MethodGet, Path: pathJob + "/history", Role: rest.RoleReader, Handle: s.listHistory,
			Summary: "Lists the attempts of a job, newest first.",
			Query: []rest.Parameter{
				top, skip, token, {Name: "$filter", Type: "string", Description: "status eq Completed, Failed or Postponed."},
			},
			Answers: answers(200, history),
		},
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

// errNoKey is the message for a secret that nobody could open.
const errNoKey = "The secret cannot be stored: the control database has no active key for secrets. jobagent key generate makes one."

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
