package catalog

import (
	"context"
	"time"

	"github.com/jobagent/jobagent/controldb"

	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// Reads of the dashboard's pages about jobs, schedules and target groups. The cost of each is that
// of the rows that it returns and of the definitions, not of the history.

// JobFilter restricts FindJobs. The zero value means all jobs that are not system jobs.
type JobFilter struct {
	// Search is a part of the name.
	Search string
	// Scheduled restricts to jobs that have a schedule that starts runs, or to those without one.
	Scheduled *bool
	// Failed restricts to jobs whose latest run ended Failed or TimedOut.
	Failed bool
}

// FindJobs lists jobs by name.
//
// Plan: the names of jobs in order. With Failed, also the newest key per job of
// IX_job_executions_job_id_create_time.
func (s Store) FindJobs(ctx context.Context, f JobFilter, p controldb.Page[string]) ([]JobDetail, error) {
	w := p.Filter("job_name", ">")
	w.Add("is_system = 0")
	if f.Search != "" {
		w.Add("CHARINDEX(%s, job_name) > 0", f.Search)
	}
	if f.Scheduled != nil {
		not := ""
		if !*f.Scheduled {
			not = "NOT "
		}
		w.Add(not + `EXISTS (
        SELECT 1
        FROM jobs.schedules AS s
        WHERE s.job_id = d.job_id AND s.enabled = 1 AND s.paused = 0 AND s.state = N'Enabled'
    )`)
	}
	if f.Failed {
		w.Add(`EXISTS (
        SELECT 1
        FROM (
            SELECT TOP (1) v.lifecycle
            FROM jobs.job_executions AS v
            WHERE v.job_id = d.job_id AND v.step_id IS NULL AND `+call.NoMode+`
            ORDER BY v.create_time DESC, v.job_execution_id
        ) AS l
        WHERE l.lifecycle IN (%s, %s)
    )`, string(jobs.Failed), string(jobs.TimedOut))
	}
	return call.SelectAll[JobDetail](ctx, s.conn, "find jobs", jobDetailColumns+" AS d"+w.Text()+"\nORDER BY job_name"+p.Text(w)+";", w.Args...)
}

// JobPlan sums up when a job runs: by the schedule of its own definition and by its named ones.
type JobPlan struct {
	JobName string `db:"job_name" json:"-"`
	Named   int    `db:"named" json:"named_schedules" doc:"beside the schedule of the job's own definition"`
	Active  int    `db:"active" json:"active_named_schedules" doc:"those of them that start runs"`
	// NextDue is zero if no schedule starts runs.
	NextDue time.Time `db:"next_due_time" json:"next_due_time,omitzero" doc:"of all schedules that start runs"`
	// ParametersFault is about the first schedule by name.
	ParametersFault string `db:"parameters_fault" json:"parameters_fault,omitempty" doc:"why the parameters of a schedule do not fit those that are declared"`
}

// JobPlans sums up the schedules of all jobs, or of one, by job. A job without a schedule is left
// out.
//
// Plan: the schedules, which are as many as people have defined; no history.
func (s Store) JobPlans(ctx context.Context, jobName string) ([]JobPlan, error) {
	w := call.NewFilter(0)
	if jobName != "" {
		w.Add("job_name = %s", jobName)
	}
	return call.SelectAll[JobPlan](ctx, s.conn, "sum up schedules", `SELECT TOP (@p1) job_name,
    SUM(CASE WHEN schedule_name <> N'' THEN 1 ELSE 0 END) AS named,
    SUM(CASE WHEN schedule_name <> N'' AND enabled = 1 AND paused = 0 AND state = N'Enabled' THEN 1 ELSE 0 END) AS active,
    MIN(CASE WHEN enabled = 1 AND paused = 0 AND state = N'Enabled' THEN next_due_time END) AS next_due_time,
    MIN(CASE WHEN state = N'Enabled' THEN CASE WHEN schedule_name = N'' THEN N'own schedule' ELSE schedule_name END + N': ' + parameters_fault END)
        AS parameters_fault
FROM jobs.schedules`+w.Text()+"\nGROUP BY job_name\nORDER BY job_name;", w.Args...)
}

// JobVersion is a row of the view jobs.job_version_details.
type JobVersion struct {
	Version int       `db:"job_version"`
	Created time.Time `db:"created_time"`
}

// LatestJobVersions lists the versions of a job, the latest first.
func (s Store) LatestJobVersions(ctx context.Context, jobName string, p controldb.Page[int]) ([]JobVersion, error) {
	w := p.Filter("job_version", "<")
	w.Add("job_name = %s", jobName)
	return call.SelectAll[JobVersion](ctx, s.conn, "list the latest versions of a job", `SELECT job_version, created_time
FROM jobs.job_version_details`+w.Text()+"\nORDER BY job_version DESC"+p.Text(w)+";", w.Args...)
}
