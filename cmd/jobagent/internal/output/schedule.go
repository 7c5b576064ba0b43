package output

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/model"
)

// Calendar is a calendar. Its fields are those of the view jobs.calendars.
type Calendar struct {
	Name    string          `json:"calendar_name"`
	Spec    json.RawMessage `json:"spec"`
	Created *time.Time      `json:"created_time,omitempty"`
	Updated *time.Time      `json:"updated_time,omitempty"`
	// Blocked are the times of the next 60 days at which no run starts.
	Blocked []BlockedTime `json:"blocked,omitempty"` // of calendar show only
}

// BlockedTime is a time in which a calendar lets no run start.
type BlockedTime struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// CalendarName names a calendar that was added, updated or deleted.
type CalendarName struct {
	Name string `json:"calendar_name"`
}

// SchedulePreview lists the instants at which a schedule is due. It is printed on one line.
type SchedulePreview struct {
	Due              []string `json:"due"`               // in UTC
	Exhausted        bool     `json:"exhausted"`         // nothing is due after the last instant
	Description      string   `json:"description"`       // the schedule in words
	Clocks           string   `json:"clocks,omitempty"`  // what happens when clocks change
	Notes            []string `json:"notes,omitempty"`   // what may be misread
	Started          []string `json:"started,omitempty"` // when the agent would start the runs, if not when they are due
	Warnings         []string `json:"warnings,omitempty"`
	TranslatedFrom   string   `json:"translated_from,omitempty"`   // the language of a definition that was translated
	Kind             string   `json:"kind,omitempty"`              // of a translation: the kind
	Spec             string   `json:"spec,omitempty"`              // of a translation: the text
	TranslationNotes []string `json:"translation_notes,omitempty"` // of a translation: what differs
}

// Zone is a time zone as it is now.
type Zone struct {
	Name         string     `json:"time_zone"`              // IANA name
	Windows      string     `json:"windows_name,omitempty"` // the name of Windows that stands for this zone
	Offset       string     `json:"offset"`                 // from UTC now
	Abbreviation string     `json:"abbreviation"`           // of the present time, or an offset
	Change       *time.Time `json:"next_change,omitempty"`  // of the offset; missing: none is known
	NextOffset   string     `json:"next_offset,omitempty"`  // from next_change on
}

// DefinitionErrors lists all errors of a definition that was refused; the exit code is 2.
type DefinitionErrors struct {
	Errors []DefinitionError `json:"errors"`
}

// DefinitionError is one error of a definition.
type DefinitionError struct {
	Path    string          `json:"path"` // of the element in the definition
	Value   json.RawMessage `json:"value"`
	Message string          `json:"message"`
}

// DefinedSchedule is a schedule that was added or updated, with the next instants at which it is
// due.
type DefinedSchedule struct {
	Job              string   `json:"job_name"`
	Name             string   `json:"schedule_name"`
	ID               int64    `json:"schedule_id,omitempty"`
	Zone             string   `json:"time_zone,omitempty"`
	Description      string   `json:"description,omitempty"` // the schedule in words
	Due              []string `json:"due"`                   // in UTC
	DueLocal         []string `json:"due_local,omitempty"`   // the same in the schedule's zone
	Warnings         []string `json:"warnings,omitempty"`
	Assumptions      []string `json:"assumptions,omitempty"` // what was taken for parts that the definition leaves open
	State            string   `json:"state,omitempty"`       // with --wait: after an agent's validation
	Reason           string   `json:"reason,omitempty"`
	TranslatedFrom   string   `json:"translated_from,omitempty"`   // the language of a definition that was translated
	Kind             string   `json:"kind,omitempty"`              // of a translation: the kind
	Spec             string   `json:"spec,omitempty"`              // of a translation: the text
	TranslationNotes []string `json:"translation_notes,omitempty"` // of a translation: what differs
}

// ScheduleExplanation tells when a schedule runs next, and why it did not run last time.
type ScheduleExplanation struct {
	Job          string       `json:"job_name"`
	Name         string       `json:"schedule_name"` // empty: the schedule of the job's own definition
	State        string       `json:"state"`
	Zone         string       `json:"time_zone"`
	Description  string       `json:"description,omitempty"` // the schedule in words; absent if the definition is invalid
	NextDue      *time.Time   `json:"next_due_time,omitempty"`
	NextDueLocal string       `json:"next_due_local,omitempty"`       // the same in the schedule's zone
	WillRun      bool         `json:"will_run"`                       // a run starts at next_due_time unless something changes
	Obstacles    []string     `json:"obstacles"`                      // reasons against the next run, and remarks
	LastDue      *time.Time   `json:"last_due_time,omitempty"`        // the last instant that was handled
	NotRun       string       `json:"last_not_run_because,omitempty"` // why no run started at last_due_time
	LastRun      *ScheduleRun `json:"last_run,omitempty"`
	Skipped      []Skip       `json:"skipped"`
	Active       []time.Time  `json:"active_runs_created,omitempty"`
	Warnings     []string     `json:"warnings,omitempty"`
}

