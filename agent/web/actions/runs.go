package actions

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/agent/startcheck"
	"github.com/jobagent/jobagent/agent/web/page"
	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/executions"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs"
	"github.com/jobagent/jobagent/jobs/action"
)

type (
	confirmFunc func(context.Context, *page.Request) (*page.Confirmation, error)
	doFunc      func(context.Context, *page.Request) (*page.Done, error)
)

// shownSteps bounds the steps that the confirmation of a start lists.
const shownSteps = 12

// confirmStart says what a run of a job would do.
func confirmStart(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	choice, err := lackingOf(ctx, r, r.Value("job"))
	if err != nil {
		return nil, err
	}
	return confirmStartOn(ctx, r, r.Value("job"), choice)
}

// confirmStartChosen says what a run would do on databases that were chosen in the grid of a run of
// the same job.
func confirmStartChosen(choose page.Chooser) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		choice, err := chosenIn(ctx, choose, r)
		if err != nil {
			return nil, err
		}
		return confirmStartOn(ctx, r, choice.Job, choice)
	}
}

// confirmStartOn says what a run of a job would do on chosen databases; nil: on all.
func confirmStartOn(ctx context.Context, r *page.Request, name string, choice *page.Choice) (*page.Confirmation, error) {
	job, err := catalog.On(r.Store).JobDetail(ctx, name)
	if err != nil {
		return nil, err
	}
	steps, err := catalog.On(r.Store).JobSteps(ctx, job.Name, nil)
	if err != nil {
		return nil, err
	}
	on := ""
	if choice != nil {
		on = ", " + describeChoice(choice)
	}
	effects := []string{fmt.Sprintf("Starts a run of version %d of the job %s with %s%s.", job.Version, quoted(job.Name), page.Counted(len(steps), "step", "steps"), on)}
	if choice != nil {
		if problem := problemOf(choice); problem != "" {
			effects = []string{problem}
		} else {
			effects = append(effects, "Target groups are resolved as always: a step whose target group does not have a chosen database skips it.")
		}
	}
	described, err := describeSteps(ctx, r.Store, steps)
	if err != nil {
		return nil, err
	}
	effects = append(effects, described...)
	active, err := executions.On(r.Store).List(ctx, executions.Query{JobName: job.Name, Filter: executions.Filter{Active: new(true)}}, controldb.Page[executions.Key]{Top: 100})
	if err != nil {
		return nil, err
	}
	if len(active) > 0 {
		effects = append(effects, page.Counted(len(active), "run of this job is active. The new run does not wait for it.",
			"runs of this job are active. The new run does not wait for them."))
	}
	known, err := startcheck.New(job.Parameters, steps)
	if err != nil {
		return nil, err
	}
	cli, tsql := []string{"job", "start", job.Name}, []page.Arg{{Name: "job_name", Value: job.Name}}
	// What is wrong with the form is said at its fields.
	if text, _, err := startParameters(r, known); err == nil && text != "" {
		tsql = append(tsql, page.Arg{Name: "parameters", Value: text})
		cli = append(cli, "--params-file", "parameters.json")
	}
	c := &page.Confirmation{
		Title: "Start " + job.Name, Nav: "jobs", Effects: effects, Button: "Start the job", Back: r.Path("jobs", job.Name),
		Fields: append(startFields(known), chosenFields(choice)...), Equivalents: commandsOn(choice, "--only-targets", cli, "jobs.sp_start_job", tsql),
	}
	if choice != nil {
		c.Title += " on " + page.Counted(len(choice.Databases), "chosen database", "chosen databases")
		if choice.Run != uuid.Nil {
			c.Nav, c.Back = "runs", r.Path("runs", choice.Run.String())
		}
	}
	return c, nil
}

