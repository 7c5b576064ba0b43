package job

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/triggers"
)

// newTriggerCommand returns `jobagent job trigger`.
func newTriggerCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("trigger", "Start a job after runs of other jobs",
		command.StandsFor("jobs.sp_add_job_trigger", a.Prints(output.JobTriggerName{}, newAddTriggerCommand(a))),
		command.StandsFor("jobs.sp_update_job_trigger", a.Prints(output.JobTriggerName{}, newUpdateTriggerCommand(a))),
		command.StandsFor("jobs.job_triggers", newListTriggersCommand(a)),
		command.StandsFor("jobs.job_trigger_events", a.Prints(output.JobTrigger{}, newShowTriggerCommand(a))),
		command.StandsFor("jobs.sp_delete_job_trigger", a.Prints(output.JobTriggerName{}, newDeleteTriggerCommand(a))),
	)
	cmd.Long = `Start a job after runs of other jobs: after each run of one job, or when all of several jobs have run.

Each run starts the job at most once. While a run of the job is active, further ones wait, at most 100 of a job. Trials,
preflights, undos and the runs of waves do not count; a roll-out counts when it ends as a whole. jobagent job graph
shows which jobs start which.`
	return cmd
}

// triggerColumns are those of job trigger list.
var triggerColumns = output.Columns([]output.Column[output.JobTrigger]{
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "trigger_name", Header: "TRIGGER", ID: true, Min: 10, Keep: true},
	{Name: "starts", Min: 16, Rest: true, Value: func(t output.JobTrigger) any { return t.Describe() }},
	{Name: "enabled"},
	{Name: "waiting", Drop: 2},
}).Without("events")

// views are triggers for -o json.
func views(list []triggers.Trigger) []output.JobTrigger {
	return output.Each(list, func(t triggers.Trigger) output.JobTrigger { return output.JobTrigger{Trigger: t} })
}

func newListTriggersCommand(a *connect.App) *cobra.Command {
	var job string
	cmd := connect.List(a, triggerColumns, &cobra.Command{
		Use: "list", Short: "List triggers: the jobs that start after runs of other jobs", Args: cobra.NoArgs,
		Example: "  jobagent job trigger list --job report",
	}, func(cmd *cobra.Command, _ []string, store *controldb.Store) ([]output.JobTrigger, error) {
		if job != "" {
			if _, err := lookup.Job(cmd.Context(), store, job); err != nil {
				return nil, err
			}
		}
		list, err := triggers.On(store).Triggers(cmd.Context(), job)
		return views(list), err
	})
	cmd.Flags().StringVar(&job, "job", "", "only triggers that start this `job`")
	return cmd
}

// shownEvents is the number of the latest events of job trigger show, unless --limit says another.
const shownEvents = 20

// eventColumns are those of the events of job trigger show.
var eventColumns = output.Columns([]output.Column[output.JobTriggerEvent]{
	{Name: "created_time", Header: "ENDED", Keep: true},
	{Name: "upstream_job_name", Header: "JOB", Min: 10, Keep: true},
	{Name: "upstream_job_execution_id", Header: "RUN", GUID: true},
	{Name: "upstream_lifecycle", Header: "AS", State: true},
	{Name: "state", Header: "THEN", Keep: true},
	{Name: "started", Min: 8, Rest: true, Value: func(e output.JobTriggerEvent) any {
		if e.Run != uuid.Nil {
			return e.Run.String()
		}
		return e.Reason
	}},
})

func newShowTriggerCommand(a *connect.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "show JOB TRIGGER", Short: "Show a trigger, and what the latest runs that it watched have started", Args: cobra.ExactArgs(2),
		Example: "  jobagent job trigger show report 'after load'",
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return exit.Usagef("--limit %d: must be at least 1", limit)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				t, err := lookup.Trigger(cmd.Context(), store, args[0], args[1])
				if err != nil {
					return err
				}
				events, err := triggers.On(store).Events(cmd.Context(), triggers.EventFilter{JobName: t.JobName, Trigger: t.Name}, controldb.Page[int64]{Top: limit})
				if err != nil {
					return err
				}
				v := output.JobTrigger{Trigger: t, Events: output.NewJobTriggerEvents(events)}
				return a.Emit(v, func(w io.Writer) error {
					state := ""
					if !v.Enabled {
						state = " (disabled)"
					}
					fmt.Fprintf(w, "%s starts %s%s\n", output.OneLine(v.JobName), output.OneLine(v.Describe()), state)
					if v.Waiting > 0 {
						fmt.Fprintf(w, "waiting: %d\n", v.Waiting)
					}
					if len(v.Events) == 0 {
						return nil
					}
					var b strings.Builder
					width, _, _ := terminal.Size(a.Stdout)
					output.WriteTable(&b, v.Events, eventColumns, width, a.Painter())
					_, err := io.WriteString(w, "\n"+b.String())
					return err
				})
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", shownEvents, "maximum `number` of events")
	return cmd
}

