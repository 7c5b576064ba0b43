package output

import (
	"time"

	"github.com/google/uuid"
)

// Pause is the document of `jobagent db pause` and `jobagent db resume`.
type Pause struct {
	Paused      bool       `json:"paused"`
	Since       *time.Time `json:"paused_time"`
	By          string     `json:"paused_by"`
	Reason      string     `json:"pause_reason"`
	SkipUntil   *time.Time `json:"skip_until"`
	Incarnation uuid.UUID  `json:"incarnation"`
}

// Restored is the document of `jobagent db after-restore`.
type Restored struct {
	Incarnation  uuid.UUID          `json:"incarnation"`
	PausedTime   time.Time          `json:"paused_time"`
	Terms        int                `json:"ended_terms"`
	DueSchedules int                `json:"due_schedules"`
	ActiveRuns   int                `json:"active_runs"`
	Due          []RestoredSchedule `json:"due"`
	Runs         []RestoredRun      `json:"runs"`
}

// RestoredSchedule is a schedule that is due when the control database is resumed.
type RestoredSchedule struct {
	JobName  string    `json:"job_name"`
	Schedule string    `json:"schedule_name"`
	DueTime  time.Time `json:"due_time"`
	CatchUp  string    `json:"catch_up"`
	Overlap  string    `json:"overlap"`
}

// RestoredRun is a run that goes on when the control database is resumed.
type RestoredRun struct {
	ID         uuid.UUID `json:"job_execution_id"`
	JobName    string    `json:"job_name"`
	Lifecycle  string    `json:"lifecycle"`
	CreateTime time.Time `json:"create_time"`
	Targets    int       `json:"targets"`
	Succeeded  int       `json:"succeeded"`
	Failed     int       `json:"failed"`
	Unknown    int       `json:"unknown"`
	Message    string    `json:"last_message"`
}
