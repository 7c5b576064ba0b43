package catalog

import (
	"context"
	"github.com/jobagent/jobagent/controldb"
	"time"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// JobDetail is a row of the view jobs.job_details.
type JobDetail struct {
	Job
	System      bool      `db:"is_system"`
	CreatedTime time.Time `db:"created_time"`
	Revision    int64     `db:"revision"`
	// Origin is System, Scheduler, SAP or Elastic: where the job is defined.
	Origin string `db:"origin"`
	// Parameters are the declared parameters, a JSON array; empty means none.
	Parameters string `db:"parameters"`
	// RolloutPlan is the plan by which its runs are rolled out, a JSON object; empty means none.
	RolloutPlan string `db:"rollout_plan"`
}

const jobDetailColumns = `SELECT job_name, job_id, job_version, description, enabled, schedule_interval_type, schedule_interval_count,
    schedule_start_time, schedule_end_time, is_system, created_time, revision, origin,
    COALESCE(parameters, N'') AS parameters, COALESCE(rollout_plan, N'') AS rollout_plan
FROM jobs.job_details`

const jobDetailQuery = jobDetailColumns + "\nWHERE job_name = @p1;"

// JobDetail returns a job. It returns [dberror.ErrJobNotFound] when there is none of this name.
func (s Store) JobDetail(ctx context.Context, name string) (JobDetail, error) {
	list, err := call.SelectAll[JobDetail](ctx, s.conn, "read job", jobDetailQuery, name)
	return call.OnlyRow(list, err, "read job", dberror.ErrJobNotFound)
}

// JobRolloutPlan is the plan by which the runs of a job's current version are rolled out.
type JobRolloutPlan struct {
	JobName    string `db:"job_name"`
	JobVersion int    `db:"job_version"`
	// Plan is a JSON object with all members; empty if the job has no plan.
	Plan string `db:"rollout_plan"`
	// Description is the plan in English words.
	Description string `db:"description"`
}

// JobRolloutPlan returns the plan of a job. It returns [dberror.ErrJobNotFound] when there is no
// such job.
func (s Store) JobRolloutPlan(ctx context.Context, name string) (JobRolloutPlan, error) {
	list, err := call.SelectAll[JobRolloutPlan](ctx, s.conn, "read the plan of a job's roll-outs", `SELECT d.job_name, d.job_version,
    COALESCE(p.rollout_plan, N'') AS rollout_plan, COALESCE(p.description, N'') AS description
FROM jobs.job_details AS d
LEFT JOIN jobs.job_rollout_plans AS p ON p.job_id = d.job_id AND p.job_version = d.job_version
WHERE d.job_name = @p1;`, name)
	return call.OnlyRow(list, err, "read the plan of a job's roll-outs", dberror.ErrJobNotFound)
}

// JobDetails lists the jobs that are not system jobs by name.
func (s Store) JobDetails(ctx context.Context, p controldb.Page[string]) ([]JobDetail, error) {
	w := p.Filter("job_name", ">")
	w.Add("is_system = 0")
	return call.SelectAll[JobDetail](ctx, s.conn, "list jobs", jobDetailColumns+w.Text()+"\nORDER BY job_name"+p.Text(w)+";", w.Args...)
}

// JobVersions lists the numbers of a job's versions.
func (s Store) JobVersions(ctx context.Context, jobName string, p controldb.Page[int]) ([]int, error) {
	w := p.Filter("job_version", ">")
	w.Add("job_name = %s", jobName)
	return call.SelectAll[int](ctx, s.conn, "list job versions", `SELECT job_version
FROM jobs.job_versions`+w.Text()+"\nORDER BY job_version"+p.Text(w)+";", w.Args...)
}

// PageOfJobSteps lists the steps of a version of a job by their positions. A nil version means the
// current one.
func (s Store) PageOfJobSteps(ctx context.Context, jobName string, version *int, p controldb.Page[int]) ([]JobStep, error) {
	w := p.Filter("v.step_id", ">")
	w.Add("v.job_name = %s", jobName)
	view := "jobs.jobsteps"
	if version != nil {
		view = "jobs.jobstep_versions"
		w.Add("v.job_version = %s", *version)
	}
	return call.SelectAll[JobStep](ctx, s.conn, "list job steps", `SELECT `+jobStepColumns+`
FROM `+view+` AS v`+jobStepOptions+w.Text()+"\nORDER BY v.step_id"+p.Text(w)+";", w.Args...)
}

// JobStep returns a step of a version of a job; a nil version means the current one. It returns
// [dberror.ErrStepNotFound] when there is none of this name.
func (s Store) JobStep(ctx context.Context, jobName string, version *int, stepName string) (JobStep, error) {
	query, args := jobStepQuery(jobName, version, stepName)
	list, err := call.SelectAll[JobStep](ctx, s.conn, "read job step", query, args...)
	return call.OnlyRow(list, err, "read job step", dberror.ErrStepNotFound)
}

// jobStepQuery returns the query of JobStep, and its arguments.
func jobStepQuery(jobName string, version *int, stepName string) (string, []any) {
	w := call.NewFilter(1)
	w.Add("v.job_name = %s", jobName)
	view := "jobs.jobsteps"
	if version != nil {
		view = "jobs.jobstep_versions"
		w.Add("v.job_version = %s", *version)
	}
	w.Add("v.step_name = %s", stepName)
	return `SELECT TOP (@p1) ` + jobStepColumns + `
FROM ` + view + ` AS v` + jobStepOptions + w.Text() + ";", w.Args
}
