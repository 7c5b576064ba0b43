// Package history has the commands that maintain the history of runs.
package history

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs/wording"
)

// NewCommand returns `jobagent history`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("history", "Maintain the history of runs",
		command.StandsFor("jobs.sp_purge_jobhistory", a.Prints(output.PurgedHistory{}, newPurgeCommand(a))),
	)
}

// countedRuns bounds the number of runs that are counted for a question.
const countedRuns = 10_000

func newPurgeCommand(a *connect.App) *cobra.Command {
	var before string
	cmd := &cobra.Command{
		Use: "purge JOB|JOB_ID", Short: "Delete the history of a job; active runs stay",
		Long: "Delete the history of a job; active runs stay. History older than the retention time (default: 45 days) is\ndeleted automatically.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req := executions.PurgeRequest{JobName: args[0]}
			if cmd.Flags().Changed("before") {
				t, err := command.ParseTime(before)
				if err != nil {
					return exit.Usagef("--before: %w", err)
				}
				req.Oldest = t
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if id, err := uuid.Parse(args[0]); err == nil { // a job's ID, unless a job has this name
					list, err := catalog.On(store).Jobs(cmd.Context(), args[0])
					if err != nil {
						return err
					}
					if len(list) == 0 {
						req.JobName, req.JobID = "", id
					}
				}
				what := "all of it"
				if !req.Oldest.IsZero() {
					what = "what is older than " + req.Oldest.Format(time.RFC3339)
				}
				err := command.Confirm(cmd, func() (string, int, error) {
					n, err := executions.On(store).Count(cmd.Context(), executions.HistoryFilter{JobName: req.JobName, JobID: req.JobID, Before: req.Oldest},
						countedRuns)
					return fmt.Sprintf("This deletes %s from the history of %s: %s", wording.CountUpTo(n, countedRuns, "run"), args[0], what), n, err
				})
				if err != nil {
					return err
				}
				if err := executions.On(store).Purge(cmd.Context(), req); err != nil {
					return err
				}
				return a.Done(output.PurgedHistory{Job: args[0]}, "purged the history of %s: %s", args[0], what)
			})
		},
	}
	cmd.Flags().StringVar(&before, "before", "", "only runs that are older than this time")
	command.AddYes(cmd)
	return cmd
}