// describeSteps says what the steps do, and on how many targets as of the last resolution of their
// target groups.
func describeSteps(ctx context.Context, store *controldb.Store, steps []catalog.JobStep) (sentences []string, err error) {
	sizes := map[uuid.UUID]string{}
	for i, step := range steps {
		if i == shownSteps {
			return append(sentences, "And "+page.Counted(len(steps)-shownSteps, "further step.", "further steps.")), nil
		}
		what := action.Type(step.CommandType).Info().Does
		if what == "" {
			what = "is of type " + step.CommandType
		}
		if step.TargetGroup == "" { // an action without targets runs once
			sentences = append(sentences, fmt.Sprintf("Step %d, %s: %s.", step.StepID, quoted(step.StepName), what))
			continue
		}
		size, known := sizes[step.TargetGroupID]
		if !known {
			if size, err = sizeOf(ctx, store, step); err != nil {
				return nil, err
			}
			sizes[step.TargetGroupID] = size
		}
		sentences = append(sentences, fmt.Sprintf("Step %d, %s: %s on the target group %s (%s).",
			step.StepID, quoted(step.StepName), what, quoted(step.TargetGroup), size))
	}
	return sentences, nil
}

// sizeOf says how many targets a target group had when it was resolved last.
func sizeOf(ctx context.Context, store *controldb.Store, step catalog.JobStep) (string, error) {
	size, known, err := targetgroups.On(store).Size(ctx, step.TargetGroupID, step.TargetGroup)
	switch {
	case err != nil:
		return "", err
	case !known:
		return "it was not resolved before", nil
	case size.Resolved.IsZero():
		return page.Counted(size.Databases, "database", "databases"), nil
	}
	return page.Counted(size.Databases, "target", "targets") + " when it was resolved last, on " + instant(size.Resolved), nil
}

// start starts a run on all databases, or on those that lack the job.
func start(ctx context.Context, r *page.Request) (*page.Done, error) {
	choice, err := lackingOf(ctx, r, r.Value("job"))
	if err != nil {
		return nil, err
	}
	return startChoice(ctx, r, r.Value("job"), choice)
}

// startChosen starts a run on chosen databases of a run of the same job.
func startChosen(choose page.Chooser) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		choice, err := chosenIn(ctx, choose, r)
		if err != nil {
			return nil, err
		}
		return startChoice(ctx, r, choice.Job, choice)
	}
}

// startChoice starts a run on chosen databases; nil: on all.
func startChoice(ctx context.Context, r *page.Request, job string, choice *page.Choice) (*page.Done, error) {
	req := executions.StartRequest{Job: job}
	if choice != nil {
		if choice.Problem != "" {
			return nil, &page.InputError{Problem: choice.Problem}
		}
		var err error
		if req.OnlyTargets, err = limit(choice.Databases); err != nil {
			return nil, err
		}
	}
	return startOn(ctx, r, req)
}

// startOn starts a run. A form that is sent twice starts one: the run has the form's ID.
func startOn(ctx context.Context, r *page.Request, req executions.StartRequest) (*page.Done, error) {
	run, err := operation(r)
	if err != nil {
		return nil, err
	}
	job := req.Job
	known, err := startcheck.Read(ctx, r.Store, job)
	if err != nil {
		return nil, err
	}
	text, field, err := startParameters(r, known)
	if err == nil {
		err = checkStart(known, text, value(r, fieldAllowMissing) == "true")
	}
	if err != nil {
		return nil, &page.InputError{Field: field, Problem: page.Sentence(err.Error())}
	}
	req.ID, req.Parameters = run, text
	if _, err := executions.On(r.Store).Start(ctx, req); err != nil {
		return nil, refuse(refuse(err, fieldParameters, 50069, 50070, 50071, 50072, 50073, 50159, 50160), "", 50162)
	}
	return &page.Done{Location: r.Path("runs", run.String()), Notice: "The run of " + quoted(job) + " was started."}, nil
}

// confirmStop says what stopping a run would end.
func confirmStop(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	progress, err := executions.On(r.Store).Get(ctx, run, executions.States)
	if err != nil {
		return nil, err
	}
	effects := []string{"The run of " + quoted(progress.JobName) + " has ended already: stopping it does nothing."}
	if targets := progress.Counts(); progress.Active {
		effects = []string{
			fmt.Sprintf("Stops the run of %s. %s of %s have not ended, counted per step.", quoted(progress.JobName),
				page.Grouped(targets.Active()), page.Counted(targets.Total(), "target", "targets")),
			"Targets that wait are canceled. Scripts that run are canceled too: what they have not committed is rolled back.",
			"Targets that have ended keep their results.",
		}
	}
	return &page.Confirmation{
		Title: "Stop the run of " + progress.JobName, Nav: "runs", Effects: effects, Danger: true, Button: "Stop the run", Back: r.Path("runs", run.String()),
		Equivalents: commands(page.CLI("job", "stop", run.String()), page.TSQL("jobs.sp_stop_job", page.Arg{Name: "job_execution_id", Value: run})),
	}, nil
}

