package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/controldb"
)

// jobView is a job as -o json shows it; names as in the view jobs.jobs.
type jobView struct {
	Name          string     `json:"job_name"`
	ID            uuid.UUID  `json:"job_id"`
	Version       int        `json:"job_version"`
	Description   string     `json:"description"`
	Enabled       bool       `json:"enabled"`
	IntervalType  string     `json:"schedule_interval_type"`
	IntervalCount int        `json:"schedule_interval_count"`
	Start         time.Time  `json:"schedule_start_time"`
	End           time.Time  `json:"schedule_end_time"`
	Steps         []stepView `json:"steps,omitempty"`
}

// stepView is a step as -o json shows it; names as in the view jobs.jobsteps.
type stepView struct {
	ID                   int     `json:"step_id"`
	Name                 string  `json:"step_name"`
	Command              string  `json:"command"`
	Credential           string  `json:"credential_name,omitempty"`
	TargetGroup          string  `json:"target_group_name"`
	InitialRetryInterval int     `json:"initial_retry_interval_seconds"`
	MaximumRetryInterval int     `json:"maximum_retry_interval_seconds"`
	Multiplier           float64 `json:"retry_interval_backoff_multiplier"`
	RetryAttempts        int     `json:"retry_attempts"`
	Timeout              int     `json:"step_timeout_seconds"`
	OutputType           string  `json:"output_type,omitempty"`
	OutputCredential     string  `json:"output_credential_name,omitempty"`
	OutputServer         string  `json:"output_server_name,omitempty"`
	OutputDatabase       string  `json:"output_database_name,omitempty"`
	OutputSchema         string  `json:"output_schema_name,omitempty"`
	OutputTable          string  `json:"output_table_name,omitempty"`
	MaxParallelism       *int    `json:"max_parallelism,omitempty"`
}

// viewJob turns a row into what is shown.
func viewJob(j controldb.Job) jobView {
	return jobView{j.Name, j.ID, j.Version, j.Description, j.Enabled, j.IntervalType, j.IntervalCount, j.Start, j.End, nil}
}

// viewStep turns a row into what is shown.
func viewStep(s controldb.JobStep) stepView {
	return stepView{
		s.StepID, s.StepName, s.Command, s.Credential, s.TargetGroup, s.InitialRetryInterval, s.MaximumRetryInterval,
		s.RetryIntervalMultiplier, s.RetryAttempts, s.Timeout, s.OutputType, s.Output.Credential, s.Output.Server, s.Output.Database, s.Output.Schema, s.Output.Table,
		s.MaxParallelism,
	}
}

// schedule is the job's schedule in words.
func (j jobView) schedule() string {
	if j.IntervalType == "Once" {
		return "once"
	}
	return fmt.Sprintf("every %d %s", j.IntervalCount, j.IntervalType)
}

// newJobCommand makes `jobagent job`.
func newJobCommand(a *app) *cobra.Command {
	return newGroupCommand("job", "Define, list, start and stop jobs",
		newJobListCommand(a), newJobShowCommand(a), newJobCreateCommand(a), newJobUpdateCommand(a), newJobDeleteCommand(a),
		newJobStartCommand(a), newJobStopCommand(a))
}

func newJobListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List all jobs", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				list, err := store.Jobs(cmd.Context(), "")
				if err != nil {
					return err
				}
				views := make([]jobView, 0, len(list))
				for _, j := range list {
					views = append(views, viewJob(j))
				}
				return a.emit(views, func(w io.Writer) error {
					t := newTable("NAME", "VERSION", "ENABLED", "SCHEDULE", "DESCRIPTION")
					for _, j := range views {
						t.add(j.Name, j.Version, j.Enabled, j.schedule(), shorten(j.Description, 60))
					}
					return t.write(w)
				})
			})
		},
	}
}

// findJob reads one job by name.
func findJob(ctx context.Context, store *controldb.Store, name string) (controldb.Job, error) {
	list, err := store.Jobs(ctx, name)
	if err != nil {
		return controldb.Job{}, err
	}
	if len(list) == 0 {
		return controldb.Job{}, exitWith(exitNotFound, fmt.Errorf("job %q does not exist; jobagent job list shows what does", name))
	}
	return list[0], nil
}

func newJobShowCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a job with its steps", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				job, err := findJob(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				steps, err := store.JobSteps(cmd.Context(), job.Name, nil)
				if err != nil {
					return err
				}
				v := viewJob(job)
				for _, s := range steps {
					v.Steps = append(v.Steps, viewStep(s))
				}
				return a.emit(v, func(w io.Writer) error { return printJob(w, v) })
			})
		},
	}
}

// printJob shows a job for people.
func printJob(w io.Writer, j jobView) error {
	enabled := "disabled: runs only when it is started"
	if j.Enabled {
		enabled = "enabled, " + j.schedule()
	}
	fmt.Fprintf(w, "%s (version %d, %s)\n", j.Name, j.Version, enabled)
	if j.Description != "" {
		fmt.Fprintf(w, "%s\n", j.Description)
	}
	fmt.Fprintf(w, "id %s\n", j.ID)
	for _, s := range j.Steps {
		fmt.Fprintf(w, "\nstep %d: %s, on target group %s\n", s.ID, s.Name, s.TargetGroup)
		fmt.Fprintf(w, "  retry attempts %d, waiting %d s to %d s (times %g), time limit %d s\n", s.RetryAttempts, s.InitialRetryInterval, s.MaximumRetryInterval, s.Multiplier, s.Timeout)
		if s.OutputTable != "" {
			fmt.Fprintf(w, "  output to %s/%s %s.%s\n", s.OutputServer, s.OutputDatabase, s.OutputSchema, s.OutputTable)
		}
		if _, err := fmt.Fprintf(w, "%s\n", indent(s.Command, "  | ")); err != nil {
			return err
		}
	}
	return nil
}

