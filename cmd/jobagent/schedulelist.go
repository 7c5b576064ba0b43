package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// scheduleView is a row of jobs.schedules as -o json shows it; names as in the view.
type scheduleView struct {
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
	Backfills        []backfillView  `json:"backfills,omitempty"`
}

// backfillView is a row of jobs.schedule_backfills as -o json shows it.
type backfillView struct {
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

// viewSchedule turns a row into what is shown.
func viewSchedule(s controldb.Schedule) scheduleView {
	v := scheduleView{
		Job: s.JobName, Name: s.Name, ID: int64(s.ID), Kind: s.Kind, Spec: s.Spec, TimeZone: s.TimeZone, Enabled: s.Enabled, State: s.State, Reason: s.Reason,
		CatchUp: s.CatchUp, Overlap: s.Overlap, PauseOnFailure: s.PauseOnFailure, Paused: s.Paused, PausedBy: s.PausedBy, PausedAt: optional(s.PausedAt),
		PauseNote: s.PauseNote, NextDue: optional(s.NextDue), LastDue: optional(s.LastDue), Upcoming: s.Upcoming, Executions: s.Executions, Failures: s.Failures,
		Faults: s.Faults, SkippedByOverlap: s.SkippedByOverlap, SkippedByCatchUp: s.SkippedByCatchUp, SkippedOtherwise: s.SkippedOtherwise, Buffered: s.Buffered,
		LastLifecycle: s.LastLifecycle, Validated: optional(s.ValidatedTime), Errors: s.ValidationErrors, Warnings: s.Warnings, Created: optional(s.CreatedTime),
		Updated: optional(s.UpdatedTime),
	}
	if s.LastExecution != uuid.Nil {
		v.LastExecution = &s.LastExecution
	}
	return v
}

// viewBackfill turns a row into what is shown.
func viewBackfill(b controldb.Backfill) backfillView {
	return backfillView{int64(b.ID), b.State, b.Reason, b.From, b.To, optional(b.NextAt), b.Overlap, b.Started, b.Buffered, b.Skipped, b.RequestedBy, b.RequestedTime}
}

// scheduleTitle is a schedule's name in a table; that of the job's own definition has none.
func scheduleTitle(name string) string {
	if name == "" {
		return "(the job's own)"
	}
	return name
}

func newScheduleListCommand(a *app) *cobra.Command {
	var f controldb.ScheduleFilter
	cmd := &cobra.Command{
		Use: "list", Short: "List schedules with their states and next due times", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			states := []string{"Enabled", "Disabled", "Completed", "Faulted"}
			if f.State != "" {
				state := ""
				for _, s := range states {
					if strings.EqualFold(s, f.State) {
						state = s
					}
				}
				if state == "" {
					return usagef("--state %q: one of %s is needed", f.State, strings.Join(states, ", "))
				}
				f.State = state
			}
			if f.Limit < 1 {
				return usagef("--limit %d: must be 1 or more", f.Limit)
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Schedules(cmd.Context(), f)
				if err != nil {
					return err
				}
				views := make([]scheduleView, 0, len(list))
				for _, s := range list {
					views = append(views, viewSchedule(s))
				}
				return a.emit(views, func(w io.Writer) error {
					t := newTable("JOB", "SCHEDULE", "KIND", "STATE", "NEXT DUE (UTC)", "ZONE", "LAST DUE (UTC)", "RUNS", "LAST RUN", "REASON")
					for _, v := range views {
						t.add(v.Job, scheduleTitle(v.Name), v.Kind, v.State, v.NextDue, v.TimeZone, v.LastDue, v.Executions, v.LastLifecycle, shorten(v.Reason, 60))
					}
					return t.write(w)
				})
			})
		},
	}
	cmd.Flags().StringVar(&f.JobName, "job", "", "only schedules of this job")
	cmd.Flags().StringVar(&f.State, "state", "", "only schedules in this state: Enabled, Disabled, Completed or Faulted")
	cmd.Flags().BoolVar(&f.NamedOnly, "named", false, "leave out the schedules of the jobs' own definitions")
	cmd.Flags().IntVar(&f.Limit, "limit", 1000, "most schedules to list")
	return cmd
}

