package sap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/caller"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/sap"
)

const (
	// MaxBody bounds the bodies of requests, in bytes (S-29).
	MaxBody = 102_400
	// Timeout bounds the time of a request, with the delay by a limit: SAP's client sends it again
	// after 15 s (S-3).
	Timeout = 11 * time.Second
	// callTime bounds the calls of the control database. go-mssqldb waits another 5 s for a silent
	// server to confirm the end of a call, and the answer has to come within 12 s (S-3).
	callTime = 6 * time.Second
	// root is the path of all resources.
	root = "/scheduler"
)

// Service is an instance with its control database.
type Service struct {
	Instance
	// Store calls the database as the front's login.
	Store *controldb.Store
	// Guard reports whether actions may call host:port (S-54); nil leaves it to the agents.
	Guard func(address string) error
}

// Surface is the surface of SAP Job Scheduling Service. It is safe for concurrent use.
type Surface struct {
	services map[string]*service // by name
	log      *zap.Logger
	total    *bucket
	// now returns the time to which relative times of schedules refer.
	now func() time.Time
}

// service is an instance at work.
type service struct {
	Service
	tenants *buckets
}

// New returns the surface with its instances. total bounds the requests of all instances together.
func New(services []Service, total RateLimit, log *zap.Logger) (*Surface, error) {
	s := &Surface{services: map[string]*service{}, log: log, total: newBucket(total.or(defaultTotal)), now: time.Now}
	for _, one := range services {
		if one.Store == nil {
			return nil, fmt.Errorf("instance %q of the SAP surface has no control database", one.Name)
		}
		if s.services[one.Name] != nil {
			return nil, fmt.Errorf("the SAP surface has two instances %q", one.Name)
		}
		s.services[one.Name] = &service{Service: one, tenants: newBuckets(one.Limit.or(defaultTenant))}
	}
	return s, nil
}

// Start stores the tenants of the providers in the control databases. It is called before requests
// are served; repeats change nothing. The front's login may do nothing itself, so the calls are
// made as an administrator.
func (s *Surface) Start(ctx context.Context) error {
	ctx = caller.With(ctx, caller.Caller{Role: rest.RoleAdmin.DatabaseRole(), Name: "front", Door: caller.DoorREST})
	for _, one := range s.services {
		if err := sap.On(one.Store).SetProvider(ctx, one.Tenant, one.SubDomain, one.Events); err != nil {
			return fmt.Errorf("instance %q of the SAP surface: %w", one.Name, err)
		}
	}
	return nil
}

// Name implements rest.Surface.
func (s *Surface) Name() string { return "sap" }

// Check implements rest.Surface. SAP's API has no version.
func (s *Surface) Check(*rest.Request) error { return nil }

// Failure implements rest.Surface.
func (s *Surface) Failure(_ *rest.Request, err error) *rest.Response {
	body := errorBody{Code: http.StatusInternalServerError}
	var header http.Header
	var e *rest.Error
	if errors.As(err, &e) {
		body.Code, header = e.Status, e.Header
		switch {
		case e.Code == codeInvalid:
			body.Message, body.DetailedError = e.Message, e.Details[0].Message
		case e.Status == http.StatusBadRequest:
			body.Message = inAction + e.Message
			body.DetailedError = body.Message
		}
	}
	if body.Message == "" {
		if body.Message = errorMessages[body.Code]; body.Message == "" {
			body.Message = http.StatusText(body.Code)
		}
	}
	if body.DetailedError == "" {
		body.DetailedError = body.Message
	}
	if body.Type = errorTypes[body.Code]; body.Type == "" {
		body.Type = http.StatusText(body.Code)
	}
	return &rest.Response{Status: body.Code, Header: header, Body: body}
}

// encode returns a value as JSON, without escapes for HTML.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// call is a request with its instance and tenant.
type call struct {
	*rest.Request
	surface *Surface
	service *service
	scope   sap.Scope
	// tenant is the caller's tenant; provider says that it is the provider's.
	tenant   string
	provider bool
	now      time.Time
}

// handler carries out an operation.
type handler func(ctx context.Context, c *call) (*rest.Response, error)

// newCall finds the instance and the scope of a request.
func (s *Surface) newCall(r *rest.Request) (*call, error) {
	c := &call{Request: r, surface: s, service: s.services[r.Principal.Instance], tenant: r.Principal.Tenant, now: s.now().UTC()}
	if c.service == nil {
		return nil, forbidden()
	}
	c.provider = c.tenant == c.service.Tenant
	c.scope = sap.Subscriber(c.tenant)
	if c.provider {
		c.scope = sap.Provider()
	}
	return c, nil
}

