// Package schedule has the commands that define, explain and backfill schedules and calendars.
package schedule

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
)

// NewCommand returns `jobagent schedule`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("schedule", "Define, explain, pause and backfill the schedules of jobs",
		command.StandsFor("jobs.sp_add_schedule", a.Prints(output.DefinedSchedule{}, newAddCommand(a))),
		command.StandsFor("jobs.sp_update_schedule", a.Prints(output.DefinedSchedule{}, newUpdateCommand(a))),
		command.StandsFor("jobs.sp_delete_schedule", a.Prints(output.ScheduleName{}, newDeleteCommand(a))),
		command.StandsFor("jobs.schedules", newListCommand(a)),
		command.StandsFor("jobs.schedule_backfills", a.Prints(output.Schedule{}, newShowCommand(a))),
		command.StandsFor("jobs.sp_enable_schedule", a.Prints(output.EnabledSchedule{}, newEnableCommand(a, "enable", true))),
		a.Prints(output.EnabledSchedule{}, newEnableCommand(a, "disable", false)),
		command.StandsFor("jobs.sp_pause_schedule", a.Prints(output.PausedSchedule{}, newPauseCommand(a, "pause", true))),
		a.Prints(output.PausedSchedule{}, newPauseCommand(a, "resume", false)),
		command.StandsFor("jobs.sp_backfill_schedule", a.PrintsWith("--wait", output.EndedBackfill{}, a.Prints(output.RequestedBackfill{}, newBackfillCommand(a)))),
		command.StandsFor("jobs.sp_cancel_backfill", a.Prints(output.CanceledBackfill{}, newCancelBackfillCommand(a))),
		a.PrintsWith("JOB NAME", output.ScheduleExplanation{}, a.PrintsWith("JOB", []output.ScheduleExplanation{}, newExplainCommand(a))),
		a.Prints(output.SchedulePreview{}, newPreviewCommand(a)),
		newZonesCommand(&a.Printer),
	)
}
