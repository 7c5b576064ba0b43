package controldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"
)

// JobSpec is the argument of AddJob: the parameters of jobs.sp_add_job. A nil field is not sent.
type JobSpec struct {
	Name        string
	Description *string
	Enabled     *bool
	// IntervalType is Once, Minutes, Hours, Days, Weeks or Months, in any case.
	IntervalType  *string
	IntervalCount *int
	Start, End    *time.Time
}

// AddJob creates a job without steps and returns its id. It returns [ErrJobExists] when the name is
// taken.
func (s *Store) AddJob(ctx context.Context, spec JobSpec) (uuid.UUID, error) {
	var id mssqldb.UniqueIdentifier
	c := newCall("jobs.sp_add_job").in("job_name", spec.Name)
	opt(c, "description", spec.Description)
	opt(c, "enabled", spec.Enabled)
	scheduleArgs(c, spec.IntervalType, spec.IntervalCount, spec.Start, spec.End)
	c.out("job_id", &id)
	err := s.exec(ctx, "add job", c)
	return uuid.UUID(id), err
}

func scheduleArgs(c *call, kind *string, count *int, start, end *time.Time) {
	opt(c, "schedule_interval_type", kind)
	opt(c, "schedule_interval_count", count)
	opt(c, "schedule_start_time", start)
	opt(c, "schedule_end_time", end)
}

// JobUpdate is the argument of UpdateJob: the parameters of jobs.sp_update_job. A nil field leaves
// the value unchanged.
type JobUpdate struct {
	Name          string
	NewName       *string
	Description   *string
	Enabled       *bool
	IntervalType  *string
	IntervalCount *int
	Start, End    *time.Time
}

// UpdateJob changes the given values. It does not create a new version of the job.
func (s *Store) UpdateJob(ctx context.Context, u JobUpdate) error {
	c := newCall("jobs.sp_update_job").in("job_name", u.Name)
	opt(c, "new_name", u.NewName)
	opt(c, "description", u.Description)
	opt(c, "enabled", u.Enabled)
	scheduleArgs(c, u.IntervalType, u.IntervalCount, u.Start, u.End)
	return s.exec(ctx, "update job", c)
}

// DeleteJob deletes a job with its history. Without force it returns [ErrJobActive] while
// executions are active; with force they are canceled.
func (s *Store) DeleteJob(ctx context.Context, name string, force bool) error {
	return s.exec(ctx, "delete job", newCall("jobs.sp_delete_job").in("job_name", name).in("force", force))
}

// SetJobParameters declares the parameters of a job, a JSON array; empty means none. It returns
// [ErrRevision] if the job has not the revision ifMatch; nil means any.
func (s *Store) SetJobParameters(ctx context.Context, name, declared string, ifMatch *int64) error {
	c := newCall("jobs.sp_set_job_parameters").in("job_name", name).in("parameters", declared)
	return s.exec(ctx, "set the parameters of a job", opt(c, "if_match", ifMatch))
}

// StepSpec is the argument of AddJobStep: the parameters of jobs.sp_add_jobstep. A nil field is not
// sent.
type StepSpec struct {
	JobName                 string
	StepID                  *int
	StepName                *string
	CommandType             *string // as action.Type, in any case; nil means TSql
	Command                 string
	Credential              *string
	TargetGroup             string // empty for an action on its endpoint
	InitialRetryInterval    *int   // seconds
	MaximumRetryInterval    *int   // seconds
	RetryIntervalMultiplier *float64
	RetryAttempts           *int
	Timeout                 *int // seconds
	Output                  *OutputSpec
	MaxParallelism          *int
	RetryErrors             *string // All (nil) or Transient
	ToleratedFailures       *string // as in StepOption; nil: none
	Dependencies
}

// Dependencies are the options that say which steps come before a step, and when it starts after
// them. A nil field keeps the value of an existing step, and takes the default in a new one.
type Dependencies struct {
	// After names the steps: one name, names separated by commas, or a JSON array of names. An
	// empty text means none. "(default)" means the step with the preceding id.
	After *string
	// RunWhen is Succeeded (the default), Failed or Finished.
	RunWhen *string
	// OnTargets is All (the default), Failed or Succeeded.
	OnTargets *string
}

// args adds the parameters.
func (d Dependencies) args(c *call) {
	opt(c, "after", d.After)
	opt(c, "run_when", d.RunWhen)
	opt(c, "on_targets", d.OnTargets)
}

