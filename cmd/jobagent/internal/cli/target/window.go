package target

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/targets"
)

// newWindowCommand returns `jobagent target window`.
func newWindowCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("window", "Say when jobs may start on databases",
		command.StandsFor("jobs.target_windows", newWindowsCommand(a)),
		command.StandsFor("jobs.sp_set_target_window", a.Prints(output.TargetWindow{}, newSetWindowCommand(a))),
		command.StandsFor("jobs.sp_delete_target_window", a.Prints(output.WindowName{}, newDeleteWindowCommand(a))),
	)
}

// windowColumns are those of target window list.
var windowColumns = output.Columns([]output.Column[output.TargetWindow]{
	{Name: "window_name", Header: "WINDOW", Min: 8, Keep: true, ID: true},
	{Name: "databases", Min: 12, Rest: true, Value: func(w output.TargetWindow) any {
		if w.TagFilter != "" {
			return w.TagFilter
		}
		return w.Server + "/" + w.Database
	}},
	{Name: "calendar_name", Header: "CALENDAR", Keep: true},
	{Name: "blackouts", Keep: true},
	{Name: "time_zone", Header: "ZONE", Drop: 3},
	{Name: "time_zone_tag", Header: "ZONE TAG", Drop: 4},
	{Name: "server_name", Wide: true},
	{Name: "database_name", Wide: true},
	{Name: "tag_filter", Wide: true},
	{Name: "target_id", Wide: true},
})

func windowView(w holds.Window) output.TargetWindow { return output.TargetWindow{Window: w} }

func newWindowsCommand(a *connect.App) *cobra.Command {
	return connect.List(a, windowColumns, &cobra.Command{
		Use: "list", Short: "List the windows of databases", Args: cobra.NoArgs,
		Long:    "List the windows of databases: which databases have them, and the calendars that say when they are open.",
		Example: "  jobagent target window list",
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.TargetWindow, error) {
		list, err := holds.On(store).Windows(cmd.Context(), controldb.Page[string]{})
		return output.Each(list, windowView), err
	})
}

func newSetWindowCommand(a *connect.App) *cobra.Command {
	var w holds.Window
	cmd := &cobra.Command{
		Use: "set WINDOW", Short: "Add or replace a window of databases", Args: cobra.ExactArgs(1),
		Long: `Add or replace a window of databases: of one, or of all whose tags match a filter, also of those that come later. Attempts
start on them only while the window is open: while --calendar has a window, and --blackouts has none. A run waits for the
window of each of its databases within the time limit of the step; a database whose window does not open in time is
skipped. What runs when a window closes goes on. If several windows apply to a database, all of them have to be open.

Calendars are those of jobagent calendar. One that names no timeZone is in the zone of the window: --zone, or the value
of the tag --zone-tag of each database.`,
		Example: `  echo '{"monthDays": [-3, -2, -1]}' | jobagent calendar add month-end --file -
  jobagent target window set gold --tag-filter "tier = 'gold'" --calendar nights --blackouts month-end --zone Europe/Berlin
  jobagent target window set tenant17 --server sql1.example.com --database tenant17 --calendar nights`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if (w.Server == "") != (w.Database == "") {
				return exit.Usagef("want both --server and --database, or --tag-filter")
			}
			w.Name = args[0]
			if w.Zone != "" {
				if _, err := schedule.LoadZone(w.Zone); err != nil {
					return exit.Usagef("--zone: %w", err)
				}
			}
			if w.Server != "" && w.Database != "" {
				if err := checkNames([]string{w.Server}); err != nil {
					return err
				}
				w.Target = targets.TargetID(w.Server, w.Database)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := holds.On(store).SetWindow(cmd.Context(), w); err != nil {
					return err
				}
				return a.Done(windowView(w), "set the window %s", w.Name)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&w.Calendar, "calendar", "", "the window is open only in the windows of this `CALENDAR`")
	flags.StringVar(&w.Blackouts, "blackouts", "", "it is closed in the windows of this `CALENDAR`")
	flags.StringVar(&w.TagFilter, "tag-filter", "", "the databases whose tags match this `FILTER`, such as \"tier = 'gold'\"")
	flags.StringVar(&w.Server, "server", "", "the `SERVER` of the only database that has the window")
	flags.StringVar(&w.Database, "database", "", "the `DATABASE`")
	flags.StringVar(&w.Zone, "zone", "", "`ZONE` of calendars that name none, such as Europe/Berlin (default UTC)")
	flags.StringVar(&w.ZoneTag, "zone-tag", "", "`TAG` whose value is the zone of each database")
	return cmd
}

func newDeleteWindowCommand(a *connect.App) *cobra.Command {
	return a.Does(&cobra.Command{
		Use: "delete WINDOW", Short: "Delete a window of databases", Args: cobra.ExactArgs(1),
		Long:    "Delete a window of databases. What waited for it starts with the next passes of agents.",
		Example: "  jobagent target window delete gold",
	}, "deleted the window %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.WindowName{Name: args[0]}, holds.On(store).DeleteWindow(cmd.Context(), args[0])
	})
}
