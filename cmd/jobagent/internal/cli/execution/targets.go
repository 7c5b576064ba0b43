package execution

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// runTargetColumns are those of execution targets.
var runTargetColumns = output.Columns([]output.Column[output.TargetOfRun]{
	{Name: "step_id", Header: "STEP", Right: true, Keep: true},
	{Name: "target_server_name", Header: "SERVER", Min: 10, Drop: 3},
	{Name: "target_database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "attempts", Right: true, Drop: 4},
	{Name: "duration_ms", Header: "DURATION", Right: true, Drop: 5, Text: func(t output.TargetOfRun) string {
		if t.DurationMS == nil {
			return ""
		}
		return span(time.Duration(*t.DurationMS) * time.Millisecond)
	}},
	{Name: "start_time", Header: "STARTED", Wide: true},
	{Name: "end_time", Header: "ENDED", Wide: true},
	{Name: "next_attempt_time", Header: "NEXT ATTEMPT", Wide: true},
	{Name: "outcome_unknown", Header: "UNKNOWN", Wide: true},
	{Name: "message", Rest: true, Keep: true},
})

func newTargetsCommand(a *connect.App) *cobra.Command {
	step, names := 0, []string(nil)
	cmd := command.List(&a.Printer, runTargetColumns, &cobra.Command{
		Use: "targets EXECUTION_ID", Short: "List the targets of a run, for a spreadsheet or a script", Args: cobra.ExactArgs(1),
		Long: `List all targets of a run, of each step, with what became of them.

-o csv writes times that spreadsheets read, and no value that begins as a formula.`,
		Example: "  jobagent execution targets 6f1d2c0e -o csv > run.csv\n  jobagent execution targets 6f1d2c0e --lifecycle Failed,TimedOut",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			if err != nil {
				return err
			}
			if step < 0 || step == 0 && cmd.Flags().Changed("step-id") {
				return exit.Usagef("--step-id %d: steps have numbers from 1", step)
			}
			var lifecycles []jobs.Lifecycle
			for _, name := range names {
				list, err := jobs.ParseLifecycles(name)
				if err != nil {
					return exit.Usagef("--lifecycle: %w", err)
				}
				lifecycles = append(lifecycles, list...)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				rows, err := runs.Read(cmd.Context(), executions.On(store), id)
				if err != nil {
					return err
				}
				list := []output.TargetOfRun{}
				for _, e := range rows {
					if e.IsTarget() && (step == 0 || *e.StepID == step) && (len(lifecycles) == 0 || slices.Contains(lifecycles, e.Lifecycle)) {
						list = append(list, viewTarget(e))
					}
				}
				return output.List(&a.Printer, list, runTargetColumns)
			})
		},
	})
	cmd.Flags().IntVar(&step, "step-id", 0, "only the step with this `number`")
	cmd.Flags().StringSliceVar(&names, "lifecycle", nil, "only targets with these `lifecycles`, separated by commas; Running: all that go on")
	return cmd
}

// viewTarget converts a target of a run.
func viewTarget(e executions.Execution) output.TargetOfRun {
	t := output.TargetOfRun{
		StepID: *e.StepID, Type: e.TargetType, Server: e.Server, Database: e.Database, Lifecycle: e.Lifecycle, Attempts: e.Attempts,
		StartTime: output.Optional(e.StartTime), EndTime: output.Optional(e.EndTime), NextAttempt: output.Optional(e.NextAttempt),
		Message: e.LastMessage, Unknown: e.OutcomeUnknown,
	}
	if took := e.Duration(); took >= 0 {
		ms := took.Milliseconds()
		t.DurationMS = &ms
	}
	return t
}
