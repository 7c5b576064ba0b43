package model

import (
	"strings"
	"time"
)

// Overlap is a policy for what is due while an earlier run of the same schedule is active.
type Overlap struct {
	Name string
	// Choice offers the policy for a backfill, and Sentence says what it does in a schedule.
	Choice, Sentence string
}

// Overlaps are the policies; jobs_internal.check_overlap decides on their names.
var Overlaps = []Overlap{
	{"Skip", "Skip instants while a run is active", "While an earlier run is active, an instant is recorded as skipped."},
	{"BufferOne", "Keep one waiting instant",
		"While an earlier run is active, one instant waits until it ends. Further ones are recorded as skipped."},
	{OverlapBufferAll, "One run after the other", "While an earlier run is active, all instants wait, and run one after the other."},
	{"CancelOther", "Cancel the active run", "An earlier run that is active is stopped, and the instant waits until it has ended."},
	{"TerminateOther", "End the active run at once", "An earlier run that is active is stopped, and the new run begins at once."},
	{"AllowAll", "All at once", "While an earlier run is active, the new run begins beside it."},
	{"Elastic", "All at once, without busy targets",
		"While an earlier run is active, the new run begins beside it. Targets that the earlier run is busy on at the same step are skipped."},
}

// OverlapBufferAll is the policy of a backfill that names none.
const OverlapBufferAll = "BufferAll"

// OverlapNames lists the names of the policies.
func OverlapNames() []string {
	names := make([]string, len(Overlaps))
	for i, o := range Overlaps {
		names[i] = o.Name
	}
	return names
}

// DefaultOverlap is the policy of a schedule of a kind that names none.
func DefaultOverlap(kind string) string {
	switch kind {
	case "elastic":
		return "Elastic"
	case "sap":
		return "AllowAll"
	}
	return "Skip"
}

// ScheduleSettings are the settings of a named schedule beside its definition. The tags are those
// of steps; the files of jobagent apply call time_zone zone.
type ScheduleSettings struct {
	// Zone is the zone as it was given; empty means none.
	Zone           string `db:"given_time_zone" json:"zone" rule:"max=128" doc:"IANA name of the zone of clock times, such as Europe/Berlin; default: the zone in the schedule, else UTC."`
	Enabled        bool   `db:"enabled" json:"enabled" rule:"default=true" doc:"false: it starts no runs."`
	Overlap        string `db:"overlap" json:"overlap" rule:"enum=Skip|BufferOne|BufferAll|CancelOther|TerminateOther|AllowAll|Elastic" doc:"What happens while an earlier run is active; default: Skip (elastic: Elastic, sap: AllowAll)."`
	CatchUp        string `db:"catch_up" json:"catch_up" rule:"max=50" doc:"What happens with missed runs: last (the default), none, all, window:DURATION or sap-20min."`
	PauseOnFailure bool   `db:"pause_on_failure" json:"pause_on_failure" rule:"default=false" doc:"A run that fails pauses the schedule."`
}

// ScheduleSpec is what a caller gives of a schedule: the arguments of jobs.sp_add_schedule, which
// needs Kind and Spec, and of jobs.sp_update_schedule. A nil field is not sent: a new schedule gets
// the default, and an existing one keeps its value. In an update, an empty TimeZone, CatchUp or
// Overlap selects the default, and empty Parameters remove them. They are all that can be changed
// when Name is empty, which means the schedule of the job's own definition.
type ScheduleSpec struct {
	JobName, Name string
	NewName       *string // renames a schedule
	// Kind is elastic, azure-scheduler, sap, cron5, cron6, quartz or rrule. Spec is the definition
	// in that dialect.
	Kind, Spec              *string
	TimeZone                *string
	CatchUp, Overlap        *string
	PauseOnFailure, Enabled *bool
	Parameters              *string // of the schedule's runs, a JSON object
}

// ScheduleField is a field of a [ScheduleSpec].
type ScheduleField = Field[ScheduleSpec, ScheduleSettings]

// ScheduleChanges returns what differs between the settings of a schedule.
func ScheduleChanges(now, before ScheduleSettings) ScheduleSpec {
	return Changes(ScheduleFields, &now, &before)
}