// triggerFlags are the flags of job trigger add and update.
type triggerFlags struct {
	after   []string
	when    string
	targets string
	enabled bool
}

func (f *triggerFlags) add(cmd *cobra.Command, when, targets string) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.after, "after", nil, "a `job` whose runs start it; may be repeated: when a run of each of them has ended")
	flags.StringVar(&f.when, "run-when", when, "what these runs end with: Succeeded, Failed (also TimedOut), or Finished (anything)")
	flags.StringVar(&f.targets, "targets", targets, "its databases: All, or Succeeded: those on which the other jobs succeeded")
	flags.BoolVar(&f.enabled, "enabled", true, "--enabled=false: runs that end are not noticed, and what waits is skipped")
}

// spec returns what the flags give of a trigger.
func (f *triggerFlags) spec(cmd *cobra.Command, args []string) triggers.Spec {
	return triggers.Spec{
		JobName: args[0], Name: args[1], Upstreams: f.after, RunWhen: command.Given(cmd, "run-when", f.when),
		Targets: command.Given(cmd, "targets", f.targets), Enabled: command.Given(cmd, "enabled", f.enabled),
	}
}

func newAddTriggerCommand(a *connect.App) *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use: "add JOB TRIGGER", Short: "Let a job start after runs of other jobs", Args: cobra.ExactArgs(2),
		Example: `  jobagent job trigger add report 'after load' --after load
  jobagent job trigger add mail 'all loaded' --after load --after rates --run-when Finished
  jobagent job trigger add index 'where loaded' --after load --run-when Finished --targets Succeeded`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(f.after) == 0 {
				return exit.Usagef("missing --after: want the jobs after which it starts, --after once for each")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := triggers.On(store).Add(cmd.Context(), f.spec(cmd, args)); err != nil {
					return err
				}
				return a.Done(output.JobTriggerName{Job: args[0], Name: args[1]}, "added trigger %s of job %s", args[1], args[0])
			})
		},
	}
	f.add(cmd, "Succeeded", "All")
	return cmd
}

func newUpdateTriggerCommand(a *connect.App) *cobra.Command {
	var f triggerFlags
	cmd := a.Does(&cobra.Command{
		Use: "update JOB TRIGGER", Short: "Change a trigger; properties without a flag stay unchanged", Args: cobra.ExactArgs(2),
		Long: `Change a trigger; properties without a flag stay unchanged. If it then watches something else, or is disabled, what waits is
recorded as skipped.`,
		Example: "  jobagent job trigger update report 'after load' --run-when Finished\n  jobagent job trigger update report 'after load' --enabled=false",
	}, "updated trigger %[2]s of job %[1]s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.JobTriggerName{Job: args[0], Name: args[1]}, triggers.On(store).Update(cmd.Context(), f.spec(cmd, args))
	})
	f.add(cmd, "", "")
	return cmd
}

func newDeleteTriggerCommand(a *connect.App) *cobra.Command {
	return a.Deletes(&cobra.Command{
		Use: "delete JOB TRIGGER", Short: "Delete a trigger; runs that it has started go on", Args: cobra.ExactArgs(2),
		Example: "  jobagent job trigger delete report 'after load'",
	}, "This deletes the trigger %[2]s of the job %[1]s; what waits for it is skipped", "deleted trigger %[2]s of job %[1]s", func(cmd *cobra.Command, args []string, store *controldb.Store) (any, error) {
		return output.JobTriggerName{Job: args[0], Name: args[1]}, triggers.On(store).Delete(cmd.Context(), args[0], args[1])
	})
}
