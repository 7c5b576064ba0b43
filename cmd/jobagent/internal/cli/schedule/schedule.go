// Package schedule has the commands that define, explain and backfill schedules and calendars.
package schedule

import (
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
)

// NewCommand returns `jobagent schedule`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("schedule", "Define, explain, pause and backfill the schedules of jobs",
		command.StandsFor("jobs.sp_add_schedule", newAddCommand(a)),
		command.StandsFor("jobs.sp_update_schedule", newUpdateCommand(a)),
		command.StandsFor("jobs.sp_delete_schedule", newDeleteCommand(a)),
		command.StandsFor("jobs.schedules", newListCommand(a)),
		command.StandsFor("jobs.schedule_backfills", newShowCommand(a)),
		command.StandsFor("jobs.sp_enable_schedule", newEnableCommand(a, "enable", true)),
		newEnableCommand(a, "disable", false),
		command.StandsFor("jobs.sp_pause_schedule", newPauseCommand(a, "pause", true)),
		newPauseCommand(a, "resume", false),
		command.StandsFor("jobs.sp_backfill_schedule", newBackfillCommand(a)),
		command.StandsFor("jobs.sp_cancel_backfill", newCancelBackfillCommand(a)),
		newExplainCommand(a),
		newPreviewCommand(a),
		newZonesCommand(a),
	)
}