// ScheduleFields are the fields of schedules in the order in which procedures take them.
var ScheduleFields = []ScheduleField{
	argument(ScheduleField{Name: "new_name"}, func(s *ScheduleSpec) **string { return &s.NewName }),
	argument(ScheduleField{Name: "kind"}, func(s *ScheduleSpec) **string { return &s.Kind }),
	argument(ScheduleField{Name: "spec"}, func(s *ScheduleSpec) **string { return &s.Spec }),
	setting(ScheduleField{Name: "time_zone", Flag: "zone", Usage: "time zone (IANA or Windows name), if the definition has none (default UTC)"},
		func(s *ScheduleSpec) **string { return &s.TimeZone }, func(s *ScheduleSettings) *string { return &s.Zone }),
	setting(ScheduleField{Name: "catch_up", Flag: "catch-up", Usage: "policy for missed runs: last, none, all, window:DURATION or sap-20min"},
		func(s *ScheduleSpec) **string { return &s.CatchUp }, func(s *ScheduleSettings) *string { return &s.CatchUp }),
	setting(ScheduleField{Name: "overlap", Flag: "overlap", Usage: "policy while an earlier run is active: " + strings.Join(OverlapNames(), ", ")},
		func(s *ScheduleSpec) **string { return &s.Overlap }, func(s *ScheduleSettings) *string { return &s.Overlap }),
	setting(ScheduleField{Name: "pause_on_failure", Flag: "pause-on-failure", Usage: "pause the schedule after a failed run"},
		func(s *ScheduleSpec) **bool { return &s.PauseOnFailure }, func(s *ScheduleSettings) *bool { return &s.PauseOnFailure }),
	setting(ScheduleField{Name: "enabled", Flag: "enabled", Usage: "enable the schedule"},
		func(s *ScheduleSpec) **bool { return &s.Enabled }, func(s *ScheduleSettings) *bool { return &s.Enabled }),
	argument(ScheduleField{Name: "parameters"}, func(s *ScheduleSpec) **string { return &s.Parameters }),
}

// ScheduleProgress is what has become of a schedule.
type ScheduleProgress struct {
	// PausedBy, PausedAt and PauseNote describe the latest pause or resumption.
	Paused    bool      `db:"paused" json:"paused"`
	PausedBy  string    `db:"paused_by" json:"paused_by,omitempty"`
	PausedAt  time.Time `db:"paused_at" json:"paused_at,omitzero"`
	PauseNote string    `db:"pause_note" json:"pause_note,omitempty"`
	// NextDue and LastDue are zero when there are none.
	NextDue time.Time `db:"next_due_time" json:"next_due_time,omitzero"`
	LastDue time.Time `db:"last_due_time" json:"last_due_time,omitzero"`
	// Upcoming are as of the latest validation or run.
	Upcoming         []time.Time `db:"upcoming" json:"upcoming,omitempty" doc:"the next instants"`
	Executions       int64       `db:"executions" json:"executions" doc:"runs"`
	Failures         int64       `db:"failures" json:"failures" doc:"failed attempts"`
	Faults           int64       `db:"faults" json:"faults" doc:"failed runs"`
	SkippedByOverlap int64       `db:"skipped_by_overlap" json:"skipped_by_overlap"`
	SkippedByCatchUp int64       `db:"skipped_by_catch_up" json:"skipped_by_catch_up"`
	SkippedOtherwise int64       `db:"skipped_otherwise" json:"skipped_otherwise"`
	Buffered         int64       `db:"buffered" json:"buffered" doc:"instants that wait for an earlier run to end"`
}

// Backfill is a request to run a schedule at the instants of a past range.
type Backfill struct {
	ID          int64     `db:"backfill_id" json:"backfill_id"`
	State       string    `db:"state" json:"state"`             // Open, Completed, Canceled or Faulted
	Reason      string    `db:"reason" json:"reason,omitempty"` // explains the state
	From        time.Time `db:"from_time" json:"from_time"`
	To          time.Time `db:"to_time" json:"to_time"`
	Next        time.Time `db:"next_time" json:"next_time,omitzero" doc:"the next instant that becomes a run"` // zero: it has not begun, or has ended
	Overlap     string    `db:"overlap" json:"overlap"`
	Started     int64     `db:"started" json:"started" doc:"runs"`
	Buffered    int64     `db:"buffered" json:"buffered" doc:"instants that wait for an earlier run to end"`
	Skipped     int64     `db:"skipped" json:"skipped"`
	RequestedBy string    `db:"requested_by" json:"requested_by"`
	Requested   time.Time `db:"requested_time" json:"requested_time"`
}
