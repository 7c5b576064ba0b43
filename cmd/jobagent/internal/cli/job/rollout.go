package job

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/rollout"
)

// newRolloutPlanCommand returns `jobagent job rollout-plan`.
func newRolloutPlanCommand(a *connect.App) *cobra.Command {
	cmd := command.NewGroup("rollout-plan", "Set the plan by which the runs of a job are rolled out in waves",
		command.StandsFor("jobs.job_rollout_plans", a.Prints(output.RolloutPlan{}, newShowPlanCommand(a))),
		command.StandsFor("jobs.sp_set_job_rollout", a.Prints(output.RolloutPlan{}, newSetPlanCommand(a))),
		a.Prints(output.JobName{}, newDeletePlanCommand(a)))
	cmd.Long = `Set the plan by which the runs of a job are rolled out in waves.

A run of a job with a plan reaches its targets in waves. Before a wave starts, the gates of the one before it
must have passed, its bake must have ended, and who is asked must have approved. The plan belongs to the job's
version: runs keep the one with which they were created.`
	return cmd
}

func readPlan(cmd *cobra.Command, store *controldb.Store, name string) (catalog.JobRolloutPlan, error) {
	job, err := lookup.Job(cmd.Context(), store, name)
	if err != nil {
		return catalog.JobRolloutPlan{}, err
	}
	return catalog.On(store).JobRolloutPlan(cmd.Context(), job.Name)
}

func viewRolloutPlan(p catalog.JobRolloutPlan) output.RolloutPlan {
	v := output.RolloutPlan{Job: p.JobName, Version: p.JobVersion, Description: p.Description}
	if p.Plan != "" {
		v.Plan = json.RawMessage(p.Plan)
	}
	return v
}

func newShowPlanCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show the plan of a job in words and as YAML", Args: cobra.ExactArgs(1),
		Long: `Show the plan of a job in words and as YAML, without what has its default. What is shown is a file for
"jobagent job rollout-plan set"; -o json has all members.`,
		Example: "  jobagent job rollout-plan show 'add column' > plan.yaml",
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			p, err := readPlan(cmd, store, args[0])
			if err != nil {
				return err
			}
			plan, err := rollout.Parse(p.Plan)
			if err != nil {
				return fmt.Errorf("the plan of the job %q: %w", p.JobName, err)
			}
			return a.Emit(viewRolloutPlan(p), func(w io.Writer) error {
				if plan == nil {
					_, err := fmt.Fprintf(w, "# %s (version %d) has no plan: its runs reach all targets at once\n", output.OneLine(p.JobName), p.JobVersion)
					return err
				}
				_, err := fmt.Fprintf(w, "# %s (version %d)\n# %s\n%s", output.OneLine(p.JobName), p.JobVersion, output.OneLine(p.Description), manifest.PlanYAML(plan))
				return err
			})
		}),
	}
}

func newSetPlanCommand(a *connect.App) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "set JOB", Short: "Set the plan of a job, or replace it", Args: cobra.ExactArgs(1),
		Long: `Set the plan of a job, or replace it. The file has it as YAML or JSON:

  waves:
    - {name: canary, targets: 3, bake_seconds: 1800}
    - {name: ten, targets: 10%}
    - {name: rest, targets: rest, parallelism: 50, max_failed: 1%, approval: other}

All faults are told at once. The plan makes a new version of the job, unless it is the one that the job has.`,
		Example: "  jobagent job rollout-plan set 'add column' --file plan.yaml\n" +
			"  jobagent job rollout-plan show 'add column' | jobagent job rollout-plan set 'drop column' --file -",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := command.ReadFile(file, a.Stdin)
			if err != nil {
				return err
			}
			display := file
			if file == "-" {
				display = "standard input"
			}
			plan, err := manifest.LoadPlan(display, text)
			if err != nil {
				return command.FaultError(&a.Printer, err)
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if err := catalog.On(store).SetJobRollout(cmd.Context(), args[0], plan.Short(), nil); err != nil {
					return err
				}
				p, err := catalog.On(store).JobRolloutPlan(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return a.Done(viewRolloutPlan(p), "set the plan of job %s (version %d): %s", p.JobName, p.JobVersion, p.Description)
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE` with the plan as YAML or JSON, or - for standard input")
	_ = cmd.MarkFlagRequired("file") // the flag exists
	return cmd
}

func newDeletePlanCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "delete JOB", Short: "Remove the plan of a job", Args: cobra.ExactArgs(1),
		Long: "Remove the plan of a job: runs of its next version reach all targets at once.",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			p, err := readPlan(cmd, store, args[0])
			if err != nil {
				return err
			}
			if p.Plan == "" {
				return exit.With(exit.CodeNotFound, fmt.Errorf("the job %s has no plan", p.JobName))
			}
			if err := command.Confirm(cmd, command.Fixed("This removes the plan of the job %s: later runs reach all targets at once", p.JobName)); err != nil {
				return err
			}
			if err := catalog.On(store).SetJobRollout(cmd.Context(), p.JobName, "", nil); err != nil {
				return err
			}
			return a.Done(output.JobName{Name: p.JobName}, "removed the plan of job %s", p.JobName)
		}),
	}
	command.AddYes(cmd)
	return cmd
}
