package db

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/identity"
	"github.com/jobagent/jobagent/jobs/wording"
)

// listed is the number of schedules and of runs that after-restore lists.
const listed = 1000

// change opens the store for a change and calls act.
func change(ctx context.Context, c *connect.Connections, act func(*controldb.Store) error) error {
	store, err := c.OpenStoreToChange(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	return act(store)
}

// pauseView reads the document of pause and resume.
func pauseView(ctx context.Context, store *controldb.Store) (output.Pause, error) {
	i, err := identity.On(store).Read(ctx)
	return output.Pause{
		Paused: i.Paused(), Since: output.Optional(i.PausedAt), By: i.PausedBy, Reason: i.PauseReason,
		SkipUntil: output.Optional(i.SkipUntil), Incarnation: i.Incarnation,
	}, err
}

// newPauseCommand returns `jobagent db pause`.
func newPauseCommand(a *connect.App) *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "pause", Short: "Pause the control database: nothing starts until it is resumed", Args: cobra.NoArgs,
		Long: `Pause the whole control database, with or without an account. No schedule fires, no run starts, and
agents claim nothing. Attempts in flight end and are recorded. Runs can be stopped, and definitions
can be changed. A second call changes the reason.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return change(cmd.Context(), &a.Connections, func(store *controldb.Store) error {
				if err := identity.On(store).Pause(cmd.Context(), reason); err != nil {
					return err
				}
				v, err := pauseView(cmd.Context(), store)
				if err != nil {
					return err
				}
				return a.Done(v, "paused the control database; resume it with: jobagent db resume")
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that everybody sees")
	return cmd
}

// newResumeCommand returns `jobagent db resume`.
func newResumeCommand(a *connect.App) *cobra.Command {
	var until string
	cmd := &cobra.Command{
		Use: "resume", Short: "End the pause of the control database", Args: cobra.NoArgs,
		Long: `End the pause of the control database. The catch-up policy of each schedule decides about the
instants that it has missed.

After a restore, instants since the backup may have run already. --skip-until records the instants
before this time as skipped, with the reason, instead of running them. Backfills are run.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var at time.Time
			if until != "" {
				var err error
				if at, err = time.Parse(time.RFC3339, until); err != nil {
					return exit.Usagef("invalid --skip-until %q: want a time such as 2026-03-01T02:30:00Z", until)
				}
			}
			return change(cmd.Context(), &a.Connections, func(store *controldb.Store) error {
				if err := identity.On(store).Resume(cmd.Context(), at); err != nil {
					return err
				}
				v, err := pauseView(cmd.Context(), store)
				if err != nil {
					return err
				}
				return a.Done(v, "resumed the control database")
			})
		},
	}
	cmd.Flags().StringVar(&until, "skip-until", "", "`TIME` (RFC 3339) before which due instants are skipped")
	return cmd
}

// newAfterRestoreCommand returns `jobagent db after-restore`.
func newAfterRestoreCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "after-restore", Short: "Make a restored control database safe, and list what would run again", Args: cobra.NoArgs,
		Long: `Make a control database safe that was restored, or that lost its last seconds in a forced failover:
it is paused, all agents lose their terms, and it gets a new incarnation, so that nothing of the time
before is taken as its own. Then the schedules that are due and the runs in flight are listed, with
their last known outcomes. Nothing of them runs before "jobagent db resume".

It needs no agent, and can be repeated. A person is asked; --yes answers.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return change(cmd.Context(), &a.Connections, func(store *controldb.Store) error {
				err := command.Confirm(cmd, func() (string, int, error) {
					n, err := fleet.On(store).Live(cmd.Context())
					return fmt.Sprintf("This pauses the control database and ends the terms of %d live agents", n), command.Many + 1, err
				})
				if err != nil {
					return err
				}
				r, err := identity.On(store).AfterRestore(cmd.Context(), listed)
				if err != nil {
					return err
				}
				return a.Emit(r, func(w io.Writer) error { return writeRestored(w, r) })
			})
		},
	}
	command.AddYes(cmd)
	return cmd
}

// writeRestored writes the answer of after-restore for people.
func writeRestored(w io.Writer, v identity.Restored) error {
	var b strings.Builder
	fmt.Fprintf(&b, "The control database is paused. Incarnation %s; %d terms ended.\n", v.Incarnation, v.Terms)
	fmt.Fprintf(&b, "\nSchedules that are due: %d\n", v.DueSchedules)
	for _, s := range v.Due {
		name := s.JobName
		if s.Schedule != "" {
			name += ", schedule " + s.Schedule
		}
		fmt.Fprintf(&b, "  %s: due since %s", terminal.Clean(name), s.DueAt.Format(time.RFC3339))
		if s.CatchUp != "" {
			fmt.Fprintf(&b, ", catch-up %s", terminal.Clean(s.CatchUp))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "\nRuns in flight: %d\n", v.ActiveRuns)
	for _, r := range v.Runs {
		fmt.Fprintf(&b, "  %s %s: %s, %s: %d succeeded, %d failed, %d unknown\n",
			r.ID, terminal.Clean(r.JobName), r.Lifecycle, wording.Count(r.Targets, "target"), r.Succeeded, r.Failed, r.Unknown)
	}
	b.WriteString("\nStop each run that must not go on (jobagent execution stop ID). Then: jobagent db resume [--skip-until TIME]\n")
	_, err := io.WriteString(w, b.String())
	return err
}
