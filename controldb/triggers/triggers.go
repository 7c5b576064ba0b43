package triggers

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
	mssqldb "github.com/microsoft/go-mssqldb"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
)

// Trigger is a row of the view jobs.job_triggers: a job that starts after runs of other jobs.
type Trigger struct {
	JobName   string    `db:"job_name" json:"job_name"`
	JobID     uuid.UUID `db:"job_id" json:"-"`
	Name      string    `db:"trigger_name" json:"trigger_name"`
	ID        int64     `db:"trigger_id" json:"-"`
	Upstreams []string  `db:"upstream_jobs" json:"upstream_jobs"`
	RunWhen   string    `db:"run_when" json:"run_when" doc:"Succeeded, Failed or Finished"`
	Targets   string    `db:"targets" json:"targets" doc:"of its runs: All, or Succeeded: where the upstream jobs succeeded"`
	Enabled   bool      `db:"enabled" json:"enabled"`
	Waiting   int       `db:"waiting" json:"waiting" doc:"events that wait for another upstream job, or for a run of the job"`
	Created   time.Time `db:"created_time" json:"created_time"`
	Updated   time.Time `db:"updated_time" json:"updated_time"`
}

// Describe says in words when the trigger starts its job.
func (t Trigger) Describe() string {
	jobs := strings.Join(t.Upstreams, ", ")
	if n := len(t.Upstreams); n > 1 {
		jobs = strings.Join(t.Upstreams[:n-1], ", ") + " and " + t.Upstreams[n-1]
	}
	verb := map[string]string{"Succeeded": "succeeded", "Failed": "failed", "Finished": "ended"}[t.RunWhen]
	where := ""
	if t.Targets == "Succeeded" {
		where = ", on the databases that succeeded there"
	}
	return "after " + jobs + " " + verb + where
}

// Spec is what is given of a trigger. What is nil stays, or has its default.
type Spec struct {
	JobName, Name string
	Upstreams     []string
	RunWhen       *string
	Targets       *string
	Enabled       *bool
}

// arguments adds what is given of a trigger to a call.
func (t Spec) arguments(c *call.Call) *call.Call {
	c.In("job_name", t.JobName).In("trigger_name", t.Name)
	if t.Upstreams != nil {
		text, _ := json.Marshal(t.Upstreams) // of texts: it does not fail
		c.In("upstream_jobs", string(text))
	}
	return call.Opt(call.Opt(call.Opt(c, "run_when", t.RunWhen), "targets", t.Targets), "enabled", t.Enabled)
}

// Triggers lists the triggers of a job, or of all jobs, by job and name.
//
// Plan: the triggers, which are as many as people have defined, and their events that wait.
func (s Store) Triggers(ctx context.Context, jobName string) ([]Trigger, error) {
	return s.Page(ctx, jobName, controldb.Page[string]{})
}

// Defined lists the triggers of the named jobs, or of all if jobNames is nil, without the numbers
// of their events, which cost a read each.
func (s Store) Defined(ctx context.Context, jobNames []string) ([]Trigger, error) {
	w := &call.Filter{}
	w.Jobs("job_name", jobNames)
	return call.SelectAll[Trigger](ctx, s.conn, "read triggers", `SELECT job_id, job_name, trigger_name, enabled, run_when, targets, upstream_jobs
FROM jobs.job_triggers`+w.Text()+"\nORDER BY job_name, trigger_name;", w.Args...)
}

// Around lists the triggers that start a job, and those that watch it, by job and name.
//
// Plan: the triggers, which are as many as people have defined; of those that are returned also
// their events that wait.
func (s Store) Around(ctx context.Context, jobName string) ([]Trigger, error) {
	return call.SelectAll[Trigger](ctx, s.conn, "list triggers", jobTriggerColumns+`
WHERE job_name = @p1
    OR EXISTS (SELECT 1 FROM OPENJSON(upstream_jobs) AS u WHERE u.value COLLATE DATABASE_DEFAULT = @p1)
ORDER BY job_name, trigger_name;`, jobName)
}

// Get returns a trigger of a job. It returns [dberror.ErrTriggerNotFound] if there is none
// of this name.
func (s Store) Get(ctx context.Context, jobName, name string) (Trigger, error) {
	list, err := call.SelectAll[Trigger](ctx, s.conn, "read trigger", jobTriggerColumns+"\nWHERE job_name = @p1 AND trigger_name = @p2;", jobName, name)
	return call.OnlyRow(list, err, "read trigger", dberror.ErrTriggerNotFound)
}

