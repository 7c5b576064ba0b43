package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// viewSchedule converts a schedule for -o json.
func viewSchedule(s timetable.Schedule) output.Schedule {
	v := output.Schedule{
		Job: s.JobName, Name: s.Name, ID: int64(s.ID), Kind: s.Kind, Spec: s.Spec, TimeZone: s.TimeZone, Enabled: s.Enabled,
		State: s.State, Reason: s.Reason, CatchUp: s.CatchUp, Overlap: s.Overlap, PauseOnFailure: s.PauseOnFailure,
		ScheduleProgress: s.ScheduleProgress, Description: s.Words(),
		LastLifecycle: s.LastLifecycle, Validated: output.Optional(s.ValidatedTime), Errors: s.ValidationErrors,
		Warnings: s.Warnings, Parameters: json.RawMessage(s.Parameters), ParametersFault: s.ParametersFault, Created: output.Optional(s.CreatedTime),
		Updated: output.Optional(s.UpdatedTime),
	}
	if s.LastExecution != uuid.Nil {
		v.LastExecution = &s.LastExecution
	}
	return v
}

// scheduleTitle returns a schedule's name for a table. The schedule of the job's own definition has
// no name.
func scheduleTitle(name string) string {
	if name == "" {
		return "(the job's own)"
	}
	return name
}

// sentence returns a schedule in words with what is next, as of now: its next instant, or that it
// is paused or disabled, or that nothing is due any more. It is empty if the definition is invalid.
func sentence(v output.Schedule, now time.Time) string {
	switch {
	case v.Description == "":
		return ""
	case v.Paused && !v.Enabled:
		return v.Description + "; paused and disabled"
	case v.Paused:
		return v.Description + "; paused"
	case !v.Enabled:
		return v.Description + "; disabled"
	case !v.NextDue.IsZero():
		return schedule.NextBehind(v.Description, v.NextDue, schedule.ZoneShown(v.TimeZone), now)
	case v.State == "Completed":
		return schedule.NextBehind(v.Description, time.Time{}, nil, now)
	}
	return v.Description // no agent has computed the next instant yet
}

// columns are those of schedule list.
var columns = output.Columns([]output.Column[output.Schedule]{
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "schedule_name", Header: "SCHEDULE", ID: true, Min: 15, Keep: true, Text: func(v output.Schedule) string { return scheduleTitle(v.Name) }},
	{Name: "kind", Drop: 8},
	{Name: "state", State: true, Keep: true, Text: func(v output.Schedule) string {
		if v.Paused {
			return "Paused"
		}
		return v.State
	}},
	{Name: "next_due_time", Header: "NEXT DUE (UTC)", Drop: 1},
	{Name: "description", Header: "WORDS", Min: 28, Rest: true, Drop: 5, Text: func(v output.Schedule) string { return v.Description }},
	{Name: "time_zone", Header: "ZONE", Min: 6, Drop: 9},
	{Name: "last_due_time", Header: "LAST DUE (UTC)", Drop: 10},
	{Name: "executions", Header: "RUNS", Drop: 6},
	{Name: "last_lifecycle", Header: "LAST RUN", State: true, Drop: 4},
	{Name: "reason", Min: 12, Drop: 9},
	{Name: "warnings", Header: "WARN", Right: true, Drop: 7, Text: func(v output.Schedule) string {
		if len(v.Warnings) == 0 {
			return ""
		}
		return strconv.Itoa(len(v.Warnings))
	}},
	{Name: "schedule_id", Header: "ID", Wide: true},
})

func newListCommand(a *connect.App) *cobra.Command {
	var f timetable.Filter
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
					return exit.Usagef("invalid --state %q: want one of %s", f.State, strings.Join(states, ", "))
				}
				f.State = state
			}
			if f.Limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", f.Limit)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				f.DefinedOnly = true
				list, err := timetable.On(store).List(cmd.Context(), f)
				if err != nil {
					return err
				}
				if len(list) == 0 && f.JobName != "" { // an unknown name must not look like a job without schedules
					if _, err := lookup.Job(cmd.Context(), store, f.JobName); err != nil {
						return err
					}
				}
				return output.List(&a.Printer, output.Each(list, viewSchedule), columns)
			})
		},
	}
	cmd.Flags().StringVar(&f.JobName, "job", "", "only schedules of this job")
	cmd.Flags().StringVar(&f.State, "state", "", "only schedules in this state: Enabled, Disabled, Completed or Faulted")
	cmd.Flags().BoolVar(&f.NamedOnly, "named", false, "exclude the schedules of the jobs' own definitions")
	cmd.Flags().IntVar(&f.Limit, "limit", 1000, "maximum number of schedules")
	return command.List(&a.Printer, columns, cmd)
}

