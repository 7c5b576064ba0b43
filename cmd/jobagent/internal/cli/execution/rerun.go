package execution

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/wording"
)

// newRerunCommand returns `jobagent execution rerun`.
func newRerunCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	var id string
	var chosen command.TargetFlag
	req := executions.RerunRequest{}
	cmd := &cobra.Command{
		Use: "rerun EXECUTION_ID", Short: "Repeat the failed targets of a run that has ended", Args: cobra.ExactArgs(1),
		Long: `Start a run on the run's targets whose final state is among those of --only, of the same version of the
job. After a script was mended, --job-version current runs the current version instead, which must
have the same steps, target groups and dependencies.

Target groups are not resolved again. Steps that the run did not reach run on their whole target
groups, unless --only excludes a target that did not succeed.

--targets limits the rerun to databases of the run, to try the mended script on a few of them. What
the run did on others does not matter then. A run that was limited itself stays so.

The state Unknown means that it is not known whether the script ran, whatever the lifecycle is:
Failed, TimedOut or Canceled. The other states include only targets for which this is known.
"jobagent execution show" marks unknown outcomes.

With --wait, the command waits for the end of the new run. ` + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			err := wait.Check(cmd)
			if err != nil {
				return err
			}
			if req.Origin, err = parseExecutionID(args[0]); err != nil {
				return err
			}
			if id != "" {
				if req.ID, err = uuid.Parse(id); err != nil {
					return exit.Usagef("invalid --execution-id %q: not a GUID", id)
				}
			} else {
				req.ID = uuid.New() // known before the run starts, in case no answer comes
			}
			if cmd.Flags().Changed("only") && req.Only == "" {
				return exit.Usagef("--only is empty: want one or more of Failed, TimedOut, Canceled, Skipped, Unknown and Succeeded")
			}
			names, err := chosen.Read(a.Stdin)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if req.OnlyTargets, err = lookup.RunTargets(cmd.Context(), store, req.Origin, names); err != nil {
					return err
				}
				before, err := executions.On(store).RerunsOf(cmd.Context(), req.Origin)
				if err != nil {
					return err
				}
				run, err := executions.On(store).Rerun(cmd.Context(), req)
				if err != nil {
					return runs.Unanswered(cmd.Context(), &a.Printer, req.ID, true, err)
				}
				if n := len(before); n > 0 && before[n-1].ID != run {
					fmt.Fprintf(a.Stderr, "%s was rerun before by %s (%s): this repeats the same targets again, also those that succeeded then.\n",
						req.Origin, before[n-1].ID, before[n-1].Lifecycle)
				}
				if !wait.Wanted {
					on := ""
					if n := len(req.OnlyTargets); n > 0 {
						on = " on " + wording.Count(n, "chosen database")
					}
					return a.Done(output.StartedRerun{ID: run, Origin: req.Origin, Chosen: len(req.OnlyTargets)},
						"started %s, a rerun of %s%s\nto follow the run: jobagent execution watch %s", run, req.Origin, on, run)
				}
				runs.Restarted(&a.Printer, run, req.Origin)
				return runs.Watch(cmd.Context(), &a.Printer, store, run, wait)
			})
		},
	}
	cmd.Flags().StringVar(&req.Only, "only", "", "final `STATES` of the targets, separated by commas: Failed, TimedOut, Canceled, Skipped, Unknown, Succeeded (default: all but Succeeded)")
	cmd.Flags().StringVar(&req.Version, "job-version", "", "`VERSION` of the job that runs: current, or a number (default: that of the run)")
	cmd.Flags().BoolVar(&req.IgnoreWindows, "ignore-windows", false, "do not wait for the windows of the databases; only authors may")
	chosen.Add(cmd, "targets", "only these `DATABASES` of the run")
	wait.AddFlags(cmd, true)
	cmd.Flags().StringVar(&id, "execution-id", "",
		"`GUID` of the new run; a second start with the same GUID has no effect")
	return cmd
}

// viewReruns converts reruns for -o json.
func viewReruns(reruns []executions.Run) []output.Rerun {
	views := make([]output.Rerun, 0, len(reruns))
	for _, r := range reruns {
		v := output.Rerun{ID: r.ID, Only: r.RerunOnly}
		if r.RerunOf != uuid.Nil {
			v.Origin = &r.RerunOf
		}
		views = append(views, v)
	}
	return views
}

// printReruns prints the runs that repeat a run, and the run that it repeats.
func printReruns(w io.Writer, id uuid.UUID, reruns []executions.Run) error {
	for _, r := range reruns {
		text := fmt.Sprintf("run again by %s (only %s)", r.ID, r.RerunOnly)
		if r.ID == id {
			text = fmt.Sprintf("rerun of %s (only %s)", r.RerunOf, r.RerunOnly)
			if r.RerunOf == uuid.Nil {
				text = fmt.Sprintf("rerun of a run that has been purged (only %s)", r.RerunOnly)
			}
		}
		if _, err := fmt.Fprintln(w, text); err != nil {
			return err
		}
	}
	return nil
}

func newStopCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "stop EXECUTION_ID", Short: "Ask a run to stop", Args: cobra.ExactArgs(1),
		Long: "Ask a run to stop. If the run has ended, the command succeeds. jobagent job stop stops all active runs of a job.",
		RunE: connect.One(a.WithStore, parseExecutionID, func(cmd *cobra.Command, id uuid.UUID, store *controldb.Store) error {
			run, err := executions.On(store).Get(cmd.Context(), id)
			switch {
			case err != nil && !errors.Is(err, dberror.ErrExecutionNotFound):
				return err
			case err == nil && !run.Active:
				return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{}}, "run %s of the job %s ended as %s at %s: nothing to stop", id,
					run.JobName, run.Lifecycle, run.EndTime.UTC().Format(time.RFC3339))
			}
			if err := executions.On(store).Stop(cmd.Context(), id); err != nil { // it refuses an unknown run
				return err
			}
			return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{id}}, "asked run %s to stop", id)
		}),
	}
}
