package command

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
)

// noChange are the flags of update commands that change nothing of the object.
var noChange = []string{flagYes, "wait", "no-wait", "step-id", "step-name", "help"}

// CheckChanges makes the commands named update refuse a command line without a flag for a property.
// They would report a change that was not made, as after a mistyped variable of a shell.
func CheckChanges(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		CheckChanges(sub)
	}
	if cmd.Name() != "update" || cmd.HasSubCommands() {
		return
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		changes := false
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			changes = changes || f.Changed && !slices.Contains(noChange, f.Name)
		})
		if !changes {
			return exit.Usagef("nothing to change: give a flag for each property that changes; see %s --help", cmd.CommandPath())
		}
		return run(cmd, args)
	}
}