// OutputSpec is the destination of a step's first result set. A nil field is not sent.
type OutputSpec struct {
	Type, Credential, Server, Database, Schema, Table *string
	SubscriptionID                                    *uuid.UUID
	ResourceGroup                                     *string
}

// args adds the output's parameters.
func (o *OutputSpec) args(c *call) {
	if o == nil {
		return
	}
	opt(c, "output_type", o.Type)
	opt(c, "output_credential_name", o.Credential)
	opt(c, "output_subscription_id", o.SubscriptionID)
	opt(c, "output_resource_group_name", o.ResourceGroup)
	opt(c, "output_server_name", o.Server)
	opt(c, "output_database_name", o.Database)
	opt(c, "output_schema_name", o.Schema)
	opt(c, "output_table_name", o.Table)
}

// attemptArgs adds the parameters of retries and of the time limit.
func attemptArgs(c *call, initialInterval, maximumInterval *int, multiplier *float64, attempts, timeout *int) {
	opt(c, "initial_retry_interval_seconds", initialInterval)
	opt(c, "maximum_retry_interval_seconds", maximumInterval)
	opt(c, "retry_interval_backoff_multiplier", multiplier)
	opt(c, "retry_attempts", attempts)
	opt(c, "step_timeout_seconds", timeout)
}

// StepAdded is the result of AddJobStep.
type StepAdded struct {
	// StepID is the position of the new step, and JobVersion the version that contains it.
	StepID, JobVersion int
}

// AddJobStep adds a step, which creates a new version of the job.
func (s *Store) AddJobStep(ctx context.Context, spec StepSpec) (StepAdded, error) {
	var version int64
	stepID := sql.NullInt64{Valid: spec.StepID != nil}
	if spec.StepID != nil {
		stepID.Int64 = int64(*spec.StepID)
	}
	c := newCall("jobs.sp_add_jobstep").in("job_name", spec.JobName)
	c.out("step_id", &stepID)
	opt(c, "step_name", spec.StepName)
	opt(c, "command_type", spec.CommandType)
	c.in("command", spec.Command)
	opt(c, "credential_name", spec.Credential)
	c.optText("target_group_name", spec.TargetGroup)
	attemptArgs(
		c,
		spec.InitialRetryInterval,
		spec.MaximumRetryInterval,
		spec.RetryIntervalMultiplier,
		spec.RetryAttempts,
		spec.Timeout,
	)
	spec.Output.args(c)
	opt(c, "max_parallelism", spec.MaxParallelism)
	opt(c, "retry_errors", spec.RetryErrors)
	opt(c, "tolerated_failures", spec.ToleratedFailures)
	spec.Dependencies.args(c)
	c.out("job_version", &version)
	if err := s.exec(ctx, "add job step", c); err != nil {
		return StepAdded{}, err
	}
	return StepAdded{StepID: int(stepID.Int64), JobVersion: int(version)}, nil
}

// StepUpdate is the argument of UpdateJobStep: the parameters of jobs.sp_update_jobstep. A nil
// field leaves the value unchanged. An empty text in Output, and -1 in MaxParallelism, remove the
// value.
type StepUpdate struct {
	JobName                 string
	StepID                  *int
	StepName                *string
	NewID                   *int
	NewName                 *string
	CommandType             *string // a change needs Command, too
	Command                 *string
	Credential              *string
	TargetGroup             *string
	InitialRetryInterval    *int // seconds
	MaximumRetryInterval    *int // seconds
	RetryIntervalMultiplier *float64
	RetryAttempts           *int
	Timeout                 *int // seconds
	Output                  *OutputSpec
	MaxParallelism          *int
	RetryErrors             *string // All or Transient
	ToleratedFailures       *string // as in StepOption
	Dependencies
}

// UpdateJobStep changes the given values of a step and returns the new version of the job.
func (s *Store) UpdateJobStep(ctx context.Context, u StepUpdate) (int, error) {
	var version int64
	c := newCall("jobs.sp_update_jobstep").in("job_name", u.JobName)
	opt(c, "step_id", u.StepID)
	opt(c, "step_name", u.StepName)
	opt(c, "new_id", u.NewID)
	opt(c, "new_name", u.NewName)
	opt(c, "command_type", u.CommandType)
	opt(c, "command", u.Command)
	opt(c, "credential_name", u.Credential)
	opt(c, "target_group_name", u.TargetGroup)
	attemptArgs(
		c,
		u.InitialRetryInterval,
		u.MaximumRetryInterval,
		u.RetryIntervalMultiplier,
		u.RetryAttempts,
		u.Timeout,
	)
	u.Output.args(c)
	opt(c, "max_parallelism", u.MaxParallelism)
	opt(c, "retry_errors", u.RetryErrors)
	opt(c, "tolerated_failures", u.ToleratedFailures)
	u.Dependencies.args(c)
	c.out("job_version", &version)
	err := s.exec(ctx, "update job step", c)
	return int(version), err
}

