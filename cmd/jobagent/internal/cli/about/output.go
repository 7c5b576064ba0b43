package about

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewOutputTopic returns the help topic `jobagent help output`.
func NewOutputTopic() *cobra.Command {
	return &cobra.Command{
		Use: "output", Short: "The JSON that each command prints with -o json", Long: output.ShapesText,
	}
}