// shownBackfills is the maximum number of backfills that are shown with a schedule.
const shownBackfills = 5

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB [SCHEDULE]", Short: "Show a schedule: its definition, state, counters, next instants and backfills",
		Args: cobra.RangeArgs(1, 2),
		Long: "Show a schedule: its definition, state, counters, next instants and backfills.\nWithout SCHEDULE, this is the schedule of the job's own definition.",
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			name := optionalName(args)
			s, err := lookup.Schedule(cmd.Context(), store, args[0], name)
			if err != nil {
				return err
			}
			backfills, err := timetable.On(store).Backfills(cmd.Context(), s.JobName, &name, shownBackfills)
			if err != nil {
				return err
			}
			v := viewSchedule(s)
			for _, b := range backfills {
				v.Backfills = append(v.Backfills, output.Backfill{Backfill: b.Backfill})
			}
			now, err := store.Now(cmd.Context())
			if err != nil {
				return err
			}
			return a.Emit(v, func(w io.Writer) error { return printSchedule(w, v, s.Describe(), now) })
		}),
	}
}

// beside returns what is said beside the words of a schedule: what happens when clocks change, and
// what may be misread.
func beside(d schedule.Description) []string {
	if d.Clocks == "" {
		return d.Notes
	}
	return append([]string{d.Clocks}, d.Notes...)
}

// printSchedule prints a schedule as of now. d describes it.
func printSchedule(w io.Writer, v output.Schedule, d schedule.Description, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of job %s: %s", scheduleTitle(v.Name), v.Job, v.State)
	if v.Reason != "" {
		fmt.Fprintf(&b, ": %s", output.OneLine(v.Reason))
	}
	if text := sentence(v, now); text != "" {
		fmt.Fprintf(&b, "\n%s", output.OneLine(text))
		for _, note := range beside(d) {
			fmt.Fprintf(&b, "\n%s", note)
		}
	}
	fmt.Fprintf(&b, "\nkind %s, zone %s, overlap %s, catch-up %s", v.Kind, cmp.Or(v.TimeZone, "UTC"),
		v.Overlap, cmp.Or(v.CatchUp, "as in the definition, else last"))
	if v.PauseOnFailure {
		b.WriteString(", pauses on failure")
	}
	b.WriteString("\n")
	if v.Spec != "" {
		fmt.Fprintf(&b, "%s\n", output.Indent(strings.TrimSpace(v.Spec), "  | "))
	}
	if len(v.Parameters) > 0 {
		fmt.Fprintf(&b, "parameters %s\n", output.OneLine(string(v.Parameters)))
	}
	fmt.Fprintf(&b, "runs %d (%d failed, %d failed attempts), skipped: %d by overlap, %d missed, %d otherwise; waiting %d\n", v.Executions, v.Faults, v.Failures,
		v.SkippedByOverlap, v.SkippedByCatchUp, v.SkippedOtherwise, v.Buffered)
	if !v.LastDue.IsZero() {
		fmt.Fprintf(&b, "last due %s", v.LastDue.UTC().Format(time.RFC3339))
		if v.LastExecution != nil {
			fmt.Fprintf(&b, ", last run %s %s", v.LastExecution, v.LastLifecycle)
		}
		b.WriteString("\n")
	}
	for _, f := range schedule.ErrorTexts(v.Errors) {
		fmt.Fprintf(&b, "error: %s\n", output.OneLine(f))
	}
	for _, text := range v.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", output.OneLine(text))
	}
	for _, f := range v.Backfills {
		fmt.Fprintf(&b, "backfill %d from %s to %s: %s, %d started, %d waiting, %d skipped", f.ID,
			f.From.UTC().Format(time.RFC3339), f.To.UTC().Format(time.RFC3339), f.State,
			f.Started, f.Buffered, f.Skipped)
		if f.Reason != "" {
			fmt.Fprintf(&b, ": %s", output.OneLine(f.Reason))
		}
		b.WriteString("\n")
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if len(v.Upcoming) == 0 {
		return nil
	}
	return printDue(w, v.Upcoming, schedule.ZoneShown(v.TimeZone))
}
