package execution

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/targets"
)

// messageColumns are those of execution logs.
var messageColumns = output.Columns([]output.Column[output.Message]{
	{Name: "step_id", Header: "STEP", Right: true, Keep: true},
	{Name: "target_server_name", Header: "SERVER", Min: 10, Drop: 3},
	{Name: "target_database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "attempt", Right: true, Drop: 2},
	{Name: "message_kind", Header: "KIND", Wide: true},
	{Name: "message", Rest: true, Keep: true, Text: func(m output.Message) string {
		return output.OneLine(runs.MessageText(targets.Message{
			Kind: targets.MessageKind(m.Kind), Number: m.Number, Severity: m.Severity, State: m.State, Line: m.Line,
			Procedure: m.Procedure, Text: m.Text, Rows: m.Rows,
		}))
	}},
})

func newLogsCommand(a *connect.App) *cobra.Command {
	var step int
	cmd := command.List(&a.Printer, messageColumns, &cobra.Command{
		Use: "logs EXECUTION_ID", Short: "List the messages of a run: PRINT, RAISERROR, row counts, errors", Args: cobra.ExactArgs(1),
		Long: `List the messages of a run by step, target and attempt. jobagent execution show EXECUTION_ID --messages
shows them as a tree. An attempt keeps at most 1,000 messages and 256 KiB
of text, and its last message says how many are left out.`,
		Example: "  jobagent execution logs 6f1d2c0e\n  jobagent execution logs 6f1d2c0e -o csv > messages.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("step-id") && step < 1 {
				return exit.Usagef("--step-id %d: steps have numbers from 1", step)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if _, err := readRun(cmd.Context(), store, id); err != nil {
					return err
				}
				list, err := executions.On(store).Messages(cmd.Context(), id)
				if err != nil {
					return err
				}
				views := []output.Message{}
				for _, m := range list {
					if step == 0 || m.StepID == step {
						views = append(views, runs.ViewMessage(m))
					}
				}
				if len(views) == 0 && a.Format == output.FormatTable {
					_, err := fmt.Fprintf(a.Stderr, "no messages; jobagent execution errors %s lists the errors\n", id)
					return err
				}
				return output.List(&a.Printer, views, messageColumns)
			})
		},
	})
	cmd.Flags().IntVar(&step, "step-id", 0, "only the step with this `number`")
	return cmd
}
