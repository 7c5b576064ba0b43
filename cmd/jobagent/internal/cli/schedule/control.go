package schedule

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/timetable"
)

func newDeleteCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete JOB SCHEDULE", Short: "Delete a schedule; its active runs continue", Args: cobra.ExactArgs(2),
	}, "This deletes the schedule %[2]s of the job %[1]s; its active runs go on", "deleted schedule %[2]s of job %[1]s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.ScheduleName{Job: args[0], Name: args[1]}, timetable.On(store).Delete(cmd.Context(), args[0], args[1])
	})
}

// optionalName returns the schedule's name among the arguments, or "" for the schedule of the job's
// own definition.
func optionalName(args []string) string {
	if len(args) > 1 {
		return args[1]
	}
	return ""
}

// describe names a schedule in a sentence.
func describe(job, name string) string {
	if name == "" {
		return "the schedule of job " + job
	}
	return fmt.Sprintf("schedule %s of job %s", name, job)
}

func newEnableCommand(a *connect.App, use string, enabled bool) *cobra.Command {
	short := "Enable a schedule; earlier due instants are dropped"
	if !enabled {
		short = "Disable a schedule"
	}
	return &cobra.Command{
		Use: use + " JOB [SCHEDULE]", Short: short, Args: cobra.RangeArgs(1, 2),
		Long: short + ". Without SCHEDULE, this is the schedule of the job's own definition.",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			name := optionalName(args)
			if enabled && name == "" {
				if err := lookup.OwnSchedule(cmd.Context(), store, args[0]); err != nil {
					return err
				}
			}
			if err := timetable.On(store).Enable(cmd.Context(), args[0], name, enabled); err != nil {
				return err
			}
			return a.Done(output.EnabledSchedule{Enabled: enabled, Job: args[0], Name: name}, "%sd %s", use,
				describe(args[0], name))
		}),
	}
}

func newPauseCommand(a *connect.App, use string, paused bool) *cobra.Command {
	short := "Pause a schedule, with a note"
	if !paused {
		short = "Resume a paused schedule; instants that were due meanwhile are dropped"
	}
	var note string
	cmd := &cobra.Command{
		Use: use + " JOB [SCHEDULE]", Short: short, Args: cobra.RangeArgs(1, 2),
		Long: short + ". Without SCHEDULE, this is the schedule of the job's own definition.",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			name := optionalName(args)
			if err := timetable.On(store).Pause(cmd.Context(), args[0], name, paused, note); err != nil {
				return err
			}
			return a.Done(output.PausedSchedule{Job: args[0], Paused: paused, Name: name}, "%sd %s", use,
				describe(args[0], name))
		}),
	}
	cmd.Flags().StringVar(&note, "note", "", "why; the schedule keeps this note")
	return cmd
}
