package execution

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
)

// namedTargets is the number of targets of an error that a terminal shows; a pipe gets all.
const namedTargets = 3

// errorColumns returns the columns of execution errors, with at most so many targets of each error;
// 0 means all.
func errorColumns(shown int) output.Listing[output.ErrorGroup] {
	return output.Columns([]output.Column[output.ErrorGroup]{
		{Name: "step_id", Header: "STEP", Keep: true},
		{Name: "count", Header: "COUNT", Keep: true},
		{Name: "lifecycle", State: true, Keep: true},
		{Name: "targets", Min: 16, Keep: true, Text: func(g output.ErrorGroup) string {
			if shown > 0 && len(g.Targets) > shown {
				return fmt.Sprintf("%s +%d more", strings.Join(g.Targets[:shown], ", "), len(g.Targets)-shown)
			}
			return strings.Join(g.Targets, ", ")
		}},
		{Name: "message", ID: true, Rest: true, Wrap: true, Keep: true},
	})
}

func newErrorsCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, errorColumns(0), &cobra.Command{
		Use: "errors EXECUTION_ID", Short: "List the errors of a run, grouped by message", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			shown := 0
			if width, _, ok := terminal.Size(a.Stdout); ok && a.Format != output.FormatWide {
				if shown = namedTargets; width < 120 {
					shown = 1
				}
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := runs.Read(cmd.Context(), store, id)
				if err != nil {
					return err
				}
				return output.List(&a.Printer, runs.GroupErrors(rows), errorColumns(shown))
			})
		},
	})
}
