package scheduler

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Collection is a row of the view jobs.job_collections.
type Collection struct {
	Name     string    `db:"job_collection_name"`
	ID       uuid.UUID `db:"job_collection_id"`
	Location string    `db:"location"`
	SKU      string    `db:"sku"`
	State    string    `db:"state"`
	// MaxJobCount, MaxRecurrenceFrequency and MaxRecurrenceInterval are its quotas.
	MaxJobCount            int    `db:"max_job_count"`
	MaxJobOccurrence       *int   `db:"max_job_occurrence"` // nil: not given
	MaxRecurrenceFrequency string `db:"max_recurrence_frequency"`
	MaxRecurrenceInterval  int    `db:"max_recurrence_interval"`
	// Tags is a JSON object; empty means none.
	Tags     string `db:"tags"`
	Revision int64  `db:"revision"`
	Jobs     int    `db:"jobs"`
}

const collectionColumns = `job_collection_name, job_collection_id, location, sku, state, max_job_count, max_job_occurrence,
    max_recurrence_frequency, max_recurrence_interval, tags, revision, jobs`

// Collections lists job collections by name.
func (s Store) Collections(ctx context.Context, p controldb.Page[string]) ([]Collection, error) {
	w := p.Filter("job_collection_name", ">")
	return call.SelectAll[Collection](ctx, s.conn, "list job collections", `SELECT `+collectionColumns+`
FROM jobs.job_collections`+w.Text()+"\nORDER BY job_collection_name"+p.Text(w)+";", w.Args...)
}

// Collection returns a job collection, or [dberror.ErrCollectionNotFound].
func (s Store) Collection(ctx context.Context, name string) (Collection, error) {
	list, err := call.SelectAll[Collection](ctx, s.conn, "read job collection", collectionQuery, name)
	return call.OnlyRow(list, err, "read job collection", dberror.ErrCollectionNotFound)
}

const collectionQuery = `SELECT ` + collectionColumns + `
FROM jobs.job_collections
WHERE job_collection_name = @p1;`

// CollectionSpec is the argument of SetCollection. Empty texts and nil mean the defaults of
// jobs.sp_set_job_collection.
type CollectionSpec struct {
	Name, Location, SKU, State    string
	MaxJobCount, MaxJobOccurrence *int
	MaxRecurrenceFrequency        string
	MaxRecurrenceInterval         *int
	Tags                          string // a JSON object
	// IfMatch is the revision that the collection must have: 0 means that it must not exist, -1
	// that it must exist.
	IfMatch *int64
}

// SetCollection creates a job collection or replaces its settings.
func (s Store) SetCollection(ctx context.Context, spec CollectionSpec) (controldb.Put[Collection], error) {
	c := call.New("jobs.sp_set_job_collection").In("job_collection_name", spec.Name).OptText("location", spec.Location).
		OptText("sku", spec.SKU).OptText("state", spec.State)
	call.Opt(c, "max_job_count", spec.MaxJobCount)
	call.Opt(c, "max_job_occurrence", spec.MaxJobOccurrence)
	c.OptText("max_recurrence_frequency", spec.MaxRecurrenceFrequency)
	call.Opt(c, "max_recurrence_interval", spec.MaxRecurrenceInterval)
	c.OptText("tags", spec.Tags)
	return controldb.PutObject[Collection](ctx, s.conn, "set job collection", c, spec.IfMatch, collectionQuery, spec.Name)
}

// EnableCollection enables or disables a job collection: its jobs' schedules are paused, and
// those that were paused so are resumed. It returns the collection as the call left it.
func (s Store) EnableCollection(ctx context.Context, name string, enabled bool, ifMatch *int64) (Collection, error) {
	c := call.New("jobs.sp_enable_job_collection").In("job_collection_name", name).In("enabled", enabled)
	return call.Left[Collection](ctx, s.conn, "enable job collection", call.Opt(c, "if_match", ifMatch).Read(collectionQuery, name))
}

// DeleteCollection deletes a job collection with its jobs and their history.
func (s Store) DeleteCollection(ctx context.Context, name string, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_job_collection").In("job_collection_name", name)
	return s.conn.Exec(ctx, "delete job collection", call.Opt(c, "if_match", ifMatch))
}

// Action is an action of a job of a job collection: a step without a target group.
type Action struct {
	// Type is Http, StorageQueue, ServiceBusQueue or ServiceBusTopic; Command is the definition.
	Type, Command string
	Retries       int
	RetryInterval int // seconds
}

