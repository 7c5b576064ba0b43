package about

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewOutputTopic returns the help topic `jobagent help output`.
func NewOutputTopic() *cobra.Command {
	return &cobra.Command{
		Use: "output", Short: "The formats of -o, the flags of lists, and the JSON of each command", Long: output.ShapesText,
	}
}
