// Package top has the command that shows agents and runs live in a terminal.
package top

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/fleet"
	"github.com/jobagent/jobagent/controldb/rollouts"
	"github.com/jobagent/jobagent/controldb/summary"
)

// NewCommand returns `jobagent top`.
func NewCommand(a *connect.App) *cobra.Command {
	var once bool
	var interval time.Duration
	cmd := &cobra.Command{
		Use: "top", Short: "Show agents, runs and failures live in a terminal", Args: cobra.NoArgs,
		Long: `Show agents, runs with their progress, what failed in the last 24 hours, and what is due next.

Keys: arrows or j k move, enter shows a run, esc goes back, / filters, s sorts the runs, ? lists all
keys, q quits. NO_COLOR=1 turns colours off. Where the output is not a terminal, the state is printed
once, as with --once.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case a.Structured():
				return exit.Usagef("jobagent top has no JSON; see jobagent execution list -o json and jobagent agent status -o json")
			case interval < 200*time.Millisecond || interval > time.Hour:
				return exit.Usagef("invalid --interval %s: want 200ms to 1h", interval)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				source := &source{agents: fleet.On(store), runs: executions.On(store), summary: summary.On(store), rollouts: rollouts.On(store)}
				if once || !terminal.Is(a.Stdout) {
					return printOnce(cmd.Context(), a.Stdout, source)
				}
				return show(cmd.Context(), a, source, interval)
			})
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "print the state once, as plain text")
	command.AddDuration(cmd.Flags(), &interval, "interval", time.Second, "time between two reads")
	return cmd
}

// onceWidth is the width of the plain text: lines are not cut at a terminal's width, but messages
// end somewhere.
const onceWidth = 160

// printOnce prints the state as plain text.
func printOnce(ctx context.Context, w io.Writer, s *source) error {
	o, err := s.overview(ctx, true)
	if err != nil {
		return err
	}
	m := newModel(ctx, s, 0)
	m.paint.Plain, m.width, m.height, m.whole = true, onceWidth, 0, true
	m.state = o
	_, err = io.WriteString(w, m.content())
	return err
}

// show runs the program on a terminal until a key or the end of ctx ends it.
func show(ctx context.Context, a *connect.App, s *source, interval time.Duration) error {
	o, err := s.overview(ctx, true) // errors of the connection end the command as usual
	if err != nil {
		return err
	}
	m := newModel(ctx, s, interval)
	m.paint = a.Color.Painter(a.Stdout)
	m.state = o
	options := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithOutput(terminal.Raw(a.Stdout)), tea.WithFPS(10), tea.WithoutSignalHandler(),
	}
	if in, ok := a.Stdin.(*os.File); ok {
		options = append(options, tea.WithInput(in))
	}
	_, err = tea.NewProgram(m, options...).Run()
	if err != nil && ctx.Err() == nil && !errors.Is(err, tea.ErrInterrupted) {
		return fmt.Errorf("show the state: %w", err)
	}
	return nil
}
