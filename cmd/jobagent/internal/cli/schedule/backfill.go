package schedule

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
)

func newBackfillCommand(a *connect.App) *cobra.Command {
	var from, to, overlap string
	cmd := &cobra.Command{
		Use: "backfill JOB [NAME]", Short: "Start the runs that a schedule missed in a past range",
		Args: cobra.RangeArgs(1, 2),
		Long: `Start the runs of a schedule in a past range, both ends included, except for instants that have a run
already. Each run keeps its due instant. Without --overlap, the runs follow each other, whatever the
schedule's policy is. Meanwhile, the schedule's own instants meet an earlier run, and its policy
applies to them. Without NAME, this is the schedule of the job's own definition.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := controldb.BackfillRequest{JobName: args[0], Name: optionalName(args), Overlap: overlap}
			for _, end := range []struct {
				flag, text string
				dest       *time.Time
			}{{"from", from, &req.From}, {"to", to, &req.To}} {
				t, err := command.ParseTime(end.text)
				if err != nil {
					return exit.Usagef("--%s: %w", end.flag, err)
				}
				*end.dest = t
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				id, err := store.BackfillSchedule(cmd.Context(), req)
				if err != nil {
					return err
				}
				return a.Done(output.RequestedBackfill{ID: int64(id), Job: req.JobName, Name: req.Name},
					"requested backfill of %s from %s to %s (backfill %d); to see its progress, use jobagent schedule show; to end it, use jobagent schedule cancel-backfill %d",
					describe(req.JobName, req.Name), req.From.Format(time.RFC3339), req.To.Format(time.RFC3339), id, id)
			})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "first instant (RFC 3339, or YYYY-MM-DD HH:MM in UTC)")
	cmd.Flags().StringVar(&to, "to", "", "last instant")
	cmd.Flags().StringVar(&overlap, "overlap", "",
		"policy for these runs (default BufferAll, one after the other): "+strings.Join(overlaps, ", "))
	cobra.CheckErr(cmd.MarkFlagRequired("from"))
	cobra.CheckErr(cmd.MarkFlagRequired("to"))
	return cmd
}

func newCancelBackfillCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel-backfill ID", Short: "Cancel a backfill; runs that it has started continue", Args: cobra.ExactArgs(1),
		Long: `Cancel a backfill: it starts no further runs, and instants that wait for an earlier run are recorded
as skipped. Runs that it has started continue; jobagent job stop ends them. jobagent schedule show
lists the backfills of a schedule.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return exit.Usagef("invalid backfill ID %q: want a number; jobagent schedule show lists the backfills", args[0])
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := store.CancelBackfill(cmd.Context(), controldb.BackfillID(id)); err != nil {
					return err
				}
				return a.Done(output.CanceledBackfill{ID: id}, "canceled backfill %d", id)
			})
		},
	}
}
