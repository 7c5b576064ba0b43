package output

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs/model"
)

// Job is a job. Its fields are those of the view jobs.jobs.
type Job struct {
	catalog.Job
	Steps []Step `json:"steps,omitempty"` // of job show only

	Parameters []JobParameter `json:"parameters,omitempty"`          // that the job declares; of job show only
	Rollout    string         `json:"rollout_description,omitempty"` // the plan of its roll-outs in words; of job show only

	catalog.JobPlan
}

// JobParameter is a parameter that a job declares.
type JobParameter struct {
	Name        string   `json:"parameter_name"`
	Type        string   `json:"type"` // text, integer, number, boolean, date or datetime
	Required    bool     `json:"required"`
	Default     *string  `json:"default,omitempty"` // the text of the value; absent: none
	Choices     []string `json:"choices,omitempty"` // the texts of the only values
	Description string   `json:"description,omitempty"`
}

// Step is a step of a job. Its fields are those of the views jobs.jobsteps and
// jobs.jobstep_options.
type Step struct {
	ID          int    `json:"step_id"`
	Name        string `json:"step_name"`
	CommandType string `json:"command_type"` // TSql, the type of an action such as Http, or Upkeep
	Command     string `json:"command"`
	Credential  string `json:"credential_name,omitempty"`
	TargetGroup string `json:"target_group_name"` // empty: an action that runs on its endpoint
	model.Attempts
	OutputType       string   `json:"output_type,omitempty"`
	OutputCredential string   `json:"output_credential_name,omitempty"`
	OutputServer     string   `json:"output_server_name,omitempty"`
	OutputDatabase   string   `json:"output_database_name,omitempty"`
	OutputSchema     string   `json:"output_schema_name,omitempty"`
	OutputTable      string   `json:"output_table_name,omitempty"`
	MaxParallelism   *int     `json:"max_parallelism,omitempty"`
	After            []string `json:"after"` // the steps that come before it; null: the step with the preceding id
	model.StepOptions
}

// StepOptions are the options of a step that Azure Elastic Jobs does not have.
type StepOptions struct {
	StepID   int      `json:"step_id"`
	StepName string   `json:"step_name"`
	After    []string `json:"after"` // the steps that come before it; null: the step with the preceding id
	model.StepOptions
	RetryErrors       string `json:"retry_errors"`       // failures after which another attempt follows: All or Transient
	ToleratedFailures string `json:"tolerated_failures"` // how many targets may fail, and the step succeeds: a number, or a percentage
}

// CreatedJob is a job that was created.
type CreatedJob struct {
	ID   uuid.UUID `json:"job_id"`
	Name string    `json:"job_name"`
}

// JobName names a job that was updated or deleted.
type JobName struct {
	Name string `json:"job_name"`
}

// JobParameterName names a parameter that was declared or removed.
type JobParameterName struct {
	Job  string `json:"job_name"`
	Name string `json:"parameter_name"`
}

// RolloutPlan is the plan by which the runs of a job are rolled out in waves.
type RolloutPlan struct {
	Job         string          `json:"job_name"`
	Version     int             `json:"job_version"`
	Plan        json.RawMessage `json:"rollout_plan"` // with all members; null: the job has none
	Description string          `json:"description"`  // in words
}

// JobVersion is a job's version after a change.
type JobVersion struct {
	Job     string `json:"job_name"`
	Version int    `json:"job_version"`
}

// AddedStep is a step that was added, with the job's version after it.
type AddedStep struct {
	Job     string `json:"job_name"`
	Version int    `json:"job_version"`
	StepID  int    `json:"step_id"`
}

// StartedJob is a run that was started.
type StartedJob struct {
	ID  uuid.UUID `json:"job_execution_id"`
	Job string    `json:"job_name"`

	Chosen   int  `json:"chosen_targets,omitempty"`   // number of databases to which it is limited
	Expected *int `json:"expected_targets,omitempty"` // about how many databases it starts on; absent: that is not known
}

// StoppedRuns lists the runs that were asked to stop.
type StoppedRuns struct {
	Stopped []uuid.UUID `json:"stopped"` // null: the job had no active run
}

// PurgedHistory names the job whose history was deleted.
type PurgedHistory struct {
	Job string `json:"job"` // name or ID, as in the argument
}

// Script is the T-SQL that recreates a job.
type Script struct {
	Job    string `json:"job_name"`
	Script string `json:"script"`
}

// JobTrigger starts a job after runs of other jobs. Its fields are those of the view
// jobs.job_triggers.
type JobTrigger struct {
	triggers.Trigger

	Events []JobTriggerEvent `json:"events,omitempty"` // the latest first; of job trigger show only
}

// JobTriggerEvent is a run that ended and that a trigger watched. Its fields are those of the view
// jobs.job_trigger_events.
type JobTriggerEvent struct{ triggers.Event }

// NewJobTriggerEvents returns the events for -o json.
func NewJobTriggerEvents(list []triggers.Event) []JobTriggerEvent {
	return Each(list, func(e triggers.Event) JobTriggerEvent { return JobTriggerEvent{e} })
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
