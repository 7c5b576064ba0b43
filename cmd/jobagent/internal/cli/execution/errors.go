package execution

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
)

// namedTargets and pipedTargets are the numbers of targets of an error that a table on a terminal
// and in a pipe shows. Other formats have all.
const (
	namedTargets = 3
	pipedTargets = 10
)

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

// named returns how many targets of each error a listing names; 0 means all.
func named(p *output.Printer) int {
	width, _, ok := terminal.Size(p.Stdout)
	switch {
	case p.Format != output.FormatTable:
		return 0
	case !ok:
		return pipedTargets
	case width < 120:
		return 1
	}
	return namedTargets
}

func newErrorsCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, errorColumns(0), &cobra.Command{
		Use: "errors EXECUTION_ID", Short: "List the errors of a run, grouped by message", Args: cobra.ExactArgs(1),
		Long: "List the errors of a run, grouped by message. The table names some targets of each error; -o wide, csv and\njson name all.",
		RunE: connect.One(a.ReadStore, parseExecutionID, func(cmd *cobra.Command, id uuid.UUID, store *controldb.Store) error {
			rows, err := runs.Read(cmd.Context(), executions.On(store), id)
			if err != nil {
				return err
			}
			return output.List(&a.Printer, runs.GroupErrors(rows), errorColumns(named(&a.Printer)))
		}),
	})
}
