package execution

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/wording"
	"github.com/jobagent/jobagent/targets"
)

func newRetryNowCommand(a *connect.App) *cobra.Command {
	return newRetriesCommand(a, &cobra.Command{
		Use: "retry-now EXECUTION_ID", Short: "Make the next attempts of targets that wait for a retry due", Args: cobra.ExactArgs(1),
		Long: `Make the next attempts of all targets of a run that wait for a retry due, such as after their data was
mended. The attempts count as they would have later. What runs or is final stays as it is:
jobagent execution rerun repeats what is final.`,
	}, executions.Store.RetryNow, "made %s due now; to follow the run: jobagent execution watch %s")
}

func newGiveUpCommand(a *connect.App) *cobra.Command {
	return newRetriesCommand(a, &cobra.Command{
		Use: "give-up EXECUTION_ID", Short: "End targets that wait for a retry as failed", Args: cobra.ExactArgs(1),
		Long: `End all targets of a run that wait for a retry as Failed, with their last error; the run goes on without
them. What runs, has not begun or is final stays as it is: jobagent execution stop ends the whole run.`,
	}, executions.Store.GiveUp, "gave up %s; to follow the run: jobagent execution watch %s")
}

// newRetriesCommand adds flags and work to a command that changes what waits for a retry. done is
// the text for what was changed and for the run.
func newRetriesCommand(
	a *connect.App, cmd *cobra.Command, change func(executions.Store, context.Context, executions.Retries) (int, error), done string,
) *cobra.Command {
	var step int
	var target string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := parseExecutionID(args[0])
		if err != nil {
			return err
		}
		r := executions.Retries{Run: id, StepID: command.Given(cmd, "step-id", step)}
		if cmd.Flags().Changed("target") {
			one := targetOf(target)
			r.Target = &one
		}
		return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
			n, err := change(executions.On(store), cmd.Context(), r)
			if err != nil {
				return err
			}
			result := output.ChangedRetries{Execution: id, Changed: n}
			if n == 0 {
				return a.Done(result, "nothing waits for a retry there; jobagent execution targets %s shows the targets", id)
			}
			return a.Done(result, done, wording.Count(n, "attempt"), id)
		})
	}
	cmd.Flags().IntVar(&step, "step-id", 0, "only of the step with this `number`")
	cmd.Flags().StringVar(&target, "target", "", "only of this target: `SERVER/DATABASE`, the server of an endpoint, or a GUID")
	return cmd
}

// targetOf returns the ID of a target that is named by server and database, or by its ID.
func targetOf(text string) uuid.UUID {
	if id, err := uuid.Parse(text); err == nil {
		return id
	}
	server, database, _ := strings.Cut(text, "/")
	return targets.TargetID(server, database)
}
