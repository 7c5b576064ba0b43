package catalog

import (
	"context"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs/model"
)

// SetJob creates a job, or replaces an existing one: a nil field gets its default.
func (s Store) SetJob(ctx context.Context, spec model.JobSpec, ifMatch *int64) (controldb.Put[JobDetail], error) {
	c := call.Given(call.New("jobs.sp_set_job").In("job_name", spec.Name), model.JobFields, &spec)
	return controldb.PutObject[JobDetail](ctx, s.conn, "set job", c, ifMatch, jobDetailQuery, spec.Name)
}

// DeleteJobIf is DeleteJob for a job of a certain revision.
func (s Store) DeleteJobIf(ctx context.Context, name string, force bool, ifMatch *int64) error {
	c := call.New("jobs.sp_delete_job").In("job_name", name).In("force", force)
	return s.conn.Exec(ctx, "delete job", call.Opt(c, "if_match", ifMatch))
}

// SetJobStep creates a step, or replaces an existing one: a nil field gets its default, but
// MaxParallelism and the options that Azure does not have stay in an existing step, and so does its
// position if StepID is nil. Neither of them can be given.
func (s Store) SetJobStep(ctx context.Context, spec model.StepSpec, ifMatch *int64) (controldb.Put[JobStep], error) {
	c := call.New("jobs.sp_set_jobstep").In("job_name", spec.JobName)
	call.Opt(c, "step_name", spec.StepName)
	call.Opt(c, "step_id", spec.StepID)
	newStepArgs(c, spec)
	name := ""
	if spec.StepName != nil {
		name = *spec.StepName
	}
	query, args := jobStepQuery(spec.JobName, nil, name)
	return controldb.PutObject[JobStep](ctx, s.conn, "set job step", c, ifMatch, query, args...)
}

// DeleteJobStepIf deletes the step of a name if it has a certain revision, and returns the new
// version of the job.
func (s Store) DeleteJobStepIf(ctx context.Context, jobName, stepName string, ifMatch *int64) (int, error) {
	var version int64
	c := call.New("jobs.sp_delete_jobstep").In("job_name", jobName).In("step_name", stepName).Out("job_version", &version)
	err := s.conn.Exec(ctx, "delete job step", call.Opt(c, "if_match", ifMatch))
	return int(version), err
}
