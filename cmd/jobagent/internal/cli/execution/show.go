package execution

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/jobagent/jobagent/cmd/jobagent/internal/connect"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/exit"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/output"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/runs"
	"github.com/jobagent/jobagent/cmd/jobagent/internal/terminal"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/triggers"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/wording"
)

// shownTargets is the number of targets up to which execution show prints all of a step, and the
// number of failed ones of a larger step.
const shownTargets = 50

// showFlags are the flags of execution show.
type showFlags struct {
	messages, failed, tree, all bool
	step, limit                 int
}

func newShowCommand(a *connect.App) *cobra.Command {
	var f showFlags
	cmd := &cobra.Command{
		Use: "show EXECUTION_ID", Short: "Show a run: what started it, its steps and their targets", Args: cobra.ExactArgs(1),
		Long: fmt.Sprintf(`Show a run: its trigger, times and parameters, its steps with the numbers of their targets, and the
targets. Of a step with more than %d targets, those that failed are shown; --all shows every one.
Messages are whole. -o json has all targets, unless --failed or --step-id chooses.`, shownTargets),
		Example: "  jobagent execution show 6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68 --failed\n  jobagent execution show 6f1d2c0e-55a4-4b8e-9d3f-7c1e0a2b4d68 --tree --messages",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseExecutionID(args[0])
			switch {
			case err != nil:
				return err
			case f.limit < 1:
				return exit.Usagef("--limit %d: must be at least 1", f.limit)
			case f.step < 0 || f.step == 0 && (cmd.Flags().Changed("step-id") || cmd.Flags().Changed("step")):
				return exit.Usagef("--step-id %d: steps have numbers from 1", f.step)
			}
			return a.ReadStore(cmd.Context(), func(store *controldb.Store) error {
				if a.Structured() || f.tree || f.messages {
					return showRows(cmd.Context(), &a.Printer, store, id, f)
				}
				return showRun(cmd.Context(), &a.Printer, store, id, f)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.messages, "messages", false, "show the messages of each attempt, as a tree: PRINT, RAISERROR, row counts, errors")
	flags.BoolVar(&f.failed, "failed", false, "only targets that ended as Failed or TimedOut")
	flags.IntVar(&f.step, "step-id", 0, "only the step with this `number`")
	flags.IntVar(&f.step, "step", 0, "")
	flags.BoolVar(&f.tree, "tree", false, "show a tree of steps and targets")
	flags.BoolVar(&f.all, "all", false, "all targets of all steps")
	flags.IntVar(&f.limit, "limit", shownTargets, "maximum number of targets of a step; a step with at most so many shows them all")
	_ = flags.MarkHidden("step") // the flag exists
	return cmd
}

// readRun reads a run. It is an error if there is no such run.
func readRun(ctx context.Context, store *controldb.Store, id uuid.UUID, parts ...executions.Part) (executions.Run, error) {
	run, err := executions.On(store).Get(ctx, id, parts...)
	if errors.Is(err, dberror.ErrExecutionNotFound) {
		err = runs.NotFound(id)
	}
	return run, err
}

// about is what is shown of a run itself.
type about struct {
	run        executions.Run
	reruns     []executions.Run
	parameters string
	events     []triggers.Event // the runs of other jobs after which a trigger started it
	started    []triggers.Event // what triggers made of it
}

// readAbout reads what is shown of a run itself. It is an error if there is no such run.
func readAbout(ctx context.Context, store *controldb.Store, id uuid.UUID, parts ...executions.Part) (a about, err error) {
	if a.run, err = readRun(ctx, store, id, parts...); err != nil {
		return a, err
	}
	if a.reruns, err = executions.On(store).Reruns(ctx, id); err != nil {
		return a, err
	}
	if a.parameters, err = executions.On(store).Parameters(ctx, id); err != nil {
		return a, err
	}
	if a.run.JobTrigger != nil {
		if a.events, err = triggers.On(store).Events(ctx, triggers.EventFilter{Run: id}, controldb.Page[int64]{Top: shownTargets}); err != nil {
			return a, err
		}
	}
	if !a.run.Active {
		a.started, err = triggers.On(store).Events(ctx, triggers.EventFilter{UpstreamRun: id}, controldb.Page[int64]{Top: shownTargets})
	}
	return a, err
}

// showRows prints a run from the rows of all its targets: as JSON or as a tree.
func showRows(ctx context.Context, p *output.Printer, store *controldb.Store, id uuid.UUID, f showFlags) error {
	rows, err := runs.Read(ctx, executions.On(store), id)
	if err != nil {
		return err
	}
	about, err := readAbout(ctx, store, id)
	if err != nil {
		return err
	}
	var messages []executions.ExecutionMessage
	if f.messages {
		if messages, err = executions.On(store).Messages(ctx, id); err != nil {
			return err
		}
	}
	var all jobs.Counts
	for _, e := range rows {
		if e.IsTarget() {
			all.Add(e.Lifecycle, 1)
		}
	}
	counts := output.CountsOf(all)
	rows = f.choose(rows)
	out := output.Run{Executions: make([]output.Execution, 0, len(rows)), Parameters: json.RawMessage(about.parameters)}
	for _, e := range rows {
		v := runs.View(e)
		if e.IsRoot() {
			v = viewOrigin(v, about.run)
			v.Targets = &counts
		}
		out.Executions = append(out.Executions, v)
	}
	if f.messages {
		list := make([]output.Message, 0, len(messages))
		for _, m := range messages {
			if f.step == 0 || m.StepID == f.step {
				list = append(list, runs.ViewMessage(m))
			}
		}
		out.Messages = &list
	}
	if len(about.reruns) > 0 {
		out.Reruns = viewReruns(about.reruns)
	}
	out.TriggeredBy, out.Triggered = output.NewJobTriggerEvents(about.events), output.NewJobTriggerEvents(about.started)
	return p.Emit(out, func(w io.Writer) error {
		if err := printReruns(w, id, about.reruns); err != nil {
			return err
		}
		if about.parameters != "" {
			fmt.Fprintf(w, "parameters %s\n", output.OneLine(about.parameters))
		}
		return runs.NewTree(p).Print(w, rows, messages)
	})
}

// choose leaves out the rows that --failed and --step-id exclude.
func (f showFlags) choose(rows []executions.Execution) []executions.Execution {
	return slices.DeleteFunc(rows, func(e executions.Execution) bool {
		return !e.IsRoot() && f.step != 0 && *e.StepID != f.step ||
			e.IsTarget() && f.failed && !e.Lifecycle.IsFailure()
	})
}

// showRun prints a run for people. What it reads does not grow with the number of targets, unless
// all of them are wanted.
func showRun(ctx context.Context, printer *output.Printer, store *controldb.Store, id uuid.UUID, f showFlags) error {
	about, err := readAbout(ctx, store, id, executions.States)
	if err != nil {
		return err
	}
	steps := slices.DeleteFunc(slices.Clone(about.run.Steps), func(s executions.RunStep) bool {
		return !s.Begun() || f.step != 0 && s.StepID != f.step
	})
	if f.step != 0 {
		if len(steps) == 0 {
			return exit.With(exit.CodeNotFound, fmt.Errorf("step %d of run %s has not begun, or does not exist", f.step, id))
		}
	}
	p := newRunPrinter(printer)
	p.head(about)
	p.steps(steps)
	if err := p.targets(ctx, store, id, steps, f); err != nil {
		return err
	}
	_, err = io.WriteString(printer.Stdout, p.b.String())
	return err
}

// runPrinter collects what execution show prints.
type runPrinter struct {
	b     strings.Builder
	width int // 0: no bound
	paint terminal.Painter
	now   time.Time // the database's
}

func newRunPrinter(p *output.Printer) *runPrinter {
	width, _, _ := terminal.Size(p.Stdout)
	if p.Format == output.FormatWide {
		width = 0
	}
	return &runPrinter{width: width, paint: p.Painter()}
}

// field prints a named value; on a terminal a long one goes on below its beginning.
func (p *runPrinter) field(name, value string) {
	if value == "" {
		return
	}
	const indent = 12
	width := 0
	if p.width > 0 {
		width = max(20, p.width-indent)
	}
	for i, line := range terminal.Wrap(terminal.Clean(output.OneLine(value)), width) {
		if i > 0 {
			name = ""
		}
		if name == "State" {
			line = p.paint.Word(line)
		}
		fmt.Fprintf(&p.b, "%-*s%s\n", indent, name, line)
	}
}

// head prints the run itself.
func (p *runPrinter) head(about about) {
	run, all := about.run, about.run.Counts()
	p.now = run.Now
	v := viewOrigin(output.Execution{Execution: executions.Execution{StartTime: run.CreateTime, EndTime: run.EndTime}}, run)
	p.field("Run", run.ID.String())
	p.field("Job", fmt.Sprintf("%s (version %d)", run.JobName, run.JobVersion))
	p.field("State", jobs.Outcome(run.Lifecycle, run.Tolerated, all.Total()))
	p.field("Trigger", describeTrigger(v))
	if run.RerunOf != uuid.Nil {
		p.field("Rerun of", fmt.Sprintf("%s (only %s)", run.RerunOf, run.RerunOnly))
	}
	if run.Chosen > 0 {
		p.field("Databases", "limited to "+wording.Count(run.Chosen, "chosen database"))
	}
	for _, r := range about.reruns {
		if r.ID != run.ID {
			p.field("Run again", fmt.Sprintf("by %s (only %s)", r.ID, r.RerunOnly))
		}
	}
	for _, e := range about.events {
		p.field("After", fmt.Sprintf("run %s of %s, which ended as %s", e.UpstreamRun, cmp.Or(e.Upstream, "a deleted job"), e.UpstreamLifecycle))
	}
	for _, e := range about.started {
		p.field("Then", thenText(e))
	}
	p.field("Created", timeText(run.CreateTime))
	ended := timeText(run.EndTime)
	if ended != "" {
		ended += fmt.Sprintf(" (after %s)", span(run.EndTime.Sub(run.CreateTime)))
	}
	p.field("Ended", ended)
	if !run.StopRequested.IsZero() {
		p.field("Stopped", fmt.Sprintf("at the request of %s, %s", run.StoppedBy, timeText(run.StopRequested)))
	}
	p.field("Parameters", about.parameters)
	p.field("Targets", countText(all))
	p.field("Message", output.Said(run.LastMessage))
}

// thenText says what a trigger made of the end of a run.
func thenText(e triggers.Event) string {
	switch e.State {
	case "Waiting":
		return e.JobName + " waits to be started by trigger " + e.Trigger
	case "Started":
		if e.Run == uuid.Nil {
			return e.JobName + " was started; that run was purged"
		}
		return fmt.Sprintf("%s was started: %s", e.JobName, e.Run)
	}
	return fmt.Sprintf("%s was not started: %s", e.JobName, e.Reason)
}

// timeText writes a time as in tables, with its zone; empty for no time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// countText lists the numbers that are not 0.
func countText(c jobs.Counts) string {
	var list []string
	for _, part := range []struct {
		n    int
		word string
	}{{c.Succeeded, "succeeded"}, {c.Failed, "failed"}, {c.Skipped, "skipped"}, {c.Canceled, "canceled"}, {c.Active(), "active"}} {
		if part.n > 0 {
			list = append(list, terminal.Number(part.n)+" "+part.word)
		}
	}
	if len(list) > 1 {
		return fmt.Sprintf("%s: %s", terminal.Number(c.Total()), strings.Join(list, ", "))
	}
	return strings.Join(list, "")
}

// shownStep is a step of the table.
type shownStep struct {
	ID       int            `json:"step_id"`
	Name     string         `json:"step_name"`
	State    jobs.Lifecycle `json:"lifecycle"`
	Duration string         `json:"duration"`
	Targets  string         `json:"targets"`
}

var stepColumns = output.Columns([]output.Column[shownStep]{
	{Name: "step_id", Header: "STEP", Keep: true},
	{Name: "step_name", Header: "NAME", Min: 10, Keep: true},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "duration"},
	{Name: "targets", Min: 12, Rest: true, Wrap: true},
})

// steps prints the steps that have begun.
func (p *runPrinter) steps(steps []executions.RunStep) {
	list := output.Each(steps, func(s executions.RunStep) shownStep {
		return shownStep{ID: s.StepID, Name: s.Name, State: s.Lifecycle, Duration: p.duration(s.StartTime, s.EndTime), Targets: countText(s.Counts())}
	})
	if len(list) > 0 {
		p.b.WriteByte('\n')
		output.WriteTable(&p.b, list, stepColumns, p.width, p.paint)
	}
}

// duration writes the time from start to end, or until now.
func (p *runPrinter) duration(start, end time.Time) string {
	switch {
	case start.IsZero():
		return ""
	case end.IsZero():
		end = p.now
	}
	return span(max(0, end.Sub(start)))
}

// shownTarget is a target of the table.
type shownTarget struct {
	Step     int            `json:"step_id"`
	Target   string         `json:"target"`
	State    jobs.Lifecycle `json:"lifecycle"`
	Attempts int            `json:"attempts"`
	Duration string         `json:"duration"`
	Message  string         `json:"message"`
}

var targetColumns = output.Columns([]output.Column[shownTarget]{
	{Name: "step_id", Header: "STEP", Keep: true},
	{Name: "target", Min: 16, Keep: true, Tail: true},
	{Name: "lifecycle", State: true, Keep: true},
	{Name: "attempts", Drop: 4},
	{Name: "duration", Right: true, Drop: 3},
	{Name: "message", Rest: true, Wrap: true, Keep: true},
})

// targets prints the targets of steps: all of a step with few, and the failed ones of a step with
// many.
func (p *runPrinter) targets(ctx context.Context, store *controldb.Store, id uuid.UUID, steps []executions.RunStep, f showFlags) error {
	if len(steps) == 0 {
		return nil
	}
	failures := []jobs.Lifecycle{jobs.Failed, jobs.TimedOut}
	var whole, large []int
	total := map[int]int{}
	for _, s := range steps {
		total[s.StepID] = s.Counts().Total()
		if f.all || !f.failed && total[s.StepID] <= f.limit {
			whole = append(whole, s.StepID)
		} else {
			large = append(large, s.StepID)
		}
	}
	var list []executions.RunTarget
	if len(whole) > 0 {
		of := executions.RunTargetFilter{Steps: whole}
		if f.failed {
			of.Lifecycles = failures
		}
		found, err := executions.On(store).Targets(ctx, id, of)
		if err != nil {
			return err
		}
		list = found
	}
	for _, step := range large {
		found, err := executions.On(store).Targets(ctx, id, executions.RunTargetFilter{Steps: []int{step}, Lifecycles: failures, Limit: f.limit})
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	slices.SortStableFunc(list, func(x, y executions.RunTarget) int { return x.StepID - y.StepID })
	views := make([]shownTarget, 0, len(list))
	left := map[int]int{}
	for step, n := range total {
		left[step] = n
	}
	for _, t := range list {
		left[t.StepID]--
		views = append(views, p.viewTarget(t))
	}
	if len(views) > 0 {
		p.b.WriteByte('\n')
		output.WriteTable(&p.b, views, targetColumns, p.width, p.paint)
	}
	for _, step := range large {
		if left[step] > 0 && !f.failed {
			fmt.Fprintf(&p.b, "+%s more targets of step %d: --all\n", terminal.Number(left[step]), step)
		}
	}
	return nil
}

// viewTarget converts a target for the table.
func (p *runPrinter) viewTarget(t executions.RunTarget) shownTarget {
	v := shownTarget{Step: t.StepID, Target: t.Place(), State: t.Lifecycle, Attempts: t.Attempts, Duration: p.duration(t.StartTime, t.EndTime), Message: output.Said(t.LastMessage)}
	if t.DurationMS != nil {
		v.Duration = span(time.Duration(*t.DurationMS) * time.Millisecond)
	}
	switch {
	case t.Lifecycle == jobs.Succeeded:
		v.Message = output.Said(executions.Remark(t.Lifecycle, t.LastMessage))
	case t.OutcomeUnknown:
		v.Message = strings.TrimSpace("outcome unknown: " + t.LastMessage)
	case t.Lifecycle == jobs.WaitingForRetry && !t.NextAttempt.IsZero():
		v.Message = strings.TrimSpace("next attempt " + timeText(t.NextAttempt) + ": " + t.LastMessage)
	}
	return v
}
