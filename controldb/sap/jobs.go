package sap

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/action"
)

// Scope says whose jobs a call of the SAP surface reads or changes. It comes from the verified
// token only. The zero value is a tenant without jobs. Objects outside of the scope behave exactly
// as objects that do not exist ([dberror.ErrSAPNotFound]).
type Scope struct {
	provider bool
	tenant   string
}

// Provider returns the scope of the provider: all jobs of the instance. Jobs that it creates
// belong to the tenant of [Store.SetProvider].
func Provider() Scope { return Scope{provider: true} }

// Subscriber returns the scope of one tenant.
func Subscriber(tenant string) Scope { return Scope{tenant: tenant} }

// in adds the tenant to a call of a procedure of jobs_rest, whose first parameter it is.
func (s Scope) in(c *call.Call) *call.Call {
	if s.provider {
		return c.In("tenant", nil)
	}
	return c.In("tenant", s.tenant)
}

// RequestKey identifies a request for its blind repeats (S-4): the SHA-256 of principal, method,
// path and body. The zero value means that repeats are not recognised.
type RequestKey [32]byte

// Write says who writes, and by which request.
type Write struct {
	// By names the caller in the action log.
	By string
	// Key is recorded in the transaction of the change. If the same key was recorded within the
	// last minute and its answer was not delivered, nothing is changed, and the result of that
	// request is returned again, with Replayed set. Of two equal requests at once, the second one
	// waits for the first one.
	Key RequestKey
	// Note is the text of the entry in the action log, at most 1,000 UTF-16 units. Only writes that
	// create or change a job or a schedule take one; empty for none.
	Note string
}

// in adds the arguments of the write to a call.
func (w Write) in(c *call.Call) *call.Call {
	c.OptText("by", w.By).OptText("note", w.Note)
	if w.Key != (RequestKey{}) {
		c.In("request", w.Key[:])
	}
	return c
}

// Result is the result of a write.
type Result struct {
	// Job is the job's _id.
	Job int64 `json:"job,omitempty"`
	// Created says that an upsert has created the job.
	Created bool `json:"created,omitempty"`
	// Schedules are the ids of the job's schedules in the order of the request, or of the schedule
	// that was added or changed.
	Schedules []uuid.UUID `json:"schedules,omitempty"`
	// Replayed says that this is the result of an earlier equal request (S-4). Answer is the
	// answer that [Store.FinishRequest] stored for it; empty if the first front did not come to
	// it: then the answer is made from the other fields.
	Replayed bool   `json:"-"`
	Answer   string `json:"-"`
}

// JobSpec describes a job to create, or to replace.
type JobSpec struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// JobType is [EndpointJob] or [TaskJob]; empty means the first one. It never changes.
	JobType string `json:"job_type,omitempty"`
	// Action is the URL, and Method is GET, POST, PUT or DELETE. The action of a task is
	// [TaskPrefix] and the name of an entry of the agents' configuration, and its method POST.
	Action string `json:"action"`
	Method string `json:"http_method"`
	Active bool   `json:"active"`
	// Start and End bound the runs of all schedules; zero means no bound. StartText and EndText
	// are the values as they were sent, as JSON; empty for none.
	Start     time.Time `json:"-"`
	End       time.Time `json:"-"`
	StartText string    `json:"start_text,omitempty"`
	EndText   string    `json:"end_text,omitempty"`
	// Ans and Calm are JSON objects; empty for none.
	Ans  string `json:"ans_config,omitempty"`
	Calm string `json:"calm_config,omitempty"`
	// User is kept and returned. Password, if it is not nil, is sent with it as Basic.
	User     string    `json:"user,omitempty"`
	Password *Password `json:"password,omitempty"`
	// Credential names the outbound credential of the instance in the agents' configuration; empty
	// means none. A job with a password does not use it.
	Credential string `json:"credential,omitempty"`
	// AllowHTTP permits plain http.
	AllowHTTP bool           `json:"allow_http,omitempty"`
	Schedules []ScheduleSpec `json:"schedules"`
}

