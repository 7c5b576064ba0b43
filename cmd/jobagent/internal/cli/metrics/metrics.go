// Package metrics has the commands that print what operators give to Prometheus and Grafana.
package metrics

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/telemetry/metrics/shipped"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewCommand returns `jobagent metrics`.
func NewCommand(p *output.Printer) *cobra.Command {
	cmd := command.NewGroup("metrics", "Print alert rules for Prometheus and a dashboard for Grafana",
		printer(p, "rules", "Print alert rules for Prometheus, with a run book", shipped.Rules),
		printer(p, "dashboard", "Print a dashboard for Grafana, to import there", shipped.Dashboard))
	cmd.Long = `Print alert rules for Prometheus and a dashboard for Grafana.

Prometheus reads the metrics themselves at /metrics of a front, with the token of a caller that has
the role reader (jobagent token create). An agent without a front serves them on the address
metrics.listen of the configuration file.`
	return cmd
}

// printer returns a command that prints a file.
func printer(p *output.Printer, name, short string, text []byte) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := p.Stdout.Write(text)
			return err
		},
	}
}