const jobTriggerColumns = `SELECT job_name, job_id, trigger_name, trigger_id, enabled, run_when, targets, upstream_jobs, waiting, created_time, updated_time
FROM jobs.job_triggers`

// Page lists the triggers of a job by name.
func (s Store) Page(ctx context.Context, jobName string, p controldb.Page[string]) ([]Trigger, error) {
	w := p.Filter("trigger_name", ">")
	if jobName != "" {
		w.Add("job_name = %s", jobName)
	}
	return call.SelectAll[Trigger](ctx, s.conn, "list triggers", jobTriggerColumns+w.Text()+"\nORDER BY job_name, trigger_name"+p.Text(w)+";", w.Args...)
}

// Add adds a trigger to a job. It returns [dberror.ErrTriggerExists] when the name is
// taken, and [dberror.ErrJobNotFound] if the job, or one that it names, does not exist.
func (s Store) Add(ctx context.Context, t Spec) error {
	if t.Upstreams == nil {
		t.Upstreams = []string{}
	}
	return s.conn.Exec(ctx, "add trigger", t.arguments(call.New("jobs.sp_add_job_trigger")))
}

// Update changes the given values of a trigger. It returns [dberror.ErrTriggerNotFound]
// if the job has none of this name.
func (s Store) Update(ctx context.Context, t Spec) error {
	return s.conn.Exec(ctx, "update trigger", t.arguments(call.New("jobs.sp_update_job_trigger")))
}

// Delete deletes a trigger. Runs that it has started continue.
func (s Store) Delete(ctx context.Context, job, name string) error {
	return s.conn.Exec(ctx, "delete trigger", call.New("jobs.sp_delete_job_trigger").In("job_name", job).In("trigger_name", name))
}

// Event is a row of the view jobs.job_trigger_events: a run that ended and that a trigger
// watched.
type Event struct {
	ID       int64  `db:"event_id" json:"event_id"`
	JobName  string `db:"job_name" json:"job_name" doc:"that the trigger starts"`
	Trigger  string `db:"trigger_name" json:"trigger_name,omitempty" doc:"absent: it was deleted"`
	Upstream string `db:"upstream_job_name" json:"upstream_job_name,omitempty" doc:"absent: it was deleted"`
	// UpstreamRun is the run that ended; it may have been purged.
	UpstreamRun       uuid.UUID `db:"upstream_job_execution_id" json:"upstream_job_execution_id"`
	UpstreamLifecycle string    `db:"upstream_lifecycle" json:"upstream_lifecycle"`
	Created           time.Time `db:"created_time" json:"created_time"`
	State             string    `db:"state" json:"state" doc:"Waiting, Started or Skipped"`
	Ended             time.Time `db:"ended_time" json:"ended_time,omitzero"`
	// Run is nil if no run was started, or it was purged.
	Run    uuid.UUID `db:"job_execution_id" json:"job_execution_id,omitzero" doc:"that was started"`
	Reason string    `db:"reason" json:"reason,omitempty" doc:"why it was skipped"`
}

// EventFilter restricts [Store.Events]. Empty fields mean all.
type EventFilter struct {
	JobName, Trigger string
	// Run is the run that was started, and UpstreamRun the one that ended.
	Run, UpstreamRun uuid.UUID
}

// Events lists what triggers have seen, the latest first.
//
// Plan: of a run, the keys of IX_trigger_events_execution_id or those of the run's job; of a job
// its events, and of all jobs the newest keys of PK_trigger_events.
func (s Store) Events(ctx context.Context, f EventFilter, p controldb.Page[int64]) ([]Event, error) {
	w := p.Filter("event_id", "<")
	if f.JobName != "" {
		w.Add("job_name = %s", f.JobName)
	}
	if f.Trigger != "" {
		w.Add("trigger_name = %s", f.Trigger)
	}
	if f.Run != uuid.Nil {
		w.Add("job_execution_id = %s", mssqldb.UniqueIdentifier(f.Run))
	}
	if f.UpstreamRun != uuid.Nil {
		w.Add("upstream_job_execution_id = %s", mssqldb.UniqueIdentifier(f.UpstreamRun))
	}
	return call.SelectAll[Event](ctx, s.conn, "list events of triggers", `SELECT job_name, trigger_name, event_id, upstream_job_name, upstream_job_execution_id,
    upstream_lifecycle, created_time, state, ended_time, job_execution_id, reason
FROM jobs.job_trigger_events`+w.Text()+"\nORDER BY event_id DESC"+p.Text(w)+";", w.Args...)
}