// The types of jobs.
const (
	// EndpointJob calls an endpoint.
	EndpointJob = "HTTP_ENDPOINT"
	// TaskJob is a task: it runs a process.
	TaskJob = "CF_TASK"
)

// TaskPrefix begins the action of a task.
const TaskPrefix = action.ProcessPrefix

// Password is a sealed password of a job (S-53).
type Password struct {
	// Name is made by [secret.RESTName]; each password has a new one. Version is 1.
	Name string
	// Sealed is a text of [secrets.Store.Seal], for the place with the owner rest and for the host
	// of the action.
	Sealed string
}

// MarshalJSON implements json.Marshaler.
func (p Password) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"name": p.Name, "sealed": json.RawMessage(p.Sealed)})
}

// Mode is the member of a schedule that says when it runs.
type Mode string

// The modes.
const (
	Cron           Mode = "cron"
	Time           Mode = "time"
	RepeatInterval Mode = "repeatInterval"
	RepeatAt       Mode = "repeatAt"
)

// ScheduleSpec describes a schedule to create. The caller has parsed it (package jobs/schedule).
type ScheduleSpec struct {
	Mode Mode `json:"mode"`
	// Spec is the text of kind sap: a JSON object with the mode's member, and startTime and endTime
	// if they are given. Equal schedules have equal texts (S-16), so the order of its members
	// matters.
	Spec string `json:"spec"`
	// Start and End are the instants of startTime and endTime, for answers and searches; zero for
	// none.
	Start       time.Time `json:"-"`
	End         time.Time `json:"-"`
	Description string    `json:"description,omitempty"`
	Active      bool      `json:"active"`
	// Data is a compact JSON object; empty for none.
	Data string `json:"data,omitempty"`
}

// ScheduleChange changes a schedule (S-17); nil keeps a value.
type ScheduleChange struct {
	// Mode must be the schedule's mode if it is not empty; otherwise the change is refused with
	// [dberror.ErrSAPMode].
	Mode Mode `json:"mode,omitempty"`
	// Spec, Start and End replace the text and its instants together. Spec is needed when the value
	// of the mode, startTime or endTime is given.
	Spec  *string   `json:"spec,omitempty"`
	Start time.Time `json:"-"`
	End   time.Time `json:"-"`
	// Restart computes the next run anew, also from an unchanged text: the value of the mode was
	// given.
	Restart     bool    `json:"restart,omitempty"`
	Description *string `json:"description,omitempty"`
	Active      *bool   `json:"active,omitempty"`
	// Data is a compact JSON object; the empty text removes it.
	Data *string `json:"data,omitempty"`
}

// JobChange changes a job (E5); nil keeps a value.
type JobChange struct {
	Description *string `json:"description,omitempty"`
	Action      *string `json:"action,omitempty"`
	Method      *string `json:"http_method,omitempty"`
	Active      *bool   `json:"active,omitempty"`
	// Start and End: a pointer to the zero time removes the bound. StartText and EndText go with
	// them.
	Start     *time.Time `json:"-"`
	End       *time.Time `json:"-"`
	StartText string     `json:"start_text,omitempty"`
	EndText   string     `json:"end_text,omitempty"`
	// Ans and Calm: the empty text removes the object.
	Ans  *string `json:"ans_config,omitempty"`
	Calm *string `json:"calm_config,omitempty"`
	User *string `json:"user,omitempty"`
	// Password replaces the password. It is needed again when the host of the action changes,
	// because a password is bound to its host; otherwise the job loses it.
	Password  *Password `json:"password,omitempty"`
	AllowHTTP bool      `json:"allow_http,omitempty"`
}

