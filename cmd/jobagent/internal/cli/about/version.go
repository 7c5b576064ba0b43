// Package about has the commands that describe this program and its output.
package about

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
)

// NewVersionCommand returns `jobagent version`.
func NewVersionCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return PrintVersion(a) },
	}
}

// PrintVersion prints the version, for jobagent version and jobagent --version.
func PrintVersion(a *connect.App) error {
	v := output.Version{Version: buildinfo.Version(), Schema: strconv.Itoa(controldb.SchemaVersion())}
	return a.Done(v, "jobagent %s (control schema %s)", v.Version, v.Schema)
}
