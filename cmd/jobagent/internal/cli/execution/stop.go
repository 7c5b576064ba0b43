package execution

import (
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
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
				run, err := store.Run(cmd.Context(), id)
				switch {
				case err != nil && !errors.Is(err, dberror.ErrExecutionNotFound):
					return err
				case err == nil && !run.Active:
					return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{}}, "run %s of the job %s ended as %s at %s: nothing to stop", id,
						run.JobName, run.Lifecycle, run.EndTime.UTC().Format(time.RFC3339))
				}
				if err := store.StopJob(cmd.Context(), id); err != nil { // it refuses an unknown run
					return err
				}
				return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{id}}, "asked run %s to stop", id)
			})
		},
	}
}