// Job is a job.
type Job struct {
	ID          int64     `db:"id"`
	Tenant      string    `db:"tenant_id"`
	SubDomain   string    `db:"subdomain"`
	Name        string    `db:"name"`
	Description string    `db:"description"`
	Action      string    `db:"action"`
	Method      string    `db:"http_method"`
	Active      bool      `db:"active"`
	Start       time.Time `db:"start_at"` // zero: no bound
	End         time.Time `db:"end_at"`
	StartText   string    `db:"start_text"` // JSON; empty for none
	EndText     string    `db:"end_text"`
	User        string    `db:"user_name"`
	HasPassword bool      `db:"has_password"`
	Ans         string    `db:"ans_config"` // JSON; empty for none
	Calm        string    `db:"calm_config"`
	JobType     string    `db:"job_type"`
	CreatedAt   time.Time `db:"created_at"`
	// ActiveCount and InactiveCount count the schedules of the job.
	ActiveCount   int `db:"active_count"`
	InactiveCount int `db:"inactive_count"`
	// Schedules are set by methods that read them.
	Schedules []Schedule `db:"-"`
}

// Schedule is a schedule of a job.
type Schedule struct {
	ID    uuid.UUID `db:"schedule_id"`
	JobID int64     `db:"job_id"`
	Mode  Mode      `db:"mode"` // one-time if SAPTime, else recurring
	// Spec is the text that was stored.
	Spec        string    `db:"spec"`
	Start       time.Time `db:"start_at"` // zero: none
	End         time.Time `db:"end_at"`
	Description string    `db:"description"`
	// Active is false also after a one-time schedule has run, or when no run is left (S-45).
	Active bool   `db:"active"`
	Data   string `db:"data"` // JSON object; empty for none
	// NextRunAt is zero if no run is due, or not known yet: an agent computes it within a second.
	NextRunAt time.Time `db:"next_run_at"`
	CreatedAt time.Time `db:"created_at"`
	// ModifiedAt is the time of the last change of the definition.
	ModifiedAt time.Time `db:"modified_at"`
}

// FoundSchedule is a schedule with its job, as a search finds it.
type FoundSchedule struct {
	Schedule
	JobName     string `db:"job_name"`
	Tenant      string `db:"tenant_id"`
	SubDomain   string `db:"subdomain"`
	Action      string `db:"action"`
	Method      string `db:"http_method"`
	Description string `db:"job_description"` // of the job; that of the schedule is SAPSchedule.Description
}

// Condition is one condition of a filter (S-24).
type Condition struct {
	// Property is name, subDomain or tenantId.
	Property string `json:"property"`
	// Contains compares substrings without regard to case; otherwise values are compared exactly.
	Contains bool   `json:"contains"`
	Value    string `json:"value"`
}

// Filter is a disjunction of conjunctions: one of the lists must hold entirely. Nil accepts all.
type Filter [][]Condition

// Bound is a qualifier startTime or endTime of a search.
type Bound struct {
	// Field is startTime or endTime; Operator is <, >, <= or >=.
	Field    string    `json:"field"`
	Operator string    `json:"operator"`
	At       time.Time `json:"-"`
}

// MarshalJSON implements json.Marshaler.
func (b Bound) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{"field": b.Field, "operator": b.Operator, "at": call.Datetime2(b.At)})
}

// Search is a search (S-25); all parts must hold.
type Search struct {
	Words  []string `json:"words,omitempty"`
	Active *bool    `json:"active,omitempty"`
	Bounds []Bound  `json:"bounds,omitempty"`
}

// Page selects a part of a list.
type Page struct {
	Offset int
	// Size is the maximum number of rows; 0 means all.
	Size int
}

// in adds the arguments of the page to a call.
func (p Page) in(c *call.Call) *call.Call {
	c.In("offset", int64(p.Offset))
	if p.Size > 0 {
		c.In("size", int64(p.Size))
	}
	return c
}

