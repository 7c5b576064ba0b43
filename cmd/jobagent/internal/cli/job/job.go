// Package job has the commands that define, start and stop jobs.
package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

// columns are those of job list.
var columns = output.Columns([]output.Column[output.Job]{
	{Name: "job_name", Header: "NAME", ID: true, Min: 16, Keep: true},
	{Name: "job_version", Header: "VERSION", Drop: 5},
	{Name: "schedules", Value: func(j output.Job) any { return schedules(j) }, Min: 14, Drop: 2},
	{Name: "next_due_time", Header: "NEXT RUN", Drop: 1},
	{Name: "enabled", Wide: true},
	{Name: "named_schedules", Header: "NAMED", Wide: true},
	{Name: "parameters_fault", Header: "PARAMETERS", Wide: true, Min: 12},
	{Name: "job_id", Header: "ID", Wide: true},
	{Name: "description", Min: 12, Rest: true, Drop: 9},
}).Without("steps").Without("parameters").Without("rollout_description")

// schedules says in some words when a job runs: by the schedule of its own definition, by its named
// schedules, or by none.
func schedules(j output.Job) string {
	var parts []string
	if j.HasOwnSchedule() {
		text, _, _ := strings.Cut(inWords(j), "; ") // without bounds; all times are in UTC
		text = strings.TrimSuffix(text, ", UTC")
		if !j.Enabled {
			text += " (disabled)"
		}
		parts = append(parts, text)
	}
	switch {
	case j.Named == 0:
	case j.Active == j.Named:
		parts = append(parts, fmt.Sprintf("%d active", j.Active))
	default:
		parts = append(parts, fmt.Sprintf("%d of %d active", j.Active, j.Named))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// inWords describes the schedule of the job's own definition.
func inWords(j output.Job) string {
	s := timetable.Schedule{IntervalType: j.IntervalType, IntervalCount: j.IntervalCount, Start: j.Start, End: j.End}
	return s.Describe().Text
}

// NewCommand returns `jobagent job`.
func NewCommand(a *connect.App) *cobra.Command {
	return command.NewGroup("job", "Define, list, start and stop jobs",
		command.StandsFor("jobs.jobs", newListCommand(a)),
		a.Prints(output.Job{}, newShowCommand(a)),
		command.StandsFor("jobs.sp_add_job", a.Prints(output.CreatedJob{}, newCreateCommand(a))),
		command.StandsFor("jobs.sp_update_job", a.Prints(output.JobName{}, newUpdateCommand(a))),
		command.StandsFor("jobs.sp_delete_job", a.Prints(output.JobName{}, newDeleteCommand(a))),
		command.StandsFor("jobs.sp_start_job", a.PrintsWith("--wait", output.Executions{}, a.Prints(output.StartedJob{}, newStartCommand(a)))),
		a.Prints(output.Trial{}, newTrialCommand(a)),
		a.Prints(output.Preflight{}, newPreflightCommand(a)),
		command.StandsFor("jobs.sp_stop_job", a.Prints(output.StoppedRuns{}, newStopCommand(a))),
		a.Prints(output.JobName{}, newEnableCommand(a, true)),
		a.Prints(output.JobName{}, newEnableCommand(a, false)),
		newParameterCommand(a),
		newTriggerCommand(a),
		a.Prints(output.JobGraph{}, newGraphCommand(a)),
		newRolloutPlanCommand(a),
	)
}

func newListCommand(a *connect.App) *cobra.Command {
	return command.List(&a.Printer, columns, &cobra.Command{
		Use: "list", Short: "List all jobs", Args: cobra.NoArgs,
		Long: `List all jobs. SCHEDULES describes the schedule of the job's own definition, if it has one, and counts
its named schedules; "jobagent schedule list" lists them. A job with none runs when it is started.
NEXT RUN is the next instant of all its schedules that start runs (UTC).`,
		RunE: a.Reads(func(cmd *cobra.Command, _ []string, store *controldb.Store) error {
			list, err := catalog.On(store).Jobs(cmd.Context(), "")
			if err != nil {
				return err
			}
			plans, err := catalog.On(store).JobPlans(cmd.Context(), "")
			if err != nil {
				return err
			}
			byJob := make(map[string]catalog.JobPlan, len(plans))
			for _, p := range plans {
				byJob[p.JobName] = p
			}
			return output.List(&a.Printer, output.Each(list, func(j catalog.Job) output.Job { return output.Job{Job: j, JobPlan: byJob[j.Name]} }), columns)
		}),
	})
}

func newShowCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "show JOB", Short: "Show a job with its steps", Args: cobra.ExactArgs(1),
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			job, err := lookup.Job(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			steps, err := catalog.On(store).JobSteps(cmd.Context(), job.Name, nil)
			if err != nil {
				return err
			}
			plans, err := catalog.On(store).JobPlans(cmd.Context(), job.Name)
			if err != nil {
				return err
			}
			detail, err := catalog.On(store).JobDetail(cmd.Context(), job.Name)
			if err != nil {
				return err
			}
			v := output.Job{Job: job}
			if v.Parameters, err = viewParameters(detail.Parameters); err != nil {
				return err
			}
			for _, p := range plans {
				v.JobPlan = p
			}
			if detail.RolloutPlan != "" {
				plan, err := catalog.On(store).JobRolloutPlan(cmd.Context(), job.Name)
				if err != nil {
					return err
				}
				v.Rollout = plan.Description
			}
			for _, s := range steps {
				v.Steps = append(v.Steps, output.NewStep(s))
			}
			return a.Emit(v, func(w io.Writer) error { return printJob(w, v) })
		}),
	}
}

