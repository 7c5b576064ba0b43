package catalog

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/model"
)

// AddJob creates a job without steps and returns its id. It returns [dberror.ErrJobExists] when the
// name is taken.
func (s Store) AddJob(ctx context.Context, spec model.JobSpec) (uuid.UUID, error) {
	var id mssqldb.UniqueIdentifier
	c := call.New("jobs.sp_add_job").In("job_name", spec.Name)
	call.Given(c, model.JobFields, &spec)
	c.Out("job_id", &id)
	err := s.conn.Exec(ctx, "add job", c)
	return uuid.UUID(id), err
}

// UpdateJob changes the given values. It does not create a new version of the job.
func (s Store) UpdateJob(ctx context.Context, spec model.JobSpec) error {
	return s.conn.Exec(ctx, "update job", call.Given(call.New("jobs.sp_update_job").In("job_name", spec.Name), model.JobFields, &spec))
}

// DeleteJob deletes a job with its history. Without force it returns [dberror.ErrJobActive] while
// executions are active; with force they are canceled.
func (s Store) DeleteJob(ctx context.Context, name string, force bool) error {
	return s.conn.Exec(ctx, "delete job", call.New("jobs.sp_delete_job").In("job_name", name).In("force", force))
}

// SetJobParameters declares the parameters of a job, a JSON array; empty means none. It returns
// [dberror.ErrRevision] if the job has not the revision ifMatch; nil means any.
func (s Store) SetJobParameters(ctx context.Context, name, declared string, ifMatch *int64) error {
	c := call.New("jobs.sp_set_job_parameters").In("job_name", name).In("parameters", declared)
	return s.conn.Exec(ctx, "set the parameters of a job", call.Opt(c, "if_match", ifMatch))
}

// SetJobRollout sets the plan by which the runs of a job are rolled out, a JSON object; empty means
// none. It returns [dberror.ErrRevision] if the job has not the revision ifMatch; nil means any.
func (s Store) SetJobRollout(ctx context.Context, name, plan string, ifMatch *int64) error {
	c := call.New("jobs.sp_set_job_rollout").In("job_name", name).In("plan", plan)
	return s.conn.Exec(ctx, "set the plan of a job's roll-outs", call.Opt(c, "if_match", ifMatch))
}

// newStepArgs adds what a caller gives of a step that may be new: an empty target group is none.
func newStepArgs(c *call.Call, spec model.StepSpec) {
	if spec.TargetGroup != nil && *spec.TargetGroup == "" {
		spec.TargetGroup = nil
	}
	call.Given(c, model.StepFields, &spec)
}

// StepAdded is the result of AddJobStep.
type StepAdded struct {
	// StepID is the position of the new step, and JobVersion the version that contains it.
	StepID, JobVersion int
}

// AddJobStep adds a step, which creates a new version of the job.
func (s Store) AddJobStep(ctx context.Context, spec model.StepSpec) (StepAdded, error) {
	var version int64
	stepID := sql.NullInt64{Valid: spec.StepID != nil}
	if spec.StepID != nil {
		stepID.Int64 = int64(*spec.StepID)
	}
	c := call.New("jobs.sp_add_jobstep").In("job_name", spec.JobName)
	c.Out("step_id", &stepID)
	call.Opt(c, "step_name", spec.StepName)
	newStepArgs(c, spec)
	c.Out("job_version", &version)
	if err := s.conn.Exec(ctx, "add job step", c); err != nil {
		return StepAdded{}, err
	}
	return StepAdded{StepID: int(stepID.Int64), JobVersion: int(version)}, nil
}

// UpdateJobStep changes the given values of a step and returns the new version of the job. An empty
// text in Output, and -1 in MaxParallelism, remove the value.
func (s Store) UpdateJobStep(ctx context.Context, spec model.StepSpec) (int, error) {
	c := call.New("jobs.sp_update_jobstep").In("job_name", spec.JobName)
	call.Opt(c, "step_id", spec.StepID)
	call.Opt(c, "step_name", spec.StepName)
	call.Opt(c, "new_id", spec.NewID)
	call.Opt(c, "new_name", spec.NewName)
	var version int64
	call.Given(c, model.StepFields, &spec)
	c.Out("job_version", &version)
	err := s.conn.Exec(ctx, "update job step", c)
	return int(version), err
}

// DeleteJobStep deletes a step, named by id or by name, and returns the new version of the job.
func (s Store) DeleteJobStep(ctx context.Context, jobName string, stepID *int, stepName *string) (int, error) {
	var version int64
	c := call.New("jobs.sp_delete_jobstep").In("job_name", jobName)
	call.Opt(c, "step_id", stepID)
	call.Opt(c, "step_name", stepName)
	c.Out("job_version", &version)
	err := s.conn.Exec(ctx, "delete job step", c)
	return int(version), err
}