// StepOptions is the argument of SetJobStepOptions. A nil field leaves the value unchanged.
type StepOptions struct {
	JobName  string
	StepID   *int
	StepName *string
	// OnUnknownOutcome is Retry, Fail or Await: what follows an attempt with an unknown outcome.
	OnUnknownOutcome *string
	// AtMostOnce runs the script in one transaction with a ledger row in the target.
	AtMostOnce *bool
	// BindParameters makes the run's parameters variables of the script.
	BindParameters *bool
	// RetryErrors is All or Transient: the failures after which another attempt follows.
	RetryErrors *string
	// ToleratedFailures are those of [StepOption].
	ToleratedFailures *string
	Dependencies
}

// SetJobStepOptions changes the step options that Azure does not have, and returns the new version
// of the job.
func (s *Store) SetJobStepOptions(ctx context.Context, o StepOptions) (int, error) {
	var version int64
	c := newCall("jobs.sp_set_jobstep_options").in("job_name", o.JobName)
	opt(c, "step_id", o.StepID)
	opt(c, "step_name", o.StepName)
	opt(c, "on_unknown_outcome", o.OnUnknownOutcome)
	opt(c, "at_most_once", o.AtMostOnce)
	opt(c, "bind_parameters", o.BindParameters)
	opt(c, "retry_errors", o.RetryErrors)
	opt(c, "tolerated_failures", o.ToleratedFailures)
	o.Dependencies.args(c)
	c.out("job_version", &version)
	err := s.exec(ctx, "set job step options", c)
	return int(version), err
}

// StepOption is a row of the view jobs.jobstep_options.
type StepOption struct {
	StepID           int    `db:"step_id"`
	StepName         string `db:"step_name"`
	OnUnknownOutcome string `db:"on_unknown_outcome"`
	AtMostOnce       bool   `db:"at_most_once"`
	BindParameters   bool   `db:"bind_parameters"`
	// After names the steps that come before it; nil means the step with the preceding id.
	After     StepNames `db:"after"`
	RunWhen   string    `db:"run_when"`
	OnTargets string    `db:"on_targets"`
	// RetryErrors is All or Transient: the failures after which another attempt follows.
	RetryErrors string `db:"retry_errors"`
	// ToleratedFailures is how many targets may fail, and the step succeeds: a number, or a
	// percentage such as 1%.
	ToleratedFailures string `db:"tolerated_failures"`
}

// StepNames are names of steps. The database holds them as a JSON array, and nil as NULL.
type StepNames []string

// Scan implements [sql.Scanner].
func (n *StepNames) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*n = nil
		return nil
	case string:
		return json.Unmarshal([]byte(v), n)
	default:
		return fmt.Errorf("invalid names of steps of type %T: want a text", value)
	}
}

// JobStepOptions lists the options of the steps of a job's current version, in order.
func (s *Store) JobStepOptions(ctx context.Context, jobName string) ([]StepOption, error) {
	return selectAll[StepOption](
		ctx,
		s,
		"list job step options",
		`SELECT step_id, step_name, on_unknown_outcome, at_most_once, bind_parameters, after, run_when, on_targets, retry_errors,
    tolerated_failures
FROM jobs.jobstep_options
WHERE job_name = @p1 AND is_current = 1
ORDER BY step_id;`, jobName)
}

// DeleteJobStep deletes a step, named by id or by name, and returns the new version of the job.
func (s *Store) DeleteJobStep(ctx context.Context, jobName string, stepID *int, stepName *string) (int, error) {
	var version int64
	c := newCall("jobs.sp_delete_jobstep").in("job_name", jobName)
	opt(c, "step_id", stepID)
	opt(c, "step_name", stepName)
	c.out("job_version", &version)
	err := s.exec(ctx, "delete job step", c)
	return int(version), err
}

// Job is a row of the view jobs.jobs.
type Job struct {
	ID            uuid.UUID `db:"job_id"`
	Name          string    `db:"job_name"`
	Version       int       `db:"job_version"`
	Description   string    `db:"description"`
	Enabled       bool      `db:"enabled"`
	IntervalType  string    `db:"schedule_interval_type"`
	IntervalCount int       `db:"schedule_interval_count"`
	Start         time.Time `db:"schedule_start_time"`
	End           time.Time `db:"schedule_end_time"`
}

