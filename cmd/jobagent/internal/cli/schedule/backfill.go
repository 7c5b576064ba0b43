package schedule

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/schedule/firing"
	"github.com/jobagent/jobagent/jobs/wording"
)

func newBackfillCommand(a *connect.App) *cobra.Command {
	var from, to, overlap string
	var most int
	var wait runs.Wait
	cmd := &cobra.Command{
		Use: "backfill JOB [SCHEDULE]", Short: "Start the runs that a schedule missed in a past range",
		Args: cobra.RangeArgs(1, 2),
		Long: `Start the runs of a schedule in a past range, both ends included, except for instants that have a run
already. Each run keeps its due instant. Without --overlap, the runs follow each other, whatever the
schedule's policy is. Meanwhile, the schedule's own instants meet an earlier run, and its policy
applies to them. Without SCHEDULE, this is the schedule of the job's own definition.

The instants of the range are counted first. A range without an instant, or with more than --max-runs, is refused.

` + runs.BackfillWaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			req := timetable.BackfillRequest{JobName: args[0], Name: optionalName(args), Overlap: overlap}
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
			if most < 1 || most > highestBackfill {
				return exit.Usagef("--max-runs %d: want 1 to %d", most, highestBackfill)
			}
			if req.To.Before(req.From) {
				return exit.Usagef("--to %s is before --from %s", to, from)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				instants, err := confirmBackfill(cmd, store, req, most)
				if err != nil {
					return err
				}
				id, err := timetable.On(store).Backfill(cmd.Context(), req)
				if err != nil {
					return err
				}
				if wait.Wanted {
					fmt.Fprintf(a.Stderr, "backfill %d of %s requested\n", id, describe(req.JobName, req.Name))
					return runs.WatchBackfill(cmd.Context(), &a.Printer, store, id, instants, wait)
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
		"policy for these runs (default BufferAll, one after the other): "+strings.Join(model.OverlapNames(), ", "))
	cmd.Flags().IntVar(&most, "max-runs", defaultBackfill, "maximum number of instants in the range; a backfill with more is refused")
	wait.AddFlags(cmd, true)
	command.AddYes(cmd)
	cobra.CheckErr(cmd.MarkFlagRequired("from"))
	cobra.CheckErr(cmd.MarkFlagRequired("to"))
	return cmd
}

// Bounds of the instants of one backfill.
const (
	defaultBackfill = 1000
	highestBackfill = 1_000_000
)

// confirmBackfill counts the instants of a backfill, refuses too many, and asks. The number is 0 if
// it is not known.
func confirmBackfill(cmd *cobra.Command, store *controldb.Store, req timetable.BackfillRequest, most int) (n int, err error) {
	s, err := lookup.Schedule(cmd.Context(), store, req.JobName, req.Name)
	if err != nil {
		return 0, err
	}
	now, err := store.Now(cmd.Context())
	if err != nil {
		return 0, err
	}
	if req.To.After(now) {
		return 0, exit.Usagef("--to %s is in the future: it is %s by the clock of the control database, and the schedule itself runs future instants",
			req.To.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	calendars, err := timetable.On(store).Calendars(cmd.Context(), "")
	if err != nil {
		return 0, err
	}
	n, err = countInstants(s, calendars, req.From, req.To, most+1)
	switch {
	case err != nil: // a Faulted schedule, or a kind of a newer release: the control database decides
		n = 0
	case n == 0:
		return 0, exit.Usagef("nothing is due from %s to %s: choose another range; jobagent schedule preview lists the instants of a definition",
			req.From.Format(time.RFC3339), req.To.Format(time.RFC3339))
	case n > most:
		return 0, exit.Usagef("more than %s are due from %s to %s: choose a shorter range, or raise --max-runs",
			wording.Count(most, "run"), req.From.Format(time.RFC3339), req.To.Format(time.RFC3339))
	}
	return n, command.Confirm(cmd, func() (string, int, error) {
		return fmt.Sprintf("This starts %s of %s, less those of instants that have a run", wording.Count(n, "run"),
			describe(req.JobName, req.Name)), n, nil
	})
}

// countInstants counts the due instants of a schedule in a range, both ends included, as agents
// compute them; at most about as many as most.
func countInstants(s timetable.Schedule, calendars []timetable.Calendar, from, to time.Time, most int) (int, error) {
	d := firing.Definition{
		ID: int64(s.ID), Kind: s.Kind, Spec: s.Spec, Zone: lookup.GivenZone(s), CatchUp: s.CatchUp, Defined: s.DefinedTime,
	}
	if s.Name == "" {
		d.Job = &schedule.Elastic{Interval: schedule.Interval(s.IntervalType), Count: s.IntervalCount, Start: s.Anchor, End: s.End}
	}
	texts := map[string]string{}
	for _, c := range calendars {
		texts[c.Name] = c.Spec
	}
	named := firing.ReadCalendars(texts)
	n := 0
	for n < most {
		runs, next, err := firing.Backfill(d, named, from, to)
		if err != nil {
			return n, err
		}
		n += len(runs)
		if next.IsZero() {
			break
		}
		from = next
	}
	return n, nil
}

func newCancelBackfillCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "cancel-backfill BACKFILL_ID", Short: "Cancel a backfill; runs that it has started continue", Args: cobra.ExactArgs(1),
		Long: `Cancel a backfill: it starts no further runs, and instants that wait for an earlier run are recorded
as skipped. Runs that it has started continue; jobagent job stop ends them. jobagent schedule show
lists the backfills of a schedule.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || id < 1 {
				return exit.Usagef("invalid backfill ID %q: want a number; jobagent schedule show lists the backfills", args[0])
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := timetable.On(store).CancelBackfill(cmd.Context(), controldb.BackfillID(id)); err != nil {
					return err
				}
				return a.Done(output.CanceledBackfill{ID: id}, "canceled backfill %d", id)
			})
		},
	}
}
