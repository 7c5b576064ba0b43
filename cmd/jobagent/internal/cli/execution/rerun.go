package execution

import (
	"fmt"
	"io"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
)

// newRerunCommand returns `jobagent execution rerun`.
func newRerunCommand(a *connect.App) *cobra.Command {
	var wait bool
	var id string
	req := controldb.RerunRequest{}
	cmd := &cobra.Command{
		Use: "rerun EXECUTION_ID", Short: "Run again what went wrong in a run that has ended, on the same targets", Args: cobra.ExactArgs(1),
		Long: `Starts a run of the same version on the targets that the run had, those whose final state --only names. Target groups are not
asked again; steps that the run did not reach follow on their whole target groups, unless --only leaves out something that went wrong.

Unknown are targets of which nobody can say whether the script ran, whether the run ended as Failed, TimedOut or Canceled on them; the other
states are those of which it is known. "jobagent execution show" tells them apart.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if req.Origin, err = parseExecutionID(args[0]); err != nil {
				return err
			}
			if id != "" {
				if req.ID, err = uuid.Parse(id); err != nil {
					return exit.Usagef("invalid --execution-id %q: not a GUID", id)
				}
			}
			if cmd.Flags().Changed("only") && req.Only == "" {
				return exit.Usagef("--only is empty: want one or more of Failed, TimedOut, Canceled, Skipped and Unknown")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				run, err := store.RerunExecution(cmd.Context(), req)
				if err != nil {
					return err
				}
				if !wait {
					return a.Done(output.StartedRerun{ID: run, Origin: req.Origin}, "started %s, a rerun of %s\nto follow the run: jobagent execution watch %s", run, req.Origin, run)
				}
				return runs.Watch(cmd.Context(), a, store, run)
			})
		},
	}
	cmd.Flags().StringVar(&req.Only, "only", "", "final `STATES` of targets that run again, separated by commas: Failed, TimedOut, Canceled, Skipped, Unknown (default: all of them)")
	cmd.Flags().BoolVar(&wait, "wait", false, fmt.Sprintf("wait for the end of the run; exit with %d if it does not succeed", exit.CodeRunFailed))
	cmd.Flags().StringVar(&id, "execution-id", "", "`GUID` for the new run; starting it twice starts it once")
	return cmd
}

// viewReruns converts reruns for -o json.
func viewReruns(reruns []controldb.ExecutionRerun) []output.Rerun {
	views := make([]output.Rerun, 0, len(reruns))
	for _, r := range reruns {
		v := output.Rerun{ID: r.ID, Only: r.Only}
		if r.Origin != uuid.Nil {
			v.Origin = &r.Origin
		}
		views = append(views, v)
	}
	return views
}

// printReruns prints the runs that repeat a run, and the run that it repeats.
func printReruns(w io.Writer, id uuid.UUID, reruns []controldb.ExecutionRerun) error {
	for _, r := range reruns {
		text := fmt.Sprintf("run again by %s (only %s)", r.ID, r.Only)
		if r.ID == id {
			text = fmt.Sprintf("rerun of %s (only %s)", r.Origin, r.Only)
			if r.Origin == uuid.Nil {
				text = fmt.Sprintf("rerun of a run that has been purged (only %s)", r.Only)
			}
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}
