package output

import (
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs"
)

// Execution is a row of jobs.job_executions as -o json shows it.
type Execution struct {
	ID           uuid.UUID      `json:"job_execution_id"`
	JobName      string         `json:"job_name"`
	JobID        uuid.UUID      `json:"job_id"`
	JobVersion   int            `json:"job_version"`
	StepID       *int           `json:"step_id,omitempty"`
	Active       bool           `json:"is_active"`
	Lifecycle    jobs.Lifecycle `json:"lifecycle"`
	CreateTime   *time.Time     `json:"create_time,omitempty"`
	StartTime    *time.Time     `json:"start_time,omitempty"`
	EndTime      *time.Time     `json:"end_time,omitempty"`
	Attempts     int            `json:"current_attempts"`
	AttemptStart *time.Time     `json:"current_attempt_start_time,omitempty"`
	NextAttempt  *time.Time     `json:"next_attempt_start_time,omitempty"`
	LastMessage  string         `json:"last_message"`
	TargetType   string         `json:"target_type,omitempty"`
	TargetGroup  string         `json:"target_group_name,omitempty"`
	Server       string         `json:"target_server_name,omitempty"`
	Database     string         `json:"target_database_name,omitempty"`
	Unknown      bool           `json:"outcome_unknown,omitempty"`
}

// Message is a row of jobs.job_execution_messages as -o json shows it.
type Message struct {
	StepID    int    `json:"step_id"`
	Server    string `json:"target_server_name,omitempty"`
	Database  string `json:"target_database_name,omitempty"`
	Attempt   int    `json:"attempt"`
	Ordinal   int    `json:"ordinal"`
	Kind      string `json:"message_kind"`
	Number    int32  `json:"message_number,omitempty"`
	Severity  uint8  `json:"severity,omitempty"`
	State     uint8  `json:"state,omitempty"`
	Line      int32  `json:"line_number,omitempty"`
	Procedure string `json:"procedure_name,omitempty"`
	Text      string `json:"message,omitempty"`
	Rows      int64  `json:"row_count,omitempty"`
}

// ErrorGroup is one error and where it occurred.
type ErrorGroup struct {
	StepID  int      `json:"step_id"`
	State   string   `json:"lifecycle"`
	Message string   `json:"message"`
	Count   int      `json:"count"`
	Targets []string `json:"targets"`
}

// Explanation is an explanation as -o json shows it.
type Explanation struct {
	ID              uuid.UUID      `json:"job_execution_id"`
	JobName         string         `json:"job_name"`
	JobVersion      int            `json:"job_version"`
	Lifecycle       jobs.Lifecycle `json:"lifecycle"`
	Active          bool           `json:"is_active"`
	CreateTime      *time.Time     `json:"create_time,omitempty"`
	StartTime       *time.Time     `json:"start_time,omitempty"`
	EndTime         *time.Time     `json:"end_time,omitempty"`
	StopRequestedAt *time.Time     `json:"stop_requested_at,omitempty"`
	StopRequestedBy string         `json:"stop_requested_by,omitempty"`
	Agents          int            `json:"live_agents"`
	Workers         int            `json:"workers"`
	Busy            int            `json:"busy_workers"`
	Explanation     string         `json:"explanation"`
	AdvanceSkipped  *time.Time     `json:"advance_skipped_since,omitempty"`
	AdvanceLock     string         `json:"advance_lock_holder,omitempty"`
	Waits           []Wait         `json:"waits"`
	Totals          []WaitTotal    `json:"totals"`
	Ends            []Ending       `json:"ends"`
}

// Wait is a row that is not final.
type Wait struct {
	StepID       *int           `json:"step_id,omitempty"`
	Server       string         `json:"server_name,omitempty"`
	Database     string         `json:"database_name,omitempty"`
	Lifecycle    jobs.Lifecycle `json:"lifecycle"`
	WaitsFor     string         `json:"waits_for"`
	Explanation  string         `json:"explanation"`
	Attempts     int            `json:"attempts,omitempty"`
	Position     int64          `json:"position,omitempty"`
	Since        *time.Time     `json:"since,omitempty"`
	Until        *time.Time     `json:"until_time,omitempty"`
	LimitScope   string         `json:"limit_scope,omitempty"`
	LimitRunning int            `json:"limit_running,omitempty"`
	LimitMax     int            `json:"max_concurrent_targets,omitempty"`
	AgentID      string         `json:"agent_id,omitempty"`
	Host         string         `json:"host_name,omitempty"`
	Term         int64          `json:"term_id,omitempty"`
	SessionID    int            `json:"session_id,omitempty"`
}

// WaitTotal counts the targets of a step that wait for the same.
type WaitTotal struct {
	StepID   int    `json:"step_id"`
	WaitsFor string `json:"waits_for"`
	Total    int    `json:"total"`
}

// Ending is how targets of a step ended.
type Ending struct {
	StepID      int            `json:"step_id"`
	Lifecycle   jobs.Lifecycle `json:"lifecycle"`
	ErrorNumber *int32         `json:"error_number,omitempty"`
	Total       int            `json:"total"`
	Unknown     bool           `json:"outcome_unknown"`
	Decides     bool           `json:"decides"`
	Server      string         `json:"server_name,omitempty"`
	Database    string         `json:"database_name,omitempty"`
	Message     string         `json:"last_message,omitempty"`
}

// Rerun is a row of jobs.job_execution_reruns as -o json shows it.
type Rerun struct {
	ID     uuid.UUID  `json:"job_execution_id"`
	Origin *uuid.UUID `json:"rerun_of,omitempty"` // nil once it has been purged
	Only   string     `json:"only_states"`
}
