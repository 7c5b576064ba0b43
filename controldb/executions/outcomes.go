package executions

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/jobs"
)

// TargetFilter chooses databases and jobs for [Store.TargetOutcomes]. The zero value means all
// databases on which a job ever ran, and all jobs.
type TargetFilter struct {
	// Group is a target group: its databases, as a run resolved them last, and the jobs that use
	// it.
	Group string
	// Target is one database, and the jobs that ran there.
	Target uuid.UUID
	// Search is a part of the database's or server's name, and JobSearch one of the job's name.
	Search, JobSearch string
	// Lacking restricts to databases on which the last outcome of one of the jobs is not Succeeded,
	// or on which it never ran.
	Lacking bool
	// After is the database behind which the list begins; its zero value: at the beginning.
	After FoundTarget
	// AfterJob is the job behind which the jobs begin.
	AfterJob string
	// Top is the maximum number of databases, 1 to 1000, and Jobs that of jobs, 0 to 500. With 0,
	// only the databases are found.
	Top, Jobs int
}

// TargetOutcomes is the answer of jobs.sp_get_target_outcomes.
type TargetOutcomes struct {
	Now time.Time `db:"now"`
	// Run and Step are those that resolved the group last, at Resolved; zero: there are none.
	Run      uuid.UUID `db:"job_execution_id"`
	Step     int       `db:"step_id"`
	Resolved time.Time `db:"resolved_time"`
	// Databases is the number of databases of the list that the search finds, and Examined the
	// number of those that were examined for this page.
	Databases int `db:"databases"`
	Examined  int `db:"examined"`
	// NextDatabase and NextServer are the database behind which the list continues; empty: it ends.
	NextDatabase string `db:"next_database"`
	NextServer   string `db:"next_server"`
	// NextJob is likewise; empty: there are no further jobs.
	NextJob string `db:"next_job"`

	Jobs     []OutcomeJob    `db:"-"` // by name
	Targets  []FoundTarget   `db:"-"` // by database and server
	Outcomes []TargetOutcome `db:"-"` // by database and job id
}

// OutcomeJob is a job of [TargetOutcomes].
type OutcomeJob struct {
	ID   uuid.UUID `db:"job_id"`
	Name string    `db:"job_name"`
	// Ran is the number of the returned databases on which it ran.
	Ran int `db:"ran"`
}

// FoundTarget is a database on which jobs ran.
type FoundTarget struct {
	ID     uuid.UUID `db:"target_id"`
	Server string    `db:"server_name"`
	// Database is empty for an endpoint.
	Database string `db:"database_name"`
	Pool     string `db:"elastic_pool_name"`
}

// OutcomeIncomplete is the outcome of a job on a database whose other steps did not begin, because
// the run ended before.
const OutcomeIncomplete = "Incomplete"

// TargetOutcome is what a job last did on a database.
type TargetOutcome struct {
	Target uuid.UUID `db:"target_id"`
	Job    uuid.UUID `db:"job_id"`
	// Outcome is InProgress, WaitingForRetry, Canceled, Failed, TimedOut, Skipped, Incomplete or
	// Succeeded.
	Outcome    string    `db:"outcome"`
	Run        uuid.UUID `db:"job_execution_id"`
	JobVersion int       `db:"job_version"`
	Step       int       `db:"step_id"`     // the first with this outcome
	CreateTime time.Time `db:"create_time"` // of the run
	EndTime    time.Time `db:"end_time"`    // of its last step on the database; zero: it is active
	Error      int       `db:"error_number"`
	Message    string    `db:"message"` // the first 300 characters
	// LastSuccess is the newest run that succeeded on the database; zero: none of those examined.
	LastSuccess     uuid.UUID `db:"last_success_id"`
	LastSuccessTime time.Time `db:"last_success_time"`
	// SuccessUnknown tells that there are older runs, which were not examined.
	SuccessUnknown bool `db:"success_unknown"`
}

// Lacking reports whether the job has not succeeded on the database in its newest run there.
func (o TargetOutcome) Lacking() bool { return o.Outcome != string(jobs.Succeeded) }

// TargetOutcomes returns what jobs last did on databases. It returns [dberror.ErrGroupNotFound]
// when the group does not exist.
func (s Store) TargetOutcomes(ctx context.Context, f TargetFilter) (TargetOutcomes, error) {
	const op = "list what jobs last did on databases"
	c := call.New("jobs.sp_get_target_outcomes").OptText("target_group_name", f.Group).OptText("search", f.Search).
		OptText("job_search", f.JobSearch).In("lacking", f.Lacking).OptText("after_job", f.AfterJob).In("jobs", int64(f.Jobs))
	if f.Target != uuid.Nil {
		c = c.In("target_id", f.Target)
	}
	if f.After.Server != "" {
		c = c.In("after_database", f.After.Database).In("after_server", f.After.Server)
	}
	if f.Top > 0 {
		c = c.In("top", int64(f.Top))
	}
	var heads []TargetOutcomes
	var all TargetOutcomes
	if err := s.conn.Query(ctx, op, c, call.Into(&heads), call.Into(&all.Jobs), call.Into(&all.Targets), call.Into(&all.Outcomes)); err != nil {
		return TargetOutcomes{}, err
	}
	if len(heads) != 1 {
		return TargetOutcomes{}, fmt.Errorf("%s: got %d rows, want 1", op, len(heads))
	}
	heads[0].Jobs, heads[0].Targets, heads[0].Outcomes = all.Jobs, all.Targets, all.Outcomes
	return heads[0], nil
}

// RunOnTarget is a step of a run on a database.
type RunOnTarget struct {
	Run        uuid.UUID         `db:"job_execution_id"`
	JobName    string            `db:"job_name"`
	JobID      uuid.UUID         `db:"job_id"`
	JobVersion int               `db:"job_version"`
	StepID     int               `db:"step_id"`
	StepName   string            `db:"step_name"`
	Server     string            `db:"server_name"`
	Database   string            `db:"database_name"` // empty for an endpoint
	Lifecycle  jobs.Lifecycle    `db:"lifecycle"`     // may also be WaitingForCallback
	Active     bool              `db:"is_active"`
	Attempts   int               `db:"attempts"`
	StartTime  time.Time         `db:"start_time"`
	EndTime    time.Time         `db:"end_time"`
	Error      int               `db:"error_number"`
	Message    string            `db:"message"`     // the first 300 characters
	CreateTime time.Time         `db:"create_time"` // of the run
	StartedBy  string            `db:"started_by"`  // empty: a schedule or a trigger
	Schedule   *string           `db:"schedule_name"`
	Due        time.Time         `db:"due_time"`
	JobTrigger *string           `db:"trigger_name"` // as in [Run]
	Rerun      bool              `db:"is_rerun"`
	DurationMS *int64            `db:"duration_ms"` // as in [RunTarget]
	Mode       controldb.RunMode `db:"mode"`
}

// OnTarget lists the steps of the newest runs that had a database in a list of targets: of one
// job or, if jobName is empty, of all, and of those that were created before a run, unless it is
// the zero value. top is the maximum number of runs, 1 to 500.
func (s Store) OnTarget(ctx context.Context, target uuid.UUID, jobName string, before uuid.UUID, top int) ([]RunOnTarget, error) {
	c := call.New("jobs.sp_get_target_runs").In("target_id", target).OptText("job_name", jobName).In("top", int64(top))
	if before != uuid.Nil {
		c = c.In("before", before)
	}
	var list []RunOnTarget
	err := s.conn.Query(ctx, "list the runs on the database", c, call.Into(&list))
	return list, err
}
