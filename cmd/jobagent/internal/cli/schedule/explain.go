package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/lookup"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/jobs/schedule"
	"github.com/jobagent/jobagent/jobs/wording"
)

func newExplainCommand(a *connect.App) *cobra.Command {
	return &cobra.Command{
		Use: "explain JOB [SCHEDULE]", Short: "Explain when a schedule runs next, and why it did not run last time",
		Args: cobra.RangeArgs(1, 2),
		Long: `Explain when a schedule runs next, why it did not run last time, and in which time zone. Without
SCHEDULE, all schedules of the job are explained. If there is no such job, all schedules of this name
are explained.`,
		RunE: a.Reads(func(cmd *cobra.Command, args []string, store *controldb.Store) error {
			list, err := explained(cmd.Context(), store, args)
			if err != nil {
				return err
			}
			if len(args) > 1 {
				return a.Emit(list[0], func(w io.Writer) error { return printScheduleExplanation(w, list[0]) })
			}
			return a.Emit(list, func(w io.Writer) error {
				for i, e := range list {
					if i > 0 {
						fmt.Fprintln(w)
					}
					if err := printScheduleExplanation(w, e); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
}

// explained explains the schedule that two arguments name; with one argument, all schedules of the
// job of this name, or else all schedules of this name.
func explained(ctx context.Context, store *controldb.Store, args []string) ([]output.ScheduleExplanation, error) {
	list, err := schedulesOf(ctx, store, args)
	if err != nil {
		return nil, err
	}
	alive, known := lookup.AgentAlive(ctx, store)
	explanations := make([]output.ScheduleExplanation, 0, len(list))
	for _, s := range list {
		steps, err := catalog.On(store).JobSteps(ctx, s.JobName, nil)
		if err != nil {
			return nil, err
		}
		e, err := explain(ctx, store, s, len(steps) > 0, alive || !known)
		if err != nil {
			return nil, err
		}
		explanations = append(explanations, e)
	}
	return explanations, nil
}

// schedulesOf reads the schedules that explained explains.
func schedulesOf(ctx context.Context, store *controldb.Store, args []string) ([]timetable.Schedule, error) {
	if len(args) > 1 {
		s, err := lookup.Schedule(ctx, store, args[0], args[1])
		return []timetable.Schedule{s}, err
	}
	list, err := timetable.On(store).List(ctx, timetable.Filter{JobName: args[0]})
	if err != nil || len(list) > 0 {
		return list, err
	}
	if list, err = timetable.On(store).List(ctx, timetable.Filter{Name: &args[0],
		NamedOnly: true}); err == nil && len(list) == 0 {
		err = exit.With(exit.CodeNotFound, fmt.Errorf("no job or schedule is named %q; jobagent schedule list shows all schedules", args[0]))
	}
	return list, err
}

// shownSkips is the maximum number of skipped instants that are shown.
const shownSkips = 5

func explain(ctx context.Context, store *controldb.Store, s timetable.Schedule, hasSteps,
	agentAlive bool) (output.ScheduleExplanation, error) {
	zone := schedule.ZoneShown(s.TimeZone)
	e := output.ScheduleExplanation{Job: s.JobName, Name: s.Name, State: s.State,
		Zone: cmp.Or(s.TimeZone, "UTC"), Description: s.Words(), Warnings: s.Warnings, NextDue: output.Optional(s.NextDue), Obstacles: []string{}, Skipped: []output.Skip{}}
	if e.NextDue != nil {
		e.NextDueLocal = s.NextDue.In(zone).Format(time.RFC3339)
	}
	add := func(format string, args ...any) { e.Obstacles = append(e.Obstacles, fmt.Sprintf(format, args...)) }
	runs := s.State == "Enabled"
	if s.Paused {
		runs = false
		text := "it is paused"
		if s.PausedBy != "" {
			text = fmt.Sprintf("%s paused it at %s", s.PausedBy, s.PausedAt.UTC().Format(time.RFC3339))
		}
		if s.PauseNote != "" {
			text += ": " + s.PauseNote
		}
		add("%s; to resume it, use jobagent schedule resume", text)
	}
	if s.ParametersFault != "" {
		runs = false
		add("%s; set them with jobagent schedule update --param, or change the declarations with jobagent job parameter set", strings.TrimSuffix(s.ParametersFault, "."))
	}
	switch {
	case s.State == "Faulted":
		for _, f := range schedule.ErrorTexts(s.ValidationErrors) {
			add("its definition has an error: %s", f)
		}
		add("to correct the definition, use jobagent schedule update")
	case s.State == "Completed":
		add("no further instant is due: %s", cmp.Or(s.Reason, "its end time or its count is reached"))
	case !s.Enabled && s.Paused:
		add("it is also disabled; to enable it, use jobagent schedule enable")
	case !s.Enabled:
		reason := "it is disabled"
		if !s.ValidatedTime.IsZero() && s.Reason != "" {
			reason = strings.TrimSuffix(s.Reason, ".")
		}
		add("%s; to enable it, use jobagent schedule enable", reason)
	case s.State != "Enabled" && s.Reason != "" && !s.Paused:
		add("%s", s.Reason)
	case s.ValidatedTime.IsZero() && s.Name != "":
		runs = false
		if !s.Paused {
			add("%s", cmp.Or(s.Reason, "no agent has validated its definition yet"))
		}
	}
	if !hasSteps {
		runs = false
		add("the job has no steps, so due instants are recorded as skipped; to add a step, use jobagent step add")
	}
	if !agentAlive {
		runs = false
		add("no live agent: due instants wait until an agent starts (jobagent run) and count as missed then (catch-up %s)",
			cmp.Or(s.CatchUp, "as in the definition, else last"))
	}
	if s.Buffered > 0 {
		add("%s waiting for an earlier run to end", wording.Count(s.Buffered, "instant"))
	}
	e.WillRun = runs && e.NextDue != nil
	if err := history(ctx, &e, store, s); err != nil {
		return e, err
	}
	if len(e.Active) > 0 && s.Overlap == "Skip" {
		add("a run is active; instants that are due before its end are skipped (overlap Skip)")
	}
	return e, nil
}

// history adds the latest run and the latest skipped instants to e.
func history(ctx context.Context, e *output.ScheduleExplanation, store *controldb.Store, s timetable.Schedule) error {
	e.LastDue = output.Optional(s.LastDue)
	var lastRun time.Time
	if s.LastExecution != uuid.Nil {
		e.LastRun = &output.ScheduleRun{ID: s.LastExecution.String(), Lifecycle: s.LastLifecycle}
		run, err := executions.On(store).Get(ctx, s.LastExecution)
		if err != nil && !errors.Is(err, dberror.ErrExecutionNotFound) { // the run may have been purged
			return err
		}
		e.LastRun.Message, lastRun = run.LastMessage, run.CreateTime
		if run.Active {
			e.Active = append(e.Active, run.CreateTime)
		}
	}
	skips, err := timetable.On(store).Skips(ctx, timetable.SkipFilter{JobName: s.JobName, Name: &s.Name, Limit: shownSkips})
	if err != nil {
		return err
	}
	for _, k := range skips {
		e.Skipped = append(e.Skipped, output.Skip{
			DueTime:  k.DueAt,
			Skipped:  k.Count,
			Cause:    k.Cause,
			Reason:   k.Reason,
			Recorded: k.RecordedTime,
		})
	}
	// A backfill's skipped instants are earlier than the schedule's last instant, and do not
	// explain it.
	last := s.LastDue
	if last.IsZero() {
		last = s.CreatedTime.Truncate(time.Second)
	}
	if known := e.LastRun == nil || !lastRun.IsZero(); known && len(skips) > 0 && skips[0].RecordedTime.After(lastRun) &&
		(skips[0].Count > 1 || !skips[0].DueAt.Before(last)) {
		e.NotRun = skips[0].Reason
	}
	return nil
}

func printScheduleExplanation(w io.Writer, e output.ScheduleExplanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s of job %s: %s, in the zone %s\n", scheduleTitle(e.Name), e.Job, e.State, e.Zone)
	if e.Description != "" {
		fmt.Fprintf(&b, "%s\n", output.OneLine(e.Description))
	}
	switch {
	case e.NextDue == nil:
		b.WriteString("next run: none, nothing is due\n")
	case e.WillRun:
		fmt.Fprintf(&b, "next run: %s (%s in its zone), %s\n", e.NextDue.UTC().Format(time.RFC3339), e.NextDueLocal, schedule.Distance(time.Until(*e.NextDue)))
	default:
		fmt.Fprintf(&b, "next: due at %s (%s in its zone), but no run will start unless something changes\n",
			e.NextDue.UTC().Format(time.RFC3339), e.NextDueLocal)
	}
	for _, o := range e.Obstacles {
		fmt.Fprintf(&b, "  %s\n", output.OneLine(o))
	}
	for _, text := range e.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", output.OneLine(text))
	}
	if e.NotRun != "" {
		fmt.Fprintf(&b, "last time, no run started: %s\n", output.OneLine(e.NotRun))
	}
	if e.LastRun != nil {
		fmt.Fprintf(&b, "last run: %s %s", e.LastRun.ID, e.LastRun.Lifecycle)
		if e.LastRun.Message != "" {
			fmt.Fprintf(&b, ": %s", output.Shorten(e.LastRun.Message, 160))
		}
		b.WriteString("\n")
	} else {
		b.WriteString("last run: none\n")
	}
	for _, k := range e.Skipped {
		fmt.Fprintf(&b, "skipped: %s", k.DueTime.UTC().Format(time.RFC3339))
		if k.Skipped > 1 {
			fmt.Fprintf(&b, " and %d more", k.Skipped-1)
		}
		fmt.Fprintf(&b, " (%s): %s\n", k.Cause, output.OneLine(k.Reason))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
