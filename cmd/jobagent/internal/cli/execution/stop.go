package execution

import (
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
)

func newStopCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "stop EXECUTION_ID", Short: "Ask a run to stop", Args: cobra.ExactArgs(1),
		Long: "Ask a run to stop. It is no error if the run has ended. jobagent job stop stops all active runs of a job.",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := store.Executions(cmd.Context(), controldb.ExecutionFilter{ID: id, RootsOnly: true})
				if err != nil {
					return err
				}
				if len(rows) == 1 && !rows[0].Active {
					return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{}}, "run %s of the job %s ended as %s at %s: nothing to stop", id,
						rows[0].JobName, rows[0].Lifecycle, rows[0].EndTime.UTC().Format(time.RFC3339))
				}
				if err := store.StopJob(cmd.Context(), id); err != nil { // it refuses an unknown run
					return err
				}
				return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{id}}, "asked run %s to stop", id)
			})
		},
	}
}

func newLogsCommand(a *connect.App) *cobra.Command {
	var step int
	cmd := &cobra.Command{
		Use: "logs EXECUTION_ID", Short: "Print the messages of a run: PRINT, RAISERROR, row counts, errors", Args: cobra.ExactArgs(1),
		Long: `Print the messages of a run by step, target and attempt, each with the target before it. jobagent
execution show EXECUTION_ID --messages shows them as a tree.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("step-id") && step < 1 {
				return exit.Usagef("--step-id %d: steps have numbers from 1", step)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if _, err := readOrigin(cmd.Context(), store, id); err != nil {
					return err
				}
				list, err := store.ExecutionMessages(cmd.Context(), id)
				if err != nil {
					return err
				}
				views := []output.Message{}
				var lines []string
				for _, m := range list {
					if step != 0 && m.StepID != step {
						continue
					}
					views = append(views, viewMessage(m))
					place := controldb.Execution{Server: m.Server, Database: m.Database}.Place()
					lines = append(lines, fmt.Sprintf("step %d %s attempt %d: %s", m.StepID, place, m.Attempt, output.OneLine(runs.MessageText(m.Message))))
				}
				return a.Emit(views, func(w io.Writer) error {
					if len(lines) == 0 {
						_, err := fmt.Fprintf(a.Stderr, "no messages; jobagent execution errors %s lists the errors\n", id)
						return err
					}
					for _, line := range lines {
						if _, err := fmt.Fprintln(w, line); err != nil {
							return err
						}
					}
					return nil
				})
			})
		},
	}
	cmd.Flags().IntVar(&step, "step-id", 0, "only the step with this `number`")
	return cmd
}