// HasOwnSchedule reports whether somebody has defined the schedule of the job's own definition,
// which each job has in the T-SQL interface. The default, once and at once when it is enabled, is
// no schedule for people: enabling it starts a run.
func (j Job) HasOwnSchedule() bool {
	return j.Enabled || j.IntervalType != "Once" || j.Start.Year() > 1
}

// Jobs lists the jobs by name; a name that is not empty restricts the list to it.
func (s *Store) Jobs(ctx context.Context, name string) ([]Job, error) {
	return selectAll[Job](ctx, s, "list jobs", `SELECT job_name, job_id, job_version, description, enabled,
    schedule_interval_type, schedule_interval_count, schedule_start_time, schedule_end_time
FROM jobs.jobs
WHERE @p1 = N'' OR job_name = @p1
ORDER BY job_name;`, name)
}

// JobStep is a row of the view jobs.jobsteps or jobs.jobstep_versions.
type JobStep struct {
	JobName                 string    `db:"job_name"`
	JobID                   uuid.UUID `db:"job_id"`
	JobVersion              int       `db:"job_version"`
	StepID                  int       `db:"step_id"`
	StepName                string    `db:"step_name"`
	CommandType             string    `db:"command_type"`
	CommandSource           string    `db:"command_source"`
	Command                 string    `db:"command"`
	Credential              string    `db:"credential_name"`
	TargetGroup             string    `db:"target_group_name"`
	TargetGroupID           uuid.UUID `db:"target_group_id"`
	InitialRetryInterval    int       `db:"initial_retry_interval_seconds"`
	MaximumRetryInterval    int       `db:"maximum_retry_interval_seconds"`
	RetryIntervalMultiplier float64   `db:"retry_interval_backoff_multiplier"`
	RetryAttempts           int       `db:"retry_attempts"`
	Timeout                 int       `db:"step_timeout_seconds"` // seconds
	OutputType              string    `db:"output_type"`
	Output
	OutputSubscriptionID uuid.UUID `db:"output_subscription_id"`
	OutputResourceGroup  string    `db:"output_resource_group_name"`
	MaxParallelism       *int      `db:"max_parallelism"` // nil: no limit
	// These are those of the step's [StepOption].
	After       StepNames `db:"after"`
	RunWhen     string    `db:"run_when"`
	OnTargets   string    `db:"on_targets"`
	RetryErrors string    `db:"retry_errors"`

	ToleratedFailures string `db:"tolerated_failures"`
	// Revision is the job's revision at which the step last changed.
	Revision int64 `db:"revision"`
}

const jobStepColumns = `v.job_name, v.job_id, v.job_version, v.step_id, v.step_name, v.command_type, v.command_source,
    v.command, v.credential_name, v.target_group_name, v.target_group_id, v.initial_retry_interval_seconds,
    v.maximum_retry_interval_seconds, v.retry_interval_backoff_multiplier, v.retry_attempts, v.step_timeout_seconds,
    v.output_type, v.output_credential_name, v.output_subscription_id, v.output_resource_group_name, v.output_server_name, v.output_database_name, v.output_schema_name,
    v.output_table_name, v.max_parallelism, o.after, o.run_when, o.on_targets,
    o.retry_errors, o.tolerated_failures, o.revision`

// jobStepOptions joins the options of the steps v.
const jobStepOptions = ` INNER JOIN jobs.jobstep_options AS o
    ON o.job_id = v.job_id AND o.job_version = v.job_version AND o.step_id = v.step_id`

// JobSteps lists the steps of a version of a job in order; a nil version means the current one. The
// list is empty for a job that does not exist.
func (s *Store) JobSteps(ctx context.Context, jobName string, version *int) ([]JobStep, error) {
	const op = "list job steps"
	if version == nil {
		return selectAll[JobStep](ctx, s, op,
			`SELECT `+jobStepColumns+` FROM jobs.jobsteps AS v`+jobStepOptions+` WHERE v.job_name = @p1 ORDER BY v.step_id;`, jobName)
	}
	return selectAll[JobStep](ctx, s, op,
		`SELECT `+jobStepColumns+` FROM jobs.jobstep_versions AS v`+jobStepOptions+`
WHERE v.job_name = @p1 AND v.job_version = @p2
ORDER BY v.step_id;`,
		jobName, *version)
}
