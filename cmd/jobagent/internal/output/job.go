package output

import (
	"time"

	"github.com/google/uuid"
)

// Job is a job as -o json shows it; names as in the view jobs.jobs.
type Job struct {
	Name          string    `json:"job_name"`
	ID            uuid.UUID `json:"job_id"`
	Version       int       `json:"job_version"`
	Description   string    `json:"description"`
	Enabled       bool      `json:"enabled"`
	IntervalType  string    `json:"schedule_interval_type"`
	IntervalCount int       `json:"schedule_interval_count"`
	Start         time.Time `json:"schedule_start_time"`
	End           time.Time `json:"schedule_end_time"`
	Steps         []Step    `json:"steps,omitempty"`
}

// Step is a step as -o json shows it; names as in the view jobs.jobsteps.
type Step struct {
	ID                   int     `json:"step_id"`
	Name                 string  `json:"step_name"`
	Command              string  `json:"command"`
	Credential           string  `json:"credential_name,omitempty"`
	TargetGroup          string  `json:"target_group_name"`
	InitialRetryInterval int     `json:"initial_retry_interval_seconds"`
	MaximumRetryInterval int     `json:"maximum_retry_interval_seconds"`
	Multiplier           float64 `json:"retry_interval_backoff_multiplier"`
	RetryAttempts        int     `json:"retry_attempts"`
	Timeout              int     `json:"step_timeout_seconds"`
	OutputType           string  `json:"output_type,omitempty"`
	OutputCredential     string  `json:"output_credential_name,omitempty"`
	OutputServer         string  `json:"output_server_name,omitempty"`
	OutputDatabase       string  `json:"output_database_name,omitempty"`
	OutputSchema         string  `json:"output_schema_name,omitempty"`
	OutputTable          string  `json:"output_table_name,omitempty"`
	MaxParallelism       *int    `json:"max_parallelism,omitempty"`
}

// StepOptions is a row of jobs.jobstep_options as -o json shows it.
type StepOptions struct {
	StepID           int    `json:"step_id"`
	StepName         string `json:"step_name"`
	OnUnknownOutcome string `json:"on_unknown_outcome"`
	AtMostOnce       bool   `json:"at_most_once"`
}
