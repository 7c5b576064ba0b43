package drift

import (
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/drifts"
	"github.com/jobagent/jobagent/targets"
)

// historyColumns are those of drift history.
var historyColumns = output.Columns([]output.Column[drifts.SchemaState]{
	{Name: "server_name", Header: "SERVER", Min: 12, Drop: 4},
	{Name: "database_name", Header: "DATABASE", Min: 12, Keep: true},
	{Name: "first_seen_time", Header: "SINCE", Keep: true},
	{Name: "last_seen_time", Header: "LAST READ", Drop: 3},
	{Name: "changes", Min: 12, Rest: true},
	{Name: "options", Wide: true},
	{Name: "fingerprint", Wide: true},
	{Name: "objects", Wide: true},
	{Name: "is_current", Wide: true},
	{Name: "target", Wide: true, ID: true, Value: func(s drifts.SchemaState) any { return s.Server + "/" + s.Database }},
	{Name: "target_id", Wide: true},
})

func newHistoryCommand(a *connect.App) *cobra.Command {
	var server, database string
	var f drifts.Filter
	cmd := command.List(&a.Printer, historyColumns, &cobra.Command{
		Use: "history", Short: "Say since when databases have their schemas", Args: cobra.NoArgs,
		Long: `List the schemas that databases had when jobs with a step of type Drift read them, the newest one of each database
first: since when the database has been read with this schema, when it was last, and how it differs from the one before.
A change came between the last reading of the row before and SINCE. Steps with other options have a history of their own.`,
		Example: `  jobagent drift history --server sql1 --database tenant17
  jobagent drift history --current --sort -first_seen_time`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (server == "") != (database == "") {
				return exit.Usagef("want both --server and --database, or none of them")
			}
			if server != "" {
				if err := targets.CheckServer(server); err != nil {
					return exit.Usagef("--server %q: %w", server, err)
				}
				f.Target = targets.TargetID(server, database)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := drifts.On(store).History(cmd.Context(), f)
				if err != nil {
					return err
				}
				if len(list) == 0 && f.Target != uuid.Nil {
					return exit.With(exit.CodeNotFound, errNotRead{server + "/" + database})
				}
				return output.List(&a.Printer, list, historyColumns)
			})
		},
	})
	flags := cmd.Flags()
	flags.StringVar(&server, "server", "", "only one database: its `SERVER`")
	flags.StringVar(&database, "database", "", "its name `DATABASE`")
	flags.BoolVar(&f.Current, "current", false, "only the schemas that databases had when they were last read")
	return cmd
}

// errNotRead means that no step has read the schema of a database.
type errNotRead struct{ database string }

// Error implements error.
func (e errNotRead) Error() string {
	return "no step of type Drift has read the schema of " + e.database
}

// newBaselineCommand returns `jobagent drift baseline`.
func newBaselineCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("baseline", "Declare schemas to be right, by a name",
		command.StandsFor("jobs.drift_baselines", newBaselinesCommand(a)),
		command.StandsFor("jobs.sp_set_drift_baseline", a.Prints(output.BaselineName{}, newSetBaselineCommand(a))),
		command.StandsFor("jobs.sp_delete_drift_baseline", a.Prints(output.BaselineName{}, newDeleteBaselineCommand(a))),
	)
}

// baselineColumns are those of drift baseline list.
var baselineColumns = output.Columns([]output.Column[output.DriftBaseline]{
	{Name: "baseline_name", Header: "BASELINE", Min: 8, Keep: true, ID: true},
	{Name: "source", Min: 12, Rest: true},
	{Name: "options", Min: 8, Drop: 2},
	{Name: "set_time", Header: "SET", Keep: true},
	{Name: "set_by", Header: "BY", Drop: 4},
	{Name: "fingerprint", Wide: true},
	{Name: "objects", Wide: true},
})

func newBaselinesCommand(a *connect.App) *cobra.Command {
	return connect.List(a, baselineColumns, &cobra.Command{
		Use: "list", Short: "List the baselines", Args: cobra.NoArgs,
		Long:    "List the baselines, with the database from which each was taken. A baseline has a row for each options with which its\ndatabase had been read.",
		Example: "  jobagent drift baseline list",
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.DriftBaseline, error) {
		list, err := drifts.On(store).Baselines(cmd.Context())
		return output.Each(list, func(b drifts.Baseline) output.DriftBaseline { return output.DriftBaseline{Baseline: b} }), err
	})
}

func newSetBaselineCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "set BASELINE SERVER/DATABASE", Short: "Add or replace a baseline", Args: cobra.ExactArgs(2),
		Long: `Declare the schema that a database had when a job with a step of type Drift last read it to be right, under a name. Steps
whose member against has this name compare their databases with it. The baseline stays as it is when the database changes.`,
		Example: "  jobagent drift baseline set release-7 sql1.example.com/golden",
		RunE: func(cmd *cobra.Command, args []string) error {
			server, database, _ := strings.Cut(args[1], "/")
			if server == "" || database == "" {
				return exit.Usagef("invalid SERVER/DATABASE %q", args[1])
			}
			if err := targets.CheckServer(server); err != nil {
				return exit.Usagef("invalid SERVER/DATABASE %q: %w", args[1], err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := drifts.On(store).SetBaseline(cmd.Context(), args[0], targets.NewTarget(server, database, "")); err != nil {
					return err
				}
				return a.Done(output.BaselineName{Name: args[0]}, "set the baseline %s to the schema of %s", args[0], args[1])
			})
		},
	}
}

func newDeleteBaselineCommand(a *connect.App) *cobra.Command {
	return a.Does(&cobra.Command{
		Use: "delete BASELINE", Short: "Delete a baseline", Args: cobra.ExactArgs(1),
		Long:    "Delete a baseline. Steps that name it fail from then on.",
		Example: "  jobagent drift baseline delete release-7",
	}, "deleted the baseline %s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.BaselineName{Name: args[0]}, drifts.On(store).DeleteBaseline(cmd.Context(), args[0])
	})
}
