package connect

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// Prints declares the JSON of a command, or that of the commands of a group: one value of the type
// of value.
func (a *App) Prints(value any, cmd *cobra.Command) *cobra.Command {
	return a.PrintsWith("", value, cmd)
}

// PrintsWith declares the JSON that a command prints with some words behind its name, such as
// --wait.
func (a *App) PrintsWith(words string, value any, cmd *cobra.Command) *cobra.Command {
	a.Declare(cmd, output.Shape{Words: words, Value: value})
	return cmd
}