// printJob prints a job and its steps.
func printJob(w io.Writer, j output.Job) error {
	fmt.Fprintf(w, "%s (version %d)\n", j.Name, j.Version)
	switch {
	case j.Enabled:
		fmt.Fprintf(w, "own schedule: %s\n", output.OneLine(inWords(j)))
	case j.HasOwnSchedule():
		fmt.Fprintf(w, "own schedule, disabled: %s\n", output.OneLine(inWords(j)))
	case j.Named == 0:
		fmt.Fprintf(w, "no schedule: it runs when it is started\n")
	}
	if j.Named > 0 {
		fmt.Fprintf(w, "named schedules: %d (%d active); jobagent schedule list --job JOB lists them\n", j.Named, j.Active)
	}
	if !j.NextDue.IsZero() {
		fmt.Fprintf(w, "next due %s (%s)\n", j.NextDue.UTC().Format(time.RFC3339), schedule.Distance(time.Until(j.NextDue)))
	}
	if j.ParametersFault != "" {
		fmt.Fprintf(w, "starts no runs: %s\n", output.OneLine(j.ParametersFault))
	}
	if j.Description != "" {
		fmt.Fprintf(w, "%s\n", j.Description)
	}
	fmt.Fprintf(w, "id %s\n", j.ID)
	for _, p := range j.Parameters {
		fmt.Fprintf(w, "parameter %s\n", output.OneLine(describeParameter(p)))
	}
	if j.Rollout != "" {
		fmt.Fprintf(w, "roll-out: %s\n", output.OneLine(j.Rollout))
	}
	for _, s := range j.Steps {
		fmt.Fprintln(w)
		if err := output.WriteStep(w, s); err != nil {
			return err
		}
	}
	return nil
}

// jobFlags are the flags of job create and job update.
type jobFlags struct {
	settings   model.JobSettings
	start, end string
}

// add declares the flags.
func (f *jobFlags) add(cmd *cobra.Command) {
	for i := range model.JobFields {
		command.AddField(cmd.Flags(), &model.JobFields[i], &f.settings)
	}
	cmd.Flags().StringVar(&f.start, "start-time", "", "no run before this time (RFC 3339, or YYYY-MM-DD HH:MM in UTC)")
	cmd.Flags().StringVar(&f.end, "end-time", "", "no run after this time")
}

// spec returns what the flags give of a job.
func (f *jobFlags) spec(cmd *cobra.Command, name string) (spec model.JobSpec, err error) {
	spec.Name = name
	command.TakeFields(cmd.Flags(), model.JobFields, &spec, &f.settings)
	if spec.Start, err = command.GivenTime(cmd, "start-time", f.start); err != nil {
		return spec, err
	}
	spec.End, err = command.GivenTime(cmd, "end-time", f.end)
	return spec, err
}

func newCreateCommand(a *connect.App) *cobra.Command {
	var f jobFlags
	cmd := &cobra.Command{
		Use: "create JOB", Short: "Create a job without steps", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := f.spec(cmd, args[0])
			if err != nil {
				return err
			}
			if once := f.settings.IntervalType == "" || strings.EqualFold(f.settings.IntervalType, "Once"); f.settings.Enabled && once && spec.Start == nil {
				return exit.Usagef("--enabled without a schedule would start a run as soon as the job has a step: " +
					"give --interval-type or --start-time, or try jobagent job start later")
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				id, err := catalog.On(store).AddJob(cmd.Context(), spec)
				if err != nil {
					return err
				}
				return a.Done(output.CreatedJob{ID: id, Name: args[0]}, "created job %s (%s)", args[0], id)
			})
		},
	}
	f.add(cmd)
	return cmd
}