// stop stops a run.
func stop(ctx context.Context, r *page.Request) (*page.Done, error) {
	run, err := id(r, "run")
	if err != nil {
		return nil, err
	}
	if err := executions.On(r.Store).Stop(ctx, run); err != nil {
		return nil, err
	}
	return &page.Done{Location: r.Path("runs", run.String()), Notice: "The run was asked to stop."}, nil
}

// retriesOf returns what the address of a form names: all that waits for a retry in a run, or only
// one target (?step= and ?target=). args are the arguments of the command and of the procedure
// after the run, and back is the page that the form was opened on.
func retriesOf(r *page.Request) (one executions.Retries, cli []string, tsql []page.Arg, back string, err error) {
	if one.Run, err = id(r, "run"); err != nil {
		return one, nil, nil, "", err
	}
	run := one.Run.String()
	cli, tsql, back = []string{run}, []page.Arg{{Name: "job_execution_id", Value: one.Run}}, r.Path("runs", run)
	if r.Query("target") == "" {
		return one, cli, tsql, back, nil
	}
	target, err := uuid.Parse(r.Query("target"))
	step, wrong := strconv.Atoi(r.Query("step"))
	if err != nil || wrong != nil || step < 1 {
		return one, nil, nil, "", dberror.ErrExecutionNotFound
	}
	one.StepID, one.Target = &step, &target
	cli = append(cli, "--step-id", strconv.Itoa(step), "--target", target.String())
	tsql = append(tsql, page.Arg{Name: "step_id", Value: step}, page.Arg{Name: "target_id", Value: target})
	return one, cli, tsql, r.Path("runs", run, "targets", target.String()) + "?step=" + strconv.Itoa(step), nil
}

// confirmRetries says what would be retried now or given up.
func confirmRetries(giveUp bool) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		one, cli, tsql, back, err := retriesOf(r)
		if err != nil {
			return nil, err
		}
		progress, err := executions.On(r.Store).Get(ctx, one.Run, executions.States)
		if err != nil {
			return nil, err
		}
		what := "The target waits for a retry"
		if one.Target == nil {
			what = page.Counted(progress.Counts().Retrying, "target of the run waits for a retry", "targets of the run wait for a retry")
		}
		c := &page.Confirmation{
			Title: "Retry now: " + progress.JobName, Nav: "runs", Button: "Retry now", Back: back,
			Effects: []string{what + ".", "The next attempt is due at once. It counts as it would have later."},
			Equivalents: commands(page.CLI(append([]string{"execution", "retry-now"}, cli...)...),
				page.TSQL("jobs.sp_retry_job_execution_now", tsql...)),
		}
		if giveUp {
			c.Title, c.Button, c.Danger = "Give up what waits: "+progress.JobName, "Give up", true
			c.Effects = []string{what + ".", "What waits ends as Failed, with its last error. The run goes on without it."}
			c.Equivalents = commands(page.CLI(append([]string{"execution", "give-up"}, cli...)...),
				page.TSQL("jobs.sp_give_up_job_execution", tsql...))
		}
		c.Effects = append(c.Effects, "What runs, has not begun or has ended stays as it is.")
		return c, nil
	}
}

// changeRetries makes what waits due, or gives it up.
func changeRetries(giveUp bool) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		one, _, _, back, err := retriesOf(r)
		if err != nil {
			return nil, err
		}
		change, words := executions.On(r.Store).RetryNow, [2]string{"attempt is due now.", "attempts are due now."}
		if giveUp {
			change, words = executions.On(r.Store).GiveUp, [2]string{"target was given up.", "targets were given up."}
		}
		n, err := change(ctx, one)
		if err != nil {
			return nil, err
		}
		notice := "Nothing waited for a retry any more."
		if n > 0 {
			notice = page.Counted(n, words[0], words[1])
		}
		return &page.Done{Location: back, Notice: notice}, nil
	}
}