// JobQuery selects jobs of a list.
type JobQuery struct {
	// Tenant restricts the list; empty means all tenants of the scope. A filter replaces it.
	Tenant string
	// JobType is the type of the jobs; empty means both.
	JobType string
	Filter  Filter
	Search  *Search
	// Sort is name, _id, createdAt or active; empty means _id.
	Sort       string
	Descending bool
	Page       Page
	// Schedules reads the schedules of the jobs, too.
	Schedules bool
}

// Jobs lists jobs (E2, E20). total is the number of jobs of all pages.
func (s Store) Jobs(ctx context.Context, scope Scope, q JobQuery) (list []Job, total int, err error) {
	const op = "list jobs"
	c := scope.in(call.New("jobs_rest.list_jobs")).OptText("of_tenant", q.Tenant).OptText("job_type", q.JobType).OptText("sort", q.Sort).
		In("descending", q.Descending).In("with_schedules", q.Schedules)
	q.Page.in(c)
	if q.Filter != nil {
		if err := inJSON(c, op, "filter", q.Filter); err != nil {
			return nil, 0, err
		}
	}
	if q.Search != nil {
		if err := inJSON(c, op, "search", q.Search); err != nil {
			return nil, 0, err
		}
	}
	list = []Job{}
	var schedules []Schedule
	if err := s.conn.Query(ctx, op, c, call.ScanOne(&total), call.Into(&list), call.Into(&schedules)); err != nil {
		return nil, 0, err
	}
	assign(list, schedules)
	return list, total, nil
}

// assign puts schedules into their jobs.
func assign(list []Job, schedules []Schedule) {
	byID := make(map[int64]*Job, len(list))
	for i := range list {
		byID[list[i].ID] = &list[i]
		list[i].Schedules = []Schedule{}
	}
	for _, one := range schedules {
		if job := byID[one.JobID]; job != nil {
			job.Schedules = append(job.Schedules, one)
		}
	}
}

// JobRef names a job.
type JobRef struct {
	// ID is the _id; 0 means that Name names the job. Both given must belong together.
	ID   int64
	Name string
	// Tenant restricts the lookup by name; empty means the caller's own tenant, and for the
	// provider any other tenant that alone has this name (S-13).
	Tenant string
}

// Job reads a job with its schedules (E3, E4). It returns [dberror.ErrSAPNotFound], or
// [dberror.ErrSAPAmbiguous] when several tenants have a job of this name.
func (s Store) Job(ctx context.Context, scope Scope, ref JobRef) (Job, error) {
	c := scope.in(call.New("jobs_rest.get_job")).OptText("name", ref.Name).OptText("of_tenant", ref.Tenant)
	if ref.ID != 0 {
		c.In("job", ref.ID)
	}
	var list []Job
	var schedules []Schedule
	if err := s.conn.Query(ctx, "read job", c, call.Into(&list), call.Into(&schedules)); err != nil {
		return Job{}, err
	}
	if len(list) != 1 {
		return Job{}, fmt.Errorf("read job: got %d rows, want 1", len(list))
	}
	assign(list, schedules)
	return list[0], nil
}

// CreateJob creates a job (E1). It returns [dberror.ErrSAPExists] when the tenant has a job of
// this name.
func (s Store) CreateJob(ctx context.Context, scope Scope, w Write, job JobSpec) (Result, error) {
	return s.setJob(ctx, scope, w, job, true)
}

// PutJob creates or replaces a job by its name (E6, S-16). Schedules that stay equal and can
// still run keep their ids, instants and logs.
func (s Store) PutJob(ctx context.Context, scope Scope, w Write, job JobSpec) (Result, error) {
	return s.setJob(ctx, scope, w, job, false)
}