func newUpdateCommand(a *connect.App) *cobra.Command {
	var f jobFlags
	var newName string
	cmd := &cobra.Command{
		Use: "update JOB", Short: "Change a job; properties without a flag stay unchanged", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec, err := f.spec(cmd, args[0])
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				if f.settings.Enabled && f.settings.IntervalType == "" && spec.Start == nil {
					if err := lookup.OwnSchedule(cmd.Context(), store, args[0]); err != nil {
						return err
					}
				}
				spec.NewName = command.Given(cmd, "new-name", newName)
				if err := catalog.On(store).UpdateJob(cmd.Context(), spec); err != nil {
					return err
				}
				return a.Done(output.JobName{Name: args[0]}, "updated job %s", args[0])
			})
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&newName, "new-name", "", "rename the job")
	return cmd
}

// countedRuns bounds the number of runs that are counted for a question.
const countedRuns = 10_000

// newEnableCommand returns `jobagent job enable` or `jobagent job disable`.
func newEnableCommand(a *connect.App, enabled bool) *cobra.Command {
	use, done := "disable", "disabled"
	once := "\n\nA job without a schedule of its own is refused."
	if enabled {
		use, done = "enable", "enabled"
		once = "\n\nA job without a schedule of its own is refused: jobagent job start starts a run, and jobagent schedule add\nadds a schedule."
	}
	return &cobra.Command{
		Use: use + " JOB", Short: strings.ToUpper(use[:1]) + use[1:] + " the schedule of a job's own definition", Args: cobra.ExactArgs(1),
		Long: strings.ToUpper(use[:1]) + use[1:] + ` the schedule of a job's own definition, as jobagent job update JOB --enabled=` + strconv.FormatBool(enabled) + ` does. Runs that were
started, and named schedules (jobagent schedule ` + use + `), do not depend on it.` + once,
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			job, err := lookup.Job(cmd.Context(), store, args[0])
			switch {
			case err != nil:
				return err
			case enabled:
				err = lookup.OwnSchedule(cmd.Context(), store, args[0])
			case !job.HasOwnSchedule():
				err = exit.Usagef("job %s has no schedule of its own: nothing was disabled; "+
					"jobagent schedule disable JOB SCHEDULE disables a named schedule", job.Name)
			}
			if err != nil {
				return err
			}
			if err := catalog.On(store).UpdateJob(cmd.Context(), model.JobSpec{Name: args[0], Enabled: &enabled}); err != nil {
				return err
			}
			if !enabled {
				if err := warnOfNamedSchedules(cmd.Context(), &a.Printer, store, job.Name); err != nil {
					return err
				}
			}
			return a.Done(output.JobName{Name: args[0]}, "%s the schedule of job %s", done, args[0])
		}),
	}
}

// warnOfNamedSchedules says which schedules of a job go on although its own one was disabled.
func warnOfNamedSchedules(ctx context.Context, p *output.Printer, store *controldb.Store, job string) error {
	sums, err := timetable.On(store).OfJobs(ctx, []string{job})
	if err != nil || len(sums) == 0 || sums[0].Active == 0 {
		return err
	}
	return p.Warn([]string{fmt.Sprintf("job %s still has %s: jobagent schedule list --job JOB lists them, and jobagent schedule disable disables one",
		job, wording.Count(sums[0].Active, "active named schedule"))})
}

func newDeleteCommand(a *connect.App) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "delete JOB", Short: "Delete a job, its steps and its history", Args: cobra.ExactArgs(1),
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			err := command.Confirm(cmd, func() (string, int, error) {
				if strings.HasPrefix(strings.ToLower(args[0]), "jobagent$") {
					return fmt.Sprintf("This deletes the system job %s, without which the database grows; "+
						"jobagent job disable keeps it from running", args[0]), command.Many + 1, nil
				}
				job, err := lookup.Job(cmd.Context(), store, args[0])
				if err != nil {
					return "", 0, err
				}
				n, err := executions.On(store).Count(cmd.Context(), executions.HistoryFilter{JobName: job.Name}, countedRuns)
				return fmt.Sprintf("This deletes the job %s with its steps, its schedules and %s of its history",
					job.Name, wording.CountUpTo(n, countedRuns, "run")), 0, err
			})
			if err != nil {
				return err
			}
			if err := catalog.On(store).DeleteJob(cmd.Context(), args[0], force); err != nil {
				return err
			}
			return a.Done(output.JobName{Name: args[0]}, "deleted job %s with its history", args[0])
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "cancel active runs first")
	command.AddYes(cmd)
	return cmd
}

