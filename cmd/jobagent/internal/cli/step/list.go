package step

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
)

// columns are the columns of step list.
var columns = output.Columns([]output.Column[output.Step]{
	{Name: "step_id", Header: "STEP", Keep: true},
	{Name: "step_name", Header: "NAME", ID: true, Min: 12, Keep: true},
	{Name: "command_type", Header: "TYPE"},
	{Name: "target_group_name", Header: "TARGET GROUP", Min: 12},
	{Name: "after", Min: 8, Drop: 5, Text: dependencies},
	{Name: "credential_name", Header: "CREDENTIAL", Wide: true},
	{Name: "retry_attempts", Header: "RETRIES", Drop: 3},
	{Name: "step_timeout_seconds", Header: "TIMEOUT (S)", Drop: 4},
	{Name: "command", Min: 16, Rest: true, Drop: 9},
})

// dependencies says after which steps and results a step runs; nothing of a step that runs after
// the success of the step before it.
func dependencies(s output.Step) string {
	text := strings.Join(s.After, ", ")
	switch {
	case s.After != nil && len(s.After) == 0:
		text = "(start)"
	case s.After == nil && s.RunWhen != "Succeeded":
		text = "(step before)"
	}
	if s.RunWhen != "Succeeded" && s.RunWhen != "" {
		text += " " + strings.ToLower(s.RunWhen)
	}
	switch s.OnTargets {
	case "Failed":
		text += ", its targets"
	case "Succeeded":
		text += ", where it succeeded"
	}
	return text
}

func newListCommand(a *connect.App) *cobra.Command {
	return connect.List(a, columns, &cobra.Command{
		Use: "list JOB", Short: "List the steps of a job", Args: cobra.ExactArgs(1),
		Long: "List the steps of a job in their order. jobagent step show JOB shows their commands and options whole.",
	}, func(cmd *cobra.Command, args []string, store *controldb.Store) ([]output.Step, error) {
		job, err := lookup.Job(cmd.Context(), store, args[0])
		if err != nil {
			return nil, err
		}
		steps, err := catalog.On(store).JobSteps(cmd.Context(), job.Name, nil)
		return output.Each(steps, output.NewStep), err
	})
}
