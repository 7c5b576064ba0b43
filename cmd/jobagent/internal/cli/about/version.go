// Package about has the commands that describe this program and its output.
package about

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb/installed"
)

// NewVersionCommand returns `jobagent version`.
func NewVersionCommand(p *output.Printer) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return PrintVersion(p) },
	}
}

// PrintVersion prints the version, for jobagent version and jobagent --version.
func PrintVersion(p *output.Printer) error {
	v := output.Version{Version: buildinfo.Version(), Schema: strconv.Itoa(installed.SchemaVersion())}
	return p.Done(v, "jobagent %s (control schema %s)", v.Version, v.Schema)
}