func newStartCommand(a *connect.App) *cobra.Command {
	var wait runs.Wait
	var id string
	var params command.ParameterFlags
	var allowMissing bool
	var chosen command.TargetFlag
	var plain, hold, ignoreWindows bool
	cmd := &cobra.Command{
		Use: "start JOB", Short: "Start a run of a job's current version", Args: cobra.ExactArgs(1),
		Long: `Start a run of a job's current version. Its parameters are fixed with it; its steps use them as script variables:

  jobagent job start 'nightly index' --param tenant=contoso --param-json days=7

In a step: DELETE FROM dbo.log WHERE tenant = N'$(param.tenant)' AND age > $(param.days);

If the job declares its parameters (jobagent job parameter), --param takes a value of the declared type, and what
is not given gets its default. A start is refused if a required parameter is missing, or one that a step uses, such
as $(param.tenant): the step would fail on each database. --allow-missing starts the run although steps use others,
such as a step that does not run this time.

--only-targets limits the run to some databases of the job's target groups. A database that is not in the target
group of a step is shown as skipped there.

A job with a plan is rolled out in waves (jobagent rollout). --no-rollout starts a plain run on all targets at once,
and --hold pauses the roll-out when its targets are assigned to waves.

A run waits for the window of each of its databases (jobagent target window), within the time limit of the step.
--ignore-windows starts it at any time, on databases that are not paused. It is in the audit log.

With --wait, the command waits for the end of the run. ` + runs.WaitHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := wait.Check(cmd); err != nil {
				return err
			}
			if plain && hold {
				return exit.Usagef("--hold pauses a roll-out, and --no-rollout starts none: give one of them")
			}
			var wanted uuid.UUID
			if id != "" {
				var err error
				if wanted, err = uuid.Parse(id); err != nil {
					return exit.Usagef("invalid --execution-id %q: not a GUID", id)
				}
			}
			if wanted == uuid.Nil {
				wanted = uuid.New() // known before the run starts, in case no answer comes
			}
			parameters, err := params.Read(a.Stdin)
			if err != nil {
				return err
			}
			names, err := chosen.Read(a.Stdin)
			if err != nil {
				return err
			}
			return a.WithStore(cmd.Context(), func(store *controldb.Store) error {
				job, err := startcheck.Read(cmd.Context(), store, args[0])
				if err != nil && !errors.Is(err, dberror.ErrJobNotFound) { // the procedure refuses the name
					return err
				}
				if parameters, err = runs.CheckStart(job, parameters, params.Texts(), allowMissing); err != nil {
					return err
				}
				req := executions.StartRequest{Job: args[0], ID: wanted, Parameters: parameters, Plain: plain, Hold: hold, IgnoreWindows: ignoreWindows}
				if req.OnlyTargets, err = lookup.StartTargets(cmd.Context(), store, args[0], names); err != nil {
					return err
				}
				run, err := executions.On(store).Start(cmd.Context(), req)
				if err != nil {
					return runs.Unanswered(cmd.Context(), &a.Printer, wanted, true, err)
				}
				started := output.StartedJob{ID: run, Job: args[0], Chosen: len(req.OnlyTargets)}
				on := describeSize(cmd.Context(), store, &started)
				if !wait.Wanted {
					if job.RolledOut && !plain {
						return a.Done(started, "started %s%s\nto follow the roll-out: jobagent rollout watch %s", run, on, run)
					}
					return a.Done(started, "started %s%s\nto follow the run: jobagent execution watch %s", run, on, run)
				}
				runs.Started(&a.Printer, run, args[0], on)
				return runs.Watch(cmd.Context(), &a.Printer, store, run, wait)
			})
		},
	}
	chosen.Add(cmd, "only-targets", "only these `DATABASES` of the target groups")
	cmd.Flags().BoolVar(&plain, "no-rollout", false, "start a plain run, although the job has a plan: on all targets at once")
	cmd.Flags().BoolVar(&hold, "hold", false, "pause the roll-out when its targets are assigned to waves")
	cmd.Flags().BoolVar(&ignoreWindows, "ignore-windows", false, "do not wait for the windows of the databases; only authors may")
	wait.AddFlags(cmd, true)
	cmd.Flags().StringVar(&id, "execution-id", "", "`GUID` of the run; a second start with the same GUID has no effect")
	params.Add(cmd, "the run")
	cmd.Flags().BoolVar(&allowMissing, "allow-missing", false, "start although steps use parameters that are not given")
	return cmd
}

