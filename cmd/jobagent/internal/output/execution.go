package output

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// Executions are the rows of a run that has ended, the run itself first.
type Executions struct {
	Executions []Execution    `json:"executions"`
	Rollout    *RolloutDetail `json:"rollout,omitempty"` // of a roll-out: its waves; the executions are its own run alone
}

// Run is a run with all its rows, the run itself first.
type Run struct {
	Executions []Execution `json:"executions"`
	Messages   *[]Message  `json:"messages,omitempty"` // with --messages only
	Reruns     []Rerun     `json:"reruns,omitempty"`   // reruns of this run, and the run that this one repeats
	// Parameters is a JSON object.
	Parameters json.RawMessage `json:"parameters,omitempty"`
	// TriggeredBy are the runs of other jobs after which a trigger started this one, and Triggered
	// what triggers made of its own end.
	TriggeredBy []JobTriggerEvent `json:"triggered_by,omitempty"`
	Triggered   []JobTriggerEvent `json:"triggered,omitempty"`
}

// Execution is a run, a step of it (with step_id), or a target of a step (with
// target_database_name). Its fields are those of the view jobs.job_executions.
type Execution struct {
	executions.Execution

	// The following are of runs only, in execution list and show.
	Trigger    string        `json:"trigger,omitempty"`            // of runs: Manual, Schedule, Backfill, Rerun or Job
	StartedBy  string        `json:"started_by,omitempty"`         // login that started the run
	Schedule   *string       `json:"schedule_name,omitempty"`      // empty: the schedule of the job's own definition; absent: none, or deleted
	Due        *time.Time    `json:"due_time,omitempty"`           // instant of the schedule
	Backfill   int64         `json:"backfill_id,omitempty"`        // backfill that requested the run
	JobTrigger *string       `json:"trigger_name,omitempty"`       // of Job: the trigger of the job; empty: it was deleted
	RerunOf    *uuid.UUID    `json:"rerun_of,omitempty"`           // run that it repeats; absent after that was purged
	RerunOnly  string        `json:"only_states,omitempty"`        // of a rerun: final states of the targets that ran again
	Chosen     int           `json:"chosen_targets,omitempty"`     // number of databases to which the run is limited; absent: it is not
	Tolerated  int           `json:"tolerated_failures,omitempty"` // number of targets that failed in steps that succeeded with them
	StoppedBy  string        `json:"stop_requested_by,omitempty"`  // who asked the run to stop
	Targets    *TargetCounts `json:"targets,omitempty"`            // of all steps; of runs only
	DurationMS *int64        `json:"duration_ms,omitempty"`        // from the start to the end of a run, or until now
	Mode       string        `json:"mode,omitempty"`               // Trial or Preflight; with --target
}

// TargetCounts are the targets of a run, or of a step, by what became of them.
type TargetCounts struct {
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"` // Failed or TimedOut
	Skipped   int `json:"skipped"`
	Canceled  int `json:"canceled"`
	Active    int `json:"active"` // not final
	Total     int `json:"total"`
}

// CountsOf converts the numbers of targets.
func CountsOf(c jobs.Counts) TargetCounts {
	return TargetCounts{Succeeded: c.Succeeded, Failed: c.Failed, Skipped: c.Skipped, Canceled: c.Canceled, Active: c.Active(), Total: c.Total()}
}

// Message is a message of an attempt. Its fields are those of the view jobs.job_execution_messages.
type Message struct {
	StepID    int    `json:"step_id"`
	Server    string `json:"target_server_name,omitempty"`
	Database  string `json:"target_database_name,omitempty"`
	Attempt   int    `json:"attempt"`
	Ordinal   int    `json:"ordinal"`      // position within the attempt, from 1
	Kind      string `json:"message_kind"` // Info, Error, Rows or Agent; of actions Response, Body, Output, ErrorOutput, Exit
	Number    int32  `json:"message_number,omitempty"`
	Severity  uint8  `json:"severity,omitempty"`
	State     uint8  `json:"state,omitempty"`
	Line      int32  `json:"line_number,omitempty"`
	Procedure string `json:"procedure_name,omitempty"`
	Text      string `json:"message,omitempty"`
	Rows      int64  `json:"row_count,omitempty"` // of the kind Rows
}

// StartedRerun is a rerun that was started.
type StartedRerun struct {
	ID     uuid.UUID `json:"job_execution_id"`
	Origin uuid.UUID `json:"rerun_of"`
	Chosen int       `json:"chosen_targets,omitempty"` // number of databases that were named
}

// Callback is the report that ends an asynchronous action. Its fields are those of the view
// jobs.callbacks.
type Callback struct{ callbacks.Callback }

// ChangedRetries says how much of what waited for another attempt was changed.
type ChangedRetries struct {
	Execution uuid.UUID `json:"job_execution_id"`
	Changed   int       `json:"changed"` // targets, and resolutions of target groups
}

// CompletedCallback is a report that was accepted.
type CompletedCallback struct {
	Execution uuid.UUID `json:"job_execution_id"`
	Success   bool      `json:"success"`
}

// Rerun links a run with the run that it repeats. Its fields are those of the view
// jobs.job_execution_reruns.
type Rerun struct {
	ID     uuid.UUID  `json:"job_execution_id"`
	Origin *uuid.UUID `json:"rerun_of,omitempty"` // absent after the run was purged
	Only   string     `json:"only_states"`        // final states of the targets that ran again
}