// rerunStates are the final states that a rerun may include, as jobs.sp_rerun_job_execution names
// them, with words. The last one is offered for chosen databases only.
var rerunStates = []rerunState{
	{"Failed", "Failed"}, {"TimedOut", "Timed out"}, {"Canceled", "Canceled"}, {"Skipped", "Skipped"},
	{"Unknown", "Unknown: it is not known whether the script ran"}, {stateSucceeded, "Succeeded: run again where it succeeded"},
}

type rerunState struct{ name, label string }

// stateSucceeded is the state that a rerun includes only if it is asked to.
const stateSucceeded = "Succeeded"

// countStates counts the targets of a run by the states of a rerun.
func countStates(run executions.Run) map[string]int {
	counts := map[string]int{}
	for _, step := range run.Steps {
		for _, s := range step.States {
			state := string(s.Lifecycle)
			switch {
			case s.Unknown:
				state = "Unknown"
			case s.Lifecycle == jobs.SucceededWithSkipped:
				state = stateSucceeded
			}
			counts[state] += s.Total
		}
	}
	return counts
}

// rerunForm is what a rerun may have, and what its form has marked.
type rerunForm struct {
	run    executions.Run
	choice *page.Choice // nil: all of the run
	counts map[string]int
	// offered are the states to choose from, and marked those that the form has, or has at first.
	offered, marked []string
}

// readRerun reads what the form of a rerun is about.
func readRerun(ctx context.Context, choose page.Chooser, r *page.Request, run uuid.UUID) (f rerunForm, err error) {
	if f.choice, err = choiceOf(ctx, choose, r, run); err != nil {
		return f, err
	}
	var parts []executions.Part
	if f.choice == nil {
		parts = append(parts, executions.States)
	}
	if f.run, err = executions.On(r.Store).Get(ctx, run, parts...); err != nil {
		return f, err
	}
	if f.choice != nil {
		f.counts = countChosen(f.choice)
	} else {
		f.counts = countStates(f.run)
	}
	for _, state := range rerunStates {
		if f.counts[state.name] == 0 || state.name == stateSucceeded && f.choice == nil {
			continue
		}
		f.offered = append(f.offered, state.name)
		if first := state.name != stateSucceeded || len(f.offered) == 1; r.Form == nil && first || r.Form.Get(state.name) == "true" {
			f.marked = append(f.marked, state.name)
		}
	}
	return f, nil
}

// total counts the targets that the form offers, and that succeeded or not.
func (f rerunForm) total() (unsuccessful int) {
	for state, n := range f.counts {
		if state != stateSucceeded {
			unsuccessful += n
		}
	}
	return unsuccessful
}

// only is the argument of the procedure; empty: all states but Succeeded.
func (f rerunForm) only() string {
	usual := slices.DeleteFunc(slices.Clone(f.offered), func(name string) bool { return name == stateSucceeded })
	if len(f.marked) == 0 || slices.Equal(f.marked, usual) {
		return ""
	}
	return strings.Join(f.marked, ",")
}

// fields are the states to choose from, with their numbers.
func (f rerunForm) fields() []page.Field {
	var fields []page.Field
	for _, state := range rerunStates {
		if !slices.Contains(f.offered, state.name) {
			continue
		}
		field := page.Field{Name: state.name, Kind: "checkbox", Label: fmt.Sprintf("%s (%s)", state.label, page.Grouped(f.counts[state.name]))}
		if slices.Contains(f.marked, state.name) {
			field.Value = "true"
		}
		fields = append(fields, field)
	}
	return fields
}