// describeSize says on how many databases a run starts, as far as that is known before its target
// groups are resolved: " on about 40 databases". It is empty if nothing is known: the run has
// started, so no error matters.
func describeSize(ctx context.Context, store *controldb.Store, started *output.StartedJob) string {
	if started.Chosen > 0 {
		return " on " + wording.Count(started.Chosen, "chosen database")
	}
	steps, err := catalog.On(store).JobSteps(ctx, started.Job, nil)
	if err != nil || len(steps) == 0 || steps[0].TargetGroup == "" {
		return ""
	}
	size, known, err := targetgroups.On(store).Size(ctx, steps[0].TargetGroupID, steps[0].TargetGroup)
	if err != nil || !known {
		return ""
	}
	started.Expected = &size.Databases
	if size.Resolved.IsZero() {
		return " on " + wording.Count(size.Databases, "database")
	}
	return " on about " + wording.Count(size.Databases, "database")
}

func newStopCommand(a *connect.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "stop JOB|EXECUTION_ID", Short: "Ask a run, or all active runs of a job, to stop", Args: cobra.ExactArgs(1),
		Long: "Ask a run, or all active runs of a job, to stop. If nothing is active, the command succeeds.",
		RunE: a.Changes(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			active, nothing, err := runsToStop(cmd.Context(), store, args[0])
			if err != nil {
				return err
			}
			if len(active) == 0 {
				return a.Done(output.StoppedRuns{Stopped: []uuid.UUID{}}, "%s: nothing to stop", nothing)
			}
			if len(active) > 1 {
				err := command.Confirm(cmd, func() (string, int, error) {
					return fmt.Sprintf("This stops all %s of the job %s", wording.Count(len(active), "active run"), args[0]), len(active), nil
				})
				if err != nil {
					return err
				}
			}
			stopped, stopErr := stopRuns(cmd.Context(), executions.On(store), active)
			if stopErr != nil && len(stopped) == 0 {
				return stopErr
			}
			err = a.Done(output.StoppedRuns{Stopped: stopped}, "asked %s to stop", wording.Count(len(stopped), "run"))
			return cmp.Or(stopErr, err)
		}),
	}
	command.AddYes(cmd)
	return cmd
}

// runsToStop returns the run with the ID, or the active runs of the job with the name. A job's name
// may have the form of an ID. If there is nothing to stop, the text says why.
func runsToStop(ctx context.Context, store *controldb.Store, nameOrID string) (ids []uuid.UUID, nothing string, err error) {
	if id, err := uuid.Parse(nameOrID); err == nil && id != uuid.Nil {
		list, err := catalog.On(store).Jobs(ctx, nameOrID)
		if err != nil {
			return nil, "", err
		}
		if len(list) == 0 {
			return runToStop(ctx, store, id)
		}
	}
	job, err := lookup.Job(ctx, store, nameOrID)
	if err != nil && lookup.IsShort(nameOrID) { // not a job: the beginning of an ID
		if id, idErr := lookup.Execution(ctx, store, nameOrID); exit.Code(idErr) != exit.CodeNotFound {
			if idErr != nil {
				return nil, "", idErr
			}
			return runToStop(ctx, store, id)
		}
	}
	if err != nil {
		return nil, "", err
	}
	active, err := executions.On(store).List(ctx, executions.Query{JobName: job.Name, Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{})
	if err != nil {
		return nil, "", err
	}
	for _, e := range active {
		ids = append(ids, e.ID)
	}
	return ids, fmt.Sprintf("the job %s has no active run", job.Name), nil
}

// runToStop is runsToStop for the ID of a run.
func runToStop(ctx context.Context, store *controldb.Store, id uuid.UUID) (ids []uuid.UUID, nothing string, err error) {
	run, err := executions.On(store).Get(ctx, id)
	switch {
	case errors.Is(err, dberror.ErrExecutionNotFound), err == nil && run.Active: // the procedure refuses an unknown run
		return []uuid.UUID{id}, "", nil
	case err != nil:
		return nil, "", err
	}
	return nil, fmt.Sprintf("run %s of the job %s ended as %s at %s", id, run.JobName, run.Lifecycle, run.EndTime.UTC().Format(time.RFC3339)), nil
}

// stopper asks runs to stop; an [executions.Store] is one.
type stopper interface {
	Stop(ctx context.Context, id uuid.UUID) error
}

// stopRuns asks all runs to stop, also after an error, and returns those that were asked.
func stopRuns(ctx context.Context, store stopper, ids []uuid.UUID) (stopped []uuid.UUID, err error) {
	var errs []error
	for _, id := range ids {
		if err := store.Stop(ctx, id); err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", id, err))
			continue
		}
		stopped = append(stopped, id)
	}
	return stopped, errors.Join(errs...)
}