// TargetOfRun is a target of a step of a run.
type TargetOfRun struct {
	StepID      int            `json:"step_id"`
	Type        string         `json:"target_type"` // SqlDatabase or Endpoint
	Server      string         `json:"target_server_name"`
	Database    string         `json:"target_database_name,omitempty"`
	Lifecycle   jobs.Lifecycle `json:"lifecycle"`
	Attempts    int            `json:"attempts"`
	StartTime   *time.Time     `json:"start_time,omitempty"` // of the first attempt
	EndTime     *time.Time     `json:"end_time,omitempty"`
	DurationMS  *int64         `json:"duration_ms,omitempty"`       // from the start to the end, by the agent's clock
	NextAttempt *time.Time     `json:"next_attempt_time,omitempty"` // of a target that waits
	Unknown     bool           `json:"outcome_unknown,omitempty"`   // whether the script ran is not known
	Message     string         `json:"message"`
}

// OutcomeOfTarget is what a job last did on a database.
type OutcomeOfTarget struct {
	TargetID   uuid.UUID  `json:"target_id"`
	Server     string     `json:"target_server_name"`
	Database   string     `json:"target_database_name"`
	JobName    string     `json:"job_name"`
	JobID      uuid.UUID  `json:"job_id"`
	Outcome    string     `json:"outcome,omitempty"`          // of all steps of the newest run there; absent, as what follows: the job never ran there
	Run        *uuid.UUID `json:"job_execution_id,omitempty"` // the newest run
	JobVersion *int       `json:"job_version,omitempty"`
	StepID     *int       `json:"step_id,omitempty"`     // the first one with this outcome
	CreateTime *time.Time `json:"create_time,omitempty"` // of the run
	EndTime    *time.Time `json:"end_time,omitempty"`    // of its last step there; absent: it is active
	Error      *int       `json:"error_number,omitempty"`
	Message    string     `json:"message,omitempty"` // the first 300 characters

	LastSuccess     *uuid.UUID `json:"last_success_id,omitempty"`   // the newest run that succeeded there
	LastSuccessTime *time.Time `json:"last_success_time,omitempty"` //
	SuccessUnknown  bool       `json:"success_unknown,omitempty"`   // older runs were not examined
}

// ErrorGroup is one error, and the targets of a step on which it occurred.
type ErrorGroup struct {
	StepID  int      `json:"step_id"`
	State   string   `json:"lifecycle"`
	Message string   `json:"message"` // without the names of server and database
	Count   int      `json:"count"`
	Targets []string `json:"targets"` // server/database
}

// Explanation tells why a run waits, or why it ended as it did.
type Explanation struct {
	ID              uuid.UUID              `json:"job_execution_id"`
	JobName         string                 `json:"job_name"`
	JobVersion      int                    `json:"job_version"`
	Lifecycle       jobs.Lifecycle         `json:"lifecycle"`
	Active          bool                   `json:"is_active"`
	CreateTime      *time.Time             `json:"create_time,omitempty"`
	StartTime       *time.Time             `json:"start_time,omitempty"`
	EndTime         *time.Time             `json:"end_time,omitempty"`
	StopRequestedAt *time.Time             `json:"stop_requested_at,omitempty"`
	StopRequestedBy string                 `json:"stop_requested_by,omitempty"`
	Agents          int                    `json:"live_agents"`
	Workers         int                    `json:"workers"` // of all live agents
	Busy            int                    `json:"busy_workers"`
	Explanation     string                 `json:"explanation"`
	AdvanceSkipped  *time.Time             `json:"advance_skipped_since,omitempty"` // since when no agent could advance executions
	AdvanceLock     string                 `json:"advance_lock_holder,omitempty"`   // the session that prevents it
	Waits           []Wait                 `json:"waits"`
	Totals          []executions.WaitTotal `json:"totals"`
	Ends            []EndTotal             `json:"ends"`
}

// Wait is a step or target that has not ended, and its reason.
type Wait struct {
	StepID       *int           `json:"step_id,omitempty"`
	Server       string         `json:"server_name,omitempty"`
	Database     string         `json:"database_name,omitempty"`
	Lifecycle    jobs.Lifecycle `json:"lifecycle"`
	WaitsFor     string         `json:"waits_for"`
	Explanation  string         `json:"explanation"`
	Attempts     int            `json:"attempts,omitempty"`
	Position     int64          `json:"position,omitempty"` // in the queue of targets, from 1
	Since        *time.Time     `json:"since,omitempty"`
	Until        *time.Time     `json:"until_time,omitempty"`
	LimitScope   string         `json:"limit_scope,omitempty"` // of the limit that holds the target back
	LimitRunning int            `json:"limit_running,omitempty"`
	LimitMax     int            `json:"max_concurrent_targets,omitempty"`
	AgentID      string         `json:"agent_id,omitempty"` // the agent that has claimed the target
	Host         string         `json:"host_name,omitempty"`
	Term         int64          `json:"term_id,omitempty"`
	SessionID    int            `json:"session_id,omitempty"` // the agent's session on the target's server
}

// EndTotal counts the targets of a step that ended in the same way.
type EndTotal struct{ executions.End }
