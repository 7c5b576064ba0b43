package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// Every command is in the text of jobagent help output, unless it prints no JSON.
func TestEveryCommandHasAShape(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		name := strings.TrimPrefix(cmd.CommandPath(), "jobagent ")
		if cmd.HasSubCommands() || slices.Contains([]string{"run", "licenses", "output"}, name) {
			return
		}
		require.True(t, slices.ContainsFunc(output.Shapes, func(s output.Shape) bool {
			return strings.HasPrefix(name+" ", s.Command+" ") || strings.HasPrefix(s.Command, name+" ")
		}), "output.Shapes has no shape for jobagent %s", name)
	}
	walk(newRootCommand(&connect.App{}))
}