// jobFlags are the flags of job create and update.
type jobFlags struct {
	description, interval, start, end string
	count                             int
	enabled                           bool
}

// add declares the flags.
func (f *jobFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.description, "description", "", "free text, at most 512 characters")
	cmd.Flags().BoolVar(&f.enabled, "enabled", false, "let the schedule run the job")
	cmd.Flags().StringVar(&f.interval, "interval-type", "", "Once, Minutes, Hours, Days, Weeks or Months")
	cmd.Flags().IntVar(&f.count, "interval-count", 0, "intervals between two runs")
	cmd.Flags().StringVar(&f.start, "start-time", "", "no run before this time (RFC 3339, or YYYY-MM-DD HH:MM in UTC)")
	cmd.Flags().StringVar(&f.end, "end-time", "", "no run after this time")
}

// given returns a pointer to v if the flag was set on the command line, else nil.
func given[T any](cmd *cobra.Command, flag string, v T) *T {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return &v
}

// givenTime is given for times.
func givenTime(cmd *cobra.Command, flag, text string) (*time.Time, error) {
	if !cmd.Flags().Changed(flag) {
		return nil, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return nil, usagef("--%s: %w", flag, err)
	}
	return &t, nil
}

// parseTime reads a time as people write it; without an offset it is UTC.
func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: 2026-01-31T22:00:00Z, 2026-01-31 22:00 or 2026-01-31 is needed", s)
}

func newJobCreateCommand(a *app) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a job without steps", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := givenTime(cmd, "start-time", f.start)
			if err != nil {
				return err
			}
			end, err := givenTime(cmd, "end-time", f.end)
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				id, err := store.AddJob(cmd.Context(), controldb.JobSpec{
					Name: args[0], Description: given(cmd, "description", f.description), Enabled: given(cmd, "enabled", f.enabled),
					IntervalType: given(cmd, "interval-type", f.interval), IntervalCount: given(cmd, "interval-count", f.count), Start: start, End: end,
				})
				if err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0], "job_id": id}, "created job %s (%s)", args[0], id)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newJobUpdateCommand(a *app) *cobra.Command {
	var f jobFlags
	var newName string
	cmd := &cobra.Command{
		Use: "update NAME", Short: "Change what is given of a job; the rest stays as it is", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start, err := givenTime(cmd, "start-time", f.start)
			if err != nil {
				return err
			}
			end, err := givenTime(cmd, "end-time", f.end)
			if err != nil {
				return err
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				err := store.UpdateJob(cmd.Context(), controldb.JobUpdate{
					Name: args[0], NewName: given(cmd, "new-name", newName), Description: given(cmd, "description", f.description),
					Enabled: given(cmd, "enabled", f.enabled), IntervalType: given(cmd, "interval-type", f.interval),
					IntervalCount: given(cmd, "interval-count", f.count), Start: start, End: end,
				})
				if err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0]}, "updated job %s", args[0])
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&newName, "new-name", "", "rename the job")
	return cmd
}

func newJobDeleteCommand(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "delete NAME", Short: "Delete a job, its steps and its history", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				if err := store.DeleteJob(cmd.Context(), args[0], force); err != nil {
					return err
				}
				return a.done(map[string]any{"job_name": args[0]}, "deleted job %s", args[0])
			})
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "cancel what runs first")
	return cmd
}

func newJobStartCommand(a *app) *cobra.Command {
	var wait bool
	var id string
	cmd := &cobra.Command{
		Use: "start NAME", Short: "Start a run of a job's current version", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var wanted uuid.UUID
			if id != "" {
				var err error
				if wanted, err = uuid.Parse(id); err != nil {
					return usagef("--execution-id %q is no GUID", id)
				}
			}
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				run, err := store.StartJob(cmd.Context(), args[0], wanted)
				if err != nil {
					return err
				}
				if !wait {
					return a.done(map[string]any{"job_name": args[0], "job_execution_id": run}, "started %s\nwatch it: jobagent execution watch %s", run, run)
				}
				return a.watch(cmd.Context(), store, run)
			})
		},
	}
	cmd.Flags().BoolVar(&wait, "wait", false, fmt.Sprintf("wait for the end of the run; exit with %d if it does not succeed", exitRunFailed))
	cmd.Flags().StringVar(&id, "execution-id", "", "`GUID` for the run; starting it twice starts it once")
	return cmd
}

func newJobStopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop NAME|EXECUTION_ID", Short: "Ask for the end of a run, or of all active runs of a job", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withStore(cmd.Context(), func(store *controldb.Store) error {
				var runs []uuid.UUID
				if id, err := uuid.Parse(args[0]); err == nil {
					runs = []uuid.UUID{id}
				} else {
					job, err := findJob(cmd.Context(), store, args[0])
					if err != nil {
						return err
					}
					active, err := store.Executions(cmd.Context(), controldb.ExecutionFilter{JobName: job.Name, RootsOnly: true, ActiveOnly: true})
					if err != nil {
						return err
					}
					for _, e := range active {
						runs = append(runs, e.ID)
					}
				}
				for _, id := range runs {
					if err := store.StopJob(cmd.Context(), id); err != nil {
						return err
					}
				}
				return a.done(map[string]any{"stopped": runs}, "asked %d run(s) to stop", len(runs))
			})
		},
	}
}