func (s Store) setJob(ctx context.Context, scope Scope, w Write, job JobSpec, create bool) (Result, error) {
	type times struct {
		JobSpec
		Start     string         `json:"start_at,omitempty"`
		End       string         `json:"end_at,omitempty"`
		Schedules []scheduleJSON `json:"schedules"`
	}
	t := times{JobSpec: job, Start: optDatetime2(job.Start), End: optDatetime2(job.End), Schedules: []scheduleJSON{}}
	for _, one := range job.Schedules {
		t.Schedules = append(t.Schedules, scheduleOf(one))
	}
	c := scope.in(call.New("jobs_rest.set_job")).In("create_only", create)
	if err := inJSON(c, "set job", "job", t); err != nil {
		return Result{}, err
	}
	return s.write(ctx, "set job", w, c)
}

// scheduleJSON is a ScheduleSpec as an argument.
type scheduleJSON struct {
	ScheduleSpec
	Start string `json:"start_at,omitempty"`
	End   string `json:"end_at,omitempty"`
}

func scheduleOf(spec ScheduleSpec) scheduleJSON {
	return scheduleJSON{ScheduleSpec: spec, Start: optDatetime2(spec.Start), End: optDatetime2(spec.End)}
}

// optDatetime2 formats a time, and returns an empty text for the zero time.
func optDatetime2(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return call.Datetime2(t)
}

// inJSON adds an argument as JSON.
func inJSON(c *call.Call, op, name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("%s: write %s as JSON: %w", op, name, err)
	}
	c.In(name, string(text))
	return nil
}

// write makes a call that writes, and returns its result.
func (s Store) write(ctx context.Context, op string, w Write, c *call.Call) (Result, error) {
	var (
		res  Result
		text string
	)
	err := s.conn.Query(ctx, op, w.in(c), call.ScanOne(&text, &res.Replayed, &res.Answer))
	if err != nil {
		return Result{}, err
	}
	if err := json.Unmarshal([]byte(text), &res); err != nil {
		return Result{}, fmt.Errorf("%s: read the result: %w", op, err)
	}
	return res, nil
}

// UpdateJob changes a job (E5).
func (s Store) UpdateJob(ctx context.Context, scope Scope, w Write, job int64, change JobChange) (Result, error) {
	type times struct {
		JobChange
		Start *string `json:"start_at,omitempty"`
		End   *string `json:"end_at,omitempty"`
	}
	t := times{JobChange: change}
	if change.Start != nil {
		text := optDatetime2(*change.Start)
		t.Start = &text
	}
	if change.End != nil {
		text := optDatetime2(*change.End)
		t.End = &text
	}
	c := scope.in(call.New("jobs_rest.update_job")).In("job", job)
	if err := inJSON(c, "update job", "changes", t); err != nil {
		return Result{}, err
	}
	return s.write(ctx, "update job", w, c)
}

// DeleteJob deletes a job with its schedules and logs (E7). Its active runs are canceled.
func (s Store) DeleteJob(ctx context.Context, scope Scope, w Write, job int64) (Result, error) {
	return s.write(ctx, "delete job", w, scope.in(call.New("jobs_rest.delete_job")).In("job", job))
}

// AddSchedule adds a schedule to a job (E8).
func (s Store) AddSchedule(ctx context.Context, scope Scope, w Write, job int64, spec ScheduleSpec) (Result, error) {
	c := scope.in(call.New("jobs_rest.add_schedule")).In("job", job)
	if err := inJSON(c, "add schedule", "schedule", scheduleOf(spec)); err != nil {
		return Result{}, err
	}
	return s.write(ctx, "add schedule", w, c)
}

// UpdateSchedule changes a schedule (E11, S-17).
func (s Store) UpdateSchedule(
	ctx context.Context, scope Scope, w Write, job int64, schedule uuid.UUID, change ScheduleChange,
) (Result, error) {
	type times struct {
		ScheduleChange
		Start string `json:"start_at,omitempty"`
		End   string `json:"end_at,omitempty"`
	}
	c := scope.in(call.New("jobs_rest.update_schedule")).In("job", job).In("schedule", schedule)
	t := times{ScheduleChange: change, Start: optDatetime2(change.Start), End: optDatetime2(change.End)}
	if err := inJSON(c, "update schedule", "changes", t); err != nil {
		return Result{}, err
	}
	return s.write(ctx, "update schedule", w, c)
}