// Job is a row of the view jobs.jobs.
type Job struct {
	Name          string    `db:"job_name" json:"job_name"`
	ID            uuid.UUID `db:"job_id" json:"job_id"`
	Version       int       `db:"job_version" json:"job_version" doc:"0: the job has no steps"`
	Description   string    `db:"description" json:"description"`
	Enabled       bool      `db:"enabled" json:"enabled"`
	IntervalType  string    `db:"schedule_interval_type" json:"schedule_interval_type" doc:"Once, Minutes, Hours, Days, Weeks or Months"`
	IntervalCount int       `db:"schedule_interval_count" json:"schedule_interval_count"`
	Start         time.Time `db:"schedule_start_time" json:"schedule_start_time"`
	End           time.Time `db:"schedule_end_time" json:"schedule_end_time"`
}

// HasOwnSchedule reports whether somebody has defined the schedule of the job's own definition,
// which each job has in the T-SQL interface. The default, once and at once when it is enabled, is
// no schedule for people: enabling it starts a run.
func (j Job) HasOwnSchedule() bool {
	return j.Enabled || j.IntervalType != "Once" || j.Start.Year() > 1
}

// Jobs lists the jobs by name; a name that is not empty restricts the list to it.
func (s Store) Jobs(ctx context.Context, name string) ([]Job, error) {
	return call.SelectAll[Job](ctx, s.conn, "list jobs", `SELECT job_name, job_id, job_version, description, enabled,
    schedule_interval_type, schedule_interval_count, schedule_start_time, schedule_end_time
FROM jobs.jobs
WHERE @p1 = N'' OR job_name = @p1
ORDER BY job_name;`, name)
}

// JobStep is a row of the view jobs.jobsteps or jobs.jobstep_versions, with its options of the view
// jobs.jobstep_options.
type JobStep struct {
	JobName       string    `db:"job_name"`
	JobID         uuid.UUID `db:"job_id"`
	JobVersion    int       `db:"job_version"`
	StepID        int       `db:"step_id"`
	StepName      string    `db:"step_name"`
	CommandType   string    `db:"command_type"`
	CommandSource string    `db:"command_source"`
	Command       string    `db:"command"`
	Credential    string    `db:"credential_name"`
	TargetGroup   string    `db:"target_group_name"`
	TargetGroupID uuid.UUID `db:"target_group_id"`
	model.StepSettings
	OutputType string `db:"output_type"`
	controldb.Output
	OutputSubscriptionID uuid.UUID `db:"output_subscription_id"`
	OutputResourceGroup  string    `db:"output_resource_group_name"`
	MaxParallelism       *int      `db:"max_parallelism"` // nil: no limit
	// After names the steps that come before it; nil means the step with the preceding id.
	After []string `db:"after"`
	// Revision is the job's revision at which the step last changed.
	Revision int64 `db:"revision"`
}

// jobStepColumns are the columns of a [JobStep].
var jobStepColumns = func() string {
	list := []string{"v.job_name, v.job_id, v.job_version, v.step_id, v.step_name, v.command_source, v.target_group_id, o.revision"}
	for _, f := range model.StepFields {
		if f.Extension {
			list = append(list, "o."+f.Name)
		} else {
			list = append(list, "v."+f.Name)
		}
	}
	return strings.Join(list, ", ")
}()

// jobStepOptions joins the options of the steps v.
const jobStepOptions = ` INNER JOIN jobs.jobstep_options AS o
    ON o.job_id = v.job_id AND o.job_version = v.job_version AND o.step_id = v.step_id`

// JobSteps lists the steps of a version of a job in order; a nil version means the current one. The
// list is empty for a job that does not exist.
func (s Store) JobSteps(ctx context.Context, jobName string, version *int) ([]JobStep, error) {
	const op = "list job steps"
	if version == nil {
		return call.SelectAll[JobStep](ctx, s.conn, op,
			`SELECT `+jobStepColumns+` FROM jobs.jobsteps AS v`+jobStepOptions+` WHERE v.job_name = @p1 ORDER BY v.step_id;`, jobName)
	}
	return call.SelectAll[JobStep](ctx, s.conn, op,
		`SELECT `+jobStepColumns+` FROM jobs.jobstep_versions AS v`+jobStepOptions+`
WHERE v.job_name = @p1 AND v.job_version = @p2
ORDER BY v.step_id;`,
		jobName, *version)
}
