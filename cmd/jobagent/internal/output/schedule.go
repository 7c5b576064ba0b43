package output

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// Calendar is a row of jobs.calendars as -o json shows it.
type Calendar struct {
	Name    string          `json:"calendar_name"`
	Spec    json.RawMessage `json:"spec"`
	Created *time.Time      `json:"created_time,omitempty"`
	Updated *time.Time      `json:"updated_time,omitempty"`
}

// DefinedSchedule is what schedule add and update print with -o json.
type DefinedSchedule struct {
	Job      string   `json:"job_name"`
	Name     string   `json:"schedule_name"`
	ID       int64    `json:"schedule_id,omitempty"`
	Zone     string   `json:"time_zone,omitempty"`
	Due      []string `json:"due"`
	DueLocal []string `json:"due_local,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// State and Reason are those that the database has; with --wait after the agent's verdict.
	State  string `json:"state,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// ScheduleExplanation is what schedule explain prints with -o json.
type ScheduleExplanation struct {
	Job   string `json:"job_name"`
	Name  string `json:"schedule_name"`
	State string `json:"state"`
	Zone  string `json:"time_zone"`
	// NextDue is when it is due next, and NextDueLocal the same in its zone.
	NextDue      *time.Time `json:"next_due_time,omitempty"`
	NextDueLocal string     `json:"next_due_local,omitempty"`
	// WillRun says whether that becomes a run as things stand, and Obstacles what is in the way or should be known.
	WillRun   bool     `json:"will_run"`
	Obstacles []string `json:"obstacles"`
	// LastDue is the last instant that was handled, and NotRun why it did not become a run; empty when it did.
	LastDue *time.Time   `json:"last_due_time,omitempty"`
	NotRun  string       `json:"last_not_run_because,omitempty"`
	LastRun *ScheduleRun `json:"last_run,omitempty"`
	Skipped []Skip       `json:"skipped"`
	Active  []time.Time  `json:"active_runs_created,omitempty"`
}

// ScheduleRun is the latest run of a schedule.
type ScheduleRun struct {
	ID        string `json:"job_execution_id"`
	Lifecycle string `json:"lifecycle"`
	Message   string `json:"last_message,omitempty"`
}

// Skip is a row of jobs.schedule_skips.
type Skip struct {
	DueTime  time.Time `json:"due_time"`
	Skipped  int       `json:"skipped"`
	Cause    string    `json:"cause"`
	Reason   string    `json:"reason"`
	Recorded time.Time `json:"recorded_time"`
}

// Schedule is a row of jobs.schedules as -o json shows it; names as in the view.
type Schedule struct {
	Job              string          `json:"job_name"`
	Name             string          `json:"schedule_name"`
	ID               int64           `json:"schedule_id"`
	Kind             string          `json:"kind"`
	Spec             string          `json:"spec,omitempty"`
	TimeZone         string          `json:"time_zone,omitempty"`
	Enabled          bool            `json:"enabled"`
	State            string          `json:"state"`
	Reason           string          `json:"reason,omitempty"`
	CatchUp          string          `json:"catch_up,omitempty"`
	Overlap          string          `json:"overlap"`
	PauseOnFailure   bool            `json:"pause_on_failure"`
	Paused           bool            `json:"paused"`
	PausedBy         string          `json:"paused_by,omitempty"`
	PausedAt         *time.Time      `json:"paused_at,omitempty"`
	PauseNote        string          `json:"pause_note,omitempty"`
	NextDue          *time.Time      `json:"next_due_time,omitempty"`
	LastDue          *time.Time      `json:"last_due_time,omitempty"`
	Upcoming         []time.Time     `json:"upcoming,omitempty"`
	Executions       int64           `json:"executions"`
	Failures         int64           `json:"failures"`
	Faults           int64           `json:"faults"`
	SkippedByOverlap int64           `json:"skipped_by_overlap"`
	SkippedByCatchUp int64           `json:"skipped_by_catch_up"`
	SkippedOtherwise int64           `json:"skipped_otherwise"`
	Buffered         int64           `json:"buffered"`
	LastExecution    *uuid.UUID      `json:"last_job_execution_id,omitempty"`
	LastLifecycle    string          `json:"last_lifecycle,omitempty"`
	Validated        *time.Time      `json:"validated_time,omitempty"`
	Errors           json.RawMessage `json:"validation_errors,omitempty"`
	Warnings         []string        `json:"warnings,omitempty"`
	Created          *time.Time      `json:"created_time,omitempty"`
	Updated          *time.Time      `json:"updated_time,omitempty"`
	Backfills        []Backfill      `json:"backfills,omitempty"`
}

// Backfill is a row of jobs.schedule_backfills as -o json shows it.
type Backfill struct {
	ID          int64      `json:"backfill_id"`
	State       string     `json:"state"`
	Reason      string     `json:"reason,omitempty"`
	From        time.Time  `json:"from_time"`
	To          time.Time  `json:"to_time"`
	Next        *time.Time `json:"next_time,omitempty"`
	Overlap     string     `json:"overlap"`
	Started     int64      `json:"started"`
	Buffered    int64      `json:"buffered"`
	Skipped     int64      `json:"skipped"`
	RequestedBy string     `json:"requested_by"`
	Requested   time.Time  `json:"requested_time"`
}