// DeleteSchedules deletes a schedule with its logs (E12), or all schedules of a job (E13) if
// schedule is uuid.Nil. Their active runs are canceled.
func (s Store) DeleteSchedules(ctx context.Context, scope Scope, w Write, job int64, schedule uuid.UUID) (Result, error) {
	c := scope.in(call.New("jobs_rest.delete_schedules")).In("job", job)
	if schedule != uuid.Nil {
		c.In("schedule", schedule)
	}
	return s.write(ctx, "delete schedules", w, c)
}

// ActivateSchedules activates or deactivates all schedules of a job (E14, S-47).
func (s Store) ActivateSchedules(ctx context.Context, scope Scope, w Write, job int64, active bool) (Result, error) {
	return s.write(ctx, "activate schedules", w, scope.in(call.New("jobs_rest.activate_schedules")).In("job", job).In("active", active))
}

// Schedules lists the schedules of a job (E9), or one schedule (E10) if schedule is not
// uuid.Nil.
func (s Store) Schedules(
	ctx context.Context, scope Scope, job int64, schedule uuid.UUID, page Page,
) (list []Schedule, total int, err error) {
	c := scope.in(call.New("jobs_rest.list_schedules")).In("job", job)
	if schedule != uuid.Nil {
		c.In("schedule", schedule)
	}
	list = []Schedule{}
	if err := s.conn.Query(ctx, "list schedules", page.in(c), call.ScanOne(&total), call.Into(&list)); err != nil {
		return nil, 0, err
	}
	return list, total, nil
}

// SearchSchedules searches schedules (E21).
func (s Store) SearchSchedules(
	ctx context.Context, scope Scope, search Search, page Page,
) (list []FoundSchedule, total int, err error) {
	c := scope.in(call.New("jobs_rest.search_schedules"))
	if err := inJSON(c, "search schedules", "search", search); err != nil {
		return nil, 0, err
	}
	list = []FoundSchedule{}
	if err := s.conn.Query(ctx, "search schedules", page.in(c), call.ScanOne(&total), call.Into(&list)); err != nil {
		return nil, 0, err
	}
	return list, total, nil
}

// JobCount counts the jobs of a scope by their member active (E18).
func (s Store) JobCount(ctx context.Context, scope Scope) (active, inactive int, err error) {
	err = s.conn.Query(ctx, "count jobs", scope.in(call.New("jobs_rest.count_jobs")), call.ScanOne(&active, &inactive))
	return active, inactive, err
}

// Action is an entry of the action log (S-27).
type Action struct {
	At     time.Time `db:"at"`
	Action string    `db:"action"` // CREATE, UPDATE, DELETE, ACTIVATE, DEACTIVATE, DEACTIVATION_…
	User   string    `db:"by_user"`
	JobID  int64     `db:"job_id"`
	// Schedule is uuid.Nil for an entry about the job.
	Schedule uuid.UUID `db:"schedule_id"`
	Text     string    `db:"text"`
}

// Actions lists the latest 200 entries about a job, or about one of its schedules if schedule is
// not uuid.Nil; newest first. total counts all.
func (s Store) Actions(
	ctx context.Context, scope Scope, job int64, schedule uuid.UUID,
) (list []Action, total int, err error) {
	c := scope.in(call.New("jobs_rest.list_actions")).In("job", job)
	if schedule != uuid.Nil {
		c.In("schedule", schedule)
	}
	list = []Action{}
	if err := s.conn.Query(ctx, "list actions", c, call.ScanOne(&total), call.Into(&list)); err != nil {
		return nil, 0, err
	}
	return list, total, nil
}
