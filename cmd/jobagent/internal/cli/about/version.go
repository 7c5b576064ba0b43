package about

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/buildinfo"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/controldb"
)

// NewVersionCommand makes `jobagent version`.
func NewVersionCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the binary", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Schema  string `json:"schema_version"`
			}{buildinfo.Version(), fmt.Sprint(controldb.SchemaVersion())}
			return a.Done(v, "jobagent %s (control schema %s)", v.Version, v.Schema)
		},
	}
}
