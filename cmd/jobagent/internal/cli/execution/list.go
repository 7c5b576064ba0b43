package execution

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/command"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/jobs"
)

// columns are those of execution list.
var columns = output.Columns([]output.Column[output.Execution]{
	{Name: "job_execution_id", Header: "EXECUTION ID", ID: true, GUID: true, Keep: true},
	{Name: "job_name", Header: "JOB", Min: 12, Keep: true},
	{Name: "job_version", Header: "VERSION", Drop: 14},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "succeeded", Header: "OK", Right: true, Drop: 4, Value: counted(func(c output.TargetCounts) int { return c.Succeeded })},
	{Name: "failed", Right: true, Drop: 3, Value: counted(func(c output.TargetCounts) int { return c.Failed }), Text: describeFailed},
	{Name: "skipped", Right: true, Drop: 13, Value: counted(func(c output.TargetCounts) int { return c.Skipped })},
	{Name: "canceled", Right: true, Wide: true, Value: counted(func(c output.TargetCounts) int { return c.Canceled })},
	{Name: "total", Right: true, Drop: 11, Value: counted(func(c output.TargetCounts) int { return c.Total })},
	{Name: "duration_ms", Header: "DURATION", Right: true, Drop: 12, Text: func(e output.Execution) string {
		if e.DurationMS == nil {
			return ""
		}
		return span(time.Duration(*e.DurationMS) * time.Millisecond)
	}},
	{Name: "create_time", Header: "CREATED", Drop: 7},
	{Name: "trigger", Min: 12, Rest: true, Drop: 6, Text: describeTrigger},
	{Name: "start_time", Header: "STARTED", Wide: true},
	{Name: "end_time", Header: "ENDED", Wide: true},
	{Name: "last_message", Header: "MESSAGE", Wide: true},
}).Without("step_id", "current_attempts", "current_attempt_start_time", "next_attempt_start_time", "target_type", "target_group_name",
	"target_server_name", "target_database_name", "outcome_unknown", "targets")

// counted returns a number of targets of a run.
func counted(number func(output.TargetCounts) int) func(output.Execution) any {
	return func(e output.Execution) any {
		if e.Targets == nil {
			return nil
		}
		return number(*e.Targets)
	}
}

// describeFailed tells how many targets failed, and whether the run succeeded with them.
func describeFailed(e output.Execution) string {
	switch {
	case e.Targets == nil:
		return ""
	case e.Tolerated > 0 && e.Tolerated == e.Targets.Failed:
		return fmt.Sprintf("%d (tolerated)", e.Tolerated)
	}
	return fmt.Sprint(e.Targets.Failed)
}

// span writes a duration: of less than a second in milliseconds, of less than ten seconds with
// tenths.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return terminal.Span(d)
}

// describeTrigger tells in words why a run was started.
func describeTrigger(e output.Execution) string {
	schedule := "a deleted schedule"
	if e.Schedule != nil {
		schedule = "schedule " + *e.Schedule
		if *e.Schedule == "" {
			schedule = "its own schedule"
		}
	}
	due := ""
	if e.Due != nil {
		due = ", due " + e.Due.UTC().Format("2006-01-02 15:04:05")
	}
	by := ""
	if e.StartedBy != "" {
		by = " by " + e.StartedBy
	}
	if e.Mode != "" {
		return strings.ToLower(e.Mode) + by
	}
	switch executions.Trigger(e.Trigger) {
	case executions.TriggerRerun:
		of := "a purged run"
		if e.RerunOf != nil {
			of = e.RerunOf.String()[:8]
		}
		return "rerun of " + of + by
	case executions.TriggerBackfill:
		return fmt.Sprintf("backfill %d of %s%s", e.Backfill, schedule, due)
	case executions.TriggerSchedule:
		return schedule + due
	case executions.TriggerJob:
		return executions.Run{JobTrigger: e.JobTrigger}.TriggeredBy()
	case executions.TriggerManual:
		return "started" + by
	}
	return ""
}

// viewOrigin adds to a run how it came to be and how long it took; now is the database's time.
func viewOrigin(e output.Execution, o executions.Run) output.Execution {
	e.Trigger, e.StartedBy, e.Schedule, e.Due, e.Backfill = string(o.Trigger()), o.StartedBy, o.Schedule, output.Optional(o.Due), int64(o.Backfill)
	e.JobTrigger, e.RerunOnly, e.StoppedBy, e.Chosen, e.Tolerated = o.JobTrigger, o.RerunOnly, o.StoppedBy, o.Chosen, o.Tolerated
	if o.RerunOf != uuid.Nil {
		e.RerunOf = &o.RerunOf
	}
	if !e.StartTime.IsZero() {
		end := o.Now
		if !e.EndTime.IsZero() {
			end = e.EndTime
		}
		ms := max(0, end.Sub(e.StartTime).Milliseconds())
		e.DurationMS = &ms
	}
	return e
}