// ScheduleRun is the latest run of a schedule.
type ScheduleRun struct {
	ID        string `json:"job_execution_id"`
	Lifecycle string `json:"lifecycle"`
	Message   string `json:"last_message,omitempty"`
}

// Skip is an instant at which no run started, or a range of them. Its fields are those of the view
// jobs.schedule_skips.
type Skip struct {
	DueTime  time.Time `json:"due_time"`
	Skipped  int       `json:"skipped"` // number of instants
	Cause    string    `json:"cause"`
	Reason   string    `json:"reason"`
	Recorded time.Time `json:"recorded_time"`
}

// Schedule is a schedule. Its fields are those of the view jobs.schedules.
type Schedule struct {
	Job            string `json:"job_name"`
	Name           string `json:"schedule_name"` // empty: the schedule of the job's own definition
	ID             int64  `json:"schedule_id"`
	Kind           string `json:"kind"`
	Spec           string `json:"spec,omitempty"`
	TimeZone       string `json:"time_zone,omitempty"`
	Description    string `json:"description,omitempty"` // the schedule in words; absent if the definition is invalid
	Enabled        bool   `json:"enabled"`
	State          string `json:"state"` // Enabled, Disabled, Completed or Faulted
	Reason         string `json:"reason,omitempty"`
	CatchUp        string `json:"catch_up,omitempty"`
	Overlap        string `json:"overlap"`
	PauseOnFailure bool   `json:"pause_on_failure"`
	model.ScheduleProgress
	LastExecution   *uuid.UUID      `json:"last_job_execution_id,omitempty"`
	LastLifecycle   string          `json:"last_lifecycle,omitempty"`
	Parameters      json.RawMessage `json:"parameters,omitempty"`        // of its runs
	ParametersFault string          `json:"parameters_fault,omitempty"`  // why they do not fit those that the job declares, so that no run starts
	Validated       *time.Time      `json:"validated_time,omitempty"`    // absent: no agent has validated the definition yet
	Errors          json.RawMessage `json:"validation_errors,omitempty"` // as of DefinitionErrors
	Warnings        []string        `json:"warnings,omitempty"`
	Created         *time.Time      `json:"created_time,omitempty"`
	Updated         *time.Time      `json:"updated_time,omitempty"`
	Backfills       []Backfill      `json:"backfills,omitempty"` // of schedule show only
}

// Backfill is a backfill of a schedule. Its fields are those of the view jobs.schedule_backfills.
type Backfill struct{ model.Backfill }

// ScheduleName names a schedule that was deleted.
type ScheduleName struct {
	Job  string `json:"job_name"`
	Name string `json:"schedule_name"`
}

// EnabledSchedule is a schedule that was enabled or disabled.
type EnabledSchedule struct {
	Enabled bool   `json:"enabled"`
	Job     string `json:"job_name"`
	Name    string `json:"schedule_name"`
}

// PausedSchedule is a schedule that was paused or resumed.
type PausedSchedule struct {
	Job    string `json:"job_name"`
	Paused bool   `json:"paused"`
	Name   string `json:"schedule_name"`
}

// RequestedBackfill is a backfill that was requested.
type RequestedBackfill struct {
	ID   int64  `json:"backfill_id"`
	Job  string `json:"job_name"`
	Name string `json:"schedule_name"`
}

// EndedBackfill is a backfill that has ended with its runs.
type EndedBackfill struct {
	ID   int64  `json:"backfill_id"`
	Job  string `json:"job_name"`
	Name string `json:"schedule_name"`
	// State is Completed, Canceled or Faulted; Reason explains the last two.
	State  string `json:"state"`
	Reason string `json:"reason,omitempty"`
	// Skipped is the number of instants that have no run.
	Skipped int        `json:"skipped"`
	Runs    []RunTotal `json:"runs"`
}

// RunTotal is the number of runs that ended in the same way.
type RunTotal struct {
	Lifecycle jobs.Lifecycle `json:"lifecycle"`
	Total     int            `json:"total"`
}

// CanceledBackfill names a backfill that was canceled.
type CanceledBackfill struct {
	ID int64 `json:"backfill_id"`
}
