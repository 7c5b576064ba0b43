// Package bench measures the agent and the control database.
package bench

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/config"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// bench is the state that the commands of `jobagent bench` share.
type bench struct {
	*connect.App
	format format
	// tracing exports traces while a benchmark runs.
	tracing bool
}

// NewCommand returns `jobagent bench`.
func NewCommand(a *connect.App) *cobra.Command {
	b := &bench{App: a, format: format(output.FormatTable)}
	cmd := command.NewGroup("bench", "Measure the agent, and the bare driver for comparison",
		newFanoutCommand(b), newControlCommand(b), newLagCommand(b), newIdleCommand(b), newStopCommand(b),
		newHistoryCommand(b), newBoundsCommand(b),
		newCleanupCommand(b), newRESTCommand(b))
	cmd.Long = `Measure the agent, and the bare driver for comparison. Everything runs in this process, on an
embedded server over loopback TCP that keeps nothing.

With --dsn, the benchmark uses that server instead. The login must have the right to create
databases: the benchmark creates a control database and targets under new names, and drops them at
the end. ` + config.EnvDSN + ` is ignored.`
	cmd.PersistentFlags().VarP(&b.format, "output", "o", "output `format`: table, json or csv")
	cmd.PersistentFlags().BoolVar(&b.tracing, "tracing", false, "export traces, to a receiver in this process")
	return cmd
}