// Job is a row of the view jobs.scheduler_jobs.
type Job struct {
	Collection string    `db:"job_collection_name"`
	Name       string    `db:"job_name"`
	FullName   string    `db:"full_name"`
	ID         uuid.UUID `db:"job_id"`
	Revision   int64     `db:"revision"`
	// State is Enabled, Disabled, Completed or Faulted. Enabled tells whether the job itself is,
	// in a collection that is disabled.
	State    string `db:"state"`
	Enabled  bool   `db:"enabled"`
	Location string `db:"location"`
	// Schedule is a JSON object with startTime and recurrence.
	Schedule         string    `db:"schedule"`
	NextDueTime      time.Time `db:"next_due_time"`     // zero: none, or not known yet
	AwaitsValidation bool      `db:"awaits_validation"` // no agent has read the schedule
	DefinedTime      time.Time `db:"defined_time"`
	ActivatedTime    time.Time `db:"activated_time"`
	// ExecutionCount and FailureCount count attempts of the action, FaultedCount counts runs.
	ExecutionCount    int64     `db:"execution_count"`
	FailureCount      int64     `db:"failure_count"`
	FaultedCount      int64     `db:"faulted_count"`
	LastExecutionTime time.Time `db:"last_execution_time"` // zero: none yet
	// Properties is the action as REST shows it; empty for a job that was defined in T-SQL.
	Properties string `db:"properties"`

	MainType          string `db:"command_type"`
	MainCommand       string `db:"command"`
	MainRetries       int    `db:"retry_attempts"`
	MainRetryInterval int    `db:"retry_interval_seconds"`
	// ErrorType is empty if there is no error action.
	ErrorType          string `db:"error_command_type"`
	ErrorCommand       string `db:"error_command"`
	ErrorRetries       int    `db:"error_retry_attempts"`
	ErrorRetryInterval int    `db:"error_retry_interval_seconds"`
}

// Main returns the action.
func (j Job) Main() Action {
	return Action{j.MainType, j.MainCommand, j.MainRetries, j.MainRetryInterval}
}

// Error returns the error action, or nil.
func (j Job) Error() *Action {
	if j.ErrorType == "" {
		return nil
	}
	return &Action{j.ErrorType, j.ErrorCommand, j.ErrorRetries, j.ErrorRetryInterval}
}

const jobColumns = `job_collection_name, job_name, full_name, job_id, revision, state, enabled, location, [schedule],
    next_due_time, awaits_validation, defined_time, activated_time, execution_count, failure_count, faulted_count,
    last_execution_time, properties, command_type, command, retry_attempts, retry_interval_seconds, error_command_type,
    error_command, error_retry_attempts, error_retry_interval_seconds`

// Jobs lists jobs of a job collection by name: those in a state, which is Enabled,
// Disabled, Completed or Faulted; empty means any.
func (s Store) Jobs(ctx context.Context, collection, state string, p controldb.Page[string]) ([]Job, error) {
	w := p.Filter("job_name", ">")
	w.Add("job_collection_name = %s", collection)
	if state != "" {
		w.Add("state = %s", state)
	}
	return call.SelectAll[Job](ctx, s.conn, "list jobs of a collection", `SELECT `+jobColumns+`
FROM jobs.scheduler_jobs`+w.Text()+"\nORDER BY job_name"+p.Text(w)+"\nOPTION (RECOMPILE);", w.Args...)
}

// Job returns a job of a job collection, or [dberror.ErrSchedulerJobNotFound].
func (s Store) Job(ctx context.Context, collection, name string) (Job, error) {
	list, err := call.SelectAll[Job](ctx, s.conn, "read job of a collection", jobQuery, collection, name)
	return call.OnlyRow(list, err, "read job of a collection", dberror.ErrSchedulerJobNotFound)
}

const jobQuery = `SELECT ` + jobColumns + `
FROM jobs.scheduler_jobs
WHERE job_collection_name = @p1
    AND job_name = @p2;`

// Secret is a sealed secret of an action; see [secrets.Store.Seal].
type Secret struct {
	Name   string          `json:"name"`
	Sealed json.RawMessage `json:"sealed"`
}

// JobSpec is the argument of SetJob.
type JobSpec struct {
	Collection, Name string
	Main             Action
	Error            *Action // nil: none
	// Schedule is a JSON object with startTime and recurrence.
	Schedule string
	Enabled  bool
	// Properties is the action as REST shows it.
	Properties string
	Secrets    []Secret
	// Gap is the shortest time between two due instants in seconds; 0: frequency and interval
	// say it.
	Gap int64
	// NoQuotas disregards the quotas of the collection.
	NoQuotas bool
	// IfMatch is as in CollectionSpec.
	IfMatch *int64
}

