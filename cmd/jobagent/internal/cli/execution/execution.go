// Package execution has the commands that show and repeat runs.
package execution

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
)

// NewCommand returns `jobagent execution`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("execution", "Show runs, and repeat failed targets",
		command.StandsFor("jobs.job_executions", newListCommand(a)),
		a.Prints(output.Run{}, newShowCommand(a)),
		a.Prints(output.Executions{}, newWatchCommand(a)),
		newErrorsCommand(a),
		newTargetsCommand(a),
		newOutcomesCommand(a),
		command.StandsFor("jobs.sp_explain_execution", a.Prints(output.Explanation{}, newExplainCommand(a))),
		command.StandsFor("jobs.sp_rerun_job_execution", a.PrintsWith("--wait", output.Executions{}, a.Prints(output.StartedRerun{}, newRerunCommand(a)))),
		command.StandsFor("jobs.sp_retry_job_execution_now", a.Prints(output.ChangedRetries{}, newRetryNowCommand(a))),
		command.StandsFor("jobs.sp_give_up_job_execution", a.Prints(output.ChangedRetries{}, newGiveUpCommand(a))),
		command.StandsFor("jobs.callbacks", newCallbacksCommand(a)),
		command.StandsFor("jobs.sp_complete_callback", a.Prints(output.CompletedCallback{}, newCompleteCommand(a))),
		a.Prints(output.StoppedRuns{}, newStopCommand(a)),
		newLogsCommand(a),
	)
}

// parseExecutionID parses an argument. It refuses the zero GUID, which stands for all runs in a
// [executions.Query].
func parseExecutionID(s string) (uuid.UUID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return id, exit.Usagef("invalid execution ID %q: not a GUID; jobagent execution list shows the latest runs", s)
	}
	if id == uuid.Nil {
		return id, exit.Usagef("invalid execution ID %q: the zero GUID belongs to no run; jobagent execution list shows the latest runs", s)
	}
	return id, nil
}

func newWatchCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	cmd := &cobra.Command{
		Use: "watch EXECUTION_ID", Short: fmt.Sprintf("Wait for the end of a run; exit with %d if it does not succeed",
			exit.CodeRunFailed), Args: cobra.ExactArgs(1),
		Long: "Wait for the end of a run, which may have ended already. " + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				return runs.Watch(cmd.Context(), &a.Printer, store, id, wait)
			})
		},
	}
	wait.AddFlags(cmd, false)
	return cmd
}
