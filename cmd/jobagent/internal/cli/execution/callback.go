package execution

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/callbacks"
	"github.com/jobagent/jobagent/controldb/executions"
)

// viewCallbacks returns callbacks for -o json.
func viewCallbacks(list []callbacks.Callback) []output.Callback {
	return output.Each(list, func(c callbacks.Callback) output.Callback { return output.Callback{Callback: c} })
}

// callbackColumns are those of execution callbacks.
var callbackColumns = output.Columns([]output.Column[output.Callback]{
	{Name: "step_id", Header: "STEP", Keep: true},
	{Name: "target", Min: 12, Keep: true, Tail: true, Value: func(c output.Callback) any {
		if c.Database == "" {
			return c.Server
		}
		return c.Server + "/" + c.Database
	}},
	{Name: "target_id", ID: true, GUID: true},
	{Name: "attempt"},
	{Name: "state", State: true, Keep: true},
	{Name: "opened_at", Header: "OPENED", Drop: 8},
	{Name: "deadline_at", Header: "DEADLINE"},
	{Name: "success", Header: "REPORT", Text: func(c output.Callback) string {
		switch {
		case c.Success == nil:
			return ""
		case *c.Success:
			return "succeeded"
		}
		return "failed"
	}},
	{Name: "received_by", Header: "BY", Min: 8},
	{Name: "message", Min: 12, Rest: true},
})

func newCallbacksCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, callbackColumns, &cobra.Command{
		Use: "callbacks EXECUTION_ID", Short: "List the callbacks of a run's actions", Args: cobra.ExactArgs(1),
		Long: `List the callbacks of a run: the reports that end its asynchronous actions.
"jobagent execution complete" reports instead of the application.`,
		RunE: connect.One(a.ReadStore, parseExecutionID, func(cmd *cobra.Command, id uuid.UUID, store *controldb.Store) error {
			list, err := callbacks.On(store).OfRun(cmd.Context(), id)
			if err != nil {
				return err
			}
			if len(list) == 0 { // does the run exist?
				if _, err := runs.Read(cmd.Context(), executions.On(store), id); err != nil {
					return err
				}
			}
			views := viewCallbacks(list)
			return output.List(&a.Printer, views, callbackColumns)
		}),
	})
}

func newCompleteCommand(a *connect.App) *cobra.Command {
	var succeeded, failed bool
	var message, target string
	var step, attempt int
	cmd := &cobra.Command{
		Use: "complete EXECUTION_ID", Short: "Report the end of an action that waits for a callback", Args: cobra.ExactArgs(1),
		Long: `Report how the work of an asynchronous action ended, instead of the application. The first report
counts, and the same report again changes nothing. A failure is retried by the step's policy. A script names
the callback by --step-id, --target and --attempt: a report that names the run only, and might repeat the report on
another callback of the run, is refused.`,
		Example: "  jobagent execution complete 6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68 --failed --message 'the import was lost'",
		RunE: func(cmd *cobra.Command, args []string) error {
			ref := callbacks.Ref{}
			var err error
			if ref.Execution, err = parseExecutionID(args[0]); err != nil {
				return err
			}
			if succeeded == failed {
				return exit.Usagef("want either --succeeded or --failed")
			}
			if cmd.Flags().Changed("step-id") {
				ref.StepID = &step
			}
			if cmd.Flags().Changed("attempt") {
				ref.Attempt = &attempt
			}
			if cmd.Flags().Changed("target") {
				one := targetOf(target)
				ref.Target = &one
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := callbacks.On(store).Complete(cmd.Context(), ref, succeeded, message); err != nil {
					return err
				}
				end := "failed"
				if succeeded {
					end = "succeeded"
				}
				return a.Done(output.CompletedCallback{Execution: ref.Execution, Success: succeeded},
					"reported that the action %s; to follow the run: jobagent execution watch %s", end, ref.Execution)
			})
		},
	}
	cmd.Flags().BoolVar(&succeeded, "succeeded", false, "the work succeeded")
	cmd.Flags().BoolVar(&failed, "failed", false, "the work failed")
	cmd.Flags().StringVar(&message, "message", "", "text for the history")
	cmd.Flags().IntVar(&step, "step-id", 0, "the step, if the run has callbacks of several steps")
	cmd.Flags().StringVar(&target, "target", "", "the target, if the run has callbacks of several targets: `SERVER/DATABASE`, the server of an endpoint, or a GUID")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "the attempt, if an earlier one of the target was reported")
	return cmd
}