// shownBackfills is how many backfills are shown with a schedule.
const shownBackfills = 5

func newScheduleShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB [NAME]", Short: "Show a schedule: its definition, state, counters, next instants and backfills", Args: cobra.RangeArgs(1, 2),
		Long: "Show a schedule: its definition, state, counters, next instants and backfills. Without NAME it is the schedule of the job's own definition.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				name := optionalName(args)
				s, err := findSchedule(cmd.Context(), store, args[0], name)
				if err != nil {
					return err
				}
				backfills, err := store.Backfills(cmd.Context(), s.JobName, &name, shownBackfills)
				if err != nil {
					return err
				}
				v := viewSchedule(s)
				for _, b := range backfills {
					v.Backfills = append(v.Backfills, viewBackfill(b))
				}
				return a.emit(v, func(w io.Writer) error { return printSchedule(w, v) })
			})
		},
	}
}

// printSchedule shows a schedule for people.
func printSchedule(w io.Writer, v scheduleView) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of job %s: %s", scheduleTitle(v.Name), v.Job, v.State)
	if v.Reason != "" {
		fmt.Fprintf(&b, ": %s", oneLine(v.Reason))
	}
	fmt.Fprintf(&b, "\nkind %s, zone %s, overlap %s, catch-up %s", v.Kind, orDefault(v.TimeZone, "UTC"), v.Overlap, orDefault(v.CatchUp, "as defined, else last"))
	if v.PauseOnFailure {
		b.WriteString(", pauses on failure")
	}
	b.WriteString("\n")
	if v.Spec != "" {
		fmt.Fprintf(&b, "%s\n", indent(strings.TrimSpace(v.Spec), "  | "))
	}
	fmt.Fprintf(&b, "runs %d (%d failed, %d failed attempts), skipped: %d by overlap, %d missed, %d otherwise; waiting %d\n", v.Executions, v.Faults, v.Failures,
		v.SkippedByOverlap, v.SkippedByCatchUp, v.SkippedOtherwise, v.Buffered)
	if v.LastDue != nil {
		fmt.Fprintf(&b, "last due %s", v.LastDue.UTC().Format(time.RFC3339))
		if v.LastExecution != nil {
			fmt.Fprintf(&b, ", last run %s %s", v.LastExecution, v.LastLifecycle)
		}
		b.WriteString("\n")
	}
	for _, f := range faultTexts(v.Errors) {
		fmt.Fprintf(&b, "fault: %s\n", oneLine(f))
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", oneLine(text))
	}
	for _, f := range v.Backfills {
		fmt.Fprintf(&b, "backfill %d from %s to %s: %s, %d started, %d waiting, %d skipped", f.ID, f.From.UTC().Format(time.RFC3339), f.To.UTC().Format(time.RFC3339), f.State,
			f.Started, f.Buffered, f.Skipped)
		if f.Reason != "" {
			fmt.Fprintf(&b, ": %s", oneLine(f.Reason))
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(v.Upcoming) == 0 {
		return nil
	}
	return printDue(w, v.Upcoming, zoneOf(v.TimeZone))
}

func orDefault(text, absent string) string {
	if text == "" {
		return absent
	}
	return text
}

// zoneOf is the zone of a name that an agent has stored: IANA's, or an offset such as -08:00. UTC when neither is known here.
func zoneOf(name string) *time.Location {
	if zone, err := schedule.LoadZone(name); err == nil {
		return zone
	}
	if t, err := time.Parse("-07:00", name); err == nil {
		_, offset := t.Zone()
		return time.FixedZone(name, offset)
	}
	return time.UTC
}

// faultTexts are the faults of a verdict, a sentence each.
func faultTexts(verdict json.RawMessage) []string {
	var v struct {
		Errors []struct {
			Path, Message string
			Value         json.RawMessage
		}
	}
	if len(verdict) == 0 || json.Unmarshal(verdict, &v) != nil {
		return nil
	}
	var texts []string
	for _, e := range v.Errors {
		texts = append(texts, strings.TrimSpace(fmt.Sprintf("%s is %s: %s", e.Path, e.Value, e.Message)))
	}
	return texts
}