// listFlags are the flags of execution list.
type listFlags struct {
	job, since           string
	active               bool
	lifecycles, triggers []string
	limit                int
}

// filter checks the flags. The query lacks the time that since returns.
func (f *listFlags) filter() (r executions.Query, since command.Since, err error) {
	r = executions.Query{JobName: f.job, System: true, Origins: true, Examine: executions.Examined}
	if f.active {
		r.Active = &f.active
	}
	for _, s := range f.lifecycles {
		list, err := jobs.ParseLifecycles(s)
		if err != nil {
			return r, since, exit.Usagef("--lifecycle: %w", err)
		}
		r.Lifecycles = append(r.Lifecycles, list...)
	}
	for _, s := range f.triggers {
		i := slices.IndexFunc(executions.Triggers(), func(t executions.Trigger) bool { return strings.EqualFold(string(t), s) })
		if i < 0 {
			return r, since, exit.Usagef("invalid --trigger %q: want Manual, Schedule, Backfill, Rerun or Job", s)
		}
		r.Triggers = append(r.Triggers, executions.Triggers()[i])
	}
	if f.limit < 1 {
		return r, since, exit.Usagef("--limit %d: must be at least 1", f.limit)
	}
	since, err = command.ParseSince(f.since)
	return r, since, err
}

func newListCommand(a *connect.App) *cobra.Command {
	var f listFlags
	target := ""
	cmd := &cobra.Command{
		Use: "list", Short: "List runs, latest first", Args: cobra.NoArgs,
		Long: fmt.Sprintf(`List runs, latest first: what started them, how they ended, and the numbers of their targets.

--lifecycle of runs that have ended and --trigger look at the latest %d runs.

--target lists the newest runs that had a database among their targets, of all jobs or of --job, with what
each step did there.`, executions.Examined),
		Example: `  jobagent execution list --since 24h --lifecycle Failed,TimedOut
  jobagent execution list --job nightly --trigger Schedule,Backfill --limit 10
  jobagent execution list --target Cust033 --limit 20
  jobagent execution list --active -o name | xargs -n1 jobagent job stop`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if target != "" {
				return listOnTarget(cmd, a, target, f)
			}
			filter, since, err := f.filter()
			if err != nil {
				return err
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if filter.CreatedFrom, err = since.Time(cmd.Context(), store.Now); err != nil {
					return err
				}
				views, more, err := readRuns(cmd.Context(), store, filter, f.limit)
				if err != nil {
					return err
				}
				if err := a.WarnPause(cmd.Context(), store); err != nil {
					return err
				}
				if err := output.List(&a.Printer, views, columns); err != nil {
					return err
				}
				if more && (a.Text() || !cmd.Flags().Changed("limit")) {
					fmt.Fprintf(a.Stderr, "There are more runs: --limit shows more than %d, --since and --job choose.\n", len(views))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&f.job, "job", "", "only runs of this job")
	cmd.Flags().StringVar(&target, "target", "", "only runs that had this database among their targets: `DATABASE` or SERVER/DATABASE")
	cmd.Flags().BoolVar(&f.active, "active", false, "only runs that have not ended")
	cmd.Flags().StringSliceVar(&f.lifecycles, "lifecycle", nil, "only runs with these `lifecycles`, separated by commas; Running: all that go on")
	cmd.Flags().StringSliceVar(&f.triggers, "trigger", nil, "only runs with these `triggers`, separated by commas: Manual, Schedule, Backfill, Rerun, Job")
	cmd.Flags().StringVar(&f.since, "since", "", "only runs that were created since then: "+command.SinceForms)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "maximum number of runs")
	return command.List(&a.Printer, columns, cmd)
}

// readRuns reads runs with the numbers of their targets; more tells whether there are further ones.
func readRuns(ctx context.Context, store *controldb.Store, q executions.Query, limit int) (views []output.Execution, more bool, err error) {
	list, next, err := controldb.ReadPage(nil, limit, func(p controldb.Page[executions.Key]) ([]executions.Run, error) {
		return executions.On(store).List(ctx, q, p)
	}, executions.Run.Key)
	if err != nil {
		return nil, false, err
	}
	if len(list) == 0 && q.JobName != "" { // does the job exist?
		if _, err := lookup.Job(ctx, store, q.JobName); err != nil {
			return nil, false, err
		}
	}
	ids := output.Each(list, func(r executions.Run) uuid.UUID { return r.ID })
	counts, err := executions.On(store).CountTargets(ctx, ids)
	if err != nil {
		return nil, false, err
	}
	views = make([]output.Execution, 0, len(list))
	for _, r := range list {
		v, targets := viewOrigin(runs.View(r.Row()), r), output.CountsOf(counts[r.ID])
		v.Targets = &targets
		views = append(views, v)
	}
	return views, next != nil, nil
}
