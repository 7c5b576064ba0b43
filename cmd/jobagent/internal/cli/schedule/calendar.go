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
	"github.com/jobagent/jobagent/jobs/schedule"
)

// NewCalendarCommand returns `jobagent calendar`.
func NewCalendarCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("calendar", "Define calendars with times at which schedules do not run",
		newCalendarChangeCommand(a, "add", "Add a calendar", "added", (*controldb.Store).AddCalendar),
		newCalendarChangeCommand(a, "update", "Change a calendar, and thus every schedule that names it", "updated",
			(*controldb.Store).UpdateCalendar),
		newCalendarDeleteCommand(a), newCalendarListCommand(a), newCalendarShowCommand(a))
	cmd.Long = `Define calendars with times at which schedules do not run. A schedule names its calendars:
  {"cron": "0 * * * *", "blackouts": {"mode": "skip", "calendars": ["holidays"]}}
A calendar is a JSON object with dates, weekly windows and a recurrence rule, each optional:
  {"timeZone": "Europe/Berlin", "dates": ["2026-12-24/2026-12-26"],
   "weekly": [{"day": "sunday", "from": "22:00", "to": "24:00"}]}`
	return cmd
}

// newCalendarChangeCommand returns `jobagent calendar add` or `jobagent calendar update`.
func newCalendarChangeCommand(a *connect.App, use, short, done string,
	change func(*controldb.Store, context.Context, string, string) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: use + " CALENDAR --file FILE|-", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := command.ReadFile(file, a.Stdin)
			if err != nil {
				return err
			}
			if _, err := schedule.ParseCalendar(spec); err != nil {
				return rejectDefinition(a, err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := change(store, cmd.Context(), args[0], string(spec)); err != nil {
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
	cmd := &cobra.Command{
		Use: "delete CALENDAR", Short: "Delete a calendar that no schedule names", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := command.Confirm(cmd, command.Fixed("This deletes the calendar %s", args[0])); err != nil {
					return err
				}
				if err := store.DeleteCalendar(cmd.Context(), args[0]); err != nil {
					return err
				}
				return a.Done(output.CalendarName{Name: args[0]}, "deleted calendar %s", args[0])
			})
		},
	}
	command.AddYes(cmd)
	return cmd
}

func newCalendarListCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, calendarColumns, &cobra.Command{
		Use: "list", Short: "List all calendars", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Calendars(cmd.Context(), "")
				if err != nil {
					return err
				}
				views := make([]output.Calendar, 0, len(list))
				for _, c := range list {
					views = append(views, viewCalendar(c))
				}
				return output.List(&a.Printer, views, calendarColumns)
			})
		},
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
func viewCalendar(c controldb.Calendar) output.Calendar {
	v := output.Calendar{Name: c.Name, Spec: json.RawMessage(c.Spec), Created: output.Optional(c.CreatedTime), Updated: output.Optional(c.UpdatedTime)}
	if !json.Valid(v.Spec) { // impossible by the stored procedure
		v.Spec = nil
	}
	return v
}

func newCalendarShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show CALENDAR", Short: "Show a calendar with its whole definition", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				c, err := lookup.Calendar(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				v := viewCalendar(c)
				return a.Emit(v, func(w io.Writer) error {
					var b bytes.Buffer
					if json.Indent(&b, v.Spec, "", "  ") != nil {
						b.Reset()
						b.WriteString(c.Spec)
					}
					_, err := fmt.Fprintf(w, "%s (changed %s)\n%s\n", v.Name, c.UpdatedTime.UTC().Format(time.RFC3339), strings.TrimSpace(b.String()))
					return err
				})
			})
		},
	}
}
