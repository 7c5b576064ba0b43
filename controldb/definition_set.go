package controldb

import (
	"context"
	"fmt"

	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Definitions are the definitions of a control database that have no room of their own, but not
// system jobs, settings and credentials. Each list is by name.
type Definitions struct {
	Jobs []JobDetail
	// Steps are those of the current versions, by job and position.
	Steps  []JobStep
	Limits []Limit // without their use
}

// Definitions reads the definitions with one query for each kind. Names that are not nil restrict
// the jobs; if there are many, all are read.
//
// Plan: the definitions, once each. The history is not read.
func (s *Store) Definitions(ctx context.Context, jobNames []string) (Definitions, error) {
	var d Definitions
	for _, read := range []func() error{
		func() (err error) {
			w := &call.Filter{}
			w.Jobs("job_name", jobNames)
			w.Add("is_system = 0")
			d.Jobs, err = call.SelectAll[JobDetail](ctx, s.conn, "read jobs", jobDetailColumns+w.Text()+"\nORDER BY job_name;", w.Args...)
			return err
		},
		func() (err error) {
			w := &call.Filter{}
			w.Jobs("v.job_name", jobNames)
			w.Add("v.command_type <> N'Upkeep'")
			d.Steps, err = call.SelectAll[JobStep](ctx, s.conn, "read steps", `SELECT `+jobStepColumns+`
FROM jobs.jobsteps AS v`+jobStepOptions+w.Text()+"\nORDER BY v.job_name, v.step_id;", w.Args...)
			return err
		},
		func() (err error) {
			// without the use of the limits, which costs a count of targets each
			d.Limits, err = call.SelectAll[Limit](ctx, s.conn, "read limits", `SELECT scope, name, server_name, max_concurrent_targets, updated_at
FROM jobs.limits
ORDER BY scope, name, server_name;`)
			return err
		},
	} {
		if err := read(); err != nil {
			return Definitions{}, fmt.Errorf("read the definitions: %w", err)
		}
	}
	return d, nil
}

// ActiveJobs lists the names of the jobs among those given that have an active run.
//
// Plan: the active runs, by their index.
func (s *Store) ActiveJobs(ctx context.Context) ([]string, error) {
	return call.SelectAll[string](ctx, s.conn, "list jobs with active runs", `SELECT DISTINCT job_name
FROM jobs.job_executions
WHERE is_active = 1 AND step_id IS NULL
ORDER BY job_name;`)
}
