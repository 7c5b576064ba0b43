package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/targets"
)

// checkNames returns what is wrong with the name of a server of the command line.
func checkNames(args []string) error {
	if err := targets.CheckServer(args[0]); err != nil {
		return exit.Usagef("invalid SERVER %q: %w", args[0], err)
	}
	return nil
}

func newPauseCommand(a *connect.App) *cobra.Command {
	var reason, until string
	var seconds int
	cmd := &cobra.Command{
		Use: "pause SERVER DATABASE", Short: "Let nothing start on a database", Args: cobra.ExactArgs(2),
		Long: `Let no attempt of any job start on a database, until the pause ends: at --until, after --for, or with
"jobagent target resume". Attempts that run go on to their end. A target that waits does so within the time limit of its
step, and is then skipped. A database that no run has had yet is paused, too, with a warning. If it is paused already,
its pause gets the new reason and end.`,
		Example: `  jobagent target pause sql1.example.com tenant17 --until 2026-12-04 --reason "moves to another server"
  jobagent target pause sql1.example.com tenant17 --for 2h`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkNames(args); err != nil {
				return err
			}
			p := holds.Pause{Target: targets.TargetID(args[0], args[1]), Server: args[0], Database: args[1], Reason: reason}
			var err error
			lasts, ends := cmd.Flags().Changed("for"), cmd.Flags().Changed("until")
			switch {
			case lasts && ends:
				return exit.Usagef("--for and --until cannot be combined")
			case lasts && seconds < 1:
				return exit.Usagef("invalid --for %s: want at least 1s", cmd.Flag("for").Value)
			case ends:
				if p.Until, err = command.ParseTime(until); err != nil {
					return exit.Usagef("--until: %w", err)
				}
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				known, err := targetgroups.On(store).KnownTargets(cmd.Context(), targetgroups.KnownTargetFilter{ID: p.Target, Top: 1})
				if err != nil {
					return err
				}
				if lasts {
					err = holds.On(store).PauseTargetFor(cmd.Context(), p, time.Duration(seconds)*time.Second)
				} else {
					err = holds.On(store).SetPause(cmd.Context(), p)
				}
				if err != nil {
					return err
				}
				if lasts { // the end is an instant of the database's clock
					stored, err := holds.On(store).Pause(cmd.Context(), p.Target)
					if err != nil && !errors.Is(err, dberror.ErrTargetNotPaused) { // it has ended meanwhile
						return err
					}
					p.Until = stored.Until
				}
				if len(known) == 0 || known[0].FirstSeen.IsZero() {
					if err := a.Warn([]string{fmt.Sprintf(unseenText, "the database "+p.Server+"/"+p.Database)}); err != nil {
						return err
					}
				}
				view := paused(p)
				switch {
				case lasts && p.Until.IsZero():
					return a.Done(view, "paused %s/%s; the pause has ended already", p.Server, p.Database)
				case p.Until.IsZero():
					return a.Done(view, "paused %s/%s until \"jobagent target resume\"", p.Server, p.Database)
				}
				return a.Done(view, "paused %s/%s until %s", p.Server, p.Database, p.Until.UTC().Format(time.RFC3339))
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&reason, "reason", "", "why, for whoever asks what a run waits for")
	flags.StringVar(&until, "until", "", "`TIME` at which the pause ends by itself")
	command.AddPeriodSeconds(flags, &seconds, "for", 0, "how long the pause lasts, by the clock of the control database, at most 366d")
	return cmd
}

func newResumeCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "resume SERVER DATABASE", Short: "End the pause of a database", Args: cobra.ExactArgs(2),
		Long:    "End the pause of a database. What waited for it starts with the next pass of an agent.",
		Example: "  jobagent target resume sql1.example.com tenant17",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkNames(args); err != nil {
				return err
			}
			id := targets.TargetID(args[0], args[1])
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := holds.On(store).Resume(cmd.Context(), args[0], args[1], id); err != nil {
					return err
				}
				return a.Done(paused(holds.Pause{Server: args[0], Database: args[1], Target: id}), "%s/%s is not paused any more", args[0], args[1])
			})
		},
	}
}

func paused(p holds.Pause) output.PausedTarget { return output.PausedTarget{Pause: p} }

// pauseColumns are those of target pauses.
var pauseColumns = output.Columns([]output.Column[output.PausedTarget]{
	{Name: "server_name", Header: "SERVER", Min: 12, Keep: true},
	{Name: "database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "paused_time", Header: "SINCE", Drop: 4},
	{Name: "end_time", Header: "UNTIL", Keep: true},
	{Name: "paused_by", Header: "BY", Min: 8, Drop: 3},
	{Name: "reason", Min: 12, Rest: true},
	{Name: "target", Wide: true, ID: true, Value: func(t output.PausedTarget) any { return t.Server + "/" + t.Database }},
	{Name: "target_id", Wide: true},
})

func newPausesCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, pauseColumns, &cobra.Command{
		Use: "pauses", Short: "List the paused databases", Args: cobra.NoArgs,
		Long:    "List the databases that are paused now, with the reason and the end of each pause.",
		Example: "  jobagent target pauses",
		RunE: a.Reads(func(cmd *cobra.Command, _ []string, store *controldb.Store) error {
			list, err := holds.On(store).Pauses(cmd.Context(), controldb.Page[uuid.UUID]{})
			if err != nil {
				return err
			}
			slices.SortFunc(list, func(a, b holds.Pause) int {
				return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Database, b.Database))
			})
			return output.List(&a.Printer, output.Each(list, paused), pauseColumns)
		}),
	})
}
