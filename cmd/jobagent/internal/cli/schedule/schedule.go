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
		newAddCommand(a), newUpdateCommand(a), newDeleteCommand(a), newListCommand(a), newShowCommand(a),
		newEnableCommand(a, "enable", true), newEnableCommand(a, "disable", false),
		newPauseCommand(a, "pause", true), newPauseCommand(a, "resume", false),
		newBackfillCommand(a), newCancelBackfillCommand(a), newExplainCommand(a), newPreviewCommand(a), newZonesCommand(a))
}