// handle returns the handler of an operation for the server.
func (s *Surface) handle(id string, h handler) func(context.Context, *rest.Request) (*rest.Response, error) {
	return func(ctx context.Context, r *rest.Request) (*rest.Response, error) {
		c, err := s.newCall(r)
		if err != nil {
			return nil, err
		}
		finish := s.audit(id, c)
		response, err := s.limited(ctx, id, c, h)
		finish(err)
		return response, err
	}
}

// limited carries out an operation unless a limit refuses it.
func (s *Surface) limited(ctx context.Context, id string, c *call, h handler) (*rest.Response, error) {
	header, err := s.throttle(ctx, id, c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err = c.checkTenant(ctx)
	var response *rest.Response
	if err == nil {
		response, err = h(ctx, c)
	}
	if err != nil {
		return nil, withHeader(translate(ctx, err), header)
	}
	for name, values := range header {
		if response.Header == nil {
			response.Header = http.Header{}
		}
		response.Header[name] = values
	}
	return response, nil
}

// checkTenant refuses the token of a tenant that has not subscribed, or that has left (S-58, S-59).
// It asks each time, so that a tenant is refused at once when it leaves.
func (c *call) checkTenant(ctx context.Context) error {
	if c.provider {
		return nil
	}
	list, err := sap.On(c.service.Store).Tenants(ctx, c.tenant)
	if err != nil {
		return err
	}
	for _, t := range list {
		if t.ID == c.tenant && t.Subscribed {
			return nil
		}
	}
	return forbidden()
}

// withHeader adds a header to the answer about a failure.
func withHeader(err error, header http.Header) error {
	var e *rest.Error
	if len(header) == 0 || !errors.As(err, &e) {
		return err
	}
	with := *e
	with.Header = header
	return &with
}

// translate returns the answer to errors of the control database that are the same everywhere.
func translate(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, dberror.ErrSAPNotFound):
		return errNotFound
	case errors.Is(err, dberror.ErrSAPTenant):
		return forbidden()
	case dberror.KindOf(err) == dberror.KindInvalid:
		return invalid(inAction, fault{text: dberror.MessageOf(err)})
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil:
		// The client repeats the request, and gets the answer of the first one if that one was
		// carried out (S-4).
		return &rest.Error{Status: http.StatusServiceUnavailable, Code: rest.CodeUnavailable, RetryAfter: time.Second, Message: "Service Unavailable"}
	}
	return err
}

// ok returns the answer with status 200.
func ok(body any) (*rest.Response, error) {
	return &rest.Response{Status: http.StatusOK, Body: body}, nil
}

// jobID returns the id of a job in a text; an id that is not a number is unknown (S-6).
func jobID(text string) (int64, error) {
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || !isDigits(text) {
		return 0, errNotFound
	}
	return id, nil
}

// parseUUID returns the id in a text, in any case; any other text is an unknown id (S-6).
func parseUUID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != 36 || id == uuid.Nil {
		return uuid.Nil, errNotFound
	}
	return id, nil
}

// job returns the id of the job in the path.
func (c *call) job() (int64, error) { return jobID(c.Path["jobId"]) }

// schedule returns the ids of the job and the schedule in the path.
func (c *call) schedule() (job int64, schedule uuid.UUID, err error) {
	if job, err = c.job(); err != nil {
		return 0, uuid.Nil, err
	}
	schedule, err = parseUUID(c.Path["scheduleId"])
	return job, schedule, err
}

// flag reads a query parameter true or false.
func (c *call) flag(name string, absent bool, beginning string) (bool, error) {
	switch text, given := c.Query.Get(name); {
	case !given:
		return absent, nil
	case text == "true" || text == "false":
		return text == "true", nil
	}
	return false, invalid(beginning, fault{text: "Invalid value of " + name + ": want true or false"})
}

// reader returns a reader of definitions. schedules says that schedules are read, which need the
// settings of the instance.
func (c *call) reader(ctx context.Context, schedules bool) (*definitionReader, error) {
	r := &definitionReader{now: c.now.Truncate(time.Second), guard: c.service.Guard}
	if c.provider { // as of SAP's dashboard, tasks are jobs of the provider
		r.tasks = c.service.Tasks
	}
	if schedules {
		settings, err := sap.On(c.service.Store).Settings(ctx, c.scope)
		if err != nil {
			return nil, err
		}
		r.minInterval = settings.MinInterval
	}
	return r, nil
}