// confirmRerun says how many targets a rerun would have.
func confirmRerun(choose page.Chooser) confirmFunc {
	return func(ctx context.Context, r *page.Request) (*page.Confirmation, error) {
		run, err := id(r, "run")
		if err != nil {
			return nil, err
		}
		f, err := readRerun(ctx, choose, r, run)
		if err != nil {
			return nil, err
		}
		c := &page.Confirmation{
			Title: "Rerun what failed of " + f.run.JobName, Nav: "runs", Button: "Start the rerun", Back: r.Path("runs", run.String()),
			Fields: append(f.fields(), chosenFields(f.choice)...),
		}
		if f.choice != nil {
			c.Title = "Rerun " + f.run.JobName + " on " + page.Counted(len(f.choice.Databases), "chosen database", "chosen databases")
		}
		c.Effects = f.effects()
		before, err := executions.On(r.Store).RerunsOf(ctx, run)
		if err != nil {
			return nil, err
		}
		if n := len(before); n > 0 {
			last := before[n-1]
			c.Effects = append(c.Effects, fmt.Sprintf("The run was rerun before: by %s at %s UTC, %s. This repeats the same targets again, also those that succeeded then; "+
				"to repeat what failed since, rerun the rerun %s.", last.StartedBy, last.CreateTime.UTC().Format("2006-01-02 15:04:05"), last.Lifecycle, last.ID))
		}
		if !f.run.Active {
			c.Fields = append(c.Fields, page.Field{
				Name: currentVersion, Kind: "checkbox", Label: "Run the current version of the job, with its scripts as they are now. It must have the same steps",
			})
		}
		cli, tsql := []string{"execution", "rerun", run.String()}, []page.Arg{{Name: "job_execution_id", Value: run}}
		if only := f.only(); only != "" {
			cli, tsql = append(cli, "--only", only), append(tsql, page.Arg{Name: "only", Value: only})
		}
		if version := chosenVersion(r); version != "" {
			cli, tsql = append(cli, "--job-version", strings.ToLower(version)), append(tsql, page.Arg{Name: "job_version", Value: version})
		}
		c.Equivalents = commandsOn(f.choice, "--targets", cli, "jobs.sp_rerun_job_execution", tsql)
		return c, nil
	}
}

// effects say what the rerun would do.
func (f rerunForm) effects() []string {
	total := f.total()
	what := fmt.Sprintf("Starts a run of version %d of the job %s, unless you choose the current one, with the parameters of this run,", f.run.JobVersion, quoted(f.run.JobName))
	switch {
	case f.run.Active:
		return []string{"The run is still active. It can be run again when it has ended."}
	case f.choice != nil:
		if problem := wrongNumber(len(f.choice.Databases)); problem != "" {
			return []string{problem}
		}
		list := []string{what + " " + describeChoice(f.choice) + "."}
		if f.choice.Unreached {
			return append(list, "Steps that the run did not reach follow on the chosen databases.")
		}
		return append(list, "A chosen database on which no step ended in a state that is marked below is left out. Target groups are not resolved again.")
	case total == 0:
		return []string{"All targets that the run reached succeeded. Steps that it did not reach run on their whole target groups."}
	}
	return []string{
		fmt.Sprintf("%s on %s of this run, counted per step.", what, page.Counted(total, "target", "targets")),
		fmt.Sprintf("The %s that succeeded are not touched. Target groups are not resolved again.", page.Counted(f.counts[stateSucceeded], "target", "targets")),
	}
}

// currentVersion is the field of the form that asks for the current version of the job.
const currentVersion = "current_version"

// chosenVersion returns the version that the form asks for; empty is that of the run.
func chosenVersion(r *page.Request) string {
	if r.Form != nil && r.Form.Get(currentVersion) == "true" {
		return "Current"
	}
	return ""
}

// rerun starts a rerun. A form that is sent twice starts one: the run has the form's ID.
func rerun(choose page.Chooser) doFunc {
	return func(ctx context.Context, r *page.Request) (*page.Done, error) {
		origin, err := id(r, "run")
		if err != nil {
			return nil, err
		}
		run, err := operation(r)
		if err != nil {
			return nil, err
		}
		f, err := readRerun(ctx, choose, r, origin)
		if err != nil {
			return nil, err
		}
		if len(f.marked) == 0 && len(f.offered) > 0 {
			return nil, &page.InputError{Problem: "Choose at least one state."}
		}
		req := executions.RerunRequest{Origin: origin, Only: f.only(), Version: chosenVersion(r), ID: run}
		if f.choice != nil {
			if req.OnlyTargets, err = limit(endedSo(f.choice, f.marked)); err != nil {
				return nil, err
			}
		}
		if _, err := executions.On(r.Store).Rerun(ctx, req); err != nil {
			return nil, refuse(err, "", 50162)
		}
		return &page.Done{Location: r.Path("runs", run.String()), Notice: "The rerun was started."}, nil
	}
}