// SetJob creates a job of a job collection, or replaces it.
func (s Store) SetJob(ctx context.Context, spec JobSpec) (controldb.Put[Job], error) {
	c := call.New("jobs.sp_set_scheduler_job").In("job_collection_name", spec.Collection).In("job_name", spec.Name).
		In("command_type", spec.Main.Type).In("command", spec.Main.Command).In("schedule", spec.Schedule).
		In("retry_attempts", int64(spec.Main.Retries)).In("retry_interval_seconds", int64(spec.Main.RetryInterval))
	if e := spec.Error; e != nil {
		c.In("error_command_type", e.Type).In("error_command", e.Command).In("error_retry_attempts", int64(e.Retries)).
			In("error_retry_interval_seconds", int64(e.RetryInterval))
	}
	c.In("enabled", spec.Enabled).OptText("properties", spec.Properties)
	if len(spec.Secrets) > 0 {
		text, err := json.Marshal(spec.Secrets)
		if err != nil {
			return controldb.Put[Job]{}, err
		}
		c.In("secrets", string(text))
	}
	if spec.Gap > 0 {
		c.In("gap_seconds", spec.Gap)
	}
	c.In("quotas", !spec.NoQuotas)
	return controldb.PutObject[Job](ctx, s.conn, "set job of a collection", c, spec.IfMatch, jobQuery, spec.Collection, spec.Name)
}

// EnableJob enables or disables a job of a job collection, and returns the job as the call
// left it.
func (s Store) EnableJob(ctx context.Context, collection, name string, enabled bool, ifMatch *int64) (Job, error) {
	c := call.New("jobs.sp_enable_scheduler_job").In("job_collection_name", collection).In("job_name", name).In("enabled", enabled)
	return call.Left[Job](ctx, s.conn, "enable job of a collection", call.Opt(c, "if_match", ifMatch).Read(jobQuery, collection, name))
}

// RunJob starts a run of a job of a job collection. id is the id of the run: if a run of
// the job has it already, nothing starts.
func (s Store) RunJob(ctx context.Context, collection, name string, id uuid.UUID) error {
	return s.conn.Exec(ctx, "run job of a collection", call.New("jobs.sp_run_scheduler_job").
		In("job_collection_name", collection).In("job_name", name).In("job_execution_id", id))
}

// DeleteJob deletes a job of a job collection with its history.
func (s Store) DeleteJob(ctx context.Context, collection, name string, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_scheduler_job").In("job_collection_name", collection).In("job_name", name)
	return s.conn.Exec(ctx, "delete job of a collection", call.Opt(c, "if_match", ifMatch))
}

// Run is a run of a job of a job collection.
type Run struct {
	ID          uuid.UUID `db:"job_execution_id"`
	CreatedTime time.Time `db:"create_time"`
	// Scheduled is false for a run that was started by hand.
	Scheduled bool `db:"scheduled"`
	// Started is the number of runs that the schedule has started until now.
	Started int64 `db:"executions"`
}

// Runs lists runs of a job of a job collection, the latest first.
func (s Store) Runs(ctx context.Context, job uuid.UUID, p controldb.Page[executions.Key]) ([]Run, error) {
	w := call.NewFilter(p.Top)
	w.Add("v.job_id = %s", mssqldb.UniqueIdentifier(job))
	p.After.Add(w)
	return call.SelectAll[Run](ctx, s.conn, "list runs of a job of a collection", `SELECT v.job_execution_id, v.create_time, v.scheduled, v.executions
FROM jobs.scheduler_runs AS v`+w.Text()+"\nORDER BY v.create_time DESC, v.job_execution_id"+p.Text(w)+";", w.Args...)
}

// Attempt is a row of the view jobs.scheduler_history.
type Attempt struct {
	RunID        uuid.UUID `db:"job_execution_id"`
	ID           int64     `db:"attempt_id"`
	Action       string    `db:"action_name"`
	Status       string    `db:"status"`
	StartTime    time.Time `db:"start_time"`
	EndTime      time.Time `db:"end_time"`
	ExpectedTime time.Time `db:"expected_time"`
	RetryCount   int       `db:"retry_count"`
	Message      string    `db:"message"`
}

// History lists the attempts of the runs of a job of a job collection that were created
// from one time to another, newest first. A status that is not empty restricts the list.
func (s Store) History(ctx context.Context, job uuid.UUID, from, to time.Time, status string) ([]Attempt, error) {
	return call.SelectAll[Attempt](ctx, s.conn, "list history of a job of a collection", `SELECT job_execution_id,
    attempt_id, action_name, status, start_time, end_time, expected_time, retry_count, message
FROM jobs.scheduler_history
WHERE job_id = @p1
    AND run_created_time BETWEEN @p2 AND @p3
    AND (@p4 = N'' OR status = @p4)
ORDER BY run_created_time DESC, attempt_id DESC
OPTION (RECOMPILE);`, mssqldb.UniqueIdentifier(job), call.Datetime2(from), call.Datetime2(to), status)
}
