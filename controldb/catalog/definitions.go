package catalog

import (
	"context"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Definitions are the definitions of jobs that are not system jobs.
type Definitions struct {
	Jobs []JobDetail // by name
	// Steps are those of the current versions, by job and position.
	Steps []JobStep
}

// Defined reads the definitions of jobs with two queries. Names that are not nil restrict the jobs;
// if there are many, all are read.
//
// Plan: the definitions, once each. The history is not read.
func (s Store) Defined(ctx context.Context, jobNames []string) (d Definitions, err error) {
	w := &call.Filter{}
	w.Jobs("job_name", jobNames)
	w.Add("is_system = 0")
	if d.Jobs, err = call.SelectAll[JobDetail](ctx, s.conn, "read jobs", jobDetailColumns+w.Text()+"\nORDER BY job_name;", w.Args...); err != nil {
		return Definitions{}, err
	}
	w = &call.Filter{}
	w.Jobs("v.job_name", jobNames)
	w.Add("v.command_type <> N'Upkeep'")
	d.Steps, err = call.SelectAll[JobStep](ctx, s.conn, "read steps", `SELECT `+jobStepColumns+`
FROM jobs.jobsteps AS v`+jobStepOptions+w.Text()+"\nORDER BY v.job_name, v.step_id;", w.Args...)
	return d, err
}

// ActiveJobs lists the names of the jobs among those given that have an active run.
//
// Plan: the active runs, by their index.
func (s Store) ActiveJobs(ctx context.Context) ([]string, error) {
	return call.SelectAll[string](ctx, s.conn, "list jobs with active runs", `SELECT DISTINCT job_name
FROM jobs.job_executions
WHERE is_active = 1 AND step_id IS NULL
ORDER BY job_name;`)
}
