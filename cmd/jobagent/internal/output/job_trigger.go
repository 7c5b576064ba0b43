package output

import (
	"time"

	"github.com/google/uuid"
)

// JobTrigger starts a job after runs of other jobs. Its fields are those of the view
// jobs.job_triggers.
type JobTrigger struct {
	Job       string    `json:"job_name"`
	Name      string    `json:"trigger_name"`
	Upstreams []string  `json:"upstream_jobs"`
	RunWhen   string    `json:"run_when"` // Succeeded, Failed or Finished
	Targets   string    `json:"targets"`  // of its runs: All, or Succeeded: where the upstream jobs succeeded
	Enabled   bool      `json:"enabled"`
	Waiting   int       `json:"waiting"` // events that wait for another upstream job, or for a run of the job
	Created   time.Time `json:"created_time"`
	Updated   time.Time `json:"updated_time"`

	Events []JobTriggerEvent `json:"events,omitempty"` // the latest first; of job trigger show only
}

// JobTriggerEvent is a run that ended and that a trigger watched. Its fields are those of the view
// jobs.job_trigger_events.
type JobTriggerEvent struct {
	ID                int64      `json:"event_id"`
	Job               string     `json:"job_name"`                    // that the trigger starts
	Trigger           string     `json:"trigger_name,omitempty"`      // absent: it was deleted
	Upstream          string     `json:"upstream_job_name,omitempty"` // absent: it was deleted
	UpstreamRun       uuid.UUID  `json:"upstream_job_execution_id"`
	UpstreamLifecycle string     `json:"upstream_lifecycle"`
	Created           time.Time  `json:"created_time"`
	State             string     `json:"state"` // Waiting, Started or Skipped
	Ended             *time.Time `json:"ended_time,omitempty"`
	Run               *uuid.UUID `json:"job_execution_id,omitempty"` // that was started
	Reason            string     `json:"reason,omitempty"`           // why it was skipped
}

// JobTriggerName names a trigger that was added, changed or deleted.
type JobTriggerName struct {
	Job  string `json:"job_name"`
	Name string `json:"trigger_name"`
}

// JobGraph says which jobs start after runs of which others.
type JobGraph struct {
	Jobs     []string     `json:"jobs"` // those that start after others or are watched
	Triggers []JobTrigger `json:"triggers"`
}
