package schedule

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// NewCalendarCommand returns `jobagent calendar`.
func NewCalendarCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("calendar", "Define calendars: when schedules do not run, or waves of roll-outs do",
		command.StandsFor("jobs.sp_add_calendar",
			a.Prints(output.CalendarName{}, newCalendarChangeCommand(a, "add", "Add a calendar", "added", timetable.Store.AddCalendar))),
		command.StandsFor("jobs.sp_update_calendar",
			a.Prints(output.CalendarName{}, newCalendarChangeCommand(a, "update", "Change a calendar, and thus every schedule that names it",
				"updated", timetable.Store.UpdateCalendar))),
		command.StandsFor("jobs.sp_delete_calendar", a.Prints(output.CalendarName{}, newCalendarDeleteCommand(a))),
		command.StandsFor("jobs.calendars", newCalendarListCommand(a)),
		a.Prints(output.Calendar{}, newCalendarShowCommand(a)),
	)
	cmd.Long = `Define calendars: times at which schedules do not run, or at which alone waves of roll-outs do. A
schedule names its calendars, and a wave of a plan names one ("window": "nights"):
  {"cron": "0 * * * *", "blackouts": {"mode": "skip", "calendars": ["holidays"]}}
A calendar is a JSON object with dates, weekly windows and a recurrence rule, each optional:
  {"timeZone": "Europe/Berlin", "dates": ["2026-12-24/2026-12-26"],
   "weekly": [{"day": "sunday", "from": "22:00", "to": "24:00"}]}`
	return cmd
}

// newCalendarChangeCommand returns `jobagent calendar add` or `jobagent calendar update`.
func newCalendarChangeCommand(a *connect.App, use, short, done string,
	change func(timetable.Store, context.Context, string, string) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: use + " CALENDAR --file FILE|-", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := command.ReadFile(file, a.Stdin)
			if err != nil {
				return err
			}
			if _, err := schedule.ParseCalendar(spec); err != nil {
				return rejectDefinition(&a.Printer, err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := change(timetable.On(store), cmd.Context(), args[0], string(spec)); err != nil {
					return err
				}
				return a.Done(output.CalendarName{Name: args[0]}, "%s calendar %s", done, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "`file` that holds the calendar; - for standard input")
	cobra.CheckErr(cmd.MarkFlagRequired("file"))
	return cmd
}

func newCalendarDeleteCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete CALENDAR", Short: "Delete a calendar that no schedule names", Args: cobra.ExactArgs(1),
	}, "This deletes the calendar %s", "deleted calendar %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.CalendarName{Name: args[0]}, timetable.On(store).DeleteCalendar(cmd.Context(), args[0])
	})
}

func newCalendarListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, calendarColumns, &cobra.Command{
		Use: "list", Short: "List all calendars", Args: cobra.NoArgs,
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.Calendar, error) {
		list, err := timetable.On(store).Calendars(cmd.Context(), "")
		return output.Each(list, viewCalendar), err
	})
}

// calendarColumns are those of calendar list.
var calendarColumns = output.Columns([]output.Column[output.Calendar]{
	{Name: "calendar_name", Header: "CALENDAR", ID: true, Min: 12, Keep: true},
	{Name: "updated_time", Header: "UPDATED"},
	{Name: "created_time", Header: "CREATED", Wide: true},
	{Name: "spec", Header: "DEFINITION", Min: 16, Rest: true},
})

// viewCalendar converts a calendar for -o json.
func viewCalendar(c timetable.Calendar) output.Calendar {
	v := output.Calendar{Name: c.Name, Spec: json.RawMessage(c.Spec), Created: output.Optional(c.CreatedTime), Updated: output.Optional(c.UpdatedTime)}
	if !json.Valid(v.Spec) { // impossible by the stored procedure
		v.Spec = nil
	}
	return v
}

func newCalendarShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show CALENDAR", Short: "Show a calendar with its whole definition", Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			c, err := lookup.Calendar(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			v := viewCalendar(c)
			if parsed, err := schedule.ParseCalendar([]byte(c.Spec)); err == nil { // else it names what this program does not know
				now, err := store.Now(cmd.Context())
				if err != nil {
					return err
				}
				v.Blocked = blockedTimes(parsed, now)
			}
			return a.Emit(v, func(w io.Writer) error {
				var b bytes.Buffer
				if json.Indent(&b, v.Spec, "", "  ") != nil {
					b.Reset()
					b.WriteString(c.Spec)
				}
				fmt.Fprintf(&b, "\n%s", blockedText(v.Blocked))
				_, err := fmt.Fprintf(w, "%s (changed %s)\n%s\n", v.Name, c.UpdatedTime.UTC().Format(time.RFC3339), strings.TrimSpace(b.String()))
				return err
			})
		}),
	}
}

// The times that calendar show lists: those of so many days, in the text at most so many.
const (
	blockedDays  = 60
	blockedLines = 20
)

// blockedTimes returns the times at which a calendar lets no run start, from now on.
func blockedTimes(c *schedule.Calendar, now time.Time) (list []output.BlockedTime) {
	now = now.UTC().Truncate(time.Second)
	for _, w := range c.Windows(now, now.AddDate(0, 0, blockedDays)) {
		list = append(list, output.BlockedTime{From: w.From, To: w.To})
	}
	return list
}

// blockedText writes the times at which no run starts, one a line.
func blockedText(list []output.BlockedTime) string {
	if len(list) == 0 {
		return fmt.Sprintf("It blocks no time of the next %d days.", blockedDays)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Blocked in the next %d days (UTC):\n", blockedDays)
	const layout = "Mon 2006-01-02 15:04"
	for _, t := range list[:min(len(list), blockedLines)] {
		fmt.Fprintf(&b, "  %s to %s\n", t.From.UTC().Format(layout), t.To.UTC().Format(layout))
	}
	if more := len(list) - blockedLines; more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}
